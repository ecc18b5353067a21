"""Compares the messages of a window with those that a history manager returned, and makes edits of the difference.

A turn that the manager removed is folded, and a text that it shortened is trimmed. There is no edit for anything else
that a manager may do: that is not done, and reported. The first task, the newest user message, the newest turn, pinned
units and slots that the user has restored stay in the window, whatever the manager did; that is not reported.
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
from transom.core.tokens import part_bytes
from transom.core.trims import apply_trim
from transom.core.unit import Slot, Unit
from transom.core.view import View
from transom.errors import InvalidMessage
from transom.strategies.fold.omission import omission
from transom.strategies.text.references import range_reference
from transom.wire.arguments import as_object
from transom.wire.fields import as_dict, compact_json
from transom.wire.openai import OPENAI_CHAT, OpenAIChatDialect, parse

HEAD_SLOT = -1
"""`ViewMessage.slot` of a message of the head."""

ChangedPart = tuple[m.Address, m.Addressed, m.Addressed | None]
"""The address of a part, the part as it was logged, and what the manager made of it (None: removed)."""


class TracedRole(str):
    """The role of a message, as a string that also has the seq of the message's entry (`entry`).

    A manager copies the role when it copies or changes a message. So the entry of a returned message is known, also if
    it is of an earlier call of the manager. For all other code this is an ordinary string.
    """

    __slots__ = ("entry",)
    entry: int


FOR_MANAGERS = OpenAIChatDialect(media_in_results=True)
"""Renders messages for managers: one for each entry, as images and files stay in the results."""


class ViewMessage(Struct, frozen=True):
    """A message of a view as a manager gets it, with what it was rendered from.

    `fact`: the fact that is read from the message. `entry`: the seq of its entry; for a message of the head a number
    below 0. `slot`: the index of its slot; HEAD_SLOT for the head. `unit`: its unit; None for the head and for the text
    of a fold.
    """

    message: m.Raw
    fact: m.Fact
    entry: int
    slot: int
    unit: Unit | None


def view_messages(view: View) -> list[ViewMessage]:
    """Return the messages of a view as a manager gets them, in OpenAI Chat, those of the head first. Each has a
    `TracedRole`. Images and files stay in the results, so that there is one message for each entry."""
    head = OPENAI_CHAT.render_head(view.head)
    messages = [_view_message(message, -1 - index, HEAD_SLOT, None) for index, (message, _) in enumerate(head)]
    for index, slot in enumerate(view.slots):
        folded, units = ([], [slot]) if isinstance(slot, Unit) else ([(slot.seq, None)], slot.pinned_units)
        owners = [*folded, *((seq, unit) for unit in units for seq in unit.seqs)]
        rendered = zip(FOR_MANAGERS.render_slot(slot), owners, strict=True)
        messages += [_view_message(message, seq, index, unit) for (message, _), (seq, unit) in rendered]
    return messages


def _view_message(message: m.Raw, entry: int, slot: int, unit: Unit | None) -> ViewMessage:
    """Return one message of a view. Its role is a `TracedRole`."""
    role = TracedRole(message["role"])
    role.entry = entry
    return ViewMessage({**message, "role": role}, parse(message), entry, slot, unit)


def removed_runs(view: View, is_removed: Callable[[int], bool]) -> Iterator[list[Slot]]:
    """Yield the runs of neighbouring slots that can be folded. `is_removed`: true for the index of a slot that may be
    folded.

    A slot that the user has restored ends a run. A run neither begins nor ends with a required or pinned unit, which
    would show beside the fold in any case. At least one of its slots is a unit that is neither: folds alone are no run.
    """

    def must_stay(slot: Slot) -> bool:
        return isinstance(slot, Unit) and (bool(slot.pins) or slot.key in view.required)

    def is_foldable(index: int) -> bool:
        return is_removed(index) and not view.user_restored(view.slots[index])

    for foldable, indexes in groupby(range(len(view.slots)), is_foldable):
        run = [view.slots[index] for index in indexes] if foldable else []
        inner = [index for index, slot in enumerate(run) if not must_stay(slot)]
        if any(isinstance(run[index], Unit) for index in inner):
            yield run[inner[0] : inner[-1] + 1]


class Difference:
    """The difference between the messages of a view (`messages`, from `view_messages`) and the list that a manager
    returned (`result`), as edits.

    Call `trims` once and read it to its end, then do the same with `folds`. Every edit is valid, whatever the list
    contains. Afterwards `ignored` has a line for each change that no edit can make, but none for units that must stay.
    `why`: the reason that the edits have.
    """

    def __init__(
        self, view: View, target: Target, messages: list[ViewMessage], result: Sequence[object], why: str
    ) -> None:
        self.view, self.target, self.messages, self.why = view, target, messages, why
        self.facts = [_parse_leniently(item) for item in result]
        self.sources = _sources(messages, result, self.facts)
        self.ignored: list[str] = []
        order = [source for _, source in sorted(self.sources.items())]
        if order != sorted(order):
            self.ignored.append("the order of the messages is not changed")

    def trims(self) -> Iterator[Trim]:
        """Yield a trim for each part that the manager shortened, or removed from a turn that is still in its list. A
        change that no trim can make is added to `ignored`."""
        facts = {source: self.facts[index] for index, source in self.sources.items()}
        units = {unit.key for source in facts if (unit := self.messages[source].unit) is not None}
        for index, before in enumerate(self.messages):
            reference, is_there = self.target.reference(before.entry), index in facts
            # a removed result, whose turn is still there, is trimmed to its reference
            after = facts[index] if is_there else replace(before.fact, parts=())
            turn_is_there = before.slot == HEAD_SLOT or (before.unit is not None and before.unit.key in units)
            if (is_there and after == before.fact) or not (is_there or turn_is_there):
                continue
            if before.unit is None:
                what = "system message" if before.slot == HEAD_SLOT else "text of a fold"
                self.ignored.append(f"the {what} is not changed")
            elif after is None:
                self.ignored.append(f"{reference} is not changed: the manager made it an invalid message")
            elif not is_there and before.entry == before.unit.seqs[0]:
                self.ignored.append(f"{reference} is not removed: a result without its call is refused by the API")
            else:
                yield from self._trims_of(before, before.unit, after, reference)

    def _trims_of(self, before: ViewMessage, unit: Unit, after: m.Fact, reference: str) -> Iterator[Trim]:
        """Yield the trims that make one message as short as the manager made it (`after`)."""
        logged, earlier_trims = self.view.fetch(before.entry).body, unit.effective_trims()
        assert isinstance(logged, m.Fact)
        for address, part, new in self._changed_parts(logged, before.fact, after, reference):
            keep, note = _kept_spans(part, new, reference)
            trim = Trim(entry=before.entry, part=address, keep=keep, note=note, why=self.why)
            trimmed, earlier = apply_trim(part, trim), earlier_trims.get((before.entry, address))
            if earlier is not None and (trimmed is None or part_bytes(trimmed) >= earlier.bytes):
                continue  # an earlier trim did as much
            if (refusal := self.view.refusal(trim)) is None:
                yield trim
            else:
                self.ignored.append(f"{reference}: {address[0]}[{address[1]}] is not changed: {refusal}")

    def _changed_parts(self, logged: m.Fact, before: m.Fact, after: m.Fact, reference: str) -> Iterator[ChangedPart]:
        """Yield the parts of one message that the manager changed. Changes without an edit are added to `ignored`.

        `logged`: the message in the log; `before`: as the manager got it, with earlier trims; `after`: as it returned
        it.
        """
        addressed = m.addressed_parts(logged)
        for field, name in (("parts", "parts"), ("calls", "calls"), ("reasoning", "reasoning")):
            whole, old, new = (getattr(fact, field, ()) for fact in (logged, before, after))
            parts, aligned = list(islice(addressed, len(whole))), _align(old, new)
            if aligned is not None and len(parts) == len(old):
                for (address, part), old_part, new_part in zip(parts, old, aligned, strict=True):
                    if old_part != new_part:
                        yield address, part, new_part
            elif old != new:
                self.ignored.append(f"{reference}: {name} are not changed")
        if before.extra != after.extra:
            self.ignored.append(f"{reference}: other fields are not changed")

    def folds(self) -> Iterator[Fold]:
        """Yield a fold for each run of slots of which the manager's list has no message. The newest turn, required and
        pinned units and restored slots are not folded.

        The texts of new messages in their place become the text of the fold, if the fold is then still valid. What is
        not folded, or left out, is added to `ignored`.
        """
        slots = {index: self.messages[source].slot for index, source in self.sources.items()}
        present = {*slots.values(), self.view.slot_index(self.view.newest_unit)}
        without_place = len(self.facts) - len(slots)
        for run in removed_runs(self.view, lambda index: index not in present):
            start, reference = self.view.slot_index(run[0].first), range_reference(self.view, self.target, run)
            before = max((index for index, slot in slots.items() if slot < start), default=-1)
            after = min((index for index, slot in slots.items() if slot > start), default=len(self.facts))
            written = [self.facts[index] for index in range(before + 1, after) if index not in slots]
            new_texts = [text for fact in written if (text := _text_of(fact))]
            without_place -= len(new_texts)
            fold = replace(omission(self.view, self.target, run), why=self.why)
            with_text = replace(fold, text="\n".join([*new_texts, texts.bare_marker(reference)]))
            if new_texts and self.view.refusal(with_text) is None:
                fold = with_text
            elif new_texts:
                self.ignored.append("a text in place of removed messages is left out: it is longer than they are")
            if (refusal := self.view.refusal(fold)) is None:
                yield fold
            else:
                self.ignored.append(f"{reference} is not removed: {refusal}")
        if without_place:
            self.ignored.append("new messages are left out, except a text in place of removed messages")


def _sources(messages: list[ViewMessage], result: Sequence[object], facts: list[m.Fact | None]) -> dict[int, int]:
    """Return where the messages of a manager's list came from: for the index of a message in that list, its index in
    `messages`. New messages are left out.

    A message is recognised by its role, a `TracedRole`. One that the manager wrote anew is recognised by its calls or
    its text. If several messages are equal, the last ones are taken, because managers remove old messages.
    """
    index_of = {message.entry: index for index, message in enumerate(messages)}
    roles = [as_dict(item).get("role") for item in result]
    traced = {index_of.get(role.entry): index for index, role in enumerate(roles) if isinstance(role, TracedRole)}
    sources = {index: source for source, index in traced.items() if source is not None}
    untraced: dict[str, list[int]] = {}
    for index, message in enumerate(messages):
        if index not in traced:
            untraced.setdefault(_likeness(message.fact), []).append(index)
    bound = len(messages)
    for index in range(len(facts) - 1, -1, -1):
        fact = facts[index]
        if index not in sources and fact is not None and (alike := untraced.get(_likeness(fact))):
            sources[index] = alike.pop(bisect_left(alike, bound) - 1)
        bound = min(bound, sources.get(index, bound))
    return sources


def _likeness(fact: m.Fact) -> str:
    """Return a key that is equal for messages of one kind with the same call ids, the same result id, or the same
    parts."""
    ids = [call.id for call in fact.calls] if isinstance(fact, m.Assistant) else ()
    call = fact.call if isinstance(fact, m.ToolResult) else ""
    return repr((type(fact), ids or call or fact.parts))


def _parse_leniently(item: object) -> m.Fact | None:
    """Return the fact of a message, without its calls if they are invalid. None for a value that is no message."""
    try:
        return parse(item)
    except InvalidMessage:
        fields = as_dict(item)
        rest = {key: value for key, value in fields.items() if key != "tool_calls"}
        return _parse_leniently(rest) if "tool_calls" in fields else None


def _text_of(fact: m.Fact | None) -> str:
    """Return the text of a message; empty if it has a part that is no text, and for None."""
    parts = fact.parts if fact is not None else ()
    pieces = [part.text for part in parts if isinstance(part, m.Text)]
    return "\n".join(pieces).strip() if len(pieces) == len(parts) else ""


def _align(before: Sequence[m.Addressed], after: Sequence[m.Addressed]) -> list[m.Addressed | None] | None:
    """Return a list with an item for each part of `before`: the part of `after` that it became, or None if it was
    removed.

    If the parts cannot have become these, return None in place of the list.
    """
    same_number, rest = len(before) == len(after), list(reversed(after))
    aligned = [rest.pop() if rest and (same_number or type(rest[-1]) is type(part)) else None for part in before]
    return None if rest or not all(map(_may_become, before, aligned)) else aligned


def _may_become(old: m.Addressed, new: m.Addressed | None) -> bool:
    """True if a manager may turn one part into the other: a call keeps its name, reasoning stays whole or is removed
    (None), any other part is removed or becomes a text."""
    if isinstance(old, m.Call):
        return isinstance(new, m.Call) and new.name == old.name
    return new is None or isinstance(new, m.Text) or new == old


def _kept_spans(part: m.Addressed, new: m.Addressed | None, reference: str) -> tuple[tuple[Span, ...], str]:
    """Return the spans that a trim keeps of a part so that it shows `new`, and the note of the trim.

    - Of a text the common beginning and end are kept. The note is what `new` has between them, with a marker that has
      the reference; unless it is there already.
    - Of media and calls nothing is kept. For media the note is the new text with the marker; for a call its new
      arguments as JSON, with the reference as `whole_in`.
    - For reasoning both are empty.
    """
    if isinstance(part, m.Reasoning):
        return (), ""
    if isinstance(new, m.Call):
        return (), compact_json({**as_object(new.args), "whole_in": reference})
    text, keep = new.text if isinstance(new, m.Text) else "", ()
    if isinstance(part, m.Text) and len(text) < (size := len(part.text)):
        start = _common_prefix(part.text, text)
        end = _common_prefix(part.text[start:][::-1], text[start:][::-1])
        keep = tuple(span for span in ((0, start), (size - end, size)) if span[0] < span[1])
        text = text[start : len(text) - end]
    marker = texts.media_marker(reference, part.media) if isinstance(part, m.Media) else texts.bare_marker(reference)
    if marker in text:
        return keep, text
    return keep, f"{text} {marker}" if text.strip() or keep else marker


def _common_prefix(a: str, b: str) -> int:
    """Return the number of characters that two texts share at their beginning."""
    pairs = enumerate(zip(a, b, strict=False))
    return next((index for index, (x, y) in pairs if x != y), min(len(a), len(b)))
