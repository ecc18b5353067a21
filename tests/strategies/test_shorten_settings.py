"""`Shorten` and what it is worth: a wrong setting is refused where it is written."""

from __future__ import annotations

from typing import Any

import pytest

from transom.errors import InvalidSetting
from transom.strategies import Enough, Shorten, Together


def nothing(*_: Any) -> list[Any]:
    return []


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Shorten("old", nothing), "shorten: which must be a function, not 'old'"),
        (lambda: Shorten(nothing, 5), "shorten: form must be a function, not 5"),
        (lambda: Shorten(nothing, nothing, why=3), "shorten: why must be text, not 3"),
        (lambda: Shorten(nothing, nothing, worth=0.05), "shorten: worth must be a function or None, not 0.05"),
        (lambda: Together(5), "Together: least must be a number from 0 to 1, not 5"),
        (lambda: Together(float("nan")), "Together: least must be a number from 0 to 1, not nan"),
        (lambda: Enough(share="much"), "Enough: share must be a number from 0 to 1, not 'much'"),
        (lambda: Enough(tokens=-1), "Enough: tokens must be a whole number, at least 0, not -1"),
    ],
)
def test_a_wrong_setting_is_refused_in_one_line(make: Any, says: str) -> None:
    with pytest.raises(InvalidSetting) as refused:
        make()
    assert str(refused.value) == says
