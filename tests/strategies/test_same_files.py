"""Which names may be the same file."""

from __future__ import annotations

import pytest

from transom.strategies.actions.file_edits import is_same_file


@pytest.mark.parametrize(
    ("name", "other", "same"),
    [
        ("src/app.py", "src/app.py", True),
        ("/work/src/app.py", "src/app.py", True),
        ("app.py", "/work/src/app.py", True),
        ("./src/app.py", "src/app.py", True),
        ("src/app.py", "my_src/app.py", False),
        ("src/app.py", "src/app.pyi", False),
    ],
)
def test_one_file_by_two_paths(name, other, same):
    assert is_same_file(name, other) is is_same_file(other, name) is same
