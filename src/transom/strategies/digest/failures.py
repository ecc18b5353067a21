"""The failed calls among folded turns: which a later success answered, and what is quoted of the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from transom.core.edit import Span
from transom.core.message import Fact
from transom.core.unit import Unit
from transom.core.view import View
from transom.strategies.actions.action import Action
from transom.strategies.actions.commands import Command
from transom.strategies.actions.edits import FileEdit
from transom.strategies.actions.outcome import Outcome, is_test_output
from transom.strategies.actions.relations import edits_answer, is_one_of, run_answers, runs_of
from transom.strategies.digest.failure_lines import failure_spans
from transom.strategies.digest.index import Index
from transom.strategies.digest.passages import Passage, readable

LONGEST = 3_000
"""Characters of an output that may be chosen for a quote."""

NEAR = 20
"""How far to look for a success that answers a failure: runs of the same program, or edits of the same file."""

PASTED = 200
"""Tokens of a message from which it may be a pasted test run."""


class Ended(NamedTuple):
    """A call that has its result: the entry of its turn, its index, what it did, the entry of its result, and how it
    ended."""

    turn: int
    at: int
    action: Action
    result: int
    outcome: Outcome

    @property
    def edited(self) -> frozenset[str]:
        """The files that it was to edit; a command says what it runs instead."""
        return self.action.changes if self.action.is_edit else frozenset()


class Failures:
    """What failed among these units. A success may also be `beside` them: in the turns that stay whole."""

    def __init__(self, view: View, index: Index, units: Sequence[Unit], beside: Sequence[Unit]) -> None:
        self.view, self.index, self.units, self.beside = view, index, units, beside

    @cached_property
    def answered(self) -> dict[tuple[int, int], int]:
        """The failed calls, by the entry of their turn and their index, that later successes answered: the entry of
        the turn with the last that it took."""
        found: dict[tuple[int, int], int] = {}
        units = sorted((*self.units, *self.beside), key=lambda unit: unit.seqs[0], reverse=True)
        later = _LaterCalls(self.view)
        for ended in (one for unit in units for one in reversed(list(self._ended(unit)))):
            if ended.outcome.status in {"ok", "running"}:
                later.add(ended)
            elif (turn := later.answer(ended)) is not None:
                found[ended.turn, ended.at] = turn
        return found

    def lines_in(self, passage: Passage) -> list[Span] | None:
        """The lines in a passage that say what failed; None if it is not of the output of a test run, a build or a
        check: then all of it may be quoted."""
        lines = self._failure_lines.get(passage.entry)
        return lines and [(start, end) for start, end in lines if start < passage.end and passage.start < end]

    def is_noise(self, passage: Passage) -> bool:
        """Whether a passage is of the output of a test run, a build or a check, and no line of it says what failed."""
        lines = self.lines_in(passage)
        return lines is not None and not lines

    @cached_property
    def _failure_lines(self) -> dict[int, list[Span]]:
        """The outputs of test runs, builds and checks, and the lines of each that say what failed."""
        found: dict[int, list[Span]] = {}
        for ended in (one for unit in self.units for one in self._ended(unit)):
            if ended.outcome.tested:
                fact = self.view.fetch(ended.result).body
                sources = readable(fact) if ended.outcome.failed and isinstance(fact, Fact) else []
                found[ended.result] = failure_spans(sources[0][0], LONGEST) if len(sources) == 1 else []
        return found | {seq: lines for seq in self._long_messages() if (lines := self._pasted_failures(seq))}

    def _long_messages(self) -> Iterator[int]:
        """The messages in the user's place that may have the output of a test run in them."""
        for unit in self.units:
            indexed = self.index.at(self.view, unit.seqs[0])
            if indexed.role == "user" and indexed.tokens > PASTED:
                yield unit.seqs[0]

    def _pasted_failures(self, seq: int) -> list[Span]:
        """The lines that say what failed in a message that ends with the summary of a test run."""
        fact = self.view.fetch(seq).body
        sources = readable(fact) if isinstance(fact, Fact) else []
        is_run = len(sources) == 1 and is_test_output(sources[0][0])
        return failure_spans(sources[0][0], LONGEST) if is_run else []

    def _ended(self, unit: Unit) -> Iterator[Ended]:
        head, *results = unit.seqs
        calls = self.index.at(self.view, head).calls
        for at, seq in zip(unit.answered_calls, results, strict=True):
            if (ended := self.index.at(self.view, seq).result) is not None:
                yield Ended(head, at, calls[at], seq, ended)


class _LaterCalls:
    """The calls that succeeded after a failure, added from the newest to the oldest."""

    def __init__(self, view: View) -> None:
        self.view = view
        self._runs: dict[str, list[tuple[Command, Ended]]] = {}
        self._edits: dict[str, list[Ended]] = {}

    def add(self, ended: Ended) -> None:
        """Add a call that did not fail. One that still runs has not succeeded yet."""
        if ended.outcome.session:
            return
        for name in ended.edited:
            self._edits.setdefault(name.rpartition("/")[2], []).append(ended)
        for run in runs_of(ended.action):
            self._runs.setdefault(run.program, []).append((run, ended))

    def answer(self, failed: Ended) -> int | None:
        """The turn with which all that a failed call was to do had succeeded; None if that is not known."""
        names = sorted(failed.edited)
        answers = [self._edit_of(failed, name) for name in names] or [
            self._run(failed, run) for run in runs_of(failed.action)
        ]
        known = [turn for turn in answers if turn is not None]
        return max(known) if known and len(known) == len(answers) else None

    def _run(self, failed: Ended, run: Command) -> int | None:
        """The first turn with a run that covers what this one did."""
        for one, later in reversed(self._runs.get(run.program, ())[-NEAR:]):
            if run_answers(one, run, by_name=failed.outcome.is_missing, seen=later.outcome.ran):
                return later.turn
        return None

    def _edit_of(self, failed: Ended, name: str) -> int | None:
        """The first turn with an edit of a file that did what this one was to do."""
        for later in reversed(self._edits.get(name.rpartition("/")[2], ())[-NEAR:]):
            same = next((one for one in later.edited if is_one_of(one, (name,))), None)
            if same is not None and edits_answer(_edits(later, same), _edits(failed, name)):
                return later.turn
        return None


def _edits(ended: Ended, file: str) -> list[FileEdit]:
    """The edits of a file by a call."""
    return [edit for edit in ended.action.edits if edit.file == file]
