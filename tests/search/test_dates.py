"""A search between two dates finds what was said then, and reads few rows of other times."""

from __future__ import annotations

import random

import pytest
from msgspec.structs import replace

from transom.search import SearchFilters, ranking, search_index
from transom.stores import MemoryStore, open_store
from transom.testing import talk


@pytest.mark.parametrize("few", [0, 5_000])
def test_what_was_said_between_the_dates_is_found_and_nothing_else(few, monkeypatch):
    monkeypatch.setattr(ranking, "FEW_ROWS", few)
    draw, store = random.Random(1), MemoryStore()
    times = [[draw.uniform(0, 100) for _ in range(30)] for _ in range(4)]
    for number, each in enumerate(times):
        said = talk(*[f"needle {number}"] * len(each))
        store.open(f"c{number}").append([replace(e, at=at) for e, at in zip(said, each, strict=True)], 0)
    index = search_index(store)
    index.update()
    for _ in range(100):
        since, until = sorted(draw.uniform(-10, 110) for _ in range(2))
        since, until = draw.choice([(since, until), (since, None), (None, until), (until, since)])
        names = draw.choice([None, ("c1",), ("c0", "c3")])
        filters = SearchFilters(since=since, until=until, conversations=names)
        hits = index.search("needle", filters=filters, limit=200)
        wanted = {
            (f"c{number}", seq)
            for number, each in enumerate(times)
            for seq, at in enumerate(each)
            if (since is None or at >= since)
            and (until is None or at <= until)
            and (names is None or f"c{number}" in names)
        }
        assert {(hit.conversation, hit.entry) for hit in hits} == wanted


def test_a_search_between_dates_does_not_look_at_what_is_outside(tmp_path):
    store = open_store(f"{tmp_path}/a.db")
    store.open("trip").append(talk(*["the common word"] * 20_000), 0)
    index = search_index(store)
    index.update()
    steps = []
    with index._file.connection() as db:
        db.set_progress_handler(lambda: steps.append(1), 1_000)
    found = {}
    for until in (None, 500):
        steps.clear()
        hits = index.search("common", filters=SearchFilters(until=until), limit=3)
        found[until] = [hit.entry for hit in hits], len(steps)
    assert found[None][0] == [19_999, 19_998, 19_997]
    assert found[500][0] == [500, 499, 498]
    assert found[500][1] < found[None][1], "thousands of steps of SQLite"
    store.close()


def test_conversations_that_overlap_in_time_cost_no_look_at_each_row(tmp_path):
    store = open_store(f"{tmp_path}/a.db")
    for number in range(20):
        store.open(f"c{number}").append(talk(*["the common word"] * 1_000), 0)
    index = search_index(store)
    index.update()
    steps = []
    with index._file.connection() as db:
        db.set_progress_handler(lambda: steps.append(1), 100)
    costs = {}
    for few in (0, 5_000):
        steps.clear()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ranking, "FEW_ROWS", few)
            hits = index.search("common", filters=SearchFilters(since=400, until=402), limit=100)
        assert len(hits) == 60
        costs[few] = len(steps)
    assert costs[5_000] < 0.8 * costs[0], "hundreds of steps of SQLite"
    store.close()
