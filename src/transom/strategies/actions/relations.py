"""How actions relate: whether a later one answers an earlier one that failed, and whether an edit touches quoted lines.

`pytest tests/a.py` that failed is answered by `uv run pytest tests/a.py -q` and by `pytest`, which cover it, not by
`pytest tests/b.py`, `pytest -k one_test` or `pytest --collect-only`. What is no test run, check or build is answered by
the same command only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile

from transom.core.edit import Span
from transom.strategies.actions.action import Action
from transom.strategies.actions.commands import Command
from transom.strategies.actions.edits import SCANNED_EDIT, FileEdit
from transom.strategies.text.spans import joined

Lines = Sequence[str]

RARE = 12
"""Characters of a line that is unlikely to stand in two places of a file, at least."""

_PIECE = re.compile(r"[^\S\n]*\n?…\n?")


def is_one_of(name: str, others: Iterable[str]) -> bool:
    """Whether a name is one of these, or the path of the same file: one of both may begin further in."""
    name = name.removeprefix("./")
    return any(
        name == other or name.endswith(f"/{other}") or other.endswith(f"/{name}")
        for other in (other.removeprefix("./") for other in others)
    )


def runs_of(action: Action) -> list[Command]:
    """The commands that an action is about: not those that stand beside or filter, and none whose end it does not wait
    for."""
    return [
        one
        for one in action.commands
        if one.role not in {"beside", "shows", "finds"} and one.end != "&" and one.program
    ]


def run_answers(later: Command, earlier: Command, *, by_name: bool = False, seen: bool = False) -> bool:
    """Whether a run covered what the earlier one did. `by_name`: only if it names the same targets. `seen`: how it
    ended is known, whatever its output went through."""
    is_known = later.folder and earlier.folder
    may_be_same = later.folder == earlier.folder or (
        not is_known and (later.folder or earlier.folder)[:1] in {"/", "~"}
    )
    if later.program != earlier.program or not may_be_same or later.options - earlier.options:
        return False
    if later.pipes and not seen and later.pipes != earlier.pipes:
        return False
    if later.targets >= earlier.targets and (earlier.targets or not later.targets):
        return True
    if by_name or not earlier.targets or later.role != "check":
        return False
    return not later.targets or all(any(_covers(one, other) for one in later.targets) for other in earlier.targets)


def _covers(target: str, other: str) -> bool:
    """Whether one file, folder or package has the other in it, or is the same."""
    folder = target.removesuffix("/...")
    if other == folder or (folder != target and other.startswith(f"{folder}/")):
        return True
    if "." in target.rpartition("/")[2] and (target.endswith(f"/{other}") or other.endswith(f"/{target}")):
        return True
    return other.startswith((f"{target}/", f"{target}::"))


def edits_answer(later: Sequence[FileEdit], earlier: Sequence[FileEdit]) -> bool:
    """Whether edits of a file did what the earlier ones were to do: they replaced the same text or more, or most lines
    of it; they wrote the whole file; or they are the same."""
    if any(one.whole for one in later) or later == earlier:
        return True
    mine, other = (
        [_words(line) for one in edits for line in one.old[:SCANNED_EDIT].split("\n")] for edits in (later, earlier)
    )
    mine, other = list(filter(None, mine)), list(filter(None, other))
    text, wanted = " ".join(mine), " ".join(other)
    if wanted and (wanted == text or (len(wanted) >= RARE and wanted in text)):
        return True
    shared = set(mine) & set(other)
    return bool(wanted) and 2 * len(shared) >= len(set(other)) and any(len(line) >= RARE for line in shared)


def _words(line: str) -> str:
    return " ".join(line.split())


def replaced(edit: FileEdit) -> tuple[Lines, int, int]:
    """The old lines of an edit, without blank ones at either end, and from where to where it puts something else in
    their place; if both are the same, between two lines."""
    old, new = edit.old.splitlines(), edit.new.splitlines()
    before = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))
    pairs = zip(reversed(old[before:]), reversed(new[before:]), strict=False)
    stop = len(old) - sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    filled = [at for at, line in enumerate(old) if line.strip()]
    if not filled:
        return (), 0, 0
    first, last = filled[0], filled[-1] + 1
    return old[first:last], min(max(before, first), last) - first, min(max(stop, first), last) - first


def may_touch(edits: Sequence[FileEdit], quoted: Sequence[Lines]) -> bool:
    """Whether edits may have changed quoted lines: they did, or it is not known what they replaced."""
    if not quoted or not edits or any(not one.old.strip() for one in edits):
        return True
    return any(touches(edit, lines) for edit in edits if edit.old != edit.new for lines in quoted)


def touches(edit: FileEdit, quoted: Lines) -> bool:
    """Whether an edit may have changed quoted lines, or put something between them. The quoted lines may have numbers
    or marks in front; the first and the last line of the edit may be a part of a line. What stands beside a single
    quoted line is not known: something beside it may be between it and the next one."""
    lines, first, last = replaced(edit)
    for at in range(1 - len(lines), len(quoted)):
        start, stop = max(first + at, 0), min(last + at, len(quoted))
        if first == last:
            start = first + at
            is_inside = 0 <= start <= 1 if len(quoted) == 1 else 0 < start < len(quoted)
        else:
            is_inside = start < stop
        if is_inside and _fits(lines, quoted, at):
            return True
    return False


def _fits(lines: Lines, quoted: Lines, at: int) -> bool:
    """Whether the lines of an edit may begin at this one of the quoted lines, which may be before the first of them."""
    last = len(lines) - 1
    for number in range(max(0, -at), min(len(lines), len(quoted) - at)):
        mine, other = lines[number].strip(), quoted[number + at].rstrip()
        if not (mine in other if number == last else other.endswith(mine)):
            return False
    return True


def whole_lines(text: str, spans: Sequence[Span], *, in_a_row: bool) -> Iterator[Lines]:
    """The lines of a text that these spans are in. If they stand in the file `in_a_row` too, each span gives a run of
    them; else each line is a run of its own: what a search or a diff prints are lines of different places."""
    for start, end in joined(spans):
        stop = text.find("\n", max(start, end - 1))
        lines = text[text.rfind("\n", 0, start) + 1 : stop if stop >= 0 else len(text)].splitlines()
        yield from [lines] if in_a_row else ([line] for line in lines if line.strip())


def spans_of_quotes(text: str, quotes: Sequence[str]) -> list[Span]:
    """Where those of the quotes that are of this text stand in it."""
    found: list[Span] = []
    for quote in quotes:
        pieces = [piece for piece in _PIECE.split(quote) if piece.strip()]
        spans: list[Span] = []
        for piece in pieces:
            start = text.find(piece, spans[-1][1] if spans else 0)
            if start < 0:
                break
            spans.append((start, start + len(piece)))
        if len(spans) == len(pieces):
            found += spans
    return sorted(found)
