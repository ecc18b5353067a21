"""Prints a window as a table: a line for each message, and for what the window has beside the messages of the log."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from rich.console import Console

from transom import texts
from transom.cli.streams import counted, one_line
from transom.cli.terminal import STYLES, print_line
from transom.core.unit import FoldedSlot
from transom.core.window import Window
from transom.evaluation.explain import explain, preview
from transom.evaluation.fold_ranges import entries_of_fold

OWN = "added"
"""The state of a line that no message of the log stands behind."""


class WindowLine(Struct, frozen=True, kw_only=True):
    """A line of the table. `entries`: the entry, or the first and the last one that a fold stands for; empty for what
    is in every request. The tokens of all lines add up to those of the window.
    """

    entries: str
    role: str
    tokens: int
    state: str
    text: str


def print_window_table(console: Console, window: Window) -> None:
    """Print a line for everything that the window contains, in its order."""
    for line in window_lines(window):
        start = f"{line.entries:>9} {line.role:<10} {line.tokens:>8,} "
        print_line(console, start, (f"{line.state:<9} ", STYLES.get(line.state, "dim")), (one_line(line.text), "dim"))


def window_lines(window: Window) -> Iterator[WindowLine]:
    """Yield the lines: the head, each fold and message, what a request takes besides, and what calibration changes."""
    view, rows = window.view, {row.entry: row for row in explain(window)}
    if view.head_entry is not None:
        yield WindowLine(
            entries=str(view.head_entry.seq),
            role="system",
            tokens=view.head_size.tokens,
            state="kept",
            text=_head_text(window),
        )
    for slot in window.slots:
        if isinstance(slot, FoldedSlot):
            yield _fold_line(slot)
        for unit in slot.pinned_units if isinstance(slot, FoldedSlot) else (slot,):
            for row in (rows[seq] for seq in unit.seqs):
                yield WindowLine(
                    entries=str(row.entry), role=row.role, tokens=row.shown_tokens, state=row.state, text=row.text
                )
    request = view.counter.request
    yield WindowLine(entries="", role="request", tokens=request, state=OWN, text="what every request takes besides")
    if window.tokens != window.size.tokens:
        text = f"the provider counts {view.calibration:.2f} tokens where we count 1"
        more = window.tokens - window.size.tokens
        yield WindowLine(entries="", role="calibrated", tokens=more, state=OWN, text=text)


def _fold_line(fold: FoldedSlot) -> WindowLine:
    first, last = entries_of_fold(fold)
    which = f"{first}" if first == last else f"{first}–{last}"
    role = "record" if texts.is_record(fold.text) else "fold"
    text = f"{counted(fold.unit_count, 'turn')}: {' '.join(fold.text.split())}"
    return WindowLine(entries=which, role=role, tokens=fold.tokens, state="folded", text=text)


def _head_text(window: Window) -> str:
    """Say what the head has: the beginning of its instructions, and how many tools."""
    head = window.view.head
    parts = [preview(message) for message in head.messages]
    parts += [counted(len(head.tools), "tool")] if head.tools else []
    return ", ".join(parts)
