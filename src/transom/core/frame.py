"""What the caller wants around the conversation."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct

from transom.core.message import Assistant, Head

_NOTHING_SAID: Mapping[str, str] = {}


class Frame(Struct, frozen=True, kw_only=True):
    """`head` stands before everything, verbatim. `says`: words by key that are said when they change (mode, goal,
    step, todo): state is said, not carried. `nudge` gives what is said where the window would end with this turn, for
    providers that do not go on from the model's own words; empty: nothing.
    """

    head: Head = Head()
    state: Mapping[str, str] = _NOTHING_SAID
    required_user_turn: Callable[[Assistant], str] | None = None
