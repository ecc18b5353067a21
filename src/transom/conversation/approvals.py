"""Tool calls that wait for a person's approval: which they are, and what somebody decides about them. A run asks in
`runs/tool_calls.py`.

The log has an `Approval` (`core/entry.py`) for each step, so that the decision may come later and from another process.
`View.approvals` has the newest state of each call: the first decision counts, and a call that a run has started cannot
be rejected any more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from msgspec.structs import replace

from transom import texts
from transom.conversation import argument_checks as check
from transom.conversation.appending.log_writer import LogWriter, tagged
from transom.conversation.events import ToolCalled
from transom.core.codec import plain
from transom.core.entry import Approval, ApprovalState, Body, CallPlace, Entry, Meta
from transom.core.message import Assistant, Text, ToolResult
from transom.core.pairing import call_labels
from transom.core.view import View
from transom.errors import InvalidMessage, InvalidSetting, listed, quote
from transom.stores.base import Store
from transom.stores.fork import sub_agent_name
from transom.wire.arguments import read_object, schema_violations
from transom.wire.dialect import Dialect
from transom.wire.tools import tools_in

MOST_NAMED = 8
"""How many pending calls an error names."""


def pending_calls(view: View, log: str, store: Store | None) -> list[ToolCalled]:
    """The calls that wait for a decision, in the order of their turns. A call of a sub-agent that has begun names the
    sub-agent's conversation (`ToolCalled.conversation`). `log`: the name of the conversation. `store`: where it lies,
    and where the conversations of its sub-agents lie; None (it was opened without a store): no call names one."""
    waiting = [place for place, (_, state) in sorted(view.approvals.items()) if state == "pending"]
    return [_with_sub_agent(_call_at(view, place), log, store) for place in waiting]


def _with_sub_agent(call: ToolCalled, log: str, store: Store | None) -> ToolCalled:
    """The call, with the name of its sub-agent's conversation if it has begun one."""
    if store is None:
        return call
    name = sub_agent_name(log, call.name, (call.turn, call.index))
    return replace(call, conversation=name) if len(store.open(name)) else call


def approved_calls(view: View) -> list[ToolCalled]:
    """The calls that somebody has approved and no run has started, in the order of their turns, with the arguments that
    the tool will get."""
    calls = ((_call_at(view, each.place), each.arguments) for each in _approved(view))
    return [replace(call, arguments=changed) if changed else call for call, changed in calls]


def blocks_the_model(view: View) -> bool:
    """Whether the model has nothing new to answer, because a call without a result waits for approval, or is approved
    and not started, and the user has said nothing since that call."""
    return any(
        state in {"pending", "approved"}
        and turn in view.open_units
        and view.open_unit(turn).is_open(index)
        and (view.newest_user is None or view.newest_user < turn)
        for (turn, index), (_, state) in view.approvals.items()
    )


def log_pending(writer: LogWriter, calls: Sequence[ToolCalled]) -> None:
    """Log that these calls wait for approval, one entry for each. Nothing is checked."""
    writer.append_new(lambda view, at: list(_entries(view, at, None, [_step(call, "pending") for call in calls])))


def require_approval(writer: LogWriter, call_id: str) -> int:
    """Log that the open call with this id waits for approval; of several, the one of the newest turn that has no
    approval. Returns the number of the entry. Raises InvalidMessage if no open call has the id, or if each that has it
    has an approval already, in any state."""
    writer.catch_up()

    def entries_for(view: View, at: float) -> list[Entry]:
        places = [(key, index) for key in reversed(view.open_units) for index in view.open_unit(key).open_calls]
        waiting = [_call_at(view, place) for place in places if place not in view.approvals]
        found = next((call for call in waiting if call.id == call_id), None)
        if found is None:
            of_id = (place for place in places if _call_at(view, place).id == call_id)
            if (place := next(of_id, None)) is not None:
                _, state = view.approvals[place]
                raise InvalidMessage("approval", f"the call {quote(call_id)} has an approval already: {state}")
            ids = listed(waiting, MOST_NAMED, show=_quoted_id) or "none"
            raise InvalidMessage("approval", f"no open call has the id {quote(call_id)}; open calls: {ids}")
        return list(_entries(view, at, None, [_step(found, "pending")]))

    return writer.append_new(entries_for)[0].seq


def take_approved(writer: LogWriter) -> list[ToolCalled]:
    """Log that the approved calls are started now, and return them, with the arguments that each tool gets. Whoever
    logs this runs them, and nobody else. Empty if no call is approved."""
    taken: list[ToolCalled] = []

    def entries_for(view: View, at: float) -> list[Entry]:
        taken[:] = approved_calls(view)
        return list(_entries(view, at, None, [replace(each, state="started", why="") for each in _approved(view)]))

    writer.append_new(entries_for)
    return taken


def with_change(view: View, result: ToolResult) -> ToolResult:
    """The result of a call, with a line in front of it if a person changed the arguments with which the call was
    started. The line has the changed arguments, because the call in the window has the model's own. Without a change,
    the same object."""
    for place, (seq, state) in sorted(view.approvals.items(), reverse=True):
        is_meant = _call_at(view, place).id == result.call if result.place is None else place == result.place
        if state == "started" and is_meant:
            changed = _approval_at(view, seq).arguments
            return _behind(texts.arguments_changed(changed), result) if changed else result
    return result


def _behind(line: str, result: ToolResult) -> ToolResult:
    if result.shape == "text" and len(result.parts) == 1 and isinstance(text := result.parts[0], Text):
        return replace(result, parts=(replace(text, text=f"{line}\n{text.text}"),))
    return replace(result, parts=(Text(line), *result.parts), shape="parts")


def approve(
    writer: LogWriter,
    call: ToolCalled | str,
    arguments: Mapping[str, object] | str | None,
    why: str,
    store: Store | None,
) -> int:
    """Log that a pending call is approved. Returns the number of the entry. See `Conversation.approve` for the
    arguments and for what is raised."""
    changed = "" if arguments is None else _json_object(arguments)
    reason = check.reason("approve", why)
    writer.catch_up()

    def entries_for(view: View, at: float) -> list[Entry]:
        found = _found(view, "approve", call, ("pending",))
        new = "" if changed == found.arguments else changed
        if new:
            tools = (tool for schema in view.head.tools for tool in tools_in(schema))
            schema = next((tool.parameters for tool in tools if tool.name == found.name), None)
            if schema is not None and (wrong := schema_violations(schema, read_object(new))):
                raise InvalidSetting(f"approve: arguments of {quote(found.name)}: {'; '.join(wrong)}")
            if begun := _with_sub_agent(found, writer.log.name, store).conversation:
                raise InvalidSetting(
                    f"approve: arguments: the sub-agent {quote(found.name)} has begun its task; "
                    f"decide about the calls in its conversation {quote(begun)}"
                )
        return list(_entries(view, at, None, [_step(found, "approved", arguments=new, why=reason)]))

    return writer.append_new(entries_for)[0].seq


def reject(writer: LogWriter, dialect: Dialect, call: ToolCalled | str, why: str) -> int:
    """Log that a pending or approved call is rejected, and a failed result that tells the model why. Returns the number
    of the result. `call`: a call of `pending_calls` or `approved_calls`, or its id. `why`: a text, which may be empty.
    Raises InvalidSetting if no such call waits, also because it was rejected or started already, or if several have the
    id; InvalidEdit if `why` is no text."""
    reason = check.reason("reject", why)
    writer.catch_up()

    def entries_for(view: View, at: float) -> list[Entry]:
        found = _found(view, "reject", call, ("pending", "approved"))
        result = dialect.parse_tool_result(found.id, texts.rejected(reason))
        assert isinstance(result, ToolResult)
        result = replace(result, failed=True, place=(found.turn, found.index))
        meta = tagged(Meta(tool_name=found.name), writer.tags)
        return list(_entries(view, at, meta, [_step(found, "rejected", why=reason), result]))

    return writer.append_new(entries_for)[-1].seq


def _step(call: ToolCalled, state: ApprovalState, *, arguments: str = "", why: str = "") -> Approval:
    return Approval(place=(call.turn, call.index), state=state, arguments=arguments, why=why)


def _entries(view: View, at: float, meta: Meta | None, bodies: Sequence[Body]) -> Iterator[Entry]:
    """The entries of these bodies, behind those of the view. `meta`: of the facts among them."""
    for number, body in enumerate(bodies):
        yield view.entry(body, at, None if isinstance(body, Approval) else meta, behind=number)


def _call_at(view: View, place: CallPlace) -> ToolCalled:
    """The call at this place. Its id is the label by which a request names it, also if the provider gave none."""
    key, index = place
    turn = view.fetch(view.unit(key).seqs[0]).body
    assert isinstance(turn, Assistant)
    call, label = turn.calls[index], call_labels(turn.calls, key)[index]
    return ToolCalled(name=call.name, arguments=call.args, id=label, turn=key, index=index, needs_approval=True)


def _approved(view: View) -> list[Approval]:
    """The approvals of the calls that are approved and not started, in the order of their turns."""
    return [_approval_at(view, seq) for _, (seq, state) in sorted(view.approvals.items()) if state == "approved"]


def _approval_at(view: View, seq: int) -> Approval:
    approval = view.fetch(seq).body
    assert isinstance(approval, Approval)
    return approval


def _found(view: View, what: str, wanted: ToolCalled | str, states: tuple[str, ...]) -> ToolCalled:
    """The call that a person decides about. Raises InvalidSetting if there is none, or if several have the id."""
    if not isinstance(cast("object", wanted), (ToolCalled, str)):
        raise InvalidSetting(f"{what}: must be a call of pending() or approved(), or its id, not {quote(wanted)}")
    name = wanted if isinstance(wanted, str) else wanted.id or wanted.name
    known = [_call_at(view, place) for place, (_, state) in sorted(view.approvals.items()) if state in states]
    found = [each for each in known if _is_meant(each, wanted)]
    if len(found) == 1:
        return found[0]
    if found:
        raise InvalidSetting(f"{what}: {len(found)} calls have the id {quote(name)}: give one of pending()")
    if decided := _decided(view, wanted):
        raise InvalidSetting(f"{what}: the call {quote(name)} {decided}")
    ids = listed(known, MOST_NAMED, show=_quoted_id)
    raise InvalidSetting(f"{what}: the call {quote(name)} does not wait for approval; those that do: {ids or 'none'}")


def _is_meant(call: ToolCalled, wanted: ToolCalled | str) -> bool:
    """Whether this call is the wanted one. Its arguments may be those that a person has written."""
    if isinstance(wanted, str):
        return call.id == wanted
    return (call.turn, call.index) == (wanted.turn, wanted.index)


def _decided(view: View, wanted: ToolCalled | str) -> str:
    """What has become of a call that does not wait any more; empty if it never did."""
    steps = (view.fetch(seq).body for seq in reversed(range(view.length)))
    of_call = (each for each in steps if isinstance(each, Approval) and _is_meant(_call_at(view, each.place), wanted))
    if (step := next(of_call, None)) is None:
        return ""
    why = f" ({quote(step.why)})" if step.why else ""
    return {
        "pending": "has a result already",
        "approved": f"was approved already{why}; it runs with the next run",
        "rejected": f"was rejected already{why}",
        "started": "was approved already, and a run has started it",
    }[step.state]


def _json_object(arguments: object) -> str:
    """The arguments that a person wrote, as the JSON of an object. Raises InvalidSetting if they are none."""
    if not isinstance(arguments, (str, Mapping)):
        raise InvalidSetting(f"approve: arguments must be a dict or the JSON of an object, not {quote(arguments)}")
    try:
        text = (
            arguments if isinstance(arguments, str) else plain(dict(cast("Mapping[str, object]", arguments))).decode()
        )
        read_object(text)
    except (InvalidMessage, TypeError, ValueError, RecursionError) as wrong:
        why = wrong.why if isinstance(wrong, InvalidMessage) else f"no JSON: {wrong}"
        raise InvalidSetting(f"approve: arguments: {why}") from None
    return text


def _quoted_id(call: ToolCalled) -> str:
    """The id of a call, as an error names it."""
    return quote(call.id)
