"""Tool results and the calls they answer: which calls are open, and what to say of a result that finds none."""

from __future__ import annotations

from transom.core.message import Assistant, Call
from transom.core.view import View
from transom.errors import quote, shorten

NAMED_CALLS = 8


def open_call_ids(view: View) -> list[str]:
    """The ids of the calls that wait for a result; of a call without an id, its name."""
    ids: list[str] = []
    for key in view.open_units:
        unit = view.open_unit(key)
        turn = unit.first_fact
        assert isinstance(turn, Assistant)
        ids += [turn.calls[index].id or turn.calls[index].name for index in unit.open_calls]
    return ids


def knows_call(view: View, label: str) -> bool:
    """Whether any reply of the log has a call that is answered by this label. Reads the log, newest first."""
    for seq in range(view.length - 1, -1, -1):
        body = view.log[seq].body
        if isinstance(body, Assistant) and any(_is_answered_by(label, call) for call in body.calls):
            return True
    return False


def _is_answered_by(label: str, call: Call) -> bool:
    return label == call.id if call.id else label in {"", call.name}


def stray_line(label: str, open_ids: list[str]) -> str:
    """Why a result finds no open call, with the ids of those that are open."""
    waiting = ", ".join(quote(each, 60) for each in open_ids[:NAMED_CALLS])
    if len(open_ids) > NAMED_CALLS:
        waiting += f" and {len(open_ids) - NAMED_CALLS:,} more"
    return shorten(f"no open call has the id {quote(label, 60)}; open calls: {waiting or 'none'}", 300)
