"""Writes the text of a repo map: the best files and symbols that a budget has room for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heapreplace
from itertools import islice

from msgspec import Struct

from transom import quoting, texts
from transom.core.tokens import TokenCounter
from transom.repo_map.symbols import Symbol

FOLLOWING = 0.6
"""Each further symbol of one file counts less by this factor, so that one large file does not fill the map."""

LEAST_TOKENS = 3
"""The fewest tokens that a file takes."""

FULL = 0.98
"""A map that uses this share of its budget is not made larger."""


class MappedFile(Struct, frozen=True):
    """A file of a map.

    `path`: within the folder; `rank`: the ranks of all files of the folder add up to 1; `symbols`: in the order of the
    source; `symbol_ranks`: the rank of each symbol, in the same order.
    """

    path: str
    rank: float
    symbols: tuple[Symbol, ...]
    symbol_ranks: tuple[float, ...]


_MapLine = tuple[int, int | None]
"""A line that a map could have: a file, or one of its symbols, both by index; None in place of a symbol: its path."""


def map_text(files: Sequence[MappedFile], budget: int, counter: TokenCounter) -> str:
    """Write the map of these files, which are given best first, within `budget` tokens: a title, the paths in the order
    of `files`, and under each its best symbols in the order of the source. What looks like a marker of ours is
    disarmed.

    Empty if there is no room for a file.
    """
    source, lines = _lines(files), list[_MapLine]()
    text, low, high = "", 0, min(sum(1 + len(file.symbols) for file in files), budget // LEAST_TOKENS)
    guess = min(high, max(1, budget // 12))
    while low < high:
        lines.extend(islice(source, max(0, guess - len(lines))))
        candidate = _rendered(files, lines[:guess])
        tokens = counter.count(candidate)
        if tokens <= budget:
            low, text = guess, candidate
            if tokens >= FULL * budget:
                break
        else:
            high = guess - 1
        likely = guess * budget // tokens  # tokens grow nearly evenly with the lines
        guess = likely if low < likely <= high else (low + high + 1) // 2
    return text


def _lines(files: Sequence[MappedFile]) -> Iterator[_MapLine]:
    """Yield the lines that a map could have, the best first."""
    symbols: list[list[int]] = [[] for _ in files]
    ahead = [(-file.rank, at, 0) for at, file in enumerate(files)]
    heapify(ahead)
    while ahead:
        worth, at, place = ahead[0]
        if not place:
            ranks = files[at].symbol_ranks
            symbols[at] = sorted(range(len(ranks)), key=lambda symbol: (-ranks[symbol], symbol))
        yield at, symbols[at][place - 1] if place else None
        if place < len(symbols[at]):
            heapreplace(ahead, (worth * FOLLOWING, at, place + 1))
        else:
            heappop(ahead)


def _rendered(files: Sequence[MappedFile], lines: Sequence[_MapLine]) -> str:
    """Write these lines: the files in order, under each its symbols, methods below their class."""
    shown: dict[int, set[int]] = {}
    for at, symbol in lines:
        shown.setdefault(at, set()).update(() if symbol is None else (symbol,))
    out = [texts.REPO_MAP]
    for at in sorted(shown):
        out.append(shown_path(files[at].path))
        parent = ""
        for symbol in (files[at].symbols[index] for index in sorted(shown[at] | _classes(files[at], shown[at]))):
            if symbol.parent and symbol.parent != parent:
                out.append(f"  {symbol.parent}")  # its class is in another file
            parent = symbol.name if symbol.kind == "class" and not symbol.parent else symbol.parent
            out.append(f"{'    ' if symbol.parent else '  '}{symbol.signature}")
    return quoting.disarmed("\n".join(out))


def _classes(file: MappedFile, shown: set[int]) -> set[int]:
    """Return the indexes of the classes that the shown methods are in."""
    parents = {file.symbols[index].parent for index in shown}
    return {
        index
        for index, symbol in enumerate(file.symbols)
        if symbol.kind == "class" and not symbol.parent and symbol.name in parents
    }


def shown_path(path: str) -> str:
    """Return a path on one line, with every character that is not printable escaped."""
    return "".join(letter if letter.isprintable() else f"\\x{ord(letter):02x}" for letter in path)
