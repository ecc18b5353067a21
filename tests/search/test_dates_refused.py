"""A filter of a wrong type, also a date that is not a number, is refused in one line by every index."""

from __future__ import annotations

from math import nan

import pytest

from transom.errors import InvalidSetting
from transom.search import SearchFilters, search_index
from transom.stores import MemoryStore


@pytest.mark.parametrize("name", ["since", "until"])
@pytest.mark.parametrize("value", [nan, "yesterday", True, 10**400])
def test_a_date_that_is_not_a_number(name, value):
    with pytest.raises(InvalidSetting, match=f"search: {name} must be seconds since 1970, not "):
        search_index(MemoryStore()).search("needle", filters=SearchFilters(**{name: value}))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"query": 5}, "query: must be a text, not 5"),
        ({"filters": 5}, "filters: must be SearchFilters, not 5"),
        (
            {"filters": SearchFilters(conversations="c")},
            "search: conversations must be a list of names, or None, not 'c'",
        ),
        ({"filters": SearchFilters(user_id=5)}, "search: user_id must be a text or None, not 5"),
        ({"filters": SearchFilters(session_id=5)}, "search: session_id must be a text or None, not 5"),
        ({"filters": SearchFilters(roles=5)}, "search: roles must be a list of roles, not 5"),
        ({"filters": SearchFilters(tools=(5,))}, "search: tools must be a list of tools, not (5,)"),
        ({"filters": SearchFilters(run_id=5)}, "search: run_id must be a text, not 5"),
        ({"filters": SearchFilters(file=())}, "search: file must be a text, not ()"),
        ({"filters": SearchFilters(file=5)}, "search: file must be a text, not 5"),
        ({"filters": SearchFilters(include_hidden=1)}, "search: include_hidden must be True or False, not 1"),
    ],
)
def test_an_argument_of_a_wrong_type(given, words):
    with pytest.raises(InvalidSetting) as caught:
        search_index(MemoryStore()).search(**{"query": "needle", **given})
    assert str(caught.value) == words
