"""The failed calls that a later success answered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from transom.strategies.actions.commands import Command
from transom.strategies.actions.edits import FileEdit
from transom.strategies.actions.relations import SameFiles, edits_answer, run_answers, runs_of
from transom.strategies.digest.index import DoneCall

NEAR = 20
"""How far to look for a success that answers a failure: runs of the same program, or edits of the same file."""


def answered_failures(calls: Iterable[DoneCall]) -> dict[tuple[int, int], int]:
    """The failed ones of these calls, by the entry of their turn and their index, that later successes answered: the
    entry of the turn with the last that it took. `calls`: from the newest to the oldest."""
    found: dict[tuple[int, int], int] = {}
    later = _Successes()
    for done in calls:
        if done.outcome is None:
            continue
        if done.outcome.status == "ok":
            later.add(done)
        elif done.outcome.failed and (turn := later.answer(done)) is not None:
            found[done.turn, done.at] = turn
    return found


class _Successes:
    """The calls that succeeded after a failure, added from the newest to the oldest."""

    def __init__(self) -> None:
        self._runs: dict[str, list[tuple[Command, DoneCall]]] = {}
        self._edits: dict[str, list[tuple[SameFiles, DoneCall]]] = {}

    def add(self, done: DoneCall) -> None:
        """Add a call that succeeded."""
        files = SameFiles(edit.file for edit in done.action.edits)
        for name in _edited(done):
            self._edits.setdefault(name.rpartition("/")[2], []).append((files, done))
        for run in runs_of(done.action):
            self._runs.setdefault(run.program, []).append((run, done))

    def answer(self, failed: DoneCall) -> int | None:
        """The turn with which all that a failed call was to do had succeeded; None if that is not known."""
        wanted: dict[str, list[FileEdit]] = {}
        for edit in failed.action.edits:
            wanted.setdefault(edit.file, []).append(edit)
        answers = [self._edit_of(name, wanted.get(name, [])) for name in sorted(_edited(failed))] or [
            self._run(failed, run) for run in runs_of(failed.action)
        ]
        known = [turn for turn in answers if turn is not None]
        return max(known) if known and len(known) == len(answers) else None

    def _run(self, failed: DoneCall, run: Command) -> int | None:
        """The first turn with a run that covers what this one did."""
        by_name = failed.outcome is not None and failed.outcome.is_missing
        for one, later in reversed(self._runs.get(run.program, ())[-NEAR:]):
            if run_answers(one, run, by_name=by_name, seen=later.outcome is not None and later.outcome.ran):
                return later.turn
        return None

    def _edit_of(self, name: str, wanted: Sequence[FileEdit]) -> int | None:
        """The first turn with an edit of a file that did what the `wanted` ones were to do."""
        for files, later in reversed(self._edits.get(name.rpartition("/")[2], ())[-NEAR:]):
            if edits_answer([later.action.edits[at] for at in files.matches(name)], wanted):
                return later.turn
        return None


def _edited(done: DoneCall) -> frozenset[str]:
    """The files that a call was to edit; a command says what it runs instead."""
    return done.action.changes if done.action.is_edit else frozenset()
