"""The event bus: who subscribes is called with what happens, and slices collect it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

import pytest

from transom import AsyncConversation, Conversation
from transom.conversation import events
from transom.conversation.event_bus import ConversationRecorded, HistoryCurated, UsageChanged
from transom.core.entry import Entry
from transom.core.message import Assistant, User
from transom.providers.scripted import Scripted, call
from transom.stores import MemoryStore
from transom.testing.fakes import FakeClock, WordCounter


def opened(**settings) -> Conversation:
    return Conversation.open("memory:", "x", **{"budget": 4_000, "counter": WordCounter(), **settings})


def look(name: str) -> str:
    """Look at something."""
    return f"{name} is there"


def test_facts_are_published_in_order_behind_the_log() -> None:
    with opened(clock=FakeClock(start=60.0)) as conv:
        seen = []
        conv.subscribe(ConversationRecorded, lambda event: seen.append((event.entry, len(conv.log))))
        conv.user("go")
        conv.request()
        conv.observe({"role": "assistant", "content": "so"})
        assert [(entry.seq, type(entry.body), length) for entry, length in seen] == [(0, User, 1), (2, Assistant, 3)]


def test_what_another_writer_appends_is_published_when_it_is_taken_in() -> None:
    store = MemoryStore()
    mine = Conversation.open(store, "x", budget=4_000)
    other = Conversation.open(store, "x", budget=4_000)
    seen: list[int] = []
    mine.subscribe(ConversationRecorded, lambda event: seen.append(event.entry.seq))
    other.user("first")
    mine.user("second")
    assert seen == [0, 1]


def test_edits_and_their_undo_are_published_with_counts() -> None:
    with opened() as conv:
        for number in range(30):
            conv.user(f"line {number} " + "word " * 60)
            conv.observe({"role": "assistant", "content": "yes"})
        seen: list[HistoryCurated] = []
        conv.subscribe(HistoryCurated, seen.append)
        edits = conv.compact().edits
        (folded,) = seen
        assert edits
        assert set(edits) <= set(folded.edits)
        assert (folded.prompt_name, folded.strategy, folded.original_count) == ("x", "default", 60)
        assert folded.curated_count == conv.view.total.messages < 60
        conv.undo()
        assert (seen[1].original_count, seen[1].curated_count) == (folded.curated_count, 60)


def test_the_status_of_the_window_is_published_when_it_changes() -> None:
    with opened(budget=1_000) as conv:
        seen: list[tuple[str, str]] = []
        conv.subscribe(UsageChanged, lambda event: seen.append((event.before, event.usage.status)))
        for _ in range(20):
            conv.user("word " * 60)
        assert seen == [("normal", "warning"), ("warning", "compacting")]


def test_events_of_a_run_are_published_sync_and_async() -> None:
    def script() -> Scripted:
        return Scripted(call("look", name="Lisbon"), "It is there.")

    expected = [
        events.Requested,
        events.Replied,
        events.ToolCalled,
        events.ToolReturned,
        events.Requested,
        events.Replied,
        events.Finished,
    ]

    def kinds(seen: list[object]) -> list[type]:
        return [type(event) for event in seen if not isinstance(event, (ConversationRecorded, UsageChanged))]

    seen: list[object] = []
    with opened() as conv:
        conv.subscribe(object, seen.append)
        conv.run("go", provider=script(), tools=[look])
        assert kinds(seen) == expected

    async def main() -> list[object]:
        found: list[object] = []
        async with await AsyncConversation.open("memory:", "x", budget=4_000) as conv:
            conv.subscribe(object, found.append)
            await conv.run("go", provider=script(), tools=[look])
        return found

    assert kinds(asyncio.run(main())) == expected


def test_a_callback_that_fails_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with opened() as conv:
        seen: list[int] = []
        conv.subscribe(ConversationRecorded, lambda _: 1 / 0)
        conv.subscribe(ConversationRecorded, lambda event: seen.append(event.entry.seq))
        with caplog.at_level(logging.ERROR):
            conv.user("go")
        assert seen == [0]
        assert "a callback for ConversationRecorded failed" in caplog.text


def test_whoever_unsubscribes_is_called_no_more() -> None:
    with opened() as conv:
        seen: list[int] = []
        stop = conv.subscribe(ConversationRecorded, lambda event: seen.append(event.entry.seq))
        conv.user("one")
        stop()
        stop()
        conv.user("two")
        assert seen == [0]


def test_of_two_subscriptions_of_one_callback_at_the_writer_one_ends() -> None:
    with opened() as conv:
        seen: list[int] = []

        def note(_before: object, _after: object, entries: Sequence[Entry]) -> None:
            seen.extend(entry.seq for entry in entries)

        stop = conv._writer.subscribe(note, only=User)
        conv._writer.subscribe(note, only=Assistant)
        stop()
        conv.user("one")
        conv.observe({"role": "assistant", "content": "two"})
        assert seen == [1]


def test_the_usage_of_windows_is_counted_only_for_those_who_want_it(monkeypatch: pytest.MonkeyPatch) -> None:
    conversation, counted = opened(), []
    usage = conversation._planner.usage
    monkeypatch.setattr(conversation._planner, "usage", lambda view: counted.append(view) or usage(view))
    conversation.subscribe(ConversationRecorded, lambda _: None)
    conversation.user("hi")
    assert counted == []
    conversation.subscribe(UsageChanged, lambda _: None)
    conversation.user("hi")
    assert len(counted) == 2
