"""The chart of window sizes."""

from __future__ import annotations

from transom.cli.replay_report import sawtooth


def test_a_chart():
    sizes = [2, 4, 6, 8, 3, 5, 7, None, 4]
    lines = sawtooth(sizes, 8, width=12, height=4)
    assert lines == [
        "8 ┬─────────",
        "  │   █  ▄",
        "  │  ██ ▄█",
        "  │ ███▄██ █",
        "  │███████×█",
        "0 ┴─────────",
        "   call 9",
    ]


def test_a_column_for_several_calls_has_the_largest():
    lines = sawtooth([1] * 500 + [8] + [1] * 499, 8, width=40, height=2)
    assert max(map(len, lines)) <= 40
    assert sum(line.count("█") for line in lines) == 2


def test_the_axis_names_the_largest_window_if_it_is_over_the_budget():
    lines = sawtooth([8, 16], 8, width=12, height=2)
    assert lines[0].startswith("16 ┬")
