"""The view of a closed conversation is where its next opening in this process begins, and nobody can tell."""

from pathlib import Path
from typing import Any

import pytest

from transom import Conversation
from transom.core.reducer import build_view
from transom.core.tokens import FormatCounter
from transom.core.unit import Slot
from transom.core.view import View
from transom.stores import SqliteStore
from transom.stores.view_cache import ViewCache
from transom.testing import WordCounter
from transom.wire.openai.dialect import OpenAIChatDialect

BUDGET = 8_000


@pytest.fixture
def store(tmp_path: Path):
    with_file = SqliteStore(tmp_path / "web.db")
    yield with_file
    with_file.close()


def say(store: SqliteStore, *texts: str) -> None:
    with Conversation.open(store, "chat", budget=BUDGET) as conv:
        for text in texts:
            conv.user(text)


def cached(store: SqliteStore) -> View | None:
    with Conversation.open("memory:", "other", budget=BUDGET) as conv:
        return store.view_cache.find(store.open("chat"), conv.view.counter)


def held(store: SqliteStore) -> list[str]:
    """The conversations that the cache holds. `find` would not show one that was forgotten meanwhile."""
    return list(store.view_cache._values)


def texts(store: SqliteStore) -> list[str]:
    with Conversation.open(store, "chat", budget=BUDGET) as conv:
        return [message["content"] for message in conv.request()["messages"]]


def test_the_next_opening_begins_with_the_view_of_the_last(store: SqliteStore) -> None:
    say(store, "one", "two")
    kept = cached(store)
    assert kept is not None
    assert kept.length == 2
    with Conversation.open(store, "chat", budget=BUDGET) as conv:
        assert conv.view.slots[0] is kept.slots[0]  # not applied again
        assert conv.view.log is conv.log
        assert conv.view.fingerprint() == build_view(conv.log, conv.view.counter).fingerprint()


def test_what_another_process_appended_meanwhile_is_there(store: SqliteStore) -> None:
    say(store, "one")
    elsewhere = SqliteStore(store.path)
    say(elsewhere, "two")
    elsewhere.close()
    assert texts(store) == ["one", "two"]


def test_a_forgotten_conversation_leaves_nothing(store: SqliteStore) -> None:
    say(store, "one", "two")
    assert held(store) == ["chat"]
    store.forget("chat")
    assert held(store) == []
    say(store, "new")
    assert texts(store) == ["new"]


def test_a_closed_store_keeps_no_views(store: SqliteStore) -> None:
    say(store, "one", "two")
    assert held(store) == ["chat"]
    store.close()
    assert held(store) == []


def test_a_conversation_that_another_process_forgot_and_began_anew_is_the_new_one(store: SqliteStore) -> None:
    say(store, "one")
    elsewhere = SqliteStore(store.path)
    elsewhere.forget("chat")
    say(elsewhere, "new", "newer")
    elsewhere.close()
    assert texts(store) == ["new", "newer"]


def test_a_view_that_another_counter_counted_is_not_used(store: SqliteStore) -> None:
    say(store, "one")
    assert cached(store) is not None
    assert store.view_cache.find(store.open("chat"), FormatCounter(WordCounter())) is None


def test_the_cache_is_bounded_in_bytes(store: SqliteStore) -> None:
    say(store, "x" * 5_000)
    view = cached(store)
    assert view is not None
    small = ViewCache(most=10_000)
    for name in ("first", "second"):
        small.add(name, view)
    log = store.open("chat")
    log.name = "first"
    assert small.find(log, view.counter) is None  # two of some 6,000 bytes are too many
    log.name = "second"
    assert small.find(log, view.counter) is not None
    small.clear()
    assert small.find(log, view.counter) is None


def test_the_next_opening_renders_nothing_again(store: SqliteStore) -> None:
    say(store, "one", "two")
    rendered = []

    class Recorded(OpenAIChatDialect, frozen=True):
        def render_slot(self, slot: Slot) -> list[Any]:
            rendered.append(slot.key)
            return super().render_slot(slot)

    dialect = Recorded()
    for text in ("three", "four"):
        with Conversation.open(store, "chat", budget=BUDGET, dialect=dialect) as conv:
            conv.user(text)
            contents = [message["content"] for message in conv.request()["messages"]]
    assert contents == ["one", "two", "three", "four"]
    assert rendered == [0, 1, 2, 4]  # 3 is the request itself


def test_what_was_rendered_is_handed_to_one_conversation_only(store: SqliteStore) -> None:
    say(store, "one")
    with (
        Conversation.open(store, "chat", budget=BUDGET) as first,
        Conversation.open(store, "chat", budget=BUDGET) as second,
    ):
        assert first.indexes is not second.indexes  # it is for one thread at a time
