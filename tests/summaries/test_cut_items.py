"""Items of a summary that are cut: no quote in them stays open."""

from __future__ import annotations

from transom import texts
from transom.summaries.outline import Item, Outline, age, item_text

LONG = f"The user said {texts.OPEN}{'keep the old path, ' * 80}{texts.CLOSE} and left."


def is_closed(text: str) -> bool:
    return text.count(texts.OPEN) == text.count(texts.CLOSE) == 1 and text.index(texts.OPEN) < text.index(texts.CLOSE)


def test_a_quote_that_is_cut_ends_with_its_item():
    text = item_text(LONG)
    assert len(text) <= 601
    assert is_closed(text)
    assert text.endswith(f" …{texts.CLOSE}")


def test_a_done_item_that_is_shortened():
    (item,) = age(Outline(items=(Item("s1", "work", item_text(LONG), "done"),))).items
    assert len(item.text) <= 121
    assert is_closed(item.text)


def test_a_whole_quote_stays_as_it_is():
    assert item_text(f"He said {texts.OPEN}go{texts.CLOSE}.") == f"He said {texts.OPEN}go{texts.CLOSE}."
