"""Plans a request: computes the entries that must be appended before it may leave. Pure: the caller appends them, all
at once.

The steps, in this order: close an abandoned request; close open calls; give late results; renew the head; add the user
turn that some APIs require at the end; bring the window within its limits (`budget_enforcer`); recall what the newest
turn refers to; announce changed state; and last the `Sent`. What a window needs to be valid comes first, because it
takes room that the enforcer must make. If a plan is made right after another one, it has only a `Failure` for the
request in flight and a new `Sent`.
"""

from __future__ import annotations

from collections import Counter

from msgspec import Struct

from transom import texts
from transom.core.budget import Budget, fits
from transom.core.budget_enforcer import BudgetEnforcer
from transom.core.entry import CallPlace, Entry, Sent
from transom.core.message import Assistant, Call, Failure, Head, Media, Note, Text, ToolResult
from transom.core.pairing import call_labels
from transom.core.plan_draft import Draft, due_notes
from transom.core.plan_request import PlanRequest, Ref, WindowOptions
from transom.core.summary import Summarise
from transom.core.unit import Unit
from transom.core.view import View
from transom.core.window import Window, assemble


class Plan(Struct, frozen=True, eq=False):
    """The result of `plan`: the entries to append, and the window that the request shows after them.

    - `entries`: to be appended all at once. The last one is the `Sent`.
    - `window`: what the request will show.
    - `before`: the view just before the `Sent`, with all the other entries. It reads these from the log, so append them
      before you use it.
    - `wants`: the summaries that strategies want. The plan is complete without them. A summary that is made of one is
      shown by a later plan.
    """

    entries: tuple[Entry, ...]
    window: Window
    before: View
    wants: tuple[Summarise, ...] = ()


def plan(request: PlanRequest) -> Plan:
    """Compute what to append so that the next request may leave, and its window. Nothing is appended here.

    Raises BudgetImpossible, with the size of each part, if the window cannot be made to fit. Raises InvalidEdit if a
    strategy or recall step of the policy gives what it must not give, or if a strategy never ends. What a step of the
    policy raises passes through, with a note that names the step.
    """
    view, options, budget, draft = request.view, request.options, request.budget, _draft(request)
    # First everything that a window must have to be valid, because it takes room: the enforcer works on the rest.
    if view.in_flight is not None:
        draft.add(Failure(failure="abandoned", answers=view.in_flight.seq))
    if view.open_units:
        _close_calls(draft)
    # Behind the synthetic results: a late result is one whose call was closed before.
    if view.late_results:
        _give_late_results(draft, budget, request.ref)
    _renew_head(draft, options.head)
    if text := _required_user_turn(draft.view, options):
        draft.add(Note(key="", text=text))
    # A note of state ends the wait for tools of the provider, and their turns may be folded then: the enforcer must
    # know it.
    if draft.view.waiting:
        for note in due_notes(draft.view, options.state):
            draft.add(note)
    enforcer = BudgetEnforcer(draft, request)
    enforcer.run()
    # Recalled text and notes of state come last, so that they break no cached prefix. The enforcer has left room for
    # both; it counts notes again after each edit, because a fold may have hidden one, which is then due again.
    enforcer.recall()
    for note in due_notes(draft.view, options.state):
        draft.add(note)
    return _finish(draft, request, enforcer)


def compaction(request: PlanRequest) -> tuple[tuple[Entry, ...], tuple[Summarise, ...]]:
    """Compute the edits that compact the window now, as if it were full, and the summaries that its strategies want.

    If the request waited for a summary, the summary comes before the edits. There are no edits if the policy finds
    nothing to take away. All entries belong to one plan, so that they are undone together. No request is planned: there
    is no `Sent`, and open calls stay open. Raises as `plan` does.
    """
    draft = _draft(request)
    enforcer = BudgetEnforcer(draft, request)
    enforcer.run(now=True)
    return tuple(draft.entries), tuple(enforcer.wants)


def edits_on_arrival(request: PlanRequest) -> tuple[Entry, ...]:
    """Compute the edits of the policy's `arrival` strategies, on what no request has carried yet. No request is
    planned, and nothing is appended. Raises InvalidEdit if a strategy proposes something that is no edit, or goes on
    proposing edits that make nothing smaller."""
    draft = _draft(request)
    BudgetEnforcer(draft, request).run_arrival()
    return tuple(draft.entries)


def _draft(request: PlanRequest) -> Draft:
    """The draft of a plan, with the summary that the request waited for if there is one."""
    draft = Draft(request.view, request.at, request.meta)
    if request.summary is not None:
        draft.add(request.summary)
    return draft


def needs_nothing(view: View, options: WindowOptions, budget: Budget) -> bool:
    """Whether a view that was planned just before may be sent again without a new plan.

    True if it is within the limits, shows this head and state, and needs no user turn at its end. Open calls and late
    results are not checked: the plan before has handled them.
    """
    if _required_user_turn(view, options):
        return False
    if view.head != options.head or due_notes(view, options.state):
        return False
    return fits(view.total, budget.limits(view.calibration))


def _finish(draft: Draft, request: PlanRequest, enforcer: BudgetEnforcer) -> Plan:
    """The plan of a draft that is complete but for the `Sent`, which is added here."""
    window = assemble(draft.view, request.budget.usable)
    broke, total = window.breaks, draft.view.total
    sent = Sent(
        fingerprint=window.fingerprint,
        limit=window.limit,
        tokens=total.tokens,
        messages=total.messages,
        shared_tokens=window.shared_tokens,
        breaks=None if broke is None else (broke.slot, broke.entry, broke.why),
        costs=enforcer.costs,
        model=request.model,
    )
    entry = Entry(seq=draft.view.length, at=draft.at, body=sent)
    # The view before the `Sent`: the writer applies the `Sent` alone, and not the whole plan a second time.
    before = draft.view.with_log(draft.log) if draft.entries else draft.view
    return Plan(entries=(*draft.entries, entry), window=window, before=before, wants=tuple(enforcer.wants))


def _close_calls(draft: Draft) -> None:
    """Add a synthetic result for every call without a result: no API takes such a call."""
    for key in draft.view.open_units:
        unit = draft.view.open_unit(key)
        turn = unit.first_fact
        assert isinstance(turn, Assistant)
        labels = call_labels(turn.calls, key)
        draft.add_facts(
            closing_result(turn.calls[index], labels[index], (key, index), _why_open(draft.view, (key, index)))
            for index in unit.open_calls
        )


def _why_open(view: View, place: CallPlace) -> str:
    """The text of a synthetic result: why the call at this place has no result."""
    _, state = view.approvals.get(place, (0, ""))
    return texts.PENDING if state in {"pending", "approved"} else texts.ABORTED


def closing_result(call: Call, label: str, place: CallPlace, text: str) -> ToolResult:
    """The synthetic result that closes `call`. `label`: the one of the call, from `call_labels`. `place`: that of the
    call. `text`: what the result says."""
    return ToolResult(
        call=label,
        place=place,
        synthetic=True,
        legacy=call.legacy,
        parts=(Text(text),),
        extra={"name": call.name} if call.legacy else None,
    )


def _give_late_results(draft: Draft, budget: Budget, ref: Ref) -> None:
    """Add a note for each late result. Text of more characters than the budget has tokens (about a quarter of a window)
    is cut in its middle."""
    most = budget.usable
    view, notes = draft.view, list[Note]()
    turns = {key: view.unit(key) for key, _ in view.late_results.values()}
    closed = {
        (key, index): seq
        for key, unit in turns.items()
        for index, seq in zip(unit.answered_calls, unit.seqs[1:], strict=True)
    }
    heads = {key: view.fetch(unit.seqs[0]).body for key, unit in turns.items()}
    names = {
        key: Counter(call.name for call in head.calls) for key, head in heads.items() if isinstance(head, Assistant)
    }
    for seq, (key, index) in view.late_results.items():
        result = view.fetch(seq).body
        turn, closed_by = heads[key], view.fetch(closed[key, index]).body
        assert isinstance(result, ToolResult)
        assert isinstance(turn, Assistant)
        assert isinstance(closed_by, ToolResult)
        note_text = texts.given_up_result_note if closed_by.failed else texts.late_result_note
        if (key, index) in view.approvals:
            note_text = texts.approved_result_note
        parts = [
            part.text if isinstance(part, Text) else texts.left_out_marker(part.media)
            for part in result.parts
            if isinstance(part, Text | Media)
        ]
        text = "\n".join(parts)
        if result.failed:
            text = texts.tool_failed(text)
        call = turn.calls[index]
        if names[key][call.name] > 1:  # which of them the note is about
            text = f"{texts.call_with(call.args)}\n{text}"
        if len(text) > most:
            text = text[: most // 2] + texts.bare_marker(ref(seq)) + text[-most // 2 :]
        notes.append(Note(key="", text=note_text(ref(seq), call.name, text), refs=(seq,)))
    draft.add_facts(notes)


def _renew_head(draft: Draft, head: Head) -> None:
    """Add the head as an entry if it differs from the log's newest one."""
    now = draft.view.head_entry
    if now is None and not head.messages and not head.tools:
        return
    if now is None or (now.body is not head and now.body != head):
        draft.add(head)


def _required_user_turn(view: View, options: WindowOptions) -> str:
    """The text of the user turn that must be added at the end of the window; empty if none is needed. A failure that is
    shown counts as a turn of the model, one with calls does not: the window ends with their results."""
    if options.required_user_turn is None or not view.slots:
        return ""
    last = view.slots[-1]
    units = (last,) if isinstance(last, Unit) else last.pinned_units
    if not units or units[-1].answered_calls:
        return ""
    turn = units[-1].shown_facts()[0]
    if isinstance(turn, Failure) and turn.shown:
        turn = Assistant(parts=(Text(turn.shown),))
    return options.required_user_turn(turn) if isinstance(turn, Assistant) and not turn.calls else ""
