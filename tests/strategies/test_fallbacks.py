"""What follows a record where too much must stay, and which turns stay for their score."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from transom import Budget, BudgetImpossible, Conversation, Policy
from transom.conversation.render_window import render
from transom.core.policy import Target
from transom.core.reducer import apply, build_view
from transom.core.tokens import Size
from transom.core.unit import FoldedSlot
from transom.evaluation.explanations import explain
from transom.policies.last_resort import LAST_RESORT
from transom.strategies.fold.rolling_record import RollingRecord
from transom.strategies.fold.shorten_what_stays import FALLBACKS, OUTLINES, PREVIEWS, last_rounds
from transom.strategies.keep import KeepBest, KeepUsers
from transom.testing import Entries, WordCounter, call, result, says, talk
from transom.testing.builders import entry

COUNTER = WordCounter()
CALL = {"id": "c", "type": "function", "function": {"name": "sh", "arguments": "{}"}}
STEPS = (RollingRecord(), *FALLBACKS)
BEST = Policy(name="best", keep=(KeepBest(newest=4),), pressure=STEPS, last_resort=LAST_RESORT, trigger=0.9, target=0.6)
CHAT = "We are looking at the weather over the hills, which is grey and slow as ever, and nothing comes of it."


def opened(policy: Policy = BEST, context: int = 1_000) -> Conversation:
    return Conversation.open("memory:", "x", budget=Budget(context=context), policy=policy, counter=COUNTER)


def chat(conv: Conversation, *sentences: str) -> None:
    for sentence in sentences:
        conv.user(sentence)
        conv.plan_request()
        conv.observe({"role": "assistant", "content": CHAT})


def shown(conv: Conversation) -> list[str]:
    return [message["content"] for message in render(conv.plan_request())["messages"]]


def target_of(view, goal: int, *, over_limit: bool = False, required: tuple[int, ...] = ()) -> Target:
    goal_size, no = Size(goal, 1 << 60, 1 << 60, 1 << 60), Size()
    budget = Budget(context=max(1, goal))
    kept = {"required": required, "protected": required, "newest_unit": view.newest_unit, "over_limit": over_limit}
    return Target(goal_size, goal_size, goal_size, no, budget, COUNTER, "entry {}".format, **kept)


def applied(log, strategy, target_for):
    """The view before and after the edits of a strategy that apply."""
    log = list(log)
    before = view = build_view(Entries(log), COUNTER)
    for edit in strategy(view, target_for(view)):
        if view.refusal(edit) is None:
            log.append(entry(edit, log, at=0.0, counter=COUNTER))
            view = apply(view.with_log(Entries(log)), log[-1:])
    return before, view


def test_whole_units_are_chosen_by_what_they_share_with_the_present_work():
    turns = [(f"src/part_{number}/file_{number}.py", f"text of {number} " * 12) for number in range(30)]
    work = [item for path, text in turns for item in (call("read", f'{{"path": "{path}"}}'), result(text))]
    log = talk("go", *work, call("edit", '{"path": "src/part_3/file_3.py"}'), result("ok"), *[CHAT, says(CHAT)])
    view = build_view(Entries(log), COUNTER)
    found = list(KeepBest(newest=2)(view, target_of(view, 400, required=(0,))))
    kept = [one.key for one in found]
    assert view.slots[4].key in kept
    assert sum(view.unit(key).size.tokens for key in kept) <= 200
    assert not [key for key in kept if 1 < key < view.slots[4].key]


def ruled(policy):
    conv = opened(policy, 700)
    conv.user("go")
    for number in range(9):
        conv.user("Never deploy on a Friday, please." if number == 3 else f"chat {number} " * 20)
        conv.plan_request()
        conv.observe({"role": "assistant", "content": CHAT * 4})
    conv.user("and now?")
    return conv, next(row for row in explain(conv.plan_request()) if row.text.startswith("Never deploy"))


def test_what_is_kept_says_its_score_and_why():
    _, rule = ruled(replace(BEST, keep=(KeepBest(newest=1),)))
    assert rule.state == "kept"
    assert re.fullmatch(r"pinned: score \d+\.\d", rule.why)


def test_under_pressure_what_somebody_pinned_stays_whole():
    conv = opened(
        Policy(name="key", pressure=(PREVIEWS, OUTLINES), last_resort=LAST_RESORT, trigger=0.5, target=0.1), 4_000
    )
    conv.user("go")
    entries = []
    for number in range(2):
        conv.plan_request()
        calls = [{"id": f"c{number}", "type": "function", "function": {"name": "sh", "arguments": "{}"}}]
        conv.observe({"role": "assistant", "content": f"{CHAT * 30}\n\n{CHAT * 30}", "tool_calls": calls})
        entries.append(conv.tool_result(f"c{number}", "a line of it\n" * 200))
        if number == 0:
            conv.pin(entries[0])
    conv.user("and now?")
    conv.plan_request()
    rows = {row.entry: row for row in conv.explain()}
    assert [rows[entry].state for entry in entries] == ["kept", "shortened"]
    assert [rows[entry - 1].state for entry in entries] == ["kept", "shortened"]


def test_everything_mandatory_is_no_success_without_shrinking():
    """The famous one: 111% of the budget, nearly all of it mandatory, was 'compressed' to 111%."""
    conv = opened(
        Policy(
            name="kept", keep=(KeepUsers(tokens=9_000, fraction=1.0),), pressure=STEPS, last_resort=STEPS, trigger=0.9
        ),
        600,
    )
    for number in range(12):
        conv.user(f"Wish {number}: " + "please keep all of this. " * 8 + f"\n\nand more of {number} " * 3)
        if sum(unit.size.tokens for unit in conv.view.visible_units()) > 666:  # 111%
            break
    assert conv.view.total.tokens > 600
    before = conv.view.total.tokens
    assert conv.plan_request().tokens <= 600 < before


def test_what_cannot_shrink_is_refused_with_its_bill():
    conv = opened(Policy(name="key", pressure=STEPS, last_resort=STEPS, trigger=0.9), 100)
    conv.user("must " * 100)
    with pytest.raises(BudgetImpossible) as refused:
        conv.plan_request()
    assert refused.value.bill["need"] > refused.value.bill["limit"]


PIECES = st.sampled_from(
    ["ok", CHAT, "Never push to main.", "The cap is $5.", "The cap is now $6.", "- a\n- b\n\n" + CHAT * 9, CHAT * 20]
)
TURNS = st.lists(st.tuples(PIECES, st.booleans(), PIECES), min_size=1, max_size=14)
EACH_STEP = st.sampled_from([*STEPS, RollingRecord(least=0.0)])


@given(TURNS, EACH_STEP, st.integers(0, 1_500), st.booleans())
def test_no_step_changes_anything_without_shrinking(turns, step, goal: int, over_limit: bool) -> None:
    items = []
    for text, tool, answer in turns:
        items += [text, call("sh"), result(answer)] if tool else [text, says(answer)]
    before, after = applied(
        talk(*items), step, lambda view: target_of(view, goal, over_limit=over_limit, required=(0, view.newest_user))
    )
    if after.length > before.length:
        assert after.total.bytes < before.total.bytes
        assert after.total.tokens <= before.total.tokens


def test_previews_then_outlines_then_the_last_rounds():
    long = (
        "What I want is this.\nIt is one paragraph.\n\n" + CHAT * 12 + "\n- first point\n- second point\n\n" + CHAT * 12
    )
    log = talk(
        "go", call("sh"), result("out " * 900), long, *[item for at in range(6) for item in (f"wish {at}", says(CHAT))]
    )
    _, view = applied(log, PREVIEWS, lambda view: target_of(view, 100))
    assert "output stored" in view.slots[1].shown_facts()[1].parts[0].text
    assert view.slots[1].size.tokens < 200
    _, view = applied(log, OUTLINES, lambda view: target_of(view, 100))
    kept = view.slots[2].shown_facts()[0].parts[0].text
    assert kept.startswith("What I want is this.\nIt is one paragraph.\n […")
    assert kept.endswith("; whole in entry 3] - first point\n- second point\n…\n")
    _, view = applied(log, last_rounds, lambda view: target_of(view, 100, required=(0,)))
    assert isinstance(view.slots[0], FoldedSlot)
    assert [fact.parts[0].text for unit in view.slots[1:] for fact in unit.facts] == [
        text for at in (2, 3, 4, 5) for text in (f"wish {at}", CHAT)
    ]
    assert "[entry 0, user] go" in view.slots[0].text


def test_required_texts_are_outlined_only_where_nothing_fits():
    log = talk("- point\n\n" + CHAT * 20, says("ok"))
    assert applied(log, OUTLINES, lambda view: target_of(view, 100, required=(0,)))[1].length == len(log)
    assert applied(log, OUTLINES, lambda view: target_of(view, 100, required=(0,), over_limit=True))[1].length > len(
        log
    )
