"""Where a cut falls: between lines or words, never within a number."""

from __future__ import annotations

import re
from functools import partial

import pytest

from transom.core.trims import trimmed_text
from transom.strategies.text.shown_parts import ShownPart
from transom.strategies.text.truncation import halves, shorten
from transom.texts import excerpt_marker
from transom.tokenizer import o200k

NUMBERED = "".join(f"{number}: assert count_{number} == {number * 37}\n" for number in range(200, 400))


@pytest.mark.parametrize("keep", range(90, 130))
def test_halves_end_at_a_line_or_between_words(keep):
    (_, end), (start, _) = halves(NUMBERED, keep)
    assert NUMBERED[end - 1].isspace()
    assert NUMBERED[start - 1].isspace()
    assert end + len(NUMBERED) - start <= keep


def test_without_a_blank_near_a_half_ends_anywhere():
    assert halves("x" * 1_000, 100) == ((0, 50), (950, 1_000))


@pytest.mark.parametrize("words", [50, 120, 300, 1_200])
def test_the_marker_names_what_is_left_out_also_if_that_has_more_digits_than_what_must_go(words):
    count = o200k().count
    text = " ".join(f"word{number}" for number in range(words))
    tokens = count(text)
    for most in {*range(tokens - 25, tokens), tokens // 2, tokens // 10 + 30}:
        part = ShownPart(entry=3, part=("text", 0), text=text, tokens=tokens, shown_tokens=tokens)
        keep, note = shorten(part, most, count, partial(excerpt_marker, "entry 3"), "[entry 3]")
        if not keep:
            continue
        named = int(re.sub(r"\D", "", note.split("tokens")[0]))
        left_out = tokens - sum(count(text[start:stop]) for start, stop in keep)
        assert abs(named - left_out) <= 3
        assert count(trimmed_text(text, keep, note)) <= most
