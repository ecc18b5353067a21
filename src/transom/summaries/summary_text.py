"""The text of a summary, within its cap: what must be there to the letter first, then as many items as have room."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from transom import texts
from transom.core.tokens import TokenCounter
from transom.errors import SummaryFailed
from transom.strategies.text.one_line import one_line
from transom.summaries.outline import Item, Outline, Section

LITERAL_SHARE = 0.75
"""The share of the cap that notes and exact values may take. If they need more, the oldest notes and the last values
leave."""

OLD_VALUES_SHARE = 0.35
"""The share of the cap that exact values of earlier rounds may take."""

SHORTER = (240, 120, 60)
"""The most characters of an item, tried in turn while the text is over its cap though all that may leave has left."""

_ORDER = {"active": 0, "blocked": 1, "done": 2}
"""The order of a section's items: what goes on stands before what is done."""


class Fitted(NamedTuple):
    """The text of a summary with its tokens. `outline`, `notes`: those that the text holds; what had no room is left
    out."""

    text: str
    tokens: int
    outline: Outline
    notes: tuple[str, ...]


def fit_summary(
    outline: Outline,
    sections: Sequence[Section],
    notes: Sequence[str],
    counter: TokenCounter,
    most: int,
    *,
    title: str,
    carried: Collection[str] = (),
) -> Fitted:
    """The text of a summary in at most `most` tokens, and what of the outline and the notes is in it.

    Notes and exact values together may take three quarters of these tokens (`LITERAL_SHARE`). What goes beyond that is
    left out: the oldest notes, and the last values. Values of earlier rounds (`carried`) may take 35%
    (`OLD_VALUES_SHARE`).

    Then as few items as possible are left out: done ones first, then the oldest of the fullest section. In each section
    the newest item that is not done stays, and the oldest item of the first section stays. If these are too long, all
    items are shortened, and at the worst only one item is left.

    `title`: the first line. Raises SummaryFailed if nothing of this fits.
    """
    frame = counter.count(title) + counter.count(texts.SUMMARY_END) + 2
    notes, exact = _literal(
        notes, outline.exact, counter, int(LITERAL_SHARE * most) - frame, carried, int(OLD_VALUES_SHARE * most)
    )
    typed = tuple(value for value in outline.typed if value in exact)

    def made(items: Sequence[Item]) -> Fitted:
        kept = replace(outline, items=tuple(items), exact=tuple(exact), typed=typed)
        text = rendered(kept, sections, notes, title=title)
        return Fitted(text, counter.count(text), kept, tuple(notes))

    tokens = most
    for length in (0, *SHORTER):
        items = [replace(item, text=one_line(item.text, length)) if length else item for item in outline.items]
        choices = list(_shrinking(items, sections, at_worst=length == SHORTER[-1]))
        best = bisect_left(choices, x=True, key=lambda items: made(items).tokens <= most)
        if best < len(choices):
            return made(choices[best])
        tokens = made(choices[-1]).tokens
    raise SummaryFailed(f"the summary needs {tokens:,} tokens and may have {most:,}: allow it more")


def rendered(outline: Outline, sections: Sequence[Section], notes: Sequence[str] = (), *, title: str) -> str:
    """The text of a summary with this outline and these notes, however long. Items of a section that is not in
    `sections` are left out. Exact values that no line has stand in a line of their own. `title`: the first line."""
    lines = [title]
    if notes:
        lines += [texts.SUMMARY_NOTES, *map(texts.to_the_letter, notes)]
    for section in sections:
        if items := sorted(outline.of(section.key), key=lambda item: _ORDER[item.status]):
            lines += [f"## {section.heading}", *(texts.summary_item(item.text, item.status) for item in items)]
    body = "\n".join(lines)
    missing = [value for value in outline.exact if not holds(body, value)]
    if missing := [value for value in missing if not any(value != one and holds(one, value) for one in missing)]:
        lines += [texts.SUMMARY_EXACT, texts.exact_values(missing)]
    return "\n".join([*lines, texts.SUMMARY_END])


def outline_text(outline: Outline, sections: Sequence[Section], notes: Sequence[str] = ()) -> str:
    """An outline and notes as text for the model that is to bring the outline up to date: each item with its id and
    status, under the heading of its section. Without the exact values, and without items of a section that is not in
    `sections`."""
    lines = [texts.SUMMARY_NOTES, *map(texts.to_the_letter, notes)] if notes else []
    for section in sections:
        if items := outline.of(section.key):
            lines += [f"## {section.heading}", *(f"- {item.id} [{item.status}] {item.text}" for item in items)]
    return "\n".join(lines)


def holds(text: str, value: str) -> bool:
    """Whether a value is in a text, and not only as a part of a longer word or number. The value must not be empty."""
    at = text.find(value)
    while at >= 0:
        end = at + len(value)
        before, after = text[at - 1 : at] if at else "", text[end : end + 1]
        if not (before.isalnum() and value[:1].isalnum()) and not (after.isalnum() and value[-1:].isalnum()):
            return True
        at = text.find(value, at + 1)
    return False


def _literal(
    notes: Sequence[str],
    exact: Sequence[str],
    counter: TokenCounter,
    room: int,
    carried: Collection[str],
    room_of_carried: int,
) -> tuple[list[str], list[str]]:
    """The notes and exact values that fit in `room` tokens: the newest notes first, then the first values."""
    cost = counter.count(texts.SUMMARY_NOTES) + counter.count(texts.SUMMARY_EXACT) + 2
    used, of_carried = 0, 0
    kept_notes, kept_exact = list[str](), list[str]()
    for note in reversed(notes):
        tokens = counter.count(texts.to_the_letter(note)) + 1
        if used + tokens + cost <= room:
            kept_notes.append(note)
            used += tokens
    for value in exact:
        is_part = any(holds(one, value) for one in kept_exact)  # it is there already
        tokens = 0 if is_part else counter.count(texts.exact_values([value])) + 1
        is_old = value in carried
        if used + tokens + cost <= room and (not is_old or of_carried + tokens <= room_of_carried):
            kept_exact.append(value)
            used += tokens
            of_carried += tokens if is_old else 0
    return kept_notes[::-1], kept_exact


def _shrinking(items: Sequence[Item], sections: Sequence[Section], *, at_worst: bool) -> Iterator[list[Item]]:
    """Yield the list of all items; then lists with one item fewer each, in the order in which `_leaving` gives them."""
    left = list(items)
    yield left
    for item in _leaving(items, sections, at_worst=at_worst):
        left = [one for one in left if one.id != item.id]
        yield left


def _leaving(items: Sequence[Item], sections: Sequence[Section], *, at_worst: bool) -> Iterator[Item]:
    """The items that may leave: what is done, then the oldest of the fullest section; at the worst the newest too."""
    going_on = [[one for one in items if one.section == section.key and one.status != "done"] for section in sections]
    staying = {of[-1].id for of in going_on if of}
    staying.update([item.id for item in items if item.section == sections[0].key][:1])
    staying = staying or {item.id for item in items[-1:]}
    yield from (item for item in items if item.status == "done" and item.id not in staying)
    left = [[one for one in of if one.id not in staying] for of in going_on]
    while any(left):
        fullest = max(left, key=lambda of: sum(len(one.text) for one in of))
        yield fullest.pop(0)
    if at_worst:
        yield from [item for item in items if item.id in staying][1:]
