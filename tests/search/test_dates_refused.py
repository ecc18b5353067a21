"""A date that is not a number is refused in one line by every index."""

from __future__ import annotations

from math import nan

import pytest

from transom.errors import InvalidSetting
from transom.search import SearchFilters, search_index
from transom.stores import MemoryStore


@pytest.mark.parametrize("name", ["since", "until"])
@pytest.mark.parametrize("value", [nan, "yesterday", True])
def test_a_date_that_is_not_a_number(name, value):
    with pytest.raises(InvalidSetting, match=f"{name}: must be a number of seconds since the epoch, not "):
        search_index(MemoryStore()).search("needle", filters=SearchFilters(**{name: value}))
