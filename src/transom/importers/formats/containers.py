"""A container: a file in which conversations lie within other things, such as an export, a log or a trace.

A container is recognised by its keys. It is opened into bodies. The messages of each body are then read as if they
stood in a file of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from msgspec import Struct

from transom.core.message import Raw


class ConversationBody(Struct, frozen=True, kw_only=True):
    """A conversation in a container.

    `id`: its own id, or empty. `messages`: in the format that `format` names; if that is empty, they are recognised.
    `system` and `tools`: as in the body of a request. `notes`: what of the conversation is left out, a line each.
    """

    id: str = ""
    messages: list[Any]
    format: str = ""
    system: Any = None
    tools: Any = None
    notes: tuple[str, ...] = ()


class Container(Struct, frozen=True, kw_only=True):
    """A kind of file that holds conversations within other things.

    - `name`, `title`: as in `Format`. With an empty name, a conversation has the format of its messages. The title is
      empty if there is no name, or if a `MessageFormat` of this name has the title.
    - `is_one`: true for a value of this kind, by its keys. `bodies`: the conversations in such a value.
    - `texts`: the parts of the value that hold what was said. They are compared with the messages that were read, to
      report what was left out. None: these parts are the messages of the bodies. `labels`: keys in these parts under
      which there are no texts.
    """

    name: str = ""
    title: str = ""
    is_one: Callable[[Raw], bool]
    bodies: Callable[[Raw], Iterable[ConversationBody]]
    texts: Callable[[Raw], object] | None = None
    labels: frozenset[str] = frozenset()

    def said_in(self, value: Raw, bodies: Iterable[ConversationBody]) -> object:
        """Return the parts of a value of this kind that hold what was said: what `texts` returns, or without `texts`
        the messages of `bodies`, the conversations that were found in the value."""
        return [body.messages for body in bodies] if self.texts is None else self.texts(value)
