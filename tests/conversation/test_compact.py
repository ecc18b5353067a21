"""A window is compacted when the caller wants it, and comes back as it was."""

from __future__ import annotations

import asyncio
import threading

import pytest

import transom
from transom.conversation.render_window import render
from transom.core.edit import Fold, Trim
from transom.errors import InvalidEdit, InvalidSetting
from transom.providers.scripted import Reply, Scripted

WORDS = "The harbour of Lisbon has a crane with the number {}, which lifts containers from the ship MV-{}. "


def long_conversation(policy: str = "default") -> transom.Conversation:
    conv = transom.Conversation.open("memory:", "long", budget=100_000, policy=policy, system="Be brief.")
    for turn in range(12):
        conv.user(f"Question {turn}? " + "".join(WORDS.format(turn, n) for n in range(20)))
        conv.request()
        conv.observe({"role": "assistant", "content": "".join(WORDS.format(turn, n) for n in range(20, 40))})
    return conv


def test_a_compaction_makes_the_window_smaller_and_is_one_plan() -> None:
    with long_conversation() as conv:
        before, length = render(conv.window()), conv.view.length
        assert conv.window_usage.status == "normal"
        done = conv.compact()
        assert done.tokens_after < 0.8 * done.tokens_before
        assert done.tokens_after == conv.window_usage.used
        assert {conv.log[seq].plan for seq in range(length, conv.view.length)} == {length}
        assert all(isinstance(conv.log[seq].body, (Fold, Trim)) for seq in done.edits)
        assert done.edits
        assert render(conv.window()) != before
        conv.undo()
        assert render(conv.window()) == before
        with pytest.raises(InvalidEdit, match="no live edit"):
            conv.undo()


def test_the_next_request_keeps_what_was_compacted() -> None:
    with long_conversation() as conv:
        done = conv.compact()
        conv.user("And now?")
        window = conv.plan_request()
        assert window.tokens < done.tokens_after + 50
        assert window.breaks is not None


@pytest.mark.parametrize("policy", ["passthrough", "default"])
def test_nothing_is_logged_where_there_is_nothing_to_do(policy: str) -> None:
    with transom.Conversation.open("memory:", "short", budget=100_000, policy=policy) as conv:
        assert conv.compact().edits == ()
        conv.user("Hello")
        length = conv.view.length
        done = conv.compact()
        assert (done.edits, done.tokens_before, conv.view.length) == ((), done.tokens_after, length)


def test_a_policy_that_never_compacts_is_left_alone() -> None:
    with long_conversation("passthrough") as conv:
        assert conv.compact().edits == ()


def test_a_run_is_not_compacted_by_somebody_else() -> None:
    asked, goes_on = threading.Event(), threading.Event()

    def wait(_body: object) -> Reply:
        asked.set()
        goes_on.wait(10)
        return Reply(text="Done.")

    with long_conversation() as conv:
        run = threading.Thread(target=conv.run, args=("Wait.",), kwargs={"provider": Scripted(wait)})
        run.start()
        assert asked.wait(10)
        with pytest.raises(InvalidSetting, match="a run of this conversation is at work"):
            conv.compact()
        goes_on.set()
        run.join()
        assert conv.compact().edits


def test_on_an_event_loop() -> None:
    async def main() -> int:
        async with transom.AsyncConversation(long_conversation()) as conv:
            return len((await conv.compact()).edits)

    assert asyncio.run(main()) > 0
