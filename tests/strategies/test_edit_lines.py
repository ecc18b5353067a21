"""Which line of an edit a record shows."""

from __future__ import annotations

import json

import pytest

from transom.core.message import Call
from transom.strategies.actions.action import action_of
from transom.strategies.actions.file_edits import FileEdit, file_edits_in, informative_line

DECORATED = "import pytest\n\n@pytest.mark.browser\nclass TestTimeline:\n"


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("class TestTimeline:\n", DECORATED, "@pytest.mark.browser"),
        ("def run(job):\n    return 1", "def run(\n    job, at=None\n):\n    return 1", "job, at=None"),
        ("x = load()", "# Load\nx = load(timeout=limit)", "x = load(timeout=limit)"),
        (
            'import (\n\t"fmt"\n)',
            'import (\n\t"fmt"\n\t"log/slog"\n)\n\nvar logger = slog.New()',
            "var logger = slog.New()",
        ),
        (".a {\n  color: red;\n}", ".a {\n  color: red;\n}\n.nav {\n  top: nav_height;\n}", "top: nav_height;"),
        ("go()", "type Conn interface {\n\tgo()\n}", "type Conn interface {"),
        ("go()", "go()\n# and why it goes", "# and why it goes"),
    ],
)
def test_the_line_that_tells_most_has_most_new_names(old, new, line):
    assert informative_line(file_edits_in([("file_path", "a.py"), ("old_string", old), ("new_string", new)])) == (
        line,
        True,
    )


def test_a_line_with_names_that_were_not_there_before_comes_first():
    old = "if kind != flush:\n    fail(kind)"
    new = "kind, payload = read(reader)\nif kind != flush:\n    fail(reader)"
    assert (
        informative_line(file_edits_in([("old_string", old), ("new_string", new)]))[0] == "kind, payload = read(reader)"
    )
    new = "if flush != kind:\n    fail(kind)\n    raise LeaseError(payload)"
    assert informative_line(file_edits_in([("old_string", old), ("new_string", new)]))[0] == "raise LeaseError(payload)"


def test_an_edit_with_an_old_text_alone_takes_it_away():
    assert file_edits_in([("path", "a.py"), ("old_string", "retry_count = 5")]) == (
        FileEdit("a.py", "retry_count = 5"),
    )
    assert informative_line(file_edits_in([("old_string", "retry_count = 5")])) == ("retry_count = 5", False)
    uneven = [("old_string", "a = 1"), ("new_string", "b = 2"), ("old_string", "c = 3")]
    assert file_edits_in(uneven) == (FileEdit("", "", "b = 2"),)


def test_an_edit_whose_new_text_is_empty_takes_a_line_away():
    args = {"file_path": "a.py", "old_string": "retry_count = 5\n", "new_string": ""}
    edit = action_of(Call(name="Edit", args=json.dumps(args), id="c"))
    assert (edit.edited_line, edit.adds_line) == ("retry_count = 5", False)


def test_each_old_text_keeps_its_new_one_if_one_of_these_is_empty():
    pairs = [("old_a = 1", ""), ("old_b = 2", "new_b = 2"), ("", "first = 0")]
    edits = [{"old_string": old, "new_string": new} for old, new in pairs]
    made = action_of(Call(name="MultiEdit", args=json.dumps({"file_path": "a.py", "edits": edits}), id="c")).edits
    assert made == tuple(FileEdit("a.py", old, new) for old, new in pairs)
