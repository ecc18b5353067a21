"""What the caller wants around the conversation: the head before it, the state that is announced in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct

from transom.core.message import Assistant, Head
from transom.core.redact import Redact

_NO_STATE: Mapping[str, str] = {}


class Frame(Struct, frozen=True, kw_only=True):
    """What the caller wants in a window beside the conversation.

    - `head`: system prompt and tools, before everything else, as they were given.
    - `state`: texts by key (mode, goal, todo). Each is announced in a note when it changes.
    - `redact`: applied to the text of every fold, summary request and recalled text; None redacts nothing.
    - `required_user_turn`: for providers that refuse a window that ends with a turn of the model. Takes that turn, and
      returns the text of the user turn to add; empty if none is needed.
    """

    head: Head = Head()
    state: Mapping[str, str] = _NO_STATE
    redact: Redact | None = None
    required_user_turn: Callable[[Assistant], str] | None = None
