"""Keeps the ids that we make for calls apart from those that providers gave.

A call of another API, or one without an id, is named by its place: `call_412_0`. A provider's own call may have such an
id too: a request that we rendered comes back as somebody's messages, and is rendered again. Then the unit that comes
later in the window gets another id. So what was sent before stays, and a window without such a case is not touched.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from transom.core.message import Assistant, Raw
from transom.core.unit import FoldedSlot, Slot, Unit
from transom.wire.dialect import Dialect, Rendered
from transom.wire.fields import as_dict, dicts, text
from transom.wire.translate import is_made

_FREE_KEYS = 10**8
"""No unit has a key as large as this. The key of a unit and a multiple of this make an id, if that of the key alone is
taken."""
_MOST_TRIES = 9
"""The ids stay as short as the longest that counts (`DialectCounter.place`)."""


class PlaceIds(Struct, frozen=True, gc=False):
    """The ids in the messages of a slot that have the form of ours. `made`: those that we made. `all`: these and those
    that a provider gave. `has_given`: there are such. `are_distinct`: no id that we made is another id of the slot.

    Ids that we made for different places are different. So without ids that a provider gave nothing can collide.
    """

    made: tuple[str, ...]
    all: tuple[str, ...]
    has_given: bool
    are_distinct: bool


class TakenIds:
    """The ids of this form in the slots before one."""

    def __init__(self) -> None:
        self._made, self._all = set[str](), set[str]()

    def has_made(self, label: str) -> bool:
        """Whether we made this id for a call."""
        return label in self._made

    def add(self, ids: PlaceIds) -> None:
        """Add the ids of a slot."""
        self._made.update(ids.made)
        self._all.update(ids.all)

    def leave_free(self, ids: PlaceIds) -> bool:
        """Whether the slot with these ids can be sent behind those before it. A provider's id that comes again in
        another turn of the provider is not ours to change."""
        if not ids.are_distinct:
            return False
        if self._all.isdisjoint(ids.all):
            return True  # nearly always
        return self._made.isdisjoint(ids.all) and self._all.isdisjoint(ids.made)


def place_ids(slot: Slot, rendered: Iterable[Rendered]) -> PlaceIds | None:
    """The ids of this form in the messages that a slot was rendered as; None if there are none."""
    found = [label for message, _ in rendered for label in _call_ids(message) if is_made(label)]
    if not found:
        return None
    turns = (unit.first_fact for unit in _shown(slot))
    stored = Counter(call.id for turn in turns if isinstance(turn, Assistant) for call in turn.calls)
    made = Counter(found) - stored
    given = Counter(found) - made
    are_distinct = len(made) == made.total() and not any(label in given for label in made)
    return PlaceIds(tuple(made), tuple(found), bool(given), are_distinct)


SlotMessages = tuple[tuple[Rendered, ...], PlaceIds | None]
"""The messages of a slot, and the ids of this form in them."""


def kept_apart(slots: Iterable[Slot], rendered: Iterable[SlotMessages], dialect: Dialect) -> list[SlotMessages]:
    """The messages of all slots of a window, in which no id that we made is that of another call. A slot stays as it
    was rendered, unless an id in it is taken."""
    out, taken = list[SlotMessages](), TakenIds()
    for slot, known in zip(slots, rendered, strict=True):
        if known[1] is not None and not taken.leave_free(known[1]):
            known = rendered_apart(slot, dialect, taken)  # noqa: PLW2901 - the same slot
        if known[1] is not None:
            taken.add(known[1])
        out.append(known)
    return out


def rendered_apart(slot: Slot, dialect: Dialect, taken: TakenIds) -> SlotMessages:
    """The messages of a slot in which no id that we made is that of another call, and the ids of this form in them.

    The same as without `taken` if a dialect makes ids of its own of this form, in which the key of a unit is not.
    """
    rendered, ids = (), None
    for more in range(_MOST_TRIES):
        rendered = tuple(dialect.render_slot(_changed(slot, taken, more * _FREE_KEYS)))
        ids = place_ids(slot, rendered)
        if ids is None or taken.leave_free(ids):
            break
    return rendered, ids


def _changed(slot: Slot, taken: TakenIds, more: int) -> Slot:
    """The slot with a name for itself that is larger by `more`, and without ids of a provider that we made for other
    calls before."""
    if isinstance(slot, Unit):
        return _changed_unit(slot, taken, more)
    shown = {unit.key for unit in slot.pinned_units}
    pinned = tuple(_changed_unit(unit, taken, more) if unit.key in shown else unit for unit in slot.all_pinned)
    return replace(slot, all_pinned=pinned, cached_fingerprint=None)


def _changed_unit(unit: Unit, taken: TakenIds, more: int) -> Unit:
    turn, entries = unit.first_fact, unit.entries
    if not isinstance(turn, Assistant) or not turn.calls or entries is None:
        return unit
    key = unit.key + more
    calls = tuple(
        replace(call, id=f"call_{key}_{index}") if taken.has_made(call.id) else call
        for index, call in enumerate(turn.calls)
    )
    first = replace(entries[0], body=replace(turn, calls=calls))
    return replace(unit, key=key, entries=(first, *entries[1:]), cached_fingerprint=None)


def _shown(slot: Slot) -> Sequence[Unit]:
    """The units that a slot shows."""
    return slot.pinned_units if isinstance(slot, FoldedSlot) else (slot,)


def _call_ids(message: Raw) -> Iterable[str]:
    """The ids of the calls in a message of any API."""
    for call in dicts(message.get("tool_calls")):
        yield text(call, "id")
    if "output" not in message:
        yield text(message, "call_id")
    for block in dicts(message.get("content")):
        if block.get("type") == "tool_use":
            yield text(block, "id")
    for part in dicts(message.get("parts")):
        yield text(as_dict(part.get("functionCall") or part.get("function_call")), "id")
