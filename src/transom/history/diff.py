"""What a manager did to the messages of a view, as edits of the log.

Turns that are gone are folded, texts that are shorter are trimmed; everything else a manager may do has no edit, is
left undone, and is said. The first task, the newest user message, the newest turn, pins, and places somebody took an
edit back from stay whatever it did: the engine keeps them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby, islice

from msgspec import Struct
from msgspec.structs import replace

from transom import texts
from transom.core import message as m
from transom.core.edit import Fold, Span, Trim
from transom.core.policy import Target
from transom.core.tokens import apply_trim, part_bytes
from transom.core.unit import Slot, Unit
from transom.core.view import View
from transom.errors import InvalidMessage
from transom.strategies.omission import omission
from transom.strategies.text.references import range_reference
from transom.wire.arguments import as_object
from transom.wire.checks import compact
from transom.wire.openai import OPENAI_CHAT, parse
from transom.wire.validation import as_dict

Change = tuple[m.Address, m.Addressed, m.Addressed | None]
"""A part as it came, with its address, and what a manager made of it."""


class Role(str):
    """A message's role that knows which entry the message shows. It comes along when a manager copies the message or
    changes it, stays true from call to call, and is a text like any other to whoever does not ask."""

    __slots__ = ("entry",)
    entry: int


class Given(Struct, frozen=True):
    """A message that a view shows, as a manager gets it, with the fact it is, its entry in the log, the slot where it
    stands (-1: the head), and its unit, unless it is of the head or the text of a fold."""

    message: m.Raw
    fact: m.Fact
    entry: int
    slot: int
    unit: Unit | None


def shown(view: View) -> list[Given]:
    """The messages a view shows, head first."""
    out = [_given(message, -1 - at, -1, None) for at, (message, _) in enumerate(OPENAI_CHAT.render_head(view.head))]
    for at, slot in enumerate(view.slots):
        folded, units = ([], [slot]) if isinstance(slot, Unit) else ([(slot.seq, None)], slot.surfaced_units)
        owners = [*folded, *((seq, unit) for unit in units for seq in unit.seqs)]
        rendered = zip(OPENAI_CHAT.render_slot(slot), owners, strict=True)
        out += [_given(said, seq, at, unit) for (said, _), (seq, unit) in rendered]
    return out


def _given(message: m.Raw, entry: int, slot: int, unit: Unit | None) -> Given:
    role = Role(message["role"])
    role.entry = entry
    return Given({**message, "role": role}, parse(message), entry, slot, unit)


def runs(view: View, goes: Callable[[int], bool]) -> Iterator[list[Slot]]:
    """The neighbours worth a fold among the slots that are to go, named by index. What somebody took back is left
    alone, and what must stay is not at the ends: it would show beside the fold."""

    def stays(slot: Slot) -> bool:
        return isinstance(slot, Unit) and (bool(slot.pins) or slot.key in {view.first_task, view.newest_user})

    for going, at in groupby(range(len(view.slots)), lambda at: goes(at) and not view.user_restored(view.slots[at])):
        run = [view.slots[index] for index in at] if going else []
        inner = [index for index, slot in enumerate(run) if not stays(slot)]
        if any(isinstance(run[index], Unit) for index in inner):
            yield run[inner[0] : inner[-1] + 1]


class Difference:
    """The edits that lead from what a view shows to the list that a manager made of it; `ignored` says what of it they
    do not do. Total: whatever the list holds, the edits are sound."""

    def __init__(self, view: View, target: Target, given: list[Given], result: Sequence[object], why: str) -> None:
        self.view, self.target, self.given, self.why = view, target, given, why
        self.facts = [_read(item) for item in result]
        self.source = _sources(given, result, self.facts)
        self.ignored: list[str] = []
        order = [at for _, at in sorted(self.source.items())]
        if order != sorted(order):
            self.ignored.append("the order of messages stays as it was")

    def trims(self) -> Iterator[Trim]:
        """What is shorter: of every message that is still there, or whose turn is."""
        now = {at: self.facts[index] for index, at in self.source.items()}
        standing = {unit.key for at in now if (unit := self.given[at].unit) is not None}
        for at, one in enumerate(self.given):
            ref, there = self.target.reference(one.entry), at in now
            fact = now[at] if there else replace(one.fact, parts=())  # a result then shows its reference alone
            if (there and fact == one.fact) or not (there or one.slot < 0 or (one.unit and one.unit.key in standing)):
                continue
            if one.unit is None:
                self.ignored.append(f"the {'system message' if one.slot < 0 else 'text of a fold'} stays")
            elif fact is None:
                self.ignored.append(f"{ref} stays: what it became is no message")
            elif not there and one.entry == one.unit.seqs[0]:
                self.ignored.append(f"{ref} stays: results without their calls are refused")
            else:
                yield from self._shorter(one, one.unit, fact, ref)

    def _shorter(self, one: Given, unit: Unit, now: m.Fact, ref: str) -> Iterator[Trim]:
        """The trims that lead from a message as it shows to the message as it should, where these show less."""
        fact, cuts = self.view.fetch(one.entry).body, unit.effective_trims()
        assert isinstance(fact, m.Fact)
        for address, part, new in self._changes(fact, one.fact, now, ref):
            keep, note = _form(part, new, ref)
            trim = Trim(entry=one.entry, part=address, keep=keep, note=note, why=self.why)
            form, cut = apply_trim(part, trim), cuts.get((one.entry, address))
            if cut is not None and (form is None or part_bytes(form) >= cut.bytes):
                continue  # it was cut so before
            if (refused := self.view.refusal(trim)) is None:
                yield trim
            else:
                self.ignored.append(f"{ref}: {address[0]}[{address[1]}] stays as it was: {refused}")

    def _changes(self, fact: m.Fact, was: m.Fact, now: m.Fact, ref: str) -> Iterator[Change]:
        places = m.addressed_parts(fact)
        for name, called in (("parts", "parts"), ("calls", "calls"), ("reasoning", "thoughts")):
            whole, old, new = (getattr(each, name, ()) for each in (fact, was, now))
            here, left = list(islice(places, len(whole))), _aligned(old, new)
            if left is not None and len(here) == len(old):
                for (address, part), before, after in zip(here, old, left, strict=True):
                    if before != after:
                        yield address, part, after
            elif old != new:
                self.ignored.append(f"{ref}: its {called} stay as they were")
        if was.extra != now.extra:
            self.ignored.append(f"{ref}: its other fields stay as they were")

    def folds(self) -> Iterator[Fold]:
        """A fold for every run of slots of which nothing is left, with the words that stand in its place, if any."""
        slots = {index: self.given[at].slot for index, at in self.source.items()}
        there = {*slots.values(), self.view.slot_index(self.view.newest_unit)}
        lost = len(self.facts) - len(slots)
        for run in runs(self.view, lambda at: at not in there):
            start, where = self.view.slot_index(run[0].first), range_reference(self.view, self.target, run)
            first = max((index for index, slot in slots.items() if slot < start), default=-1)
            stop = min((index for index, slot in slots.items() if slot > start), default=len(self.facts))
            new = [self.facts[index] for index in range(first + 1, stop) if index not in slots]
            said = [text for fact in new if (text := _text(fact))]
            lost -= len(said)
            fold = replace(omission(self.view, self.target, run), why=self.why)
            told = replace(fold, text="\n".join([*said, texts.bare(where)]))
            if said and self.view.refusal(told) is None:
                fold = told
            elif said:
                self.ignored.append("words in place of what is gone are left out: they are longer")
            if (refused := self.view.refusal(fold)) is None:
                yield fold
            else:
                self.ignored.append(f"{where} stays: {refused}")
        if lost:
            self.ignored.append("messages that nothing is the source of are left out")


def _sources(given: list[Given], result: Sequence[object], facts: list[m.Fact | None]) -> dict[int, int]:
    """The positions of a result's messages, each with that of the given one it was: by its role or, if a manager wrote
    it anew, by its calls or what it says. Of equal ones the last stay, since it is the old that goes."""
    places = {one.entry: at for at, one in enumerate(given)}
    roles = [as_dict(item).get("role") for item in result]
    found = {places.get(role.entry): index for index, role in enumerate(roles) if isinstance(role, Role)}
    source = {index: at for at, index in found.items() if at is not None}
    free: dict[str, list[int]] = {}
    for at, one in enumerate(given):
        if at not in found:
            free.setdefault(_label(one.fact), []).append(at)
    bound = len(given)
    for index in range(len(facts) - 1, -1, -1):
        fact = facts[index]
        if index not in source and fact is not None and (like := free.get(_label(fact))):
            source[index] = like.pop(bisect_left(like, bound) - 1)
        bound = min(bound, source.get(index, bound))
    return source


def _label(fact: m.Fact) -> str:
    """The same for messages that are like each other."""
    ids = [call.id for call in fact.calls] if isinstance(fact, m.Assistant) else ()
    call = fact.call if isinstance(fact, m.ToolResult) else ""
    return repr((type(fact), ids or call or fact.parts))


def _read(item: object) -> m.Fact | None:
    try:
        return parse(item)
    except InvalidMessage:
        fields = as_dict(item)
        return _read({k: v for k, v in fields.items() if k != "tool_calls"}) if "tool_calls" in fields else None


def _text(fact: m.Fact | None) -> str:
    """What a message says, if it says it in words alone."""
    parts = fact.parts if fact is not None else ()
    pieces = [part.text for part in parts if isinstance(part, m.Text)]
    return "\n".join(pieces).strip() if len(pieces) == len(parts) else ""


def _aligned(before: Sequence[m.Addressed], after: Sequence[m.Addressed]) -> list[m.Addressed | None] | None:
    """What each part became, in order, None where it is gone; None for all if that is nothing they may become."""
    even, rest = len(before) == len(after), list(reversed(after))
    left = [rest.pop() if rest and (even or type(rest[-1]) is type(part)) else None for part in before]
    return None if rest or not all(map(_may_become, before, left)) else left


def _may_become(old: m.Addressed, new: m.Addressed | None) -> bool:
    """Calls keep their names, reasoning is kept whole or dropped, and of the rest there may be another text."""
    if isinstance(old, m.Call):
        return isinstance(new, m.Call) and new.name == old.name
    return new is None or isinstance(new, m.Text) or new == old


def _form(part: m.Addressed, new: m.Addressed | None, ref: str) -> tuple[tuple[Span, ...], str]:
    """The spans that stay of a part, and a note that names where the whole is, except of reasoning."""
    if isinstance(part, m.Reasoning):
        return (), ""
    if isinstance(new, m.Call):
        return (), compact({**as_object(new.args), "whole_in": ref})
    text, keep = new.text if isinstance(new, m.Text) else "", ()
    if isinstance(part, m.Text) and len(text) < (size := len(part.text)):
        start = _common(part.text, text)
        end = _common(part.text[start:][::-1], text[start:][::-1])
        keep = tuple(piece for piece in ((0, start), (size - end, size)) if piece[0] < piece[1])
        text = text[start : len(text) - end]
    mark = texts.media(ref, part.media) if isinstance(part, m.Media) else texts.bare(ref)
    note = text if mark in text else f"{text} {mark}" if text.strip() or keep else mark
    return keep, note


def _common(a: str, b: str) -> int:
    """How many characters two texts share at their start."""
    return next((at for at, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
