"""The failed calls that a later success answered.

In doubt it did not: `pytest tests/a.py` is answered by `uv run pytest tests/a.py -q` and by `pytest`, not by
`pytest tests/b.py`, `pytest -k one_test` or `pytest | grep Error`. What is no test run, check or build is answered by
the same command only.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from transom.strategies.actions.action import Action
from transom.strategies.actions.commands import Command
from transom.strategies.actions.edits import SCANNED_EDIT, FileEdit, file_of, is_same_file
from transom.strategies.actions.outcome import Outcome
from transom.strategies.record.index import DoneCall

NEAR = 20
"""How far to look for a success that answers a failure: runs of the same program, or edits of files of that name."""

RARE = 12
"""Characters of a line that is unlikely to stand in two places of a file, at least."""

Work = Command | FileEdit
"""One of the things that a call did."""


def answered_failures(calls: Iterable[DoneCall]) -> dict[tuple[int, int], int]:
    """Return the failed calls whose whole work succeeded later: by the entry of the call's turn and the call's index in
    it, the entry of the turn that completed the work. `calls`: the newest first."""
    found: dict[tuple[int, int], int] = {}
    later: dict[str, list[tuple[Work, DoneCall]]] = defaultdict(list)
    for done in calls:
        ended, works = done.outcome, work_of(done.action)
        if ended is not None and ended.status == "ok":
            for name, work in works:
                later[name].append((work, done))
        elif ended is not None and ended.failed:
            # of each thing the first turn that did it; -1 if none did
            turns = [
                next(
                    (
                        good.turn
                        for one, good in later[name][: -NEAR - 1 : -1]
                        if answers(
                            one, good.outcome, work, ended, is_repeated=good.action.commands == done.action.commands
                        )
                    ),
                    -1,
                )
                for name, work in works
            ]
            if turns and min(turns) >= 0:
                found[done.turn, done.at] = max(turns)
    return found


def work_of(action: Action) -> list[tuple[str, Work]]:
    """The edits of a call, each under the name of its file; of any other call its commands, each under its program, but
    not those that show, filter, stand beside others, or run in the background."""
    if action.is_edit:
        edits = action.edits or [FileEdit(name) for name in sorted(action.changes)]
        return [(file_of(one.file), one) for one in edits]
    beside = {"beside", "shows", "finds"}
    return [(one.program, one) for one in action.commands if one.program and one.role not in beside and one.end != "&"]


def answers(
    later: Work, ended: Outcome | None, earlier: Work, failed: Outcome | None, *, is_repeated: bool = False
) -> bool:
    """Whether what succeeded later did what an earlier thing was to do. `ended`, `failed`: how both calls ended.

    A pipe hides how a command in it ended. Then it counts only if the summary of its run stands in the output, or if
    both calls ran the same commands (`is_repeated`): how these fail is known."""
    if isinstance(later, FileEdit) or isinstance(earlier, FileEdit):
        return isinstance(later, FileEdit) and isinstance(earlier, FileEdit) and _edit_answers(later, earlier)
    is_seen = (ended is not None and ended.ran) or (later.end in {"", "&&"} and not later.changes)
    folders = {later.folder, earlier.folder}
    is_elsewhere = len(folders) > 1 and ("" not in folders or max(folders)[0] not in "/~")  # "": it is not known
    if later.program != earlier.program or is_elsewhere or not (is_seen or is_repeated):
        return False
    # without a package, `go test` is about its folder
    covers_more = later.role == "check" and not later.program.startswith("go ") and not (failed and failed.is_missing)
    return later.covers == earlier.covers or (covers_more and later.covers < earlier.covers)


def _edit_answers(later: FileEdit, earlier: FileEdit) -> bool:
    """Whether `later` did what `earlier` was to do, in the same file: it wrote the whole file, it is the same change,
    or it replaced at least half of the lines that `earlier` was to replace. In the last case one of the shared lines
    must have `RARE` characters, unless both replace the same lines."""
    if not is_same_file(later.file, earlier.file):
        return False
    if later.whole or (later.old, later.new) == (earlier.old, earlier.new):
        return True
    mine, other = _lines(later.old), _lines(earlier.old)
    shared = mine & other
    return 2 * len(shared) >= len(other) > 0 and (mine == other or any(len(line) >= RARE for line in shared))


def _lines(text: str) -> set[str]:
    return {words for line in text[:SCANNED_EDIT].split("\n") if (words := line.strip())}
