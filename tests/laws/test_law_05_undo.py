"""Law 5: an edit and its undo show the same window; undoing everything, in any order, gives the bare view."""

from __future__ import annotations

from hypothesis import assume, given, reject
from hypothesis import strategies as st
from msgspec.structs import replace

from transom.core.budget import Budget
from transom.core.edit import Fold, Pin, Trim, Undo
from transom.core.entry import Entry
from transom.core.frame import Frame
from transom.core.message import Assistant, Opaque
from transom.core.plan import plan
from transom.core.reducer import build_view
from transom.core.undo import undo_last
from transom.errors import BudgetImpossible
from transom.policies import POLICIES as NAMES
from transom.policies import policy_named
from transom.testing.builders import talk
from transom.testing.fakes import Entries
from transom.testing.oracle import Appearance
from transom.testing.random_logs import COUNTER, LogBuilder, Step, live_edits, logs, steps
from transom.testing.view_appearance import appearance_of


def visible(appearance: Appearance) -> Appearance:
    """What the window shows, without what only the planner asks."""
    return appearance._replace(restored=())


@given(logs(), steps("fold", "trim", "pin", most=1))
def test_an_edit_and_its_undo(log: list[Entry], edit: list[Step]) -> None:
    builder = LogBuilder(log)
    before = appearance_of(builder.view)
    seq = builder.write(edit)[-1].seq
    assume(builder.view.refusal(Undo(edit=seq)) is None)
    builder.append(Undo(edit=seq))
    assert visible(appearance_of(builder.view)) == visible(before)
    assert builder.view.refusal(Undo(edit=seq)) is not None, "an undo cannot be had twice"
    builder.append(Undo(edit=seq + 1))
    assert visible(appearance_of(builder.view)) == visible(before), "an undo cannot be undone"


@given(logs(), st.randoms(use_true_random=False))
def test_everything_undone_in_any_order_is_the_bare_view(log: list[Entry], random) -> None:
    log = [_unbound(entry) for entry in log]
    builder = LogBuilder(log)
    edits = live_edits(builder.view)
    random.shuffle(edits)
    for seq in edits:
        assert builder.view.refusal(Undo(edit=seq)) is None, "a live edit can be undone, covered or not"
        builder.append(Undo(edit=seq))
    bare = build_view(Entries([_unedited(entry) for entry in builder.log]), COUNTER)
    assert visible(appearance_of(builder.view)) == visible(appearance_of(bare))


LONG = st.lists(st.sampled_from(["go on", "line of a file\n" * 60, "done " * 30]), min_size=2, max_size=12)
POLICIES = st.sampled_from([name for name in NAMES if name != "passthrough"])


@given(
    st.one_of(logs(), LONG.map(lambda texts: talk(*texts))), POLICIES, st.sampled_from([60, 150, 400]), st.booleans()
)
def test_a_plan_undone_shows_what_was_there_before(log: list[Entry], policy: str, context: int, twice: bool) -> None:
    """A second plan takes back pins of the first one, which must be there again."""
    log = [_unbound(entry) for entry in log]
    for _ in range(1 + twice):
        before = log
        log = _planned(before, policy, context)
    view = build_view(Entries(log), COUNTER)
    made = [seq for seq in view.live_edits if seq >= len(before)]
    assume(made)
    assert {log[seq].plan for seq in made} == {len(before)}, "a plan's edits have its number"
    undone = undo_last(view, why="", at=0.0)
    assert {entry.plan for entry in undone} == {len(log)}, "what takes it back belongs together too"
    after = build_view(Entries([*log, *undone]), COUNTER)
    bare = build_view(Entries([*before, *(_unedited(entry) for entry in log[len(before) :])]), COUNTER)
    assert visible(appearance_of(after)) == visible(appearance_of(bare))


def _planned(log: list[Entry], policy: str, context: int) -> list[Entry]:
    view = build_view(Entries(log), COUNTER)
    budget, frame = Budget(context=context), Frame(head=view.head)
    try:
        done = plan(view, frame, budget, policy_named(policy), at=0.0)
    except BudgetImpossible:
        reject()
    return talk("what next?", after=[*log, *done.entries])


def _unbound(entry: Entry) -> Entry:
    """Without reasoning that is bound to whatever stood before it: that is another prefix in the bare log."""
    body = entry.body
    if isinstance(body, Assistant) and body.answers is None:
        body = replace(body, reasoning=tuple(replace(thought, bound=False) for thought in body.reasoning))
    return replace(entry, body=body)


def _unedited(entry: Entry) -> Entry:
    edit = isinstance(entry.body, (Fold, Trim, Pin, Undo))
    return replace(entry, body=Opaque(raw={"kind": "nothing"})) if edit else entry
