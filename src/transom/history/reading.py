"""A view as a manager reads it: a list of messages, and for each where it came from."""

from __future__ import annotations

from msgspec import Struct

from transom.core.message import Head, Raw
from transom.core.unit import Unit
from transom.core.view import View
from transom.wire.openai_chat import OPENAI_CHAT


class Place(Struct, frozen=True):
    """Where a shown message stands: its slot (-1: the head), and the unit and entry that it shows, unless it is the
    head or the text of a fold."""

    slot: int
    unit: Unit | None = None
    entry: int = -1


class Shown(Struct, frozen=True):
    """What a view shows as OpenAI chat messages, the place of each, and for each slot the positions of its messages."""

    messages: list[Raw]
    places: list[Place]
    slots: dict[int, list[int]]


def shown(view: View) -> Shown:
    """The messages a view shows, head first."""
    head = view.head.body if view.head is not None else Head()
    assert isinstance(head, Head)
    messages = OPENAI_CHAT.head(head)
    places = [Place(-1) for _ in messages]
    for at, slot in enumerate(view.slots):
        messages.extend(OPENAI_CHAT.slot(slot))
        if not isinstance(slot, Unit):
            places.append(Place(at))
        for unit in (slot,) if isinstance(slot, Unit) else slot.shown:
            places.extend(Place(at, unit, seq) for seq in unit.seqs)
    assert len(messages) == len(places), "each entry of a unit is one message"
    slots: dict[int, list[int]] = {}
    for position, place in enumerate(places):
        slots.setdefault(place.slot, []).append(position)
    return Shown(messages, places, slots)
