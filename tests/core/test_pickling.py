"""Errors come back whole from another process."""

from __future__ import annotations

import pickle

import pytest

from transom.errors import BudgetImpossible, Conflict, InvalidMessage


@pytest.mark.parametrize(
    "error", [BudgetImpossible({"need": 9, "limit": 4, "head": 9}), InvalidMessage("line 3", "no role"), Conflict(3, 4)]
)
def test_an_error_survives_pickling(error):
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)
