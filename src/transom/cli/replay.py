"""`transom replay`: recorded conversations through the front door again, every window judged and counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from time import thread_time
from typing import IO, Any

from transom.cli import runs
from transom.cli.commands import Replay
from transom.cli.inputs import check_files, name_of, opened_input, readable, tools_for
from transom.cli.locate import remember
from transom.cli.lock_notice import Watch
from transom.cli.progress import Bar
from transom.cli.report import FileStats, Outcome, Timeline, print_json, print_report
from transom.cli.window_file import STDOUT, line_of, windows_file
from transom.conversation.conversation import Conversation
from transom.conversation.replay import Placed, Question, Step, replay
from transom.conversation.request import render
from transom.core.budget import Budget
from transom.core.message import Assistant, Instruction, Raw
from transom.core.policy import Policy
from transom.core.prices import Prices
from transom.errors import InvalidSetting
from transom.importers import Recorded
from transom.measure.replay_stats import Needs, ReplayStats, needs_of, newest_fold, replay_stats
from transom.policies import policy_named
from transom.stores import Store, open_store
from transom.tokenizer import o200k
from transom.wire.dialect import Dialect
from transom.wire.dialects import dialect_named

PROBLEMS = 5
"""How many wrong windows are named."""


def run(options: Replay) -> int:
    """Replay, print, and say by the exit code whether every window was right."""
    outcome = replayed(options)
    show = print_json if options.json else print_report
    show(outcome, aside=options.out == STDOUT)
    return outcome.code


def replayed(options: Replay) -> Outcome:
    """The replay itself. Raises TransomError, OSError; what was stored until then stays."""
    budget = Budget(context=options.budget, prices=Prices.named(options.prices))
    policy, out = policy_named(options.policy), options.out
    if options.dialect is not None:
        dialect_named(options.dialect)
    check_files(options.files, None if out == STDOUT else out)
    run = _begin(options) if options.store is None else None
    url = runs.URL if options.store is None else options.store
    try:
        with Watch(url, writing=True) as watch, closing(open_store(url)) as store:
            remember(url)
            with windows_file(out) as windows, Bar(watch) as bar:
                playing = _Playing(options, store, budget, policy, windows, bar, run=1 if run is None else run.number)
                files = tuple(playing.file(file, done) for done, file in enumerate(options.files))
    except KeyboardInterrupt as stop:
        again = "the same command again goes on" if run is not None else f"go on with --store '{url}'"
        stop.add_note("nothing was kept" if url == "memory:" else again)
        raise
    if run is not None:
        runs.finish(run)
    if not any(file.formats for file in files):
        raise InvalidSetting("no conversation in these files")
    if options.chart is not None and playing.timeline is None:
        raise InvalidSetting(f"--chart: no conversation {options.chart!r} in these files")
    return Outcome(
        budget=options.budget,
        policy=policy.name,
        store=url,
        files=files,
        timeline=playing.timeline,
        needs=playing.needs,
        problems=tuple(playing.problems),
    )


class _Playing:
    """Goes through files; keeps the timeline to draw, what refused calls need, and the first problems."""

    def __init__(
        self,
        options: Replay,
        store: Store,
        budget: Budget,
        policy: Policy,
        out: IO[bytes] | None,
        bar: Bar,
        *,
        run: int,
    ) -> None:
        self._options, self._store, self._out, self._bar = options, store, out, bar
        self._budget, self._policy, self._run = budget, policy, run
        self._names: set[str] = set()
        self.timeline: Timeline | None = None
        self.needs: Needs | None = None
        self.problems: list[str] = []
        o200k().count("loaded before anything is timed")

    def file(self, path: Path, done: int) -> FileStats:
        """Every conversation of a file or a folder; `done` of these came before it."""
        stats, formats, begin = ReplayStats(), Counter[str](), 0.0
        reader = opened_input(path, format_name=self._options.format, questions=self._options.questions)
        for record, head, facts in readable(reader, path):
            formats[record.format] += 1
            stats = stats.plus(self._record(record, head, facts, done + begin, done + reader.progress))
            begin = reader.progress
        return FileStats(file=name_of(path), stats=stats, formats=dict(formats))

    def _record(
        self, record: Recorded, head: list[Instruction], facts: list[Placed], begin: float, end: float
    ) -> ReplayStats:
        """One conversation; it takes the work from `begin` to `end`, counted in files."""
        dialect = dialect_named(self._options.dialect or record.dialect)
        conversation = Conversation(
            self._store.open(runs.name_in(self._run, self._name(record.id))),
            budget=self._budget,
            policy=self._policy,
            counter=o200k(),
            system=head,
            dialect=dialect,
        )
        tools = tools_for(record, dialect.name)
        total, tokens, newest = ReplayStats(conversations=1), list[int | None](), -1
        for step, request, seconds in timed(conversation, facts, record.questions, tools=tools):
            if self._out is not None:
                self._out.write(line_of(record.id, step, request))
            reached = begin + (end - begin) * step.at / max(1, len(record.messages))
            self._bar.at(reached / len(self._options.files), record.source)
            total = total.plus(self._judged(record, dialect, step, request, newest)).plus(ReplayStats(seconds=seconds))
            if step.question is None:
                tokens.append(None if step.window is None else step.window.tokens)
                newest = newest if step.window is None else max(newest, newest_fold(step.window))
        conversation.close()
        self._drawn(Timeline(conversation=record.id, tokens=tuple(tokens)))
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

    def _judged(self, record: Recorded, dialect: Dialect, step: Step, request: Raw, newest: int) -> ReplayStats:
        if step.window is None:
            if step.refused is not None:
                needs = needs_of(step.refused)
                self.needs = needs if self.needs is None else self.needs.and_of(needs)
            return ReplayStats(calls=step.question is None, questions=step.question is not None, refused=1)
        broken = dialect.violations(request)
        over = step.window.tokens > self._options.budget
        if (broken or over) and len(self.problems) < PROBLEMS:
            why = f"{broken[0].rule}, {broken[0].why}" if broken else f"{step.window.tokens:,} tokens"
            self.problems.append(f"{record.source}, {record.id} at {step.at}: {why}")
        bad = ReplayStats(invalid=int(bool(broken)), over=int(over))
        if step.question is not None:
            return bad.plus(ReplayStats(questions=1))
        return bad.plus(replay_stats(step.window, newest_before=newest))

    def _drawn(self, timeline: Timeline) -> None:
        if self._options.chart is None:
            if self.timeline is None or len(timeline.tokens) > len(self.timeline.tokens):
                self.timeline = timeline
        elif timeline.conversation == self._options.chart:
            self.timeline = timeline


def _begin(options: Replay) -> runs.Run:
    """The run in the store of this folder: what its conversations look like depends on these."""
    names = ("budget", "policy", "prices", "dialect", "format", "questions")
    return runs.begin(options.files, {name: getattr(options, name) for name in names})


def timed(
    conversation: Conversation, facts: list[Placed], questions: Sequence[Question], *, tools: Sequence[Raw] = ()
) -> Iterator[tuple[Step, Raw, float]]:
    """Each step with what its window puts in a request, and the CPU seconds that building it took this thread.

    What follows the last call (its reply is appended) is nobody's call, and is not counted.
    """
    steps = replay(conversation, facts, tools=tools or None, questions=questions)
    while True:
        begun = thread_time()
        step = next(steps, None)
        if step is None:
            return
        request: dict[str, Any] = {} if step.window is None else render(step.window, conversation.dialect)
        yield step, request, thread_time() - begun
