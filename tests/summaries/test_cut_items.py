"""Items of a summary that are cut: no quote in them stays open."""

from __future__ import annotations

from transom import quoting
from transom.summaries.outline import Item, Outline, age, item_text

LONG = f"The user said {quoting.OPEN}{'keep the old path, ' * 80}{quoting.CLOSE} and left."


def is_closed(text: str) -> bool:
    return text.count(quoting.OPEN) == text.count(quoting.CLOSE) == 1 and text.index(quoting.OPEN) < text.index(
        quoting.CLOSE
    )


def test_a_quote_that_is_cut_ends_with_its_item():
    text = item_text(LONG)
    assert len(text) <= 601
    assert is_closed(text)
    assert text.endswith(f" …{quoting.CLOSE}")


def test_a_done_item_that_is_shortened():
    (item,) = age(Outline(items=(Item("s1", "work", item_text(LONG), "done"),))).items
    assert len(item.text) <= 121
    assert is_closed(item.text)


def test_a_whole_quote_stays_as_it_is():
    assert item_text(f"He said {quoting.OPEN}go{quoting.CLOSE}.") == f"He said {quoting.OPEN}go{quoting.CLOSE}."
