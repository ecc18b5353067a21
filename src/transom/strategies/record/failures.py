"""The failed calls that a later success answered.

In doubt it did not: a command is answered by the same command in the same folder, an edit by one that replaces the same
text, or that writes the whole file.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from transom.strategies.actions.commands import Command
from transom.strategies.actions.edits import SCANNED_EDIT, FileEdit, file_of, is_same_file
from transom.strategies.record.index import DoneCall

NEAR = 20
"""How far to look for an edit that answers a failed one: among later edits of files of that name."""

RARE = 12
"""Characters of a line that is unlikely to stand in two places of a file, at least."""


def answered_failures(calls: Iterable[DoneCall]) -> dict[tuple[int, int], int]:
    """Find the failed calls whose whole work succeeded later. Returns for each of them the entry of the turn that
    completed the work; the key is the entry of the failed call's turn and the call's index in it. `calls`: the newest
    first.

    A pipe hides how a command in it ended. Then it counts only if the summary of its run stands in the output, or if
    both calls ran the same commands: how these fail is known."""
    found: dict[tuple[int, int], int] = {}
    runs: dict[object, int] = {}
    edits: dict[str, list[tuple[FileEdit, int]]] = defaultdict(list)
    for done in calls:
        ended, action, turns = done.outcome, done.action, list[int]()
        if ended is not None and action.is_edit:
            for one in action.edits or [FileEdit(name) for name in sorted(action.changes)]:
                later = edits[file_of(one.file)]
                if ended.status == "ok":
                    later.append((one, done.turn))
                turns.append(_answer(one, later[: -NEAR - 1 : -1]))
        elif ended is not None:
            main = [one for one in action.commands if _is_work(one)]
            for one in main:
                later = (runs[key] for key in (action.commands, _key(one)) if key in runs)
                turns.append(min(later, default=-1))
            if ended.status == "ok":
                seen = (one for one in main if ended.ran or (one.end in {"", "&&"} and not one.changes))
                runs |= dict.fromkeys((*map(_key, seen), action.commands), done.turn)
        if ended is not None and ended.failed and turns and min(turns) >= 0:
            found[done.turn, done.at] = max(turns)
    return found


def _is_work(one: Command) -> bool:
    """Whether a call may be about a command: it does not show, filter, stand beside others, or run in the
    background."""
    return bool(one.program) and one.role not in {"beside", "shows", "finds"} and one.end != "&"


def _key(one: Command) -> object:
    return one.program, one.words, one.folder


def _answer(failed: FileEdit, later: Iterable[tuple[FileEdit, int]]) -> int:
    """The turn of the first of these edits that did what a failed one was to do, in the same file; -1 if none did. It
    wrote the whole file, it is the same change, or it replaced at least half of the lines that `failed` was to replace.
    In the last case one of the shared lines must have `RARE` characters, unless both replace the same lines."""
    for one, turn in later:
        mine, other = _lines(one.old), _lines(failed.old)
        shared = mine & other
        is_like = 2 * len(shared) >= len(other) > 0 and (mine == other or any(len(line) >= RARE for line in shared))
        is_same = one.whole or (one.old, one.new) == (failed.old, failed.new)
        if (is_same or is_like) and is_same_file(one.file, failed.file):
            return turn
    return -1


def _lines(text: str) -> set[str]:
    return {words for line in text[:SCANNED_EDIT].split("\n") if (words := line.strip())}
