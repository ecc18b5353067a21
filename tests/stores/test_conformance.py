"""What every store must do, whatever it keeps logs in."""

from __future__ import annotations

import threading
import tracemalloc
from collections.abc import Callable, Sequence
from contextlib import suppress

import pytest
from places import Place
from stored import EVERY_KIND, log_of, said

from transom.core.budget import Budget
from transom.core.edit import Pin
from transom.core.entry import Body, Entry, Meta
from transom.core.message import Media, Opaque, Text, User
from transom.drive.conversation import Conversation
from transom.errors import Conflict, InvalidMessage, InvalidSetting, UnknownLog
from transom.policies import policy_named
from transom.stores import open_store
from transom.stores.blobs import LIMIT
from transom.testing import WordCounter

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


def test_the_samples_hold_every_kind() -> None:
    assert {type(body) for body in EVERY_KIND} == set(Body.__args__)


def test_every_kind_comes_back_as_it_went_in(place: Place) -> None:
    sent = log_of(EVERY_KIND)
    sent.append(Entry(seq=len(sent), at=0.1, body=User(), meta=Meta(include_in_context=False)))
    log = place.open().open("all")
    log.append(sent, 0)
    again = place.open().open("all")
    assert list(log.read()) == [log[seq] for seq in range(len(sent))] == list(again.read()) == sent
    assert (len(log), len(again), again.mended) == (len(sent), len(sent), "")


def test_an_unknown_name_is_an_empty_log_that_leaves_no_trace(place: Place) -> None:
    store = place.open()
    log = store.open("nobody")
    log.append([], 0)
    with pytest.raises(Conflict):
        log.append(said(1, 1), 1)
    assert (len(log), list(log.read()), log.refresh(), log.saved(), log.mended) == (0, [], 0, None, "")
    assert store.names() == place.open().names() == []
    assert log.name == "nobody"


@pytest.mark.parametrize("expect", [0, 2, 4])
def test_a_conflict_stores_nothing(place: Place, expect: int) -> None:
    log = place.open().open("trip")
    log.append(said(0, 3), 0)
    with pytest.raises(Conflict) as caught:
        log.append(said(expect, 2), expect)
    assert (caught.value.expected, caught.value.found) == (expect, 3)
    assert list(log.read()) == list(place.open().open("trip").read()) == said(0, 3)
    log.append(said(3, 1), 3)
    assert list(place.open().open("trip").read()) == said(0, 4)


def test_a_wrong_number_stores_nothing(place: Place) -> None:
    log = place.open().open("trip")
    log.append(said(0, 1), 0)
    with pytest.raises(ValueError, match="entry 2 cannot stand at 1"):
        log.append([*said(2, 1), *said(1, 1)], 1)
    assert list(place.open().open("trip").read()) == said(0, 1)


def test_what_is_not_json_stores_nothing(disk: Place) -> None:
    log = disk.open().open("trip")
    log.append(said(0, 1), 0)
    with pytest.raises(InvalidMessage, match="entry 2: it cannot be stored"):
        log.append([*said(1, 1), *log_of([User(extra={"x": object()})], 2)], 1)
    assert list(disk.open().open("trip").read()) == said(0, 1)


def test_outside_the_log_is_an_index_error(place: Place) -> None:
    log = place.open().open("trip")
    log.append(said(0, 2), 0)
    for seq in (-1, 2, 10**30):
        with pytest.raises(IndexError):
            log[seq]


def test_ranges(place: Place) -> None:
    log = place.open().open("trip")
    log.append(said(0, 200), 0)
    for start, stop in [(0, None), (0, 0), (7, 7), (9, 3), (63, 65), (0, 200), (199, 500), (200, None), (150, 190)]:
        assert list(log.read(start, stop)) == said(0, 200)[start:stop], (start, stop)


def test_reading_goes_on_while_others_write(place: Place) -> None:
    log = place.open().open("trip")
    log.append(said(0, 100), 0)
    seen = []
    for entry in log.read():
        seen.append(entry)
        if entry.seq in {0, 70}:
            log.append(said(len(log), 1), len(log))
            place.open().open("trip").append(said(len(log), 1), len(log))
            log.refresh()
    assert seen == said(0, 100)
    assert list(log.read()) == said(0, 104)


def test_two_handles_meet_at_a_conflict_and_by_refresh(place: Place) -> None:
    one, two = place.open().open("trip"), place.open().open("trip")
    one.append(said(0, 2), 0)
    assert (len(two), list(two.read())) == (0, [])
    with pytest.raises(Conflict) as caught:
        two.append(said(0, 1), 0)
    assert (caught.value.found, len(two)) == (2, 0)
    assert two.refresh() == len(two) == 2
    two.append(said(2, 2), 2)
    assert len(one) == 2
    with pytest.raises(IndexError):
        one[2]
    one.append(said(4, 1), 4)  # it may know the length from elsewhere
    assert list(one.read()) == said(0, 5)
    assert (two.refresh(), list(two.read())) == (5, said(0, 5))


def test_threads_share_a_store(place: Place) -> None:
    store = place.open()

    def work() -> None:
        log = store.open("shared")
        for _ in range(10):
            while True:
                try:
                    log.append(said(len(log), 3), len(log))
                    break
                except Conflict:
                    log.refresh()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert list(place.open().open("shared").read()) == said(0, 120)


def test_threads_share_a_handle(place: Place) -> None:
    log = place.open().open("shared")
    log.append(said(0, 300), 0)
    seen: list[bool] = []
    threads = [threading.Thread(target=lambda: seen.append(list(log.read()) == said(0, 300))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for seq in range(300, 310):
        log.append(said(seq, 1), seq)
    for thread in threads:
        thread.join()
    assert len(seen) == 4
    assert list(log.read(300)) == said(300, 10)


def test_large_bodies(place: Place) -> None:
    raw = {"kind": "future", "blob": "o" * LIMIT}
    bodies = [
        User(parts=(Text("x" * 1_000_000),)),
        User(parts=(Text("\ud800" + "é" * LIMIT),)),
        User(parts=(Text('"body":' * LIMIT),), extra={"body": '"body":'}),
        User(parts=(Media("image", {"n": 2**80, "url": "A" * LIMIT}),)),
        Opaque(raw=raw),
        User(parts=(Text("é" * LIMIT),)),
    ]
    sent = log_of(bodies)
    log = place.open().open("large")
    log.append(sent, 0)
    log.append(log_of(bodies, len(bodies)), len(bodies))
    assert list(place.open().open("large").read()) == [*sent, *log_of(bodies, len(bodies))]


def test_names_come_in_the_order_the_logs_were_made(place: Place) -> None:
    store = place.open()
    logs = [store.open(name) for name in NAMES]
    for log in reversed(logs):
        log.append(log_of([User(parts=(Text(log.name),))]), 0)
    assert store.names() == place.open().names() == NAMES[::-1]
    for name in NAMES:
        assert list(place.open().open(name).read()) == log_of([User(parts=(Text(name),))])


def test_the_newest_snapshot_is_kept(place: Place) -> None:
    log, other = place.open().open("trip"), place.open().open("other")
    for one in (log, other):
        one.append(said(0, 3), 0)
    log.save(1, b"old")
    log.save(3, bytes(range(256)) * 1_000)
    assert log.saved() == place.open().open("trip").saved() == (3, bytes(range(256)) * 1_000)
    assert other.saved() is None
    assert list(place.open().open("trip").read()) == said(0, 3)
    assert place.open().names() == ["trip", "other"]


def large(*texts: str) -> list[Entry]:
    """Entries whose bodies are kept apart from them."""
    return log_of([User(parts=(Text(text.ljust(LIMIT, "x")),)) for text in texts])


def test_a_forgotten_conversation_is_gone_and_what_others_hold_stays(place: Place) -> None:
    store = place.open()
    store.open("first").append(said(0, 1), 0)
    one, two = store.open("one"), place.open().open("two")
    one.append(large("both", "one"), 0)
    two.append(large("two", "both"), 0)
    one.save(2, b"view of one")
    two.save(2, b"view of two")
    store.forget("one")
    assert store.names() == place.open().names() == ["first", "two"]
    again = place.open().open("one")
    assert (len(again), list(again.read()), again.saved(), again.mended) == (0, [], None, "")
    assert (list(place.open().open("two").read()), two.saved()) == (large("two", "both"), (2, b"view of two"))
    again.append(large("one"), 0)
    assert list(store.open("one").read()) == large("one")
    assert store.names() == place.open().names() == ["first", "two", "one"]
    for name in ("two", "first", "one"):
        place.open().forget(name)
    assert store.names() == []


@pytest.mark.parametrize("name", NAMES)
def test_any_name_can_be_forgotten(place: Place, name: str) -> None:
    store = place.open()
    for each in ("1", "2", name):
        store.open(each).append(said(0, 1), 0)
    store.forget("1")
    store.forget(name)
    assert store.names() == place.open().names() == ["2"]


def test_what_is_not_there_cannot_be_forgotten(place: Place) -> None:
    store = place.open()
    store.open("trip").append(said(0, 2), 0)
    store.open("opened").append([], 0)
    store.open("gone").append(said(0, 2), 0)
    store.forget("gone")
    for name in ("nobody", "opened", "gone", "1", "2", ""):
        with pytest.raises(UnknownLog, match=f"^no conversation {name!r} in the store$"):
            store.forget(name)
    assert list(place.open().open("trip").read()) == said(0, 2)


@pytest.mark.parametrize("anew", [(), ("trip",), ("other",), ("other", "trip"), ("trip", "other")])
def test_a_handle_of_a_forgotten_conversation_reaches_no_other(place: Place, anew: Sequence[str]) -> None:
    store = place.open()
    old, fresh = place.open().open("trip"), place.open().open("trip")
    old.append(said(0, 3), 0)
    store.forget("trip")
    for name in anew:
        store.open(name).append(log_of([User(parts=(Text(name.ljust(40, "x")),))] * 3), 0)  # as long as what was there
    written = {name: list(store.open(name).read()) for name in anew}
    looks: list[Callable[[], object]] = [old.refresh, lambda: old.append([], 3)]
    looks += [lambda at=at: old.append(said(at, 1), at) for at in (0, 1, 3)]
    for look in looks:
        with pytest.raises(UnknownLog, match=r"^the conversation 'trip' is no longer in the store: "):
            look()
    old.save(3, b"old view")
    assert len(old) == 3
    with suppress(UnknownLog):
        assert [*old.read(), old[0]] == said(0, 3) + said(0, 1), "still in memory"
    assert {name: list(place.open().open(name).read()) for name in anew} == written
    assert store.open("trip").saved() is None
    n = fresh.refresh()
    assert n == (3 if "trip" in anew else 0)
    fresh.append(said(n, 1), n)
    assert len(place.open().open("trip")) == n + 1


@pytest.mark.parametrize("snapshot_at", [1, 1_000])
def test_a_conversation_whose_log_is_forgotten_says_so_once(
    place: Place, monkeypatch: pytest.MonkeyPatch, snapshot_at: int
) -> None:
    store, settings = place.open(), {"budget": Budget(), "policy": policy_named("default"), "counter": WordCounter()}
    conversation = Conversation(place.open().open("trip"), **settings)
    conversation.user("hello")
    conversation.window()
    store.forget("trip")
    for act in (lambda: conversation.user("more"), conversation.window, lambda: conversation.edit(Pin(entry=0))):
        with pytest.raises(UnknownLog, match="no longer in the store"):
            act()
    monkeypatch.setattr("transom.drive.conversation.SNAPSHOT_AT", snapshot_at)
    conversation.close()
    assert store.names() == []


def test_who_reads_what_is_being_forgotten_is_told_so(disk: Place) -> None:
    store = disk.open()
    log = store.open("trip")
    log.append(large(*"0123456789"), 0)
    reading = disk.open().open("trip").read()
    next(reading)
    store.forget("trip")
    with pytest.raises(UnknownLog, match="'trip' is no longer in the store"):
        list(reading)


def test_forgetting_among_writers_takes_nothing_from_them(place: Place) -> None:
    def come_and_go() -> None:
        store = place.open()
        for _ in range(15):
            store.open("guest").append(large("both"), 0)
            store.forget("guest")

    def stay() -> None:
        log = store.open("host")
        for seq in range(60):
            log.append([Entry(seq=seq, at=0.0, body=large("both")[0].body)], seq)

    store = place.open()
    threads = [threading.Thread(target=work) for work in (come_and_go, stay)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [entry.body for entry in place.open().open("host").read()] == [large("both")[0].body] * 60
    assert store.names() == ["host"]


def test_reading_holds_a_few_entries_at_a_time(disk: Place) -> None:
    log = disk.open().open("long")
    log.append(said(0, 1_000, 20_000), 0)
    tracemalloc.start()
    total = sum(entry.seq for entry in log.read())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert total == 499_500
    assert peak < 4_000_000, "of 20 MB in the store"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "memory",
        "trip.db",
        "sqlite:///",
        "sqlite://trip.db",
        "sqlite:trip.db",
        "postgres:///x",
        "sqlite:///x\0y",
        "sqlite:///x.db?synchronous=off",
        "sqlite:///x.db?mode=ro",
        "jsonl:///x?synchronous=normal",
    ],
)
def test_urls_that_make_no_sense(url: str) -> None:
    with pytest.raises(InvalidSetting) as caught:
        open_store(url)
    assert repr(url) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_places_that_cannot_be(disk: Place, tmp_path) -> None:
    (tmp_path / "file").write_text("")
    scheme = disk.url.partition(":")[0]
    with pytest.raises(InvalidSetting, match="file/inside"):
        open_store(f"{scheme}:///{tmp_path}/file/inside")
