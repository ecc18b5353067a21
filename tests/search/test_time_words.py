"""Dates are words of the index: they cover a range of time exactly, and a search reads only the rows of that time."""

from __future__ import annotations

import random

import pytest

from transom.search import SearchFilters, search_index
from transom.search.time_words import time_words, words_between
from transom.stores import open_store
from transom.testing import talk

NOW = 1.75e9


def test_words_cover_a_range_and_nothing_else():
    draw = random.Random(1)
    for _ in range(5_000):
        around, width = draw.choice([0.0, 1e5, NOW, 2.0**36]), draw.choice([10, 1e3, 1e5, 1e8])
        since, until, at = (around + draw.uniform(-width, width) for _ in range(3))
        since, until = draw.choice([(since, until), (since, None), (None, until)])
        inside, ends = words_between(since, until)
        words = set(time_words(at))
        is_between = (since is None or at >= since) and (until is None or at <= until)
        if words.intersection(inside):
            assert is_between, (since, until, at)
        assert words.intersection(inside + ends) or not is_between, (since, until, at)
        assert len(inside) == len(set(inside)) < 150
        assert len(ends) <= 2


@pytest.mark.parametrize(("since", "until"), [(NOW, NOW + 1e7), (None, NOW), (NOW, None)])
def test_a_range_is_a_few_dozen_words(since, until):
    assert len(words_between(since, until)[0]) < 60


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
