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

    `name`: as in `Format`. If it is empty, a conversation has the format of its messages. `title`: likewise, if no
    `MessageFormat` has this name. `is_one`: true for a value of this kind, by its keys; `bodies`: the conversations in
    it. `texts`: the parts of the value that hold what was said; they are compared with the messages, to report what was
    left out. By default these parts are the messages as they came. `labels`: keys in these parts under which there are
    no texts.
    """

    name: str = ""
    title: str = ""
    is_one: Callable[[Raw], bool]
    bodies: Callable[[Raw], Iterable[ConversationBody]]
    texts: Callable[[Raw], object] | None = None
    labels: frozenset[str] = frozenset()

    def said_in(self, value: Raw, bodies: Iterable[ConversationBody]) -> object:
        """The parts of a value of this kind that hold what was said. `bodies`: what `bodies` has made of it."""
        return [body.messages for body in bodies] if self.texts is None else self.texts(value)
