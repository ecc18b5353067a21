"""The index of message prefixes of each store: another process finds what one has added, and forgetting forgets."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from places import Place

from transom import Conversation
from transom.stores import Store, open_store
from transom.stores.prefix_index import KnownPrefix, SqlitePrefixIndex, prefix_index


def begun(store: Store, name: str) -> None:
    with Conversation.open(store, name, budget=9_000) as conv:
        conv.user("hello")


def test_what_one_handle_adds_another_one_finds(durable: Place) -> None:
    first, second = prefix_index(durable.open()), prefix_index(durable.open())
    first.add([(b"a" * 16, KnownPrefix("one", 3)), (b"b" * 16, KnownPrefix("tw\udc80", 4))])
    first.add([(b"a" * 16, KnownPrefix("one", 5))])
    assert second.find([b"a" * 16, b"b" * 16, b"c" * 16]) == {
        b"a" * 16: KnownPrefix("one", 5),
        b"b" * 16: KnownPrefix("tw\udc80", 4),
    }
    assert second.find([]) == {}


def test_a_forgotten_conversation_is_in_no_index(durable: Place) -> None:
    store = durable.open()
    begun(store, "gone")
    begun(store, "stays")
    index = prefix_index(store)
    index.add([(b"g" * 16, KnownPrefix("gone", 1)), (b"s" * 16, KnownPrefix("stays", 1))])
    durable.open().forget("gone")
    assert index.find([b"g" * 16, b"s" * 16]) == {b"s" * 16: KnownPrefix("stays", 1)}


@pytest.mark.parametrize("place", ["sqlite:///{}/agent.db", "jsonl:///{}"])
def test_no_file_has_the_name_of_a_forgotten_conversation(tmp_path: Path, place: str) -> None:
    store = open_store(place.format(tmp_path))
    begun(store, "xyzzy")
    begun(store, "stays")
    prefix_index(store).add((bytes([n]) * 16, KnownPrefix(("xyzzy", "stays")[n % 2], n)) for n in range(200))
    store.forget("xyzzy")
    files = [path for path in tmp_path.iterdir() if path.is_file()]
    assert [path.name for path in files if b"xyzzy" in path.read_bytes()] == []


def test_an_index_in_memory_has_a_bound_and_drops_the_oldest() -> None:
    index = SqlitePrefixIndex(most=2)
    for number in (1, 2, 1, 3):
        index.add([(bytes([number]), KnownPrefix("c", number))])
    assert set(index.find([b"\1", b"\2", b"\3"])) == {b"\1", b"\3"}
    for _ in range(3):
        index.add([(b"\3", KnownPrefix("c", 3))])
    assert set(index.find([b"\1", b"\2", b"\3"])) == {b"\1", b"\3"}
    index.forget(["c"])
    assert index.find([b"\1", b"\2", b"\3"]) == {}


def test_a_store_without_an_index_gets_one_of_this_process() -> None:
    class Bare:
        """A store of a user's own."""

        def __init__(self) -> None:
            self._store = open_store("memory:")
            self.open, self.names = self._store.open, self._store.names
            self.forget, self.close = self._store.forget, self._store.close

    assert isinstance(prefix_index(Bare()), SqlitePrefixIndex)


def test_a_closed_folder_forgets_and_a_removed_one_is_made_again(tmp_path: Path) -> None:
    store, known = open_store(f"jsonl:///{tmp_path}/logs"), [(b"a" * 16, KnownPrefix("a", 1))]
    begun(store, "a")
    begun(store, "b")
    prefix_index(store).add(known)
    store.close()
    store.forget("b")
    assert store.names() == ["a"]
    store.close()
    shutil.rmtree(tmp_path / "logs")
    prefix_index(store).add(known)
    store.close()
