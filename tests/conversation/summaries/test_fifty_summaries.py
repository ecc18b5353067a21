"""Fifty compactions with a model that adds items and marks them as done: the summary does not grow."""

from __future__ import annotations

import re

import pytest
from test_small_summaries import bodies
from test_summary_scheduler import NowPool

import transom
from transom.core.edit import Fold
from transom.core.message import Failure
from transom.core.summary import UNUSED_SUMMARY, Summary
from transom.core.summary_limits import SummaryLimits
from transom.providers.scripted import Scripted
from transom.strategies.summary.when_to_summarise import summary_cap
from transom.testing import WordCounter

BUDGET, ROUNDS = 4_000, 50
FULL = 0.86
"""How full a window is at most that was compacted: the policy leaves a fifth of the room beside the head and the
required messages free, but less where a record can hold nearly all of the talk, and a record may be a thirtieth larger
than planned."""
ROUNDS_DONE = 3
"""So many rounds an item stays that is done."""
LIMITS = SummaryLimits(strikes=1_000, spend=9.0)


def task(number: int) -> str:
    return f"task {number}: load the containers of pier {number}"


def add_and_finish(request: dict) -> str:
    """A model that adds what the newest turn is about, and marks every other item as done."""
    text = request["messages"][-1]["content"]
    about = re.findall(r"Task (\d+)", text.rpartition(" turns begin ===")[2])[-1]
    known = re.findall(r"(?m)^- (s\d+) \[(?:active|blocked)\] task (\d+)", text)
    item = task(int(about))
    if not known:
        return f"## User intent\n- plan the harbour\n## Progress\n- {item}"
    update = ", ".join(f'{{"id": "{one}", "status": "done"}}' for one, of in known if of != about)
    add = "" if about in dict(known).values() else f'{{"section": "progress", "text": "{item}"}}'
    return f'{{"add": [{add}], "update": [{update}]}}'


def test_fifty_rounds_of_a_models_changes_do_not_grow() -> None:
    settings = transom.SummarySettings(provider=Scripted(then=add_and_finish), context=100_000, limits=LIMITS)
    conv = transom.Conversation.open(
        "memory:", "c", budget=BUDGET, policy="summary", counter=WordCounter(), system="Brief.", summarizer=settings
    )
    with conv:
        for number in range(ROUNDS):
            for part in range(6):
                conv.user(f"Task {number}, part {part}: load containers at pier {number}. " + "Mind the crane. " * 30)
                conv.observe({"role": "assistant", "content": f"Part {part} of {number} is done. " + "Well. " * 60})
            conv.request()
            done = conv.compact()
            assert done.failure == ""
            assert done.tokens_after == conv.window().tokens <= (FULL if done.edits else 1) * BUDGET
        made = bodies(conv, Summary)
        assert len(made) >= ROUNDS - 5  # now and then there is nothing new to fold
        assert max(WordCounter().count(one.text) for one in made) <= summary_cap(0.06, BUDGET)
        assert {one.made_by for one in made} == {"scripted:scripted"}
        for one in made[10:]:
            items = [item for item in one.state["items"] if item["section"] == "progress"]
            assert len(items) <= 1 + ROUNDS_DONE
            assert [item.get("status", "active") for item in items] == ["done"] * (len(items) - 1) + ["active"]
        assert task(ROUNDS - 2) in str(transom.render(conv.window()))
        assert task(0) not in conv.summary.text
        assert {failure.failure for failure in bodies(conv, Failure)} <= {UNUSED_SUMMARY}  # paid for twice


def full(conv: transom.Conversation) -> float:
    """How full the window is, as a share of the room beside what no compaction takes away."""
    view = conv.view
    required = sum(view.unit(key).size.tokens for key in view.required)
    fixed = view.head_size.tokens + view.counter.request + required
    return (view.total.tokens - fixed) / (conv.budget.usable - fixed)


def pressures(policy: str, *, work: bool) -> list[float]:
    """How full each compaction leaves the window, over 50 compactions of one conversation."""
    settings = transom.SummarySettings(
        provider=Scripted(then=add_and_finish), context=100_000, limits=LIMITS, pool=NowPool()
    )
    left: list[float] = []
    with transom.Conversation.open(
        "memory:", "c", budget=2_800, policy=policy, counter=WordCounter(), system="Brief.", summarizer=settings
    ) as conv:
        number = 0
        while len(left) < ROUNDS:
            conv.user(f"Task {number}, load containers at pier {number}. " + "Mind the crane. " * (0 if work else 60))
            for part in range(4 if work else 0):
                call = {"name": "Bash", "arguments": f'{{"command": "cat src/pier_{number}_{part}.py"}}'}
                calls = [{"id": f"c{number}_{part}", "type": "function", "function": call}]
                conv.observe({"role": "assistant", "content": f"Part {part}.", "tool_calls": calls})
                conv.tool_result(f"c{number}_{part}", f"pier_{number}_{part} has value v{number}.\n" * 30)
            before = conv.view.length
            conv.request()
            if any(isinstance(entry.body, Fold) for entry in conv.log.read(before)):
                left.append(full(conv))
            conv.observe({"role": "assistant", "content": f"Task {number} is done. " + "Well. " * 60})
            number += 1
        assert bodies(conv, Summary)
    return left


@pytest.mark.parametrize(
    ("policy", "work", "target"), [("summary:target=0.6", False, 0.6), ("summary", True, 0.8)], ids=["talk", "work"]
)
def test_fifty_compactions_meet_their_target_and_do_not_creep_up(policy: str, *, work: bool, target: float) -> None:
    left = pressures(policy, work=work)
    assert max(left) <= target
    assert max(left[25:]) <= max(left[5:25]) + 0.02
