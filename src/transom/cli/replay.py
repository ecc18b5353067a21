"""`transom replay`: recorded conversations through the front door again, every window judged and counted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import reduce
from pathlib import Path
from time import thread_time
from typing import IO, Any

from transom.cli.commands import Replay
from transom.cli.locate import fresh_store, remember
from transom.cli.lock_notice import Watch
from transom.cli.progress import Bar
from transom.cli.report import Course, Outcome, print_json, print_report
from transom.cli.sources import Record, records
from transom.cli.window_file import STDOUT, line_of, windows_file
from transom.conversation.conversation import Conversation
from transom.conversation.replay import Placed, Question, Step, replay, split
from transom.core.budget import Budget
from transom.core.message import Assistant
from transom.core.policy import Policy
from transom.core.prices import Prices
from transom.errors import InvalidSetting
from transom.measure.replay_stats import Needs, ReplayStats, needs_of, newest_fold, replay_stats
from transom.policies import policy_named
from transom.stores import Store, open_store
from transom.tokenizer import o200k
from transom.wire.dialects import dialect_named

PROBLEMS = 5
"""How many wrong windows are named."""


def run(wanted: Replay) -> int:
    """Replay, print, and say by the exit code whether every window was right."""
    outcome = replayed(wanted)
    show = print_json if wanted.json else print_report
    show(outcome, aside=wanted.out == STDOUT)
    return outcome.code


def replayed(wanted: Replay) -> Outcome:
    """The replay itself. Raises TransomError, OSError; what was stored until then stays."""
    budget = Budget(context=wanted.budget, prices=Prices.named(wanted.prices))
    policy, out = policy_named(wanted.policy), wanted.out
    dialect_named(wanted.dialect)
    for file in wanted.files:  # before anything is made
        file.stat()
        if out is not None and out != STDOUT and out.exists() and out.samefile(file):
            raise InvalidSetting(f"--out: {out} is one of the input files")
    url = fresh_store() if wanted.store is None else wanted.store
    try:
        with Watch(url, writing=True) as watch, closing(open_store(url)) as store:
            remember(url)
            with windows_file(out) as windows, Bar(watch) as bar:
                playing = _Playing(wanted, store, budget, policy, windows, bar)
                files = tuple((str(file), playing.file(file, done)) for done, file in enumerate(wanted.files))
    except KeyboardInterrupt as stop:
        stop.add_note("nothing was kept" if url == "memory:" else f"go on with --store '{url}'")
        raise
    if not any(tally.conversations for _, tally in files):
        raise InvalidSetting("no conversation in these files")
    if wanted.chart is not None and playing.course is None:
        raise InvalidSetting(f"--chart: no conversation {wanted.chart!r} in these files")
    return Outcome(
        budget=wanted.budget,
        policy=policy.name,
        store=url,
        files=files,
        course=playing.course,
        needs=playing.needs,
        problems=tuple(playing.problems),
    )


class _Playing:
    """Goes through files; keeps the course to draw, what refused calls need, and the first problems."""

    def __init__(
        self, wanted: Replay, store: Store, budget: Budget, policy: Policy, out: IO[bytes] | None, bar: Bar
    ) -> None:
        self._wanted, self._store, self._out, self._bar = wanted, store, out, bar
        self._budget, self._policy, self._dialect = budget, policy, dialect_named(wanted.dialect)
        self._names: set[str] = set()
        self.course: Course | None = None
        self.needs: Needs | None = None
        self.problems: list[str] = []
        o200k().count("loaded before anything is timed")

    def file(self, path: Path, done: int) -> ReplayStats:
        """Every conversation of a file; `done` files came before it."""
        played = records(path, questions=self._wanted.questions)
        return reduce(ReplayStats.plus, (self._record(record, done) for record in played), ReplayStats())

    def _record(self, record: Record, done: int) -> ReplayStats:
        head, facts = split(record.messages, record.where)
        conversation = Conversation(
            self._store.open(self._name(record.id)),
            budget=self._budget,
            policy=self._policy,
            counter=o200k(),
            system=head,
            dialect=self._dialect,
        )
        total, tokens, newest = ReplayStats(conversations=1), list[int | None](), -1
        for step, request, seconds in timed(conversation, facts, record.questions):
            if self._out is not None:
                self._out.write(line_of(record.id, step, request))
            self._bar.at((done + _reached(record, step)) / len(self._wanted.files), record.where)
            total = total.plus(self._judged(record, step, request, newest)).plus(ReplayStats(seconds=seconds))
            if step.question is None:
                tokens.append(None if step.window is None else step.window.tokens)
                newest = newest if step.window is None else max(newest, newest_fold(step.window))
        conversation.close()
        self._drawn(Course(conversation=record.id, tokens=tuple(tokens)))
        turns = sum(isinstance(fact, Assistant) for _, fact in facts)
        return total.plus(ReplayStats(skipped=turns - total.calls))

    def _name(self, title: str) -> str:
        """Where the log is kept: ids come twice, in one file or in several."""
        name, number = title, 1
        while name in self._names:
            number += 1
            name = f"{title} ({number})"
        self._names.add(name)
        return name

    def _judged(self, record: Record, step: Step, request: dict[str, Any], newest: int) -> ReplayStats:
        if step.window is None:
            if step.refused is not None:
                needs = needs_of(step.refused)
                self.needs = needs if self.needs is None else self.needs.and_of(needs)
            return ReplayStats(calls=step.question is None, questions=step.question is not None, refused=1)
        broken = self._dialect.violations(request)
        over = step.window.tokens > self._wanted.budget
        if (broken or over) and len(self.problems) < PROBLEMS:
            why = f"{broken[0].rule}, {broken[0].why}" if broken else f"{step.window.tokens:,} tokens"
            self.problems.append(f"{record.where}, {record.id} at {step.at}: {why}")
        bad = ReplayStats(invalid=int(bool(broken)), over=int(over))
        if step.question is not None:
            return bad.plus(ReplayStats(questions=1))
        return bad.plus(replay_stats(step.window, newest_before=newest))

    def _drawn(self, course: Course) -> None:
        if self._wanted.chart is None:
            if self.course is None or len(course.tokens) > len(self.course.tokens):
                self.course = course
        elif course.conversation == self._wanted.chart:
            self.course = course


def _reached(record: Record, step: Step) -> float:
    """How much of the file this step has got through."""
    return record.begin + (record.end - record.begin) * step.at / max(1, len(record.messages))


def timed(
    conversation: Conversation, facts: list[Placed], questions: Sequence[Question]
) -> Iterator[tuple[Step, dict[str, Any], float]]:
    """Each step with what its window puts in a request, and the CPU seconds that building it took this thread.

    What follows the last call (its reply is appended) is nobody's call, and is not counted.
    """
    steps = replay(conversation, facts, questions=questions)
    while True:
        begun = thread_time()
        step = next(steps, None)
        if step is None:
            return
        request = {} if step.window is None else step.window.request(conversation.dialect)
        yield step, request, thread_time() - begun
