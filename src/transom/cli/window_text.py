"""Prints a window as text for people: each message below its role. Turn lines and quotes of a record look different."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter

from rich.console import Console
from rich.text import Text as RichText

from transom import quoting, texts
from transom.cli.streams import counted
from transom.cli.terminal import Piece
from transom.core.message import Assistant, Fact, Head
from transom.core.unit import FoldedSlot, Unit
from transom.core.window import Window
from transom.errors import InvalidMessage
from transom.evaluation.explanations import Explanation, explain
from transom.evaluation.fold_ranges import entries_of_fold, range_text
from transom.inspector.message_pieces import whole_pieces
from transom.inspector.window_data import tool_name
from transom.quoting import escaped
from transom.wire.arguments import read_object

WIDTH = 110
"""The most columns of a line."""

MESSAGE_LINES, QUOTED_LINES, ARGUMENT_LINES = 14, 6, 4
"""How many lines are printed of a message, of a quote and of an argument. Of the others only their number is
printed."""

LONG_LINE = 480
"""The most characters that are printed of a line."""
SHORT_ARGUMENT = 100
"""The most characters of an argument that stands beside the name of its call."""

RECORD, TITLE, NUMBER, QUOTE, MARK = "bold cyan", "cyan", "bold", "dim", "yellow"
PIECES = {"reasoning": "dim italic", "media": MARK, "other": QUOTE}
ROLES = {"system": "bold magenta", "user": "bold green", "assistant": "bold blue", "tool": "bold yellow"}

Line = tuple[int, list[Piece]]
"""A line of text: its indent and its pieces. If the first piece is a bar, each line has it when the text is wrapped."""

BAR = "│ "

BELOW, DEEPER = 2, 4
"""The indent of a text below its title, and of what belongs to one of its lines."""


def print_window_text(console: Console, window: Window, *, full: bool = False) -> bool:
    """Print what the model reads in this window, message by message. Long texts are shortened unless `full` is true.
    Return whether any text was shortened."""
    printer = _Printer(console, {row.entry: row for row in explain(window)}, full=full)
    head = window.head_entry
    if head is not None and isinstance(head.body, Head):
        printer.print_head(head.body, head.tokens[0] if head.tokens else 0)
    for slot in window.slots:
        if isinstance(slot, FoldedSlot):
            printer.print_fold(slot)
        for unit in slot.pinned_units if isinstance(slot, FoldedSlot) else (slot,):
            printer.print_unit(unit)
    return printer.has_shortened


class _Printer:
    """Prints the parts of a window, each below a title with its role and its tokens."""

    def __init__(self, console: Console, rows: dict[int, Explanation], *, full: bool) -> None:
        self._console, self._rows, self._full = console, rows, full
        self._width = min(console.width, WIDTH)
        self.has_shortened = False

    def print_head(self, head: Head, tokens: int) -> None:
        """Print the system prompt, and the names of the tools."""
        self._print_title("system", "", tokens)
        for message in head.messages:
            self._print_lines(self._fact(message))
        if head.tools:
            names = ", ".join(map(tool_name, head.tools))
            self._print_lines([(BELOW, [("tools ", QUOTE), *self._line(names)])])

    def print_fold(self, fold: FoldedSlot) -> None:
        """Print the text of a fold."""
        name = "record" if texts.is_record(fold.text) else "fold"
        where = range_text(*entries_of_fold(fold))
        self._print_title(name, f"{where}, {counted(fold.unit_count, 'turn')}", fold.tokens)
        self._print_lines(self._record(fold.text) if name == "record" else self._text(fold.text, MARK))

    def print_unit(self, unit: Unit) -> None:
        """Print a turn: its message, its calls and their results."""
        facts = unit.shown_facts()
        head = facts[0]
        calls = head.calls if isinstance(head, Assistant) else ()
        answered = (-1, *unit.answered_calls)
        for seq, fact, call in zip(unit.seqs, facts, answered, strict=True):
            row = self._rows[seq]
            tool = f"{escaped(calls[call].name)}, " if call >= 0 else ""
            state = f", {row.state}" if row.state != "kept" else ""
            self._print_title(row.role, f"{tool}entry {seq}{state}", row.shown_tokens)
            self._print_lines(self._fact(fact))

    # ---- lines of the parts

    def _fact(self, fact: Fact) -> Iterator[Line]:
        """Yield the lines of a fact as the window shows it."""
        for kind, text, name in whole_pieces(fact):
            yield from self._call(name, text) if kind == "call" else self._text(text, PIECES.get(kind, ""))

    def _call(self, name: str, given: str) -> Iterator[Line]:
        """Yield the lines of a call: short arguments beside the name, each longer one below it."""
        arguments = _arguments(given)
        short = {key: value for key, value in arguments.items() if "\n" not in value and len(value) <= SHORT_ARGUMENT}
        beside = ", ".join(f"{key}={value}" for key, value in short.items())
        yield BELOW, [("→ ", ROLES["assistant"]), (escaped(name), NUMBER), " ", *self._line(beside)]
        for key, value in arguments.items():
            if key not in short:
                yield DEEPER, [f"{escaped(key)}:"]
                for line in self._bounded(value.split("\n"), ARGUMENT_LINES):
                    yield DEEPER, [(BAR, QUOTE), *self._line(line, QUOTE)]

    def _text(self, text: str, style: str = "") -> Iterator[Line]:
        """Yield the lines of a text."""
        for line in self._bounded(text.strip("\n").split("\n"), MESSAGE_LINES):
            yield BELOW, self._line(line, style)

    def _record(self, text: str) -> Iterator[Line]:
        """Yield the lines of a record: those of turns in one column, quotes deeper below them."""
        title, _, rest = text.partition("\n")
        yield BELOW, self._line(title, TITLE)
        lines = list(_quoted_or_not(rest.split("\n"))) if rest else []
        for quote, block in groupby(lines, key=itemgetter(0)):
            found = [line for _, line in block]
            if quote:
                for line in self._bounded(found, QUOTED_LINES):
                    yield DEEPER, [(BAR, QUOTE), *self._line(line, QUOTE)]
            else:
                for line in found:
                    yield BELOW, self._record_line(line)

    def _record_line(self, line: str) -> list[Piece]:
        """Style a line of a turn: the number, what was done, and a quote at its end."""
        start, blank, rest = line.partition(" ")
        words, mark, quote = rest.partition(quoting.OPEN)
        return [(escaped(start) + blank, NUMBER), *self._line(words), *self._line(mark + quote, QUOTE)]

    def _line(self, line: str, style: str = "") -> list[Piece]:
        """Return the pieces of one line, without control characters; a long line without its middle, unless all is
        shown."""
        line = "    ".join(map(escaped, line.removesuffix("\r").split("\t")))
        if len(line) > LONG_LINE and not self._full:
            self.has_shortened = True
            begin, left_out, end = line[: LONG_LINE * 2 // 3], len(line) - LONG_LINE, line[-LONG_LINE // 3 :]
            return [(begin, style), (f" …{left_out:,} characters… ", MARK), (end, style)]
        return [(line, style)]

    def _bounded(self, lines: Sequence[str], most: int) -> Iterator[str]:
        """Yield the lines. If there are more than `most`, a line with the number of the others stands for those in the
        middle, unless all is shown."""
        if self._full or len(lines) <= most + 1:
            yield from lines
            return
        self.has_shortened = True
        last = most // 4
        yield from lines[: most - last]
        yield f"… {len(lines) - most:,} lines …"
        yield from lines[len(lines) - last :]

    # ---- printing

    def _print_title(self, name: str, what: str, tokens: int) -> None:
        """Print a line with the role of a message at its beginning and the tokens at its end."""
        left, right = f"── {name}", f" {tokens:,} tokens"
        what = f" · {what} " if what else " "
        room = self._width - len(left) - len(right)
        line = RichText.assemble(
            ("── ", QUOTE), (name, ROLES.get(name, RECORD)), (what[:room].ljust(room, "─"), QUOTE), (right, QUOTE)
        )
        self._console.print(line, no_wrap=True, overflow="ellipsis", crop=True)

    def _print_lines(self, lines: Iterator[Line] | Sequence[Line]) -> None:
        """Print lines, and an empty line after them. A line that is wrapped keeps its indent."""
        for indent, pieces in lines:
            bar = pieces[:1] if pieces and pieces[0] == (BAR, QUOTE) else []
            whole = RichText.assemble(*pieces[len(bar) :])
            width = max(20, self._width - indent - 2 * len(bar))
            for part in whole.wrap(self._console, width) or [whole]:
                part.rstrip()
                line = RichText.assemble(" " * indent, *bar, part)
                line.rstrip()
                self._console.print(line, no_wrap=True, overflow="ignore", crop=False)
        self._console.print()


def _quoted_or_not(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the lines of a record, each with the number, from 2, of the quote that it is a part of; 0 for a turn line.

    No quote contains a quotation mark.
    """
    is_open, number = False, 1
    for line in lines:
        number += line.startswith(quoting.OPEN)
        yield number if is_open or line.startswith(quoting.OPEN) else 0, line
        ends, begins = line.rfind(quoting.CLOSE), line.rfind(quoting.OPEN)
        is_open = begins > ends or (is_open and ends < 0)


def _arguments(given: str) -> dict[str, str]:
    """Return the arguments of a call as texts, by name; if they are no JSON object, all under the name "arguments"."""
    try:
        found = read_object(given)
    except InvalidMessage:
        return {"arguments": given}
    return {
        key: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) for key, value in found.items()
    }
