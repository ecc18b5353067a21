"""The examples of records in the documentation are what the code makes of their conversations."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from scripts.records import EXAMPLES, PAGE, PICTURE, Example, files, window_of

from transom import texts
from transom.core.unit import FoldedSlot

made = cache(files)


def words(text: str) -> list[str]:
    """The texts of a picture, without its places and colours."""
    return re.findall(r">([^<>\n]+)</text>", text)


@pytest.mark.parametrize("path", [PAGE, PICTURE], ids=lambda path: path.name)
def test_the_files_are_current(path: Path) -> None:
    assert made().keys() == {PAGE, PICTURE}
    written, expected = path.read_text(encoding="utf-8"), made()[path]
    if path == PICTURE:
        written, expected = "\n".join(words(written)), "\n".join(words(expected))
        assert "record" in expected
    assert written == expected, f"{path.name} is not what the code makes: run `make reference`"


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_each_example_has_a_record(example: Example) -> None:
    records = [slot.text for slot in window_of(example).slots if isinstance(slot, FoldedSlot)]
    assert records
    assert all(map(texts.is_record, records))


def test_the_page_has_code_that_runs() -> None:
    page = (PAGE.parent / "record.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert blocks
    for code in blocks:
        exec(compile(code, "record.md", "exec"), {})


def test_a_picture_needs_nothing_from_elsewhere() -> None:
    assert not re.search(r"url\((?!#)|@import|(?:href|src)=", made()[PICTURE])
