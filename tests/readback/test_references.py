"""References: one form names a part of a log, and nothing else is accepted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transom import texts
from transom.core.plan_request import entry_ref
from transom.errors import InvalidSetting
from transom.readback import Reference, parse_reference
from transom.readback.references import resolve
from transom.testing.builders import talk
from transom.testing.fakes import Entries

NUMBERS = st.integers(0, 10**15 - 1)
PARTS = st.tuples(st.sampled_from(["text", "args", "image", "file", "reasoning", "other"]), st.integers(0, 999_999_999))


@given(NUMBERS, st.none() | PARTS)
def test_a_reference_and_its_text_are_the_same(number, part):
    reference = Reference(number, number, part)
    assert parse_reference(str(reference)) == parse_reference(f"[{reference}]") == reference


@given(NUMBERS, NUMBERS)
def test_a_range_and_its_text_are_the_same(a, b):
    reference = Reference(min(a, b), max(a, b))
    assert parse_reference(str(reference)) == reference


def test_the_text_of_a_marker_is_a_reference():
    assert parse_reference(entry_ref(412)) == Reference(412, 412)
    assert parse_reference(texts.bare_marker(entry_ref(412))) == Reference(412, 412)
    assert parse_reference(texts.bare_marker(f"{entry_ref(3)} to {entry_ref(9)}")) == Reference(3, 9)
    assert parse_reference("Entries 3–9") == parse_reference("entry 3 - 9") == Reference(3, 9)
    assert parse_reference("entry 5 text[2]") == Reference(5, 5, ("text", 2))


def test_the_number_alone_is_enough():
    assert parse_reference("412") == parse_reference("[412]") == Reference(412, 412)
    assert parse_reference("3-9") == parse_reference("3 to 9") == Reference(3, 9)
    assert parse_reference("5 text 2") == Reference(5, 5, ("text", 2))


@pytest.mark.parametrize(
    "text",
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
def test_any_other_text_raises_one_short_line(text):
    with pytest.raises(InvalidSetting) as error:
        parse_reference(text)
    assert str(error.value).isprintable()
    assert len(str(error.value)) < 1_500


def test_a_range_is_limited_to_the_log():
    log = Entries(talk("a", "b", "c"))
    assert resolve(log, "entries 1-500") == Reference(1, 2)
    with pytest.raises(InvalidSetting, match="there is no entry 3 in this log: its entries are 0 to 2"):
        resolve(log, "entry 3")
    with pytest.raises(InvalidSetting, match="it is empty"):
        resolve(Entries(), "entry 0")
