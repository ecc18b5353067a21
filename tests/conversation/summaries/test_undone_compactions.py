"""After the undo of a compaction that the budget has no room for, the window has a record again."""

from __future__ import annotations

import random

import pytest

import transom
from transom.core.edit import Undo
from transom.providers.scripted import Scripted
from transom.texts import is_record


def test_what_does_not_fit_after_an_undo_is_folded_into_a_record_and_not_left_out() -> None:
    with transom.Conversation.open("memory:", "c", budget=3_000) as conv:
        for number in range(40):
            conv.user(f"Which containers does the crane at pier {number} lift? " * 6)
            conv.observe({"role": "assistant", "content": f"At pier {number} it lifts crate_{number}. " * 12})
        conv.user("And now?")
        before = [message["content"] for message in conv.request()["messages"]]
        assert any(map(is_record, before))
        assert conv.undo()
        after = [message["content"] for message in conv.request()["messages"]]
        assert any(map(is_record, after))
        assert not any("left out of this window" in text for text in after)
        assert abs(len("".join(after)) - len("".join(before))) < 0.2 * len("".join(before))


def test_a_plan_that_takes_back_an_edit_of_its_own_is_logged() -> None:
    """A compaction of `codex` behind an undo pins a message and takes the pin back, all in one plan."""
    rand = random.Random(6)
    conv = transom.Conversation.open("memory:", "w", budget=2_500, policy="codex")
    conv.user("start")
    for number in range(3):
        conv.request()
        conv.observe({"role": "assistant", "content": None, "tool_calls": [call(number)]})
        conv.tool_result(f"c{number}", values(number, rand.choice([5, 40, 200])))
        conv.request()
        conv.observe({"role": "assistant", "content": f"done {number}"})
        conv.user(values(number + 50, rand.choice([1, 3, 30])))
    conv.undo()
    length = len(conv.log)
    conv.compact()
    undone = [entry.body.edit for entry in conv.log if isinstance(entry.body, Undo)]
    assert max(undone) > length, "the compaction has taken back an edit of its own"
    assert conv.request()["messages"]


def call(number: int) -> dict[str, object]:
    return {"id": f"c{number}", "type": "function", "function": {"name": "read", "arguments": "{}"}}


def values(seed: int, count: int) -> str:
    rand = random.Random(seed)
    return "\n".join(
        f"{at:4d} name_{rand.randint(100, 999)} = compute(id='{rand.randrange(16**12):012x}', "
        f"size={rand.randint(1, 99999)})"
        for at in range(count)
    )


def test_undo_again_and_again_ends_at_the_window_that_nothing_was_folded_in() -> None:
    with transom.Conversation.open("memory:", "c", budget=3_000, policy="codex") as conv:
        for number in range(60):
            conv.user(f"Question {number}: what is at pier {number * 37}? " + values(number, 12))
            conv.request()
            conv.observe({"role": "assistant", "content": f"Ship {number} is at pier {number * 37}."})
        assert len(conv.view.live_edits) > 0
        undone = 0
        while len(conv.view.live_edits) > 0:
            assert conv.undo()
            undone += 1
            assert undone < 100
        assert all(not hasattr(slot, "seq") for slot in conv.view.slots)


@pytest.mark.parametrize(
    ("policy", "notes"), [("codex", ""), ("codex", "CR-7"), ("summary", "CR-7"), ("openhands", ""), ("claude_code", "")]
)
def test_one_undo_takes_back_one_compaction_with_its_summary(policy: str, notes: str) -> None:
    summarizer = Scripted(*["A summary of it all."] * 9) if notes else None
    with transom.Conversation.open("memory:", "c", budget=16_000, policy=policy, summarizer=summarizer) as conv:
        for number in range(8):
            conv.user(f"Which crates are on shelf {number}? ")
            conv.request()
            conv.observe({"role": "assistant", "content": values(number, 30)})
        whole = conv.window().tokens
        conv.compact(notes=notes or ())
        conv.user("more " * 200)
        conv.request()
        conv.observe({"role": "assistant", "content": "yes " * 200})
        once, of_first = conv.window(), live_summaries(conv)
        assert conv.compact(notes=notes.replace("7", "8") or ()).edits
        conv.undo()
        assert (transom.render(conv.window()), live_summaries(conv)) == (transom.render(once), of_first)
        conv.undo()
        assert (len(conv.view.live_edits), live_summaries(conv)) == (0, [])
        assert conv.window().tokens > whole


def live_summaries(conv: transom.Conversation) -> list[int]:
    return [seq for seq in conv.view.summaries.made if conv.view.is_live(seq)]
