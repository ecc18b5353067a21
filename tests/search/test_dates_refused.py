"""A filter of a wrong type, also a date that is not a number, is refused in one line by every index."""

from __future__ import annotations

from math import nan

import pytest

from transom.errors import InvalidSetting
from transom.search import SearchFilters, search_index
from transom.stores import MemoryStore
from transom.testing import talk


@pytest.mark.parametrize("name", ["since", "until"])
@pytest.mark.parametrize("value", [nan, "yesterday", True, 10**400])
def test_a_date_that_is_not_a_number(name, value):
    with pytest.raises(InvalidSetting, match=f"search: {name}: (?:expected |number out of range)"):
        search_index(MemoryStore()).search("needle", filters=SearchFilters(**{name: value}))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"query": 5}, "query: must be a text, not 5"),
        ({"filters": 5}, "filters: must be SearchFilters, not 5"),
        ({"filters": SearchFilters(conversations="c")}, "search: conversations: expected `array | null`, got `str`"),
        ({"filters": SearchFilters(user_id=5)}, "search: user_id: expected `str | null`, got `int`"),
        ({"filters": SearchFilters(session_id=5)}, "search: session_id: expected `str | null`, got `int`"),
        ({"filters": SearchFilters(roles=5)}, "search: roles: expected `array`, got `int`"),
        ({"filters": SearchFilters(tools=(5,))}, "search: tools[0]: expected `str`, got `int`"),
        ({"filters": SearchFilters(run_id=5)}, "search: run_id: expected `str`, got `int`"),
        ({"filters": SearchFilters(file=())}, "search: file: expected `str`, got `array`"),
        ({"filters": SearchFilters(file=5)}, "search: file: expected `str`, got `int`"),
        ({"filters": SearchFilters(include_hidden=1)}, "search: include_hidden: expected `bool`, got `int`"),
    ],
)
def test_an_argument_of_a_wrong_type(given, words):
    with pytest.raises(InvalidSetting) as caught:
        search_index(MemoryStore()).search(**{"query": "needle", **given})
    assert str(caught.value) == words


def test_a_date_may_be_a_float_of_another_library():
    class Float(float):
        """As `numpy.float64` is one."""

    store = MemoryStore()
    store.open("trip").append(talk("a needle", "a needle"), 0)
    index = search_index(store)
    index.update()
    hits = index.search("needle", filters=SearchFilters(since=Float(0.5), until=Float(1e9)))
    assert [hit.entry for hit in hits] == [1]
