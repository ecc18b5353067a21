"""Which names may be the same file."""

from __future__ import annotations

import pytest

from transom.strategies.actions.relations import SameFiles


@pytest.mark.parametrize(
    ("name", "other", "same"),
    [
        ("src/app.py", "src/app.py", True),
        ("/work/src/app.py", "src/app.py", True),
        ("src/app.py", "/work/src/app.py", True),
        ("./src/app.py", "src/app.py", True),
        ("src/app.py", "my_src/app.py", False),
        ("src/app.py", "src/app.pyi", False),
    ],
)
def test_one_file_by_two_paths(name, other, same):
    files = SameFiles(("x.py", other))
    assert (name in files) is same
    assert files.first(name) == (other if same else None)


def test_the_first_of_several_that_may_be_the_same_file():
    files = SameFiles(("lib/app.py", "src/app.py", "./app.py", "/work/src/app.py"))
    assert files.first("app.py") == "lib/app.py"
    assert files.first("src/app.py") == "src/app.py"
    assert files.first("x/app.py") == "./app.py"
