"""What the caller wants around the conversation."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct

from transom.core.message import Assistant, Head
from transom.core.redact import Redact

_NO_STATE: Mapping[str, str] = {}


class Frame(Struct, frozen=True, kw_only=True):
    """`head` precedes everything, verbatim. `state`: texts by key (mode, goal, todo), each announced in a note when it
    changes.

    `redact` is applied to the text of every fold.

    `required_user_turn` is for providers that refuse a window that ends with the model's turn. It takes that turn and
    returns the text of the user turn to add, or an empty text.
    """

    head: Head = Head()
    state: Mapping[str, str] = _NO_STATE
    redact: Redact | None = None
    required_user_turn: Callable[[Assistant], str] | None = None
