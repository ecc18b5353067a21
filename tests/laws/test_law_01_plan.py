"""Laws 1, 2, 3, 8, 9 and 10 for the plan: any log, any edits in it, any limits, any of the policies, any words."""

from __future__ import annotations

import pytest
import turnsafe
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from transom import Budget, BudgetImpossible, Policy
from transom.core.edit import Fold, Trim
from transom.core.entry import Entry, Sent
from transom.core.frame import Frame
from transom.core.message import Head, Media, Text
from transom.core.plan import entry_ref, plan
from transom.core.policy import Target
from transom.core.prices import ANTHROPIC, Prices
from transom.core.reducer import apply, build_view
from transom.core.tokens import ZERO
from transom.core.unit import Folded
from transom.policies import POLICIES as NAMES
from transom.policies import policy_named
from transom.policies.plain import LADDER
from transom.strategies.arrival import Clip, Stub
from transom.strategies.dedupe import Dedupe, ErrorPurge, Superseded
from transom.strategies.elide import DropMedia
from transom.strategies.head_tail import HeadTail, Rounds
from transom.strategies.observation_masking import Mask
from transom.strategies.omission import Omit
from transom.strategies.rolling_digest import Rolling
from transom.strategies.stale_results import StubStale
from transom.testing.builders import call, result, talk
from transom.testing.fakes import Entries
from transom.testing.random_logs import COUNTER, LogBuilder, Step, logs, steps, write_log
from transom.texts import READ_BACK
from transom.wire.openai import OPENAI_CHAT, violations
from transom.wire.rendering import render_messages

BATCHES = (
    Dedupe(tokens=20, least=0.0),
    Superseded(least=0.0),
    ErrorPurge(turns=1, tokens=1, least=0.0),
    Mask(last=1, polling=2),
    HeadTail(first=1, last=2, least=0.0),
    HeadTail(first=60, last=90, tokens=True, least=0.0),
    Rounds(last=1, least=0.0),
)
NAMED = tuple(map(policy_named, NAMES))
EAGER = Prices(write=1.0, read=1.0)  # a cut costs nothing and always pays
FEW = Budget(context=300, max_messages=6)
ROLLING = Rolling(first=1, tail=30, last=2, rounds=2, least=0.0)
POLICIES = (
    *(Policy(name="one", pressure=(each,), hard=LADDER, trigger=0.4, target=0.1) for each in BATCHES),
    *NAMED,
    *(replace(policy, name=f"{policy.name} early", trigger=0.3, target=0.1, own_limits=FEW) for policy in NAMED),
    Policy(name="one digest", pressure=(ROLLING,), hard=LADDER, trigger=0.3, target=0.2),
    Policy(name="stubs", arrival=(Stub(characters=300),), pressure=(Omit(),), hard=LADDER),
    Policy(name="clips", arrival=(Clip(tokens=40),), pressure=(StubStale(keep=50, free=20),), hard=LADDER, trigger=0.5),
    Policy(name="media", pressure=(DropMedia(old=True), Omit()), hard=LADDER, trigger=0.3, target=0.1),
)
BUDGETS = st.builds(
    Budget,
    context=st.sampled_from([60, 150, 400, 1_500, 100_000]),
    max_messages=st.sampled_from([None, None, 2, 5, 12]),
    max_bytes=st.sampled_from([None, None, 700, 4_000]),
    max_images=st.sampled_from([None, None, 0, 1]),
    prices=st.sampled_from([None, None, ANTHROPIC, EAGER]),
)
TOOLS = ("read", "read", "write_file", "edit", "sh", "transom_read")
ARGS = tuple(f'{{"path": "src/{name}.py", "text": "{"new text " * 60}"}}' for name in ("a", "b"))
RESULTS = ("line of a file\n" * 60, "another line\n" * 90, "Error: it went wrong " * 30, "{}")


def worked(steps: list[tuple[str, str, str]]) -> list[Entry]:
    """A task, and calls with their results."""
    return talk("fix it", *(item for tool, args, text in steps for item in (call(tool, args), result(text))))


WORK = st.lists(st.tuples(*map(st.sampled_from, (TOOLS, ARGS, RESULTS))), min_size=2, max_size=16).map(worked)
EDITED = st.builds(lambda log, more: [*log, *LogBuilder(log).write(more)], WORK, steps("pin", "undo", "trim", "fold"))
LOGS = st.one_of(logs(), EDITED)
SAYS = st.sampled_from([{}, {"mode": "plan"}, {"mode": "act", "goal": "green tests " * 6}])


def planned(log: list[Entry], says: dict[str, str], budget: Budget, policy: Policy):
    view = build_view(Entries(log), COUNTER)
    head = view.head_entry.body if view.head_entry is not None else Head()
    frame = Frame(head=head, state=says)
    return view, frame, plan(view, frame, budget, policy, at=0.0)


@given(LOGS, SAYS, BUDGETS, st.sampled_from(POLICIES))
def test_a_plan_gives_a_valid_window_within_every_limit_or_a_bill(
    log: list[Entry], says: dict[str, str], budget: Budget, policy: Policy
) -> None:
    check_plan(log, says, budget, policy)


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
def test_words_alone_are_no_past_that_could_be_cut(policy: Policy) -> None:
    """Planned again, the word that the first plan took back would not be cut either."""
    check_plan(write_log([Step("other")]), {}, Budget(context=150), policy)


def check_plan(log: list[Entry], says: dict[str, str], budget: Budget, policy: Policy) -> None:
    try:
        _, frame, done = planned(log, says, budget, policy)
    except BudgetImpossible as refused:
        assert refused.bill["need"] > refused.bill["limit"]
        return
    window, sent = done.window, render_messages(done.window.view, OPENAI_CHAT)
    if sent:
        assert violations(sent) == []
        assert turnsafe.validate(sent, provider="openai").violations == ()
    assert window.tokens <= budget.usable
    assert window.size.messages == len(sent)
    assert budget.max_messages is None or len(sent) <= budget.max_messages
    assert budget.max_bytes is None or window.size.bytes <= budget.max_bytes
    assert budget.max_images is None or window.size.images <= budget.max_images
    shown = [message.get("content") for message in sent]
    for key, word in says.items():
        assert f"[{key}] {word}" in shown
    after = apply(done.before, done.entries[-1:])
    check_present(after, sent)
    check_reachable(done, sent)
    check_replay(log, done)
    again = after.with_log(Entries([*log, *done.entries]))
    again = replace(again, prefix=replace(again.prefix, in_flight=None))  # as if it had not left
    assert [type(entry.body) for entry in plan(again, frame, budget, policy, at=0.0).entries] == [Sent]


def check_present(view, sent) -> None:
    """Law 10, by what is rendered: verbatim, or text that names the entry."""
    for key in (view.first_task, view.newest_user):
        if key is None or any(not cut.trim.why for cut in view.unit(key).trims):
            continue  # somebody's own trim shows what it likes
        slot = view.slots[view.slot_index(key)]
        if isinstance(slot, Folded) and not slot.why and key in slot.carries:
            continue  # and somebody's own fold carries what it says it does
        fact = view.fetch(view.unit(key).seqs[0]).body
        whole = OPENAI_CHAT.render_slot(build_view(Entries([entry_of(fact)]), COUNTER).slots[0])[0].message
        texts = "\n".join(str(message.get("content")) for message in sent)
        assert whole in sent or f"entry {key}" in texts, f"entry {key} is neither there nor named"


def entry_of(fact) -> Entry:
    return Entry(seq=0, at=0.0, body=fact)


def check_reachable(done, sent) -> None:
    """Law 9: what this plan cut or folded says where the whole is."""
    for entry in done.entries:
        edit = entry.body
        if isinstance(edit, Trim) and edit.part[0] != "reasoning":
            assert "entry" in edit.note
        if isinstance(edit, Fold):
            assert "entry" in edit.text
    assert all(not isinstance(message.get("content"), (Text, Media)) for message in sent)


def check_replay(log: list[Entry], done) -> None:
    """Law 4: the log with the plan folds to the same view, and the digest of its Sent is that of the window."""
    whole = [*log, *done.entries]
    assert build_view(Entries(whole), COUNTER).digest() == apply(done.before, done.entries[-1:]).digest()
    assert build_view(Entries(whole), COUNTER, len(whole) - 1).digest() == done.entries[-1].body.digest


@given(logs(), logs(), SAYS, BUDGETS, st.sampled_from(POLICIES))
def test_between_two_plans_the_window_before_stays_in_front_or_the_break_is_named(
    first: list[Entry], more: list[Entry], says: dict[str, str], budget: Budget, policy: Policy
) -> None:
    try:
        _, frame, done = planned(first, says, budget, policy)
        before = render_messages(done.window.view, OPENAI_CHAT)
        log = [*first, *done.entries]
        facts = [entry for entry in more if not isinstance(entry.body, (Fold, Trim, Sent, Head))]
        news = [Entry(seq=len(log) + at, at=0.0, body=entry.body, meta=entry.meta) for at, entry in enumerate(facts)]
        view = apply(build_view(Entries(log), COUNTER), ()).with_log(Entries([*log, *news]))
        view = apply(view, news)
        after = plan(view, frame, budget, policy, at=0.0)
    except BudgetImpossible:
        return
    sent = render_messages(after.window.view, OPENAI_CHAT)
    if sent[: len(before)] != before:
        assert after.window.breaks is not None
        assert after.window.breaks.why


@given(LOGS, st.sampled_from(BATCHES), st.booleans())
def test_what_a_strategy_proposes_shrinks_and_spares_what_it_must(log: list[Entry], strategy, hard: bool) -> None:
    view = build_view(Entries(log), COUNTER)
    assume(view.in_flight is None)  # a plan closes it first
    limit = Budget(context=100).limits()
    must = tuple(key for key in (view.first_task, view.newest_user) if key is not None)
    target = Target(ZERO, ZERO, limit, ZERO, Budget(), view.counter, entry_ref, must, must, view.newest_unit, hard)
    for edit in strategy(view, target):
        assert view.refusal(edit) is None
        if isinstance(edit, Trim):
            unit = view.unit(view.unit_of[edit.entry])
            assert unit.key != view.newest_unit
            assert not any((unit.pins, unit.open_calls, view.user_restored(unit)))
            call = view.call_of(unit, edit.entry) if edit.part[0] != "args" else None
            assert call is None or call.name not in READ_BACK
        else:
            inside = [slot for slot in view.slots if edit.first <= slot.first <= edit.last]
            assert hard or not any(view.user_restored(slot) for slot in inside)
            assert not any(edit.first <= key <= edit.last for key in (view.newest_unit, *view.open_units))
        after = build_view(Entries([*log, Entry(seq=len(log), at=0.0, body=edit)]), COUNTER).total
        assert after.bytes < view.total.bytes
        assert after.tokens < view.total.tokens
