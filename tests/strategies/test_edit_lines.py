"""Which line of an edit a record shows."""

from __future__ import annotations

import pytest

from transom.strategies.actions.file_edits import file_edits_in, informative_line

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
