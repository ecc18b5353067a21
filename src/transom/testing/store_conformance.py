"""The tests that every store must pass, as a class to inherit from. This module needs pytest.

class TestMyStore(StoreConformance):
    def make(self, tmp_path):
        return MyStore(tmp_path / "store")
"""

from __future__ import annotations

import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from transom.core.entry import Entry, Forked, Meta
from transom.core.message import Media, Opaque, Text, User
from transom.errors import Conflict, InvalidMessage, InvalidSetting, UnknownLog
from transom.stores.base import Store, StoredLog
from transom.stores.blobs import SPLIT_ABOVE
from transom.stores.fork import fork_log
from transom.stores.leases import leased
from transom.testing.samples import EVERY_KIND, entries_of, user_entries

Opener = Callable[[], Store]
"""Opens the store of a test anew."""

NAMES = [
    "trip",
    "Trip",
    "",
    "../outside",
    "/etc/passwd",
    "a/b",
    "a\\b",
    "..",
    "nul",
    "CON.txt",
    "x" * 5_000,
    "zero\0byte",
    "line\nbreak",
    "’; DROP TABLE logs; --",
    "Ünïcödé 旅行",
    "lone \ud800",
    "trip.jsonl",
    "%2e%2e",
]
"""Names of conversations that a store must keep apart, whatever file or key it makes of them."""


_LARGE_BODIES = (
    User(parts=(Text("x" * 1_000_000),)),
    User(parts=(Text("\ud800" + "é" * SPLIT_ABOVE),)),
    User(parts=(Text('"body":' * SPLIT_ABOVE),), extra={"body": '"body":'}),
    User(parts=(Media("image", {"n": 2**80, "url": "A" * SPLIT_ABOVE}),)),
    Opaque(raw={"kind": "future", "blob": "o" * SPLIT_ABOVE}),
    User(parts=(Text("é" * SPLIT_ABOVE),)),
)
"""Bodies with a text, an extra field or an image so large that our own stores keep it apart from the entry."""


class StoreConformance:
    """The tests of a store. Inherit from it in a class that pytest collects, and override `make`.

    Set `persistent` to false if a second store that `make` returns for the same folder does not have what the first one
    stored, and `keeps_snapshots` to false if the store keeps no snapshots. `reading_memory`: the maximum number of
    bytes of memory that reading a log of 20 MB may take; None: any number.
    """

    persistent = True
    """Whether a second store that `make` returns for the same folder has what the first one stored."""
    keeps_snapshots = True
    """Whether `load_snapshot` returns what `save_snapshot` was given. If not, opening a long log takes longer."""
    reading_memory: int | None = 4_000_000
    """The maximum number of bytes of memory that reading a log of 20 MB may take; None if a read may hold the whole
    log."""

    def make(self, tmp_path: Path) -> Store:
        """Return a store that keeps everything in this folder. A test may call it several times with the same
        folder."""
        raise NotImplementedError

    @pytest.fixture
    def opener(self, tmp_path: Path) -> Iterator[Opener]:
        """A function that opens the same store anew at each call, as another process would. A store in memory is opened
        once."""
        stores: list[Store] = []

        def opened() -> Store:
            if self.persistent or not stores:
                stores.append(self.make(tmp_path))
            return stores[-1]

        yield opened
        for store in stores:
            store.close()

    def _kept(self, at: int, snapshot: bytes) -> tuple[int, bytes] | None:
        """What `load_snapshot` must return after this snapshot was saved: None if the store keeps none."""
        return (at, snapshot) if self.keeps_snapshots else None

    # ---- what is stored comes back

    def test_every_kind_comes_back_as_it_went_in(self, opener: Opener) -> None:
        entries = entries_of(EVERY_KIND)
        entries.append(Entry(seq=len(entries), at=0.1, body=User(), meta=Meta(include_in_context=False)))
        log = opener().open("all")
        log.append(entries, 0)
        again = opener().open("all")
        assert list(log.read()) == [log[seq] for seq in range(len(entries))] == list(again.read()) == entries
        assert (len(log), len(again), again.repaired) == (len(entries), len(entries), "")

    def test_large_bodies_come_back(self, opener: Opener) -> None:
        first, second = entries_of(_LARGE_BODIES), entries_of(_LARGE_BODIES, len(_LARGE_BODIES))
        log = opener().open("large")
        log.append(first, 0)
        log.append(second, len(_LARGE_BODIES))
        assert list(opener().open("large").read()) == [*first, *second]

    def test_an_unknown_name_is_an_empty_log_that_leaves_no_trace(self, opener: Opener) -> None:
        store = opener()
        log = store.open("nobody")
        log.append([], 0)
        with pytest.raises(Conflict):
            log.append(user_entries(1, 1), 1)
        assert (len(log), list(log.read()), log.refresh(), log.load_snapshot(), log.repaired) == (0, [], 0, None, "")
        assert store.names() == opener().names() == []
        assert log.name == "nobody"

    def test_a_number_outside_the_log_is_an_index_error(self, opener: Opener) -> None:
        log = opener().open("trip")
        log.append(user_entries(0, 2), 0)
        for seq in (-1, 2, 10**30):
            with pytest.raises(IndexError):
                log[seq]

    def test_ranges(self, opener: Opener) -> None:
        log = opener().open("trip")
        entries = user_entries(0, 200)
        log.append(entries, 0)
        for start, stop in [(0, None), (0, 0), (7, 7), (9, 3), (63, 65), (0, 200), (199, 500), (200, None), (150, 190)]:
            assert list(log.read(start, stop)) == entries[start:stop], (start, stop)

    def test_reading_holds_a_few_entries_at_a_time(self, opener: Opener) -> None:
        if self.reading_memory is None or not self.persistent:
            pytest.skip("the whole log may be in memory")
        log = opener().open("long")
        log.append(user_entries(0, 1_000, 20_000), 0)
        tracemalloc.start()
        total = sum(entry.seq for entry in log.read())
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert total == 499_500
        assert peak < self.reading_memory, "of 20 MB in the store"

    # ---- all or nothing

    @pytest.mark.parametrize("expect", [0, 2, 4])
    def test_a_conflict_stores_nothing(self, opener: Opener, expect: int) -> None:
        log = opener().open("trip")
        log.append(user_entries(0, 3), 0)
        with pytest.raises(Conflict) as caught:
            log.append(user_entries(expect, 2), expect)
        assert (caught.value.expected, caught.value.found) == (expect, 3)
        assert list(log.read()) == list(opener().open("trip").read()) == user_entries(0, 3)
        log.append(user_entries(3, 1), 3)
        assert list(opener().open("trip").read()) == user_entries(0, 4)

    def test_a_wrong_seq_stores_nothing(self, opener: Opener) -> None:
        log = opener().open("trip")
        log.append(user_entries(0, 1), 0)
        with pytest.raises(ValueError):  # noqa: PT011 - whatever its text
            log.append([*user_entries(2, 1), *user_entries(1, 1)], 1)
        assert list(opener().open("trip").read()) == user_entries(0, 1)

    def test_content_that_is_not_json_stores_nothing(self, opener: Opener) -> None:
        if not self.persistent:
            pytest.skip("a store in memory may keep any object")
        log = opener().open("trip")
        log.append(user_entries(0, 1), 0)
        with pytest.raises(InvalidMessage):
            log.append([*user_entries(1, 1), *entries_of([User(extra={"x": object()})], 2)], 1)
        assert list(opener().open("trip").read()) == user_entries(0, 1)

    # ---- several writers

    def test_two_handles_meet_at_a_conflict_and_by_refresh(self, opener: Opener) -> None:
        one, two = opener().open("trip"), opener().open("trip")
        one.append(user_entries(0, 2), 0)
        assert (len(two), list(two.read())) == (0, [])
        with pytest.raises(Conflict) as caught:
            two.append(user_entries(0, 1), 0)
        assert (caught.value.found, len(two)) == (2, 0)
        assert two.refresh() == len(two) == 2
        two.append(user_entries(2, 2), 2)
        assert len(one) == 2
        with pytest.raises(IndexError):
            one[2]
        one.append(user_entries(4, 1), 4)  # a handle may know the length from elsewhere
        assert list(one.read()) == user_entries(0, 5)
        assert (two.refresh(), list(two.read())) == (5, user_entries(0, 5))

    def test_reading_goes_on_while_others_write(self, opener: Opener) -> None:
        log = opener().open("trip")
        log.append(user_entries(0, 100), 0)
        seen: list[Entry] = []
        for entry in log.read():
            seen.append(entry)
            if entry.seq in {0, 70}:
                log.append(user_entries(len(log), 1), len(log))
                opener().open("trip").append(user_entries(len(log), 1), len(log))
                log.refresh()
        assert seen == user_entries(0, 100)
        assert list(log.read()) == user_entries(0, 104)

    def test_threads_share_a_store(self, opener: Opener) -> None:
        store = opener()

        def work() -> None:
            log = store.open("shared")
            for _ in range(10):
                _append_after_others(log, 3)

        _in_threads([work] * 4)
        assert list(opener().open("shared").read()) == user_entries(0, 120)

    def test_stores_on_one_place_share_it(self, opener: Opener) -> None:
        def work() -> None:
            log = opener().open("shared")
            for _ in range(10):
                _append_after_others(log, 2)

        _in_threads([work] * 3)
        assert list(opener().open("shared").read()) == user_entries(0, 60)
        assert opener().names() == ["shared"]

    def test_threads_share_a_handle(self, opener: Opener) -> None:
        log = opener().open("shared")
        log.append(user_entries(0, 300), 0)
        seen: list[bool] = []

        def read() -> None:
            seen.append(list(log.read(0, 300)) == user_entries(0, 300))

        def write() -> None:
            for seq in range(300, 310):
                log.append(user_entries(seq, 1), seq)

        _in_threads([read, read, write, read])
        assert seen == [True] * 3
        assert list(log.read(300)) == user_entries(300, 10)

    # ---- names and snapshots

    def test_names_come_in_the_order_of_creation(self, opener: Opener) -> None:
        store = opener()
        logs = [store.open(name) for name in NAMES]
        for log in reversed(logs):
            log.append(_one(log.name), 0)
        assert store.names() == opener().names() == NAMES[::-1]
        for name in NAMES:
            assert list(opener().open(name).read()) == _one(name)

    def test_names_are_those_of_conversations(self, opener: Opener) -> None:
        own = [".memory/team//notes", ".memory-archive/team//notes", ".memory/ana/other/plan"]
        store = opener()
        for name in (own[0], "trip", own[1], ".memo", own[2], "trip/research 5.0"):
            store.open(name).append(_one(name), 0)
        assert store.names() == opener().names() == ["trip", ".memo", "trip/research 5.0"]
        assert store.names(".memory/") == [own[0], own[2]]
        assert store.names(".") == [own[0], own[1], ".memo", own[2]]
        assert store.names("trip") == ["trip", "trip/research 5.0"]
        assert store.names("tripp") == []
        store.forget(own[0])
        assert opener().names(".memory") == own[1:]

    def test_the_newest_snapshot_is_kept(self, opener: Opener) -> None:
        log, other = opener().open("trip"), opener().open("other")
        for one in (log, other):
            one.append(user_entries(0, 3), 0)
        log.save_snapshot(1, b"old")
        log.save_snapshot(3, bytes(range(256)) * 1_000)
        kept = self._kept(3, bytes(range(256)) * 1_000)
        assert log.load_snapshot() == opener().open("trip").load_snapshot() == kept
        assert other.load_snapshot() is None
        assert list(opener().open("trip").read()) == user_entries(0, 3)
        assert opener().names() == ["trip", "other"]

    @pytest.mark.parametrize("at", [-1, 4])
    def test_a_snapshot_is_of_entries_that_are_there(self, opener: Opener, at: int) -> None:
        log = opener().open("trip")
        log.append(user_entries(0, 3), 0)
        with pytest.raises(ValueError):  # noqa: PT011
            log.save_snapshot(at, b"view")
        assert log.load_snapshot() is None

    # ---- forks

    def test_a_fork_has_the_past_and_a_future_of_its_own(self, opener: Opener) -> None:
        store = opener()
        log = store.open("trip")
        past = [*entries_of(EVERY_KIND), *entries_of(_LARGE_BODIES, len(EVERY_KIND))]
        log.append(past, 0)
        log.save_snapshot(2, b"view")
        at = len(past) - 2
        fork = fork_log(opener(), opener().open("trip"), at=at, clock=lambda: 7.0)
        forked = Entry(seq=at + 1, at=7.0, body=Forked(source="trip"))
        assert fork.name == f"trip@{at}"
        assert list(fork.read()) == list(opener().open(fork.name).read()) == [*past[: at + 1], forked]
        assert fork.load_snapshot() == self._kept(2, b"view")
        fork.append(user_entries(len(fork), 1), len(fork))
        log.append(user_entries(len(log), 2), len(log))
        assert [*fork.read()][at + 1 :] == [forked, *user_entries(at + 2, 1)]
        assert list(log.read()) == [*past, *user_entries(len(past), 2)]
        store.forget("trip")
        assert list(opener().open(fork.name).read()) == [*past[: at + 1], forked, *user_entries(at + 2, 1)]
        assert opener().names() == [fork.name]

    @pytest.mark.parametrize("at", [0, 2, None])
    def test_a_fork_anywhere(self, opener: Opener, at: int | None) -> None:
        store = opener()
        store.open("trip").append(user_entries(0, 200), 0)
        store.open("trip").save_snapshot(100, b"view")
        fork = fork_log(store, store.open("trip"), at=at, name="fork")
        n = 200 if at is None else at + 1
        assert [*fork.read()][:-1] == user_entries(0, n)
        assert (len(fork), fork.load_snapshot()) == (n + 1, None if n < 100 else self._kept(100, b"view"))

    def test_a_fork_takes_no_name_that_is_taken(self, opener: Opener) -> None:
        store = opener()
        for name in ("trip", "other"):
            store.open(name).append(user_entries(0, 2), 0)
        log = store.open("trip")
        for name in ("trip", "other"):
            with pytest.raises(InvalidSetting):
                fork_log(store, log, name=name)
        assert [fork_log(store, log).name for _ in range(3)] == ["trip@1", "trip@1 (2)", "trip@1 (3)"]
        assert store.names() == ["trip", "other", "trip@1", "trip@1 (2)", "trip@1 (3)"]
        assert list(store.open("other").read()) == user_entries(0, 2)

    @pytest.mark.parametrize("at", [-1, 2, 10**30, "1", 1.0])
    def test_a_fork_needs_an_entry_that_is_there(self, opener: Opener, at: Any) -> None:
        store = opener()
        store.open("trip").append(user_entries(0, 2), 0)
        with pytest.raises(InvalidSetting):
            fork_log(store, store.open("trip"), at=at)
        with pytest.raises(InvalidSetting):
            fork_log(store, store.open("nobody"))
        assert store.names() == ["trip"]

    # ---- leases

    def test_a_lease_is_one_holders_until_it_ends(self, opener: Opener) -> None:
        """A store need not have leases. A lease is for a name, so the conversation need not exist."""
        store = opener()
        first, second = leased(store.open("trip")), leased(opener().open("trip"))
        other = leased(store.open("tour"))
        if first is None or second is None or other is None:
            pytest.skip("this store has no leases")
        if not self.persistent:
            second = first
        assert first.take_lease("a", 60.0) == "a"
        assert second.take_lease("b", 60.0) == "a"
        assert other.take_lease("b", 60.0) == "b"
        second.release_lease("b")  # not its own
        assert first.take_lease("a", 0.05) == "a", "renewed, to end soon"
        time.sleep(0.1)
        assert second.take_lease("b", 60.0) == "b"
        second.release_lease("b")
        assert first.take_lease("a", 60.0) == "a"
        first.release_lease("a")
        assert store.names() == []

    # ---- forgetting

    def test_a_forgotten_conversation_is_gone_and_what_others_hold_stays(self, opener: Opener) -> None:
        store = opener()
        store.open("first").append(user_entries(0, 1), 0)
        one, two = store.open("one"), opener().open("two")
        one.append(_large("both", "one"), 0)
        two.append(_large("two", "both"), 0)
        one.save_snapshot(2, b"view of one")
        two.save_snapshot(2, b"view of two")
        store.forget("one")
        assert store.names() == opener().names() == ["first", "two"]
        again = opener().open("one")
        assert (len(again), list(again.read()), again.load_snapshot(), again.repaired) == (0, [], None, "")
        kept = opener().open("two")
        assert (list(kept.read()), kept.load_snapshot()) == (_large("two", "both"), self._kept(2, b"view of two"))
        again.append(_large("one"), 0)
        assert list(store.open("one").read()) == _large("one")
        assert store.names() == opener().names() == ["first", "two", "one"]
        for name in ("two", "first", "one"):
            opener().forget(name)
        assert store.names() == []

    def test_no_file_has_bytes_of_what_was_forgotten(self, opener: Opener, tmp_path: Path) -> None:
        store, secrets = opener(), ["xyzzy small ", "xyzzy large " * SPLIT_ABOVE]
        log, other = store.open("xyzzy"), store.open("other")
        for seq in range(20):
            log.append(entries_of([User(parts=(Text(secrets[seq % 2]),))], seq), seq)
            other.append(user_entries(seq, 1, 2_000), seq)
        log.save_snapshot(20, b"view of xyzzy")
        store.forget("xyzzy")
        store.close()
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert [path for path in files if "xyzzy" in path.name or b"xyzzy" in path.read_bytes()] == []

    @pytest.mark.parametrize("name", NAMES)
    def test_any_name_can_be_forgotten(self, opener: Opener, name: str) -> None:
        store = opener()
        for each in ("1", "2", name):
            store.open(each).append(user_entries(0, 1), 0)
        store.forget("1")
        store.forget(name)
        assert store.names() == opener().names() == ["2"]

    def test_what_is_not_there_cannot_be_forgotten(self, opener: Opener) -> None:
        store = opener()
        store.open("trip").append(user_entries(0, 2), 0)
        store.open("opened").append([], 0)
        store.open("gone").append(user_entries(0, 2), 0)
        store.forget("gone")
        for name in ("nobody", "opened", "gone", "1", "2", ""):
            with pytest.raises(UnknownLog):
                store.forget(name)
        assert list(opener().open("trip").read()) == user_entries(0, 2)

    @pytest.mark.parametrize("anew", [(), ("trip",), ("other",), ("other", "trip"), ("trip", "other")])
    def test_a_handle_of_a_forgotten_conversation_reaches_no_other(self, opener: Opener, anew: Sequence[str]) -> None:
        store = opener()
        old, fresh = opener().open("trip"), opener().open("trip")
        old.append(user_entries(0, 3), 0)
        store.forget("trip")
        for name in anew:
            bodies = [User(parts=(Text(name.ljust(40, "x")),))] * 3
            store.open(name).append(entries_of(bodies), 0)  # as long as what was forgotten
        written = {name: list(store.open(name).read()) for name in anew}
        looks: list[Callable[[], object]] = [old.refresh, lambda: old.append([], 3)]
        looks += [lambda at=at: old.append(user_entries(at, 1), at) for at in (0, 1, 3)]
        for look in looks:
            with pytest.raises(UnknownLog):
                look()
        old.save_snapshot(3, b"old view")
        assert len(old) == 3
        with suppress(UnknownLog):
            assert [*old.read(), old[0]] == user_entries(0, 3) + user_entries(0, 1), "still in memory"
        assert {name: list(opener().open(name).read()) for name in anew} == written
        assert store.open("trip").load_snapshot() is None
        n = fresh.refresh()
        assert n == (3 if "trip" in anew else 0)
        fresh.append(user_entries(n, 1), n)
        assert len(opener().open("trip")) == n + 1

    def test_reading_what_is_being_forgotten_raises(self, opener: Opener) -> None:
        store, entries = opener(), _large(*"0123456789")
        log = store.open("trip")
        log.append(entries, 0)
        reading = opener().open("trip").read()
        seen = [next(reading)]
        store.forget("trip")
        with suppress(UnknownLog):
            seen.extend(reading)
            assert seen == entries, "still in memory"
        assert seen == entries[: len(seen)]

    def test_forgetting_among_writers_takes_nothing_from_them(self, opener: Opener) -> None:
        store, body = opener(), _large("both")[0].body

        def come_and_go() -> None:
            own = opener()
            for _ in range(15):
                own.open("guest").append(_large("both"), 0)
                own.forget("guest")

        def stay() -> None:
            log = store.open("host")
            for seq in range(60):
                log.append([Entry(seq=seq, at=0.0, body=body)], seq)

        _in_threads([come_and_go, stay])
        assert [entry.body for entry in opener().open("host").read()] == [body] * 60
        assert store.names() == ["host"]


def _one(text: str) -> list[Entry]:
    """A log of one user message."""
    return entries_of([User(parts=(Text(text),))])


def _large(*texts: str) -> list[Entry]:
    """Entries with bodies so large that our own stores keep them apart from the entries."""
    return entries_of([User(parts=(Text(text.ljust(SPLIT_ABOVE, "x")),)) for text in texts])


def _append_after_others(log: StoredLog, count: int) -> None:
    """Append `count` entries. If another writer was faster, read what it wrote, and try again."""
    while True:
        try:
            log.append(user_entries(len(log), count), len(log))
        except Conflict:
            log.refresh()
        else:
            return


def _in_threads(works: Sequence[Callable[[], None]]) -> None:
    """Run all functions at the same time, each in a thread. The first error of a thread is raised here."""
    problems: list[BaseException] = []

    def guarded(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as problem:  # noqa: BLE001 - raised again below
            problems.append(problem)

    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if problems:
        raise problems[0]
