"""Where a cut falls: between lines or words, never within a number."""

from __future__ import annotations

import pytest

from transom.strategies.text.truncation import halves

NUMBERED = "".join(f"{number}: assert count_{number} == {number * 37}\n" for number in range(200, 400))


@pytest.mark.parametrize("keep", range(90, 130))
def test_halves_end_at_a_line_or_between_words(keep):
    (_, end), (start, _) = halves(NUMBERED, keep)
    assert NUMBERED[end - 1].isspace()
    assert NUMBERED[start - 1].isspace()
    assert end + len(NUMBERED) - start <= keep


def test_without_a_blank_near_a_half_ends_anywhere():
    assert halves("x" * 1_000, 100) == ((0, 50), (950, 1_000))
