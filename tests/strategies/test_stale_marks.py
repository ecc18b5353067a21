"""Which later calls changed what a record quotes."""

from __future__ import annotations

import pytest

from transom.core.index_cache import IndexCache
from transom.core.reducer import build_view
from transom.strategies.actions.relations import SameFiles
from transom.strategies.digest.index import Index
from transom.testing.builders import call, result, talk
from transom.testing.fakes import Entries, WordCounter


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
    assert files.matches(name) == ([1] if same else [])


def test_the_first_of_several_that_may_be_the_same_file():
    files = SameFiles(("lib/app.py", "src/app.py", "./app.py", "/work/src/app.py"))
    assert files.matches("app.py") == [0, 1, 2, 3]
    assert files.matches("src/app.py") == [1, 2, 3]
    assert files.first("x/app.py") == "./app.py"


def test_a_file_that_is_edited_all_the_time_is_changed_each_time():
    edit = '{"path": "/work/src/app.py", "old": "a"}'
    read = talk("Go on.", call("read_file", '{"path": "src/app.py"}'), result("a = 1"))
    edits = [item for _ in range(6) for item in (call("edit_file", edit), result("done"))]
    view = build_view(Entries(talk(*read, *edits)), WordCounter())
    index = Index.of(view, 1_000, IndexCache())
    assert index.changed(SameFiles(["src/app.py"]), 1) == [3, 5, 7, 9, 11, 13]
    assert index.changed(SameFiles(["src/app.py"]), 7) == [9, 11, 13]
    assert index.changed(SameFiles(["src/other.py"]), 1) == []
