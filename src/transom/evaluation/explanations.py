"""Explains a window: for every fact of the log, whether the window shows it, how, and by which edits."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from typing import Literal, cast

from msgspec import Struct

from transom.cache_prices import CompactionCosts
from transom.core.edit import Pin, Trim
from transom.core.entry import Entry, Sent
from transom.core.message import Assistant, Fact, Recalled, Text, ToolResult, addressed_parts, own_text, role_of
from transom.core.pairing import call_labels
from transom.core.trims import effective_trims, trims_of_entry
from transom.core.unit import REFUSED, FoldedSlot, Slot, Unit
from transom.core.view import EMPTY_MESSAGE, HIDDEN_MESSAGE, STRAY_RESULT, View
from transom.core.window import Window
from transom.errors import InvalidSetting, quote, shorten
from transom.evaluation.call_numbers import call_number, sent_requests
from transom.stores import StoredLog

State = Literal["kept", "shortened", "folded", "dropped"]

DROPPED = {
    STRAY_RESULT: "answers no open call: kept in the log, not shown",
    EMPTY_MESSAGE: "has neither content nor calls",
    HIDDEN_MESSAGE: "asked to be left out of context",
}
EXCERPTED = "quoted in its text"
SYNTHETIC = "made up, since no result had come when a request was due"
MOVED = "came later, and was moved to its call"
HIDDEN_REASONING = "signed reasoning hidden, since what precedes it has changed"
REFUSED_REASONING = "reasoning hidden, since the provider refused it"


_WAITING = {"pending": "waiting for approval", "approved": "approved, and not run yet"}


class Explanation(Struct, frozen=True, kw_only=True):
    """What became of one fact.

    - `entry`, `role`: which fact it is. `text`: its beginning, on one line.
    - `state`: "kept" (whole), "shortened" (trimmed, or without its reasoning), "folded" (a fold hides it) or "dropped"
      (in no window).
    - `why`: the reasons of the edits behind that state, and what else was changed so that the request is valid.
    - `edits`: the seqs of these edits, pins included. `plans`: the plan of each, the same number for all edits of one
      plan, and None for an edit that a person made.
    - `tokens`: of the whole fact; `shown_tokens`: of what the window has of it, 0 if it is folded or dropped, also if
      the text of the fold quotes it. Both are raw.
    """

    entry: int
    role: str
    state: State
    why: str
    edits: tuple[int, ...]
    plans: tuple[int | None, ...]
    tokens: int
    shown_tokens: int
    text: str


def hides_reasoning(row: Explanation) -> bool:
    """Whether the fact has reasoning that the window does not show, because its prefix has changed or the provider
    refused it. It is read from `why`."""
    return HIDDEN_REASONING in row.why or REFUSED_REASONING in row.why


class Explanations(list[Explanation]):
    """What became of every fact of a log, in order, and why the window was made as it is.

    `costs`: the costs that were compared when the call's compaction was chosen. If `costs.why` is "soon", they were
    compared to decide whether to ask for a summary. None without prices. None also if neither was decided.

    `no_summary`: why no summary would be asked for now, such as too little room. If a summary would be asked for, it
    says why the window does not show the newest one; empty if the window shows it, or if there is none.
    """

    def __init__(
        self, rows: Iterable[Explanation] = (), *, costs: CompactionCosts | None = None, no_summary: str = ""
    ) -> None:
        super().__init__(rows)
        self.costs, self.no_summary = costs, no_summary


def costs_of_call(log: StoredLog, at: int | None = None) -> CompactionCosts | None:
    """Return the costs that were compared at call `at`: for its compaction, or, if their `why` is "soon", to decide
    whether to ask for a summary.

    `at`: the number of the call from 1, or from the last one if it is negative; None for the last call. The result is
    None if nothing was decided at that call, if no prices were given, or if the log has no call and `at` is None.
    Raises InvalidSetting if there is no call of this number.
    """
    calls = sent_requests(log)
    if at is None and not calls:
        return None
    sent = calls[call_number(-1 if at is None else at, len(calls), log.name) - 1].body
    return sent.costs if isinstance(sent, Sent) else None


def explain(shown: Window | View, entries: Iterable[int] | None = None) -> list[Explanation]:
    """Explain what became of every fact of the log: kept, shortened, folded or dropped, and why.

    Returns one explanation for each fact, in order; other entries have none. `entries`: explains only the facts with
    these seqs, in this order, and reads only them, and not the whole log.

    Raises InvalidSetting for what is neither a window nor a view, and for a seq that is not in the log.
    """
    view = cast("object", shown.view if isinstance(shown, Window) else shown)
    if not isinstance(view, View):
        raise InvalidSetting(f"explain: needs a Window or a View, not {quote(view)}")
    seqs = range(view.length) if entries is None else _checked(entries, view.length)
    places = _places(view, seqs)
    visible = {unit.key for unit in view.visible_units()}
    recalled = _recalled(view)
    return [
        _explanation(view, entry, places.get(view.unit_of[seq]), visible, recalled.get(seq, ""))
        for seq in seqs
        if isinstance((entry := view.fetch(seq)).body, Fact)
    ]


def _checked(entries: object, length: int) -> list[int]:
    seqs = list(cast("Iterable[object]", entries)) if isinstance(entries, Iterable) else [entries]
    if not all(isinstance(seq, int) and 0 <= seq < length for seq in seqs):
        raise InvalidSetting(f"explain: entries must be seqs of the log, below {length}, not {quote(seqs)}")
    return cast("list[int]", seqs)


Place = tuple[Slot, Unit]
"""A slot of the window, and a unit in it."""


def _places(view: View, seqs: Iterable[int]) -> dict[int, Place]:
    """Return the places of the units of these entries, by key. An entry without a unit has none."""
    keys = {key for seq in seqs if (key := view.key_of(seq)) >= 0}
    return {unit.key: (view.slots[view.slot_index(unit.key)], unit) for unit in view.units(keys)}


def _recalled(view: View) -> dict[int, str]:
    """For each entry that a recalled text in the window quotes, name the entry of that text."""
    facts = ((unit.seqs[0], unit.first_fact) for unit in view.visible_units())
    return {ref: f"recalled in entry {seq}" for seq, fact in facts if isinstance(fact, Recalled) for ref in fact.refs}


def _explanation(view: View, entry: Entry, place: Place | None, shown: AbstractSet[int], recalled: str) -> Explanation:
    fact = entry.body
    assert isinstance(fact, Fact)
    labels = 0 if place is None else _label_tokens(view, entry, place[1])
    if place is None:
        state, why, edits, tokens = "dropped", DROPPED.get(view.unit_of[entry.seq], ""), (), 0
    elif isinstance(place[0], FoldedSlot) and place[1].key not in shown:
        state, why, edits, tokens = "folded", _covered(place[0], place[1].key), (place[0].seq,), 0
        why = f"{why}, {recalled}" if recalled else why
    else:
        state, why, edits, tokens = _visible(view, entry, place[1])
    return Explanation(
        entry=entry.seq,
        role=role_of(fact),
        state=state,
        why=why,
        edits=edits,
        plans=tuple(view.fetch(edit).plan for edit in edits),
        tokens=sum(entry.tokens) + labels,
        shown_tokens=tokens and tokens + labels,
        text=preview(fact),
    )


def _covered(fold: FoldedSlot, key: int) -> str:
    why = fold.why or "fold"
    return f"{why}, {EXCERPTED}" if key in fold.excerpted else why


def _visible(view: View, entry: Entry, unit: Unit) -> tuple[State, str, tuple[int, ...], int]:
    """Return the state of an entry of a visible unit, the reasons, the edits behind it, and the tokens that are
    shown."""
    trims = effective_trims(trims_of_entry(unit.trims, entry.seq)).values()
    pins = [view.fetch(pin).body for pin in unit.pins]
    hidden = _hidden_reasoning(entry, unit)
    hiding = REFUSED_REASONING if unit.signed_prefix == REFUSED else HIDDEN_REASONING
    reasons = [*(_why(trim.trim) for trim in trims), *([hiding] if hidden else []), *map(_why, pins)]
    reasons += _repairs(view, entry, unit)
    if isinstance(entry.body, Recalled) and entry.body.why:
        reasons.append(entry.body.why)
    edits = (*(trim.seq for trim in trims), *unit.pins)
    tokens = (view.entry_tokens(unit, entry.seq)[1] if trims else sum(entry.tokens)) - hidden
    return ("shortened" if trims or hidden else "kept"), ", ".join(dict.fromkeys(reasons)), edits, tokens


def _repairs(view: View, entry: Entry, unit: Unit) -> list[str]:
    """Say what was changed about a visible entry so that the request is valid: new ids of calls, a synthetic or a moved
    result. Of a turn also which of its calls wait for approval, and what the provider changed in its request."""
    fact = entry.body
    if isinstance(fact, Assistant):
        names = call_labels(fact.calls, unit.key)
        new = [name for name, call in zip(names, fact.calls, strict=True) if name != call.id and not call.legacy]
        changes = Counter(str(change.get("reason") or change.get("type")) for change in fact.input_transformations)
        decided = {index: state for (key, index), (_, state) in view.approvals.items() if key == unit.key}
        waits = [
            f"call {names[index]} is {_WAITING[state]}" for index, state in sorted(decided.items()) if state in _WAITING
        ]
        said = [f"the provider says that it changed the request: {why} ({n})" for why, n in changes.items()]
        return [*([f"calls without an id of their own named {', '.join(new)}"] if new else []), *waits, *said]
    if not isinstance(fact, ToolResult):
        return []
    before = unit.seqs[bisect_left(unit.seqs, entry.seq) - 1]
    between = {view.unit_of[at] for at in range(before + 1, entry.seq)}
    moved = any(key >= 0 and key != unit.key for key in between)
    return [*([SYNTHETIC] if fact.synthetic else []), *([MOVED] if moved and not fact.synthetic else [])]


def _label_tokens(view: View, entry: Entry, unit: Unit) -> int:
    """Count the tokens by which the labels of a turn's calls and results (`call-7-0` for a call without an id) are
    longer than their own ids. The first entry of the turn has the sum, the others 0."""
    if entry.seq != unit.seqs[0]:
        return 0
    return unit.untrimmed_size.tokens - sum(sum(each.tokens) for each in view.entries_of(unit))


def _hidden_reasoning(entry: Entry, unit: Unit) -> int:
    """Count the tokens of an entry's reasoning that is hidden because the prefix before it has changed, or because a
    provider refused it. Trimmed parts are not counted."""
    if not unit.signature_stale or not isinstance(entry.body, Assistant):
        return 0
    trimmed = unit.effective_trims()
    return sum(
        entry.tokens[position]
        for position, (address, part) in enumerate(addressed_parts(entry.body), start=1)
        if unit.hides(part) and (entry.seq, address) not in trimmed
    )


def _why(edit: object) -> str:
    if isinstance(edit, Pin):
        return f"pinned: {edit.why}" if edit.why else "pinned"
    return edit.why or "trim" if isinstance(edit, Trim) else ""


def preview(fact: Fact, length: int = 80) -> str:
    """Return the beginning of a fact's text, and its calls, on one line of at most `length` characters."""
    text = own_text(fact) or " ".join(part.text for part in fact.parts if isinstance(part, Text))
    if isinstance(fact, Assistant) and fact.calls:
        text += " → " + ", ".join(f"{call.name}({call.args[:40]})" for call in fact.calls)
    line = " ".join(text[: 4 * length].split())
    return shorten(line, length)


def as_provider_counts(tokens: int, total: int, counted: int) -> int:
    """Convert the tokens of a part of a window, as Transom counts, into about what the provider counts: by the ratio of
    the two counts of the whole window. `total`: the tokens of the whole window as the provider counts; `counted`: as
    Transom counts."""
    return tokens if total == counted or not counted else round(tokens * total / counted)


def two_counts(total: int, counted: int) -> str:
    """Return words that say that the tokens of a window are as the provider counts, and those of its parts as Transom
    counts ("as the provider counts; all parts as Transom counts: 8,120 together"). Empty if both counts are the same.
    `total`, `counted`: as for `as_provider_counts`."""
    if total == counted:
        return ""
    return f"as the provider counts; all parts as Transom counts: {counted:,} together"
