"""The reducer: computes the next view from a view and more entries. It has one handler for each kind of entry.

Facts, heads and traces are handled here; `apply_edits` handles folds, trims, pins and undos.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from msgspec.structs import astuple, replace

from transom.cache_prices import SinceBreak
from transom.core import message as m
from transom.core.apply_edits import apply_edit
from transom.core.edit import Fold, Pin, Trim, Undo
from transom.core.entry import Approval, CallPlace, Entry, Forked, Sent
from transom.core.folded_slot import replace_in_folds
from transom.core.learned_limit import answered_size, limit_after_failure, limits_after_reply
from transom.core.log import Log
from transom.core.pairing import call_label_size, is_open, open_call, result_label_size
from transom.core.persistent import appended, vector
from transom.core.prefix_fingerprint import prefixes
from transom.core.refused_reasoning import ALWAYS, after_refusal, after_reply
from transom.core.slot_table import EMPTY_MESSAGE, HIDDEN_MESSAGE, NO_UNIT, STRAY_RESULT
from transom.core.summary import NO_SUMMARY, UNUSED_SUMMARY, Summary, tokens_spent
from transom.core.tokens import ZERO, TokenCounter, head_size
from transom.core.unit import REFUSED, FoldedSlot, Unit, new_unit, units_in, with_result, with_signature_stale
from transom.core.view import View
from transom.core.view_builder import ViewBuilder, with_range

MOST_TASK_MESSAGES = 8
"""How many messages the first task has at most: all of them are in every window. Programs send a handful before the
first answer (files, their own context, then the request); a log of nothing but user messages must stay foldable."""

_UNKNOWN = "?"
"""The `signed_prefix` of a turn that was made on a prefix we do not know. It equals no real fingerprint, so the turn's
bound reasoning stays hidden."""


def apply(view: View, entries: Iterable[Entry]) -> View:
    """Compute the view after more entries, which must continue the log: if the view shows n entries, their seqs are n,
    n + 1, … (AssertionError otherwise). The old view stays as it is.

    The log of the view must have the new entries already, because an edit may name one of them. The time grows with the
    number of new entries. It does not grow with the log.
    """
    builder = ViewBuilder(*astuple(view))
    for entry in entries:
        assert entry.seq == builder.length, f"entry {entry.seq} after {builder.length} entries"
        if entry.counter != builder.counter.name:
            entry = builder.counted(entry)  # noqa: PLW2901 - the same entry
        handler = _HANDLERS.get(type(entry.body))
        key = None if handler is None else handler(builder, entry)
        builder.unit_of = builder.unit_of.plus((NO_UNIT if key is None else key,))
    return builder.view()


def build_view(log: Log, counter: TokenCounter, upto: int | None = None) -> View:
    """Compute the view of a log; with `upto`, of its first `upto` entries: what the log showed at an earlier time.
    `upto` must not be above the length of the log. `counter`: a `FormatCounter` counts as its dialect; any other
    counter of texts counts as for OpenAI Chat. The time grows with the number of entries."""
    stop = len(log) if upto is None else upto
    return apply(View.empty(log, counter), (log[seq] for seq in range(stop)))


# Each handler returns the key of the unit that the entry belongs to. If it belongs to none, it returns a number below 0
# that says why (see `NO_UNIT`), or None for `NO_UNIT` itself.


def _fact(builder: ViewBuilder, entry: Entry, key: int | None = None, signed_prefix: str = "") -> int:
    """Add a fact as a unit of its own, unless it is hidden or empty. Any but a turn of the model or a failure ends
    provider calls that wait. `key`: the unit's key; None: the seq of the entry."""
    fact = entry.body
    assert isinstance(fact, m.Fact)
    if entry.meta is not None and not entry.meta.include_in_context:
        return HIDDEN_MESSAGE
    if m.is_empty(fact):
        return EMPTY_MESSAGE
    if builder.waiting and not isinstance(fact, (m.Assistant, m.Failure)):
        _end_provider_calls(builder)
    unit = new_unit(entry.seq if key is None else key, entry, signed_prefix, messages=builder.counter.messages(fact))
    _add_unit(builder, unit)
    return unit.key


def _add_unit(builder: ViewBuilder, unit: Unit) -> None:
    """Add a unit at its place by key. If the provider has compacted that place, it is sealed at once."""
    is_last = not builder.slots or unit.key > builder.slots[-1].last
    signature_fits = False  # as far as is known: a unit that is inserted is checked later
    if unit.signed_prefix:
        signature_fits = is_last and not builder.signatures_unchecked and unit.signed_prefix == builder.fingerprint()
        builder.has_signed, builder.newest_signed = True, max(unit.key, builder.newest_signed)
    if is_last:
        builder.append_slot(unit)
    else:
        builder.insert_slot(builder.slot_index(unit.key) + 1, unit)
    if unit.signed_prefix:
        builder.signatures_unchecked = not signature_fits
    if (newest := builder.compaction) is not None and unit.key < newest:  # it came late
        at = builder.slot_index(newest)
        compaction = builder.slots[at]
        assert isinstance(compaction, Unit)
        assert unit.entries is not None
        builder.seal(at, unit.entries[0], compaction.seqs[0])


def _event(builder: ViewBuilder, entry: Entry) -> int:
    """Add a fact, and note that it is the newest unit."""
    key = _fact(builder, entry)
    builder.newest_unit = max(builder.newest_unit, key)
    return key


def _user(builder: ViewBuilder, entry: Entry) -> int:
    """Add a user message. Unless a program injected it, it is noted as the user's."""
    key = _event(builder, entry)
    if key >= 0 and (entry.meta is None or not entry.meta.injected):
        _note_user_message(builder, key)
    return key


def _note_user_message(builder: ViewBuilder, key: int) -> None:
    """Note that the user has spoken at this key, before the model's first answer as a part of the first task."""
    builder.newest_user = key
    if builder.first_answer is None and len(builder.first_task) < MOST_TASK_MESSAGES:
        builder.first_task = (*builder.first_task, key)


def _note_answer(builder: ViewBuilder, key: int) -> None:
    """Note that the model has answered at this key. If that is the first answer, the first task ends in front of it:
    what the user said while its request was in flight is no part of the task."""
    task, known = builder.first_task, builder.first_answer
    if task and key > task[0] and (known is None or key < known):
        builder.first_task, builder.first_answer = tuple(each for each in task if each < key), key


def _note(builder: ViewBuilder, entry: Entry) -> int:
    """Add a note. The late results that it gives need not be given any more."""
    note = entry.body
    assert isinstance(note, m.Note)
    if note.key:
        builder.own("notes")[note.key] = (entry.seq, note.text)
    for seq in note.refs:
        if seq in builder.late_results:
            del builder.own("late_results")[seq]
    return _fact(builder, entry)


def _take_answered_request(builder: ViewBuilder, answers: int | None) -> Sent | None:
    """The request in flight, which is answered now, if `answers` is its seq; else None."""
    in_flight = builder.in_flight
    if answers is None or in_flight is None or in_flight.seq != answers:
        return None
    builder.in_flight = None
    assert isinstance(in_flight.body, Sent)
    return in_flight.body


def _assistant(builder: ViewBuilder, entry: Entry) -> int:
    """Add a turn of the model. Its usage moves the calibration if it came in the dialect of this view."""
    turn = entry.body
    assert isinstance(turn, m.Assistant)
    builder.usage = builder.usage.plus_entry(entry)
    sent = _take_answered_request(builder, turn.answers)
    if sent is not None and turn.usage is not None and turn.dialect == builder.counter.dialect:
        # (another provider's tokens say nothing about this one's)
        builder.token_calibration = builder.token_calibration.learn(sent, turn.usage)
    if sent is not None and builder.model_limits:
        size = answered_size(sent, turn.usage, builder.token_calibration)
        builder.model_limits = limits_after_reply(builder.model_limits, sent.model, size)
    place = None if sent is None else turn.answers
    compacts = _compact(builder, entry, turn, place) if turn.is_compaction else False
    signed_prefix, model = "", entry.meta.model if entry.meta is not None else ""
    is_refused = bool(turn.reasoning) and builder.refused_reasoning.get(model) == ALWAYS
    builder.refused_reasoning = after_reply(builder.refused_reasoning, model, has_reasoning=bool(turn.reasoning))
    if any(thought.bound for thought in turn.reasoning) and not is_refused:
        signed_prefix = _behind_compaction(builder) if compacts else _signed_on(builder, entry, sent)
    key = _fact(builder, entry, key=place, signed_prefix=signed_prefix)
    if key >= 0 and not _is_compacted(builder, key):
        _note_answer(builder, key)
        if is_refused:
            _hide_reasoning(builder, key)
        _follow_provider_calls(builder, turn, key)
        if turn.calls:
            _open_calls(builder, turn, key)
    builder.newest_unit = max(builder.newest_unit, key)
    return key


def _follow_provider_calls(builder: ViewBuilder, turn: m.Assistant, key: int) -> None:
    """Note which calls of the provider's own tools wait for a later turn, after this turn with the unit `key`. A turn
    that goes on with none of the waiting calls ends them all: their results will not come."""
    waiting = builder.waiting
    if not waiting and not turn.pending_calls:
        return
    reached = [waiting[label] for label in turn.continued_calls if label in waiting]
    still = {label: made for label, made in waiting.items() if label not in turn.continued_calls} if reached else {}
    builder.waiting = still | {label: waiting.get(label, key) for label in turn.pending_calls}
    if reached:
        builder.spans = with_range(builder.spans, min(reached), key)


def _end_provider_calls(builder: ViewBuilder) -> None:
    """Forget the calls of the provider's own tools that wait, because a fact came that is not the model's. Exception:
    if a turn of them has also called tools of the client, they go on waiting, because results are what must come
    now."""
    slots = [builder.slots[builder.slot_index(key)] for key in set(builder.waiting.values())]
    turns = [slot.first_fact for slot in slots if isinstance(slot, Unit)]
    if not any(isinstance(turn, m.Assistant) and turn.calls for turn in turns):
        builder.waiting = {}


def _compact(builder: ViewBuilder, entry: Entry, turn: m.Assistant, place: int | None) -> bool:
    """Seal what precedes a turn with the provider's own compaction. Returns whether this was done.

    It is not done in another dialect, because no other API knows what the compaction says; for a turn that is not in
    context; and for one that a newer compaction has sealed. `place`: the turn's key; None: its seq.
    """
    key = entry.seq if place is None else place
    is_hidden = entry.meta is not None and not entry.meta.include_in_context
    if is_hidden or turn.dialect != builder.counter.dialect or _is_compacted(builder, key):
        return False
    stop = builder.slot_index(key) + 1
    builder.seal(stop, entry, entry.seq)
    builder.compaction, builder.first_task, builder.first_answer, builder.newest_user = key, (), None, None
    for unit in (unit for slot in builder.slots[1 if stop else 0 :] for unit in units_in(slot)):
        if unit.by_user:
            _note_user_message(builder, unit.key)
        elif isinstance(unit.first_fact, m.Assistant):
            _note_answer(builder, unit.key)
    builder.open_units = tuple(unit for unit in builder.open_units if unit > key)
    builder.waiting = {label: made for label, made in builder.waiting.items() if made > key}
    return True


def _is_compacted(builder: ViewBuilder, key: int) -> bool:
    """Whether the unit with this key precedes the provider's newest compaction."""
    return builder.compaction is not None and key < builder.compaction


def _behind_compaction(builder: ViewBuilder) -> str:
    """The fingerprint of what shows before a turn with the provider's compaction, which is not in the view yet."""
    stop = int(bool(builder.slots) and isinstance(slot := builder.slots[0], FoldedSlot) and slot.sealed)
    return next(fingerprint for at, fingerprint in prefixes(builder.head_entry, builder.slots) if at == stop)


def _signed_on(builder: ViewBuilder, entry: Entry, sent: Sent | None) -> str:
    """The fingerprint of the prefix that a turn was made on: that of its request (`sent`).

    A turn that answers no request was made elsewhere, on everything that the log has before it. That is what the window
    shows if no edit applies. If one applies, the prefix of such a turn, and of any imported one, is not known.
    """
    turn = entry.body
    assert isinstance(turn, m.Assistant)
    was_read = entry.meta is not None and entry.meta.source is not None
    if (was_read or turn.answers is None) and len(builder.live_edits):
        return _UNKNOWN
    if turn.answers is not None:
        return sent.fingerprint if sent is not None and sent.fingerprint else _UNKNOWN
    if builder.signatures_unchecked:
        builder.recheck_signatures()
    return builder.fingerprint()


def _open_calls(builder: ViewBuilder, turn: m.Assistant, key: int) -> None:
    """Note that the calls of a new turn wait for results, and add the size of their labels to it."""
    for label in {call.id for call in turn.calls if call.id in builder.synthetic_results}:
        del builder.own("synthetic_results")[label]  # a label that is used again names the new call from now on
    builder.open_units = appended(builder.open_units, key)
    extra = call_label_size(builder.counter, turn, key)
    if extra != ZERO:
        at = builder.slot_index(key)
        unit = builder.slots[at]
        assert isinstance(unit, Unit)
        sizes = {"untrimmed_size": unit.untrimmed_size.plus(extra), "size": unit.size.plus(extra)}
        builder.replace_slot(at, replace(unit, **sizes))


def _failure(builder: ViewBuilder, entry: Entry) -> int:
    """Add a failure. It may teach a limit, move the calibration, or count as a strike of the summarizer."""
    failure = entry.body
    assert isinstance(failure, m.Failure)
    builder.usage = builder.usage.plus_entry(entry)
    sent = _take_answered_request(builder, failure.answers)
    if failure.failure == NO_SUMMARY:
        builder.summaries = replace(builder.summaries, strikes=builder.summaries.strikes + 1, failed_at=entry.seq)
    if failure.failure in (NO_SUMMARY, UNUSED_SUMMARY):
        spent = builder.summaries.spent + tokens_spent(failure.usage)
        builder.summaries = replace(builder.summaries, spent=spent)
    if failure.failure == m.REASONING_REFUSED:
        is_some_left = _refuse_reasoning(builder, entry)
        refusing = after_refusal(builder.refused_reasoning, failure.model, is_some_left=is_some_left)
        builder.refused_reasoning = refusing
    if failure.used and sent is not None:
        builder.token_calibration = builder.token_calibration.refused(sent, failure.used)
    if failure.limit and failure.model:
        known, calibration = builder.model_limits, builder.token_calibration
        limit = limit_after_failure(known.get(failure.model), failure, sent, calibration, entry.seq)
        builder.model_limits = {**known, failure.model: limit}
    key = _fact(builder, entry, key=None if sent is None else failure.answers)
    builder.newest_unit = max(builder.newest_unit, key)
    return key


def _refuse_reasoning(builder: ViewBuilder, entry: Entry) -> bool:
    """Hide the reasoning before the newest user message. If none is left to hide there, hide all reasoning. Returns
    whether reasoning is left that is not hidden.

    Only facts decide, and no edit: reasoning under a fold is refused too. Otherwise an undo of the fold would show
    something else than the log without the fold (law 5).
    """
    if builder.signatures_unchecked:
        builder.recheck_signatures()
    unsealed = (slot for slot in builder.slots if isinstance(slot, Unit) or not slot.sealed)
    units = (unit for slot in unsealed for unit in units_in(slot))
    turns = [unit.key for unit in units if unit.signed_prefix != REFUSED and _has_reasoning(builder, unit)]
    newest = builder.newest_user
    before = [key for key in turns if newest is not None and key < newest]
    changed: list[int] = []
    for key in before or turns:
        at = builder.slot_index(key)
        fingerprint = builder.slots[at].fingerprint()
        _hide_reasoning(builder, key)
        if builder.slots[at].fingerprint() != fingerprint:
            changed.append(at)
    if changed:
        builder.mark_break(changed[0], entry, "reasoning refused")
    return len(before or turns) < len(turns)


def _hide_reasoning(builder: ViewBuilder, key: int) -> None:
    """Hide the reasoning of a turn for good, because a provider refuses it."""
    path, unit = builder.path_to(key)
    refused = with_signature_stale(unit, builder.entries_of(unit), stale=True, signed_prefix=REFUSED)
    builder.replace_slot(builder.slot_index(key), replace_in_folds(path, unit, (refused,)))


def _has_reasoning(builder: ViewBuilder, unit: Unit) -> bool:
    turn = unit.first_fact if unit.entries is not None else builder.fetch(unit.seqs[0]).body
    return isinstance(turn, m.Assistant) and bool(turn.reasoning)


def _result(builder: ViewBuilder, entry: Entry) -> int:
    """Add a result to the unit of its call. A result without an open call is not shown. But if a synthetic result has
    closed its call, it is a late result, and the next plan gives it to the model in a note."""
    result = entry.body
    assert isinstance(result, m.ToolResult)
    builder.usage = builder.usage.plus_entry(entry)
    if entry.meta is not None and not entry.meta.include_in_context:
        return HIDDEN_MESSAGE
    found = open_call(builder, result)
    if found is None:
        _late_result(builder, entry, result)
        return STRAY_RESULT
    unit, index = found
    if not result.synthetic and (unit.key, index) in builder.approvals:
        del builder.own("approvals")[unit.key, index]
    at = builder.slot_index(unit.key)
    label_size = result_label_size(builder.counter, unit, index, result)
    unit = with_result(unit, index, entry, label_size, counter=builder.counter)
    builder.replace_slot(at, unit)
    builder.forget_fingerprint(at, seen_by_others=at < len(builder.slots) - 1)
    if not unit.open_bits:
        builder.open_units = vector(key for key in builder.open_units if key != unit.key)
    turn = unit.first_fact
    assert isinstance(turn, m.Assistant)
    if result.synthetic and turn.calls[index].id:
        label = turn.calls[index].id
        builder.own("synthetic_results")[label] = (unit.key, index)
    return unit.key


def _late_result(builder: ViewBuilder, entry: Entry, result: m.ToolResult) -> None:
    """Note a result without an open call as a late result, if a synthetic result has closed its call. If the call
    needed approval, it may be synthetic too: so far the model knows only that the call waits."""
    known, label = builder.synthetic_results, result.call
    lost_to = None if result.synthetic else known.get(label)
    if lost_to is None and (place := result.place) is not None:
        _, state = builder.approvals.get(place, (0, "answered"))
        # (what the provider has compacted has no results)
        is_closed = state != "answered" and place[1] in builder.path_to(place[0])[1].answered_calls
        lost_to = place if is_closed else None
    if lost_to is None:
        return
    if not result.synthetic and known.get(label) == lost_to:
        del builder.own("synthetic_results")[label]
    builder.own("late_results")[entry.seq] = lost_to
    if lost_to in builder.approvals:
        _set_approval(builder, lost_to, builder.approvals[lost_to][0], "answered")


def _approval(builder: ViewBuilder, entry: Entry) -> None:
    """Note the new state of a call that needs approval. A state that cannot follow the one before it changes
    nothing."""
    approval = entry.body
    assert isinstance(approval, Approval)
    before = builder.approvals.get(approval.place)
    if approval.state == "pending":  # that of a sub-agent waits again if another call in it needs approval
        applies = (before is None or before[1] == "started") and is_open(builder, approval.place)
    else:
        applies = before is not None and before[1] in _DECIDED_AFTER[approval.state]
    if applies:
        _set_approval(builder, approval.place, entry.seq, approval.state)


_DECIDED_AFTER: Mapping[str, tuple[str, ...]] = {
    "approved": ("pending",),
    "rejected": ("pending", "approved"),
    "started": ("approved",),
}
"""For each state of an `Approval`, the states that it can follow. ("pending" is checked apart.)"""


def _set_approval(builder: ViewBuilder, place: CallPlace, seq: int, state: str) -> None:
    builder.own("approvals")[place] = (seq, state)


def _head(builder: ViewBuilder, entry: Entry) -> None:
    """Put a head in the place of the old one. The prefix breaks at the head. Turns before the first head, those of an
    imported conversation, were made under it: their bound reasoning still shows."""
    head = entry.body
    assert isinstance(head, m.Head)
    is_first = builder.head_entry is None and not builder.sent_fingerprint
    if is_first and builder.signatures_unchecked:
        builder.recheck_signatures()
    if builder.in_flight is not None or builder.shared_slots or builder.head_entry is not None:
        builder.shared_slots, builder.first_break = -1, (-1, entry.seq, "head")
    builder.head_entry = entry
    builder.forget_fingerprint(-1)
    size = head_size(head, entry.tokens[0])
    builder.total = builder.total.replaced(builder.head_size, size)
    builder.head_size = size
    if is_first:
        builder.sign_again()


def _sent(builder: ViewBuilder, entry: Entry) -> None:
    """Note that a request is in flight, and what it showed."""
    sent = entry.body
    assert isinstance(sent, Sent)
    builder.in_flight, builder.sent_tokens, builder.sent_fingerprint = entry, sent.tokens, sent.fingerprint
    builder.shared_slots, builder.first_break = len(builder.slots), None
    builder.since_break = since_break_with(sent, builder.since_break)
    builder.summaries = replace(builder.summaries, sent=builder.summaries.sent + sent.tokens)


def since_break_with(sent: Sent, before: SinceBreak) -> SinceBreak:
    """The token sums since the cached prefix last broke, with one more request (`sent`). If this request has broken the
    prefix itself, the sums begin again with it. `before`: the sums without it."""
    if sent.breaks is not None:
        return SinceBreak(first_tokens=sent.tokens, new_tokens=sent.tokens - sent.shared_tokens)
    if not before.first_tokens:
        return SinceBreak(first_tokens=sent.tokens)
    more = sent.tokens - before.first_tokens
    return SinceBreak(before.first_tokens, before.new_tokens, before.excess_tokens + more)


def _summary(builder: ViewBuilder, entry: Entry) -> None:
    """Note a summary. It shows nothing by itself."""
    assert isinstance(entry.body, Summary)
    builder.summaries = builder.summaries.plus(entry.seq, entry.body)
    builder.usage = builder.usage.plus_entry(entry)


def _forked(builder: ViewBuilder, entry: Entry) -> None:
    """Begin the usage at 0, since others paid for the entries before. A call that was approved waits again here."""
    builder.usage = builder.usage.plus_entry(entry)
    for place, (seq, state) in builder.approvals.items():
        if state == "approved":
            _set_approval(builder, place, seq, "pending")


_HANDLERS: dict[type, Callable[[ViewBuilder, Entry], int | None]] = {
    m.User: _user,
    m.Assistant: _assistant,
    m.ToolResult: _result,
    m.Note: _note,
    m.Failure: _failure,
    m.Head: _head,
    Sent: _sent,
    Summary: _summary,
    Forked: _forked,
    Approval: _approval,
    Fold: apply_edit,
    Trim: apply_edit,
    Pin: apply_edit,
    Undo: apply_edit,
    m.Instruction: _event,
    m.Recalled: _fact,
    m.Handoff: _fact,
}
