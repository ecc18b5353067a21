"""Law 5: an edit and its undo show the same window; undoing everything, in any order, gives the bare view."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st
from logs import COUNTER, Act, acts, live_edits, logs, retold, tell
from msgspec.structs import replace
from portraits import portrait

from oracle import Picture
from transom.core.edit import Fold, Pin, Trim, Undo
from transom.core.entry import Entry
from transom.core.message import Assistant, Opaque
from transom.core.reducer import build_view
from transom.testing.fakes import Entries


def looks(picture: Picture) -> Picture:
    """What the window shows, without what only the planner asks."""
    return picture._replace(held=())


@given(logs(), acts("fold", "trim", "pin", most=1))
def test_an_edit_and_its_undo(log: list[Entry], edit: list[Act]) -> None:
    told = retold(log)
    before = portrait(told.view)
    seq = len(tell(edit, told)) - 1
    assume(told.view.refusal(Undo(edit=seq)) is None)
    told.say(Undo(edit=seq))
    assert looks(portrait(told.view)) == looks(before)
    assert told.view.refusal(Undo(edit=seq)) is not None, "an undo cannot be had twice"
    told.say(Undo(edit=seq + 1))
    assert looks(portrait(told.view)) == looks(before), "an undo cannot be undone"


@given(logs(), st.randoms(use_true_random=False))
def test_everything_undone_in_any_order_is_the_bare_view(log: list[Entry], random) -> None:
    log = [_unbound(entry) for entry in log]
    told = retold(log)
    edits = live_edits(told.view)
    random.shuffle(edits)
    for seq in edits:
        assert told.view.refusal(Undo(edit=seq)) is None, "a live edit can be undone, covered or not"
        told.say(Undo(edit=seq))
    bare = build_view(Entries([_unedited(entry) for entry in told.log]), COUNTER)
    assert looks(portrait(told.view)) == looks(portrait(bare))


def _unbound(entry: Entry) -> Entry:
    """Without reasoning that is bound to whatever stood before it: that is another prefix in the bare log."""
    body = entry.body
    if isinstance(body, Assistant) and body.answers is None:
        body = replace(body, reasoning=tuple(replace(thought, bound=False) for thought in body.reasoning))
    return replace(entry, body=body)


def _unedited(entry: Entry) -> Entry:
    edit = isinstance(entry.body, (Fold, Trim, Pin, Undo))
    return replace(entry, body=Opaque(raw={"kind": "nothing"})) if edit else entry
