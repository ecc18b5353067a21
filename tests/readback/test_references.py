"""One way to name a part of a log, and nothing else gets through it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transom import texts
from transom.core.plan import entry_ref
from transom.errors import InvalidSetting
from transom.readback import Reference, parse
from transom.readback.references import within
from transom.testing.builders import talk
from transom.testing.fakes import Entries

NUMBERS = st.integers(0, 10**15 - 1)
PARTS = st.tuples(st.sampled_from(["text", "args", "image", "file", "reasoning", "other"]), st.integers(0, 999_999_999))


@given(NUMBERS, st.none() | PARTS)
def test_what_a_reference_says_is_read_back_as_the_same(number, part):
    reference = Reference(number, number, part)
    assert parse(str(reference)) == parse(f"[{reference}]") == reference


@given(NUMBERS, NUMBERS)
def test_ranges_too(a, b):
    reference = Reference(min(a, b), max(a, b))
    assert parse(str(reference)) == reference


def test_what_markers_name_can_be_asked_for():
    assert parse(entry_ref(412)) == Reference(412, 412)
    assert parse(texts.bare(entry_ref(412))) == Reference(412, 412)
    assert parse(texts.bare(f"{entry_ref(3)} to {entry_ref(9)}")) == Reference(3, 9)
    assert parse("Entries 3–9") == parse("entry 3 - 9") == Reference(3, 9)
    assert parse("entry 5 text[2]") == Reference(5, 5, ("text", 2))


def test_the_number_alone_is_enough():
    assert parse("412") == parse("[412]") == Reference(412, 412)
    assert parse("3-9") == parse("3 to 9") == Reference(3, 9)
    assert parse("5 text 2") == Reference(5, 5, ("text", 2))


@pytest.mark.parametrize(
    "odd",
    [
        "",
        "entry",
        "4 12",
        "message 12",
        "entry -1",
        "entry 99999999999999999999",
        "entry 4/../../etc",
        "../",
        "../../etc/passwd",
        "entry 4\0",
        "entry 4 text",
        "entry 4 text -1",
        "entry 4 code 1",
        "entries 10-2",
        "entries 2-10 text 0",
        "entry ４１２",
        "entry 1e3",
        "[entry 4",
        "entry 4; DROP TABLE entries",
        "e" * 1_000_000,
        "entry " * 100_000,
        " " * 1_000_000 + "entry 4",
        "entry 4 \ud800",
    ],
)
def test_what_is_no_reference_is_told_in_one_short_line(odd):
    with pytest.raises(InvalidSetting) as refused:
        parse(odd)
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 1_500


def test_a_range_ends_with_the_log_and_begins_in_it():
    log = Entries(talk("a", "b", "c"))
    assert within(log, "entries 1-500") == Reference(1, 2)
    with pytest.raises(InvalidSetting, match="there is no entry 3 in this log: its entries are 0 to 2"):
        within(log, "entry 3")
    with pytest.raises(InvalidSetting, match="it is empty"):
        within(Entries(), "entry 0")
