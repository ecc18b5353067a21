"""The command `transom replay`: replays recorded conversations, checks and counts every window."""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from typing import IO, Any

from msgspec.structs import replace

from transom.cache_prices import Prices
from transom.cli.commands.recorded import Replay
from transom.cli.input_files import check_files, file_name, named_files, read_input, readable_conversations
from transom.cli.output_file import STDOUT, output_file
from transom.cli.progress import ProgressBar
from transom.cli.replay_report import FileStats, Outcome, Timeline, print_json_report, print_report
from transom.cli.stores import store_to_fill
from transom.cli.streams import print_notice
from transom.cli.transom_folder import REPLAYS, url_of
from transom.conversation.settings import ASSUMED, NO_BUDGET
from transom.core.budget import Budget
from transom.core.codec import plain
from transom.core.message import Assistant
from transom.core.policy import Policy
from transom.errors import InvalidSetting
from transom.evaluation.compare import RecordedCall
from transom.evaluation.replay_stats import Needs, ReplayStats, needs_of, newest_fold, replay_stats
from transom.importers import Recorded
from transom.policies import policy_named
from transom.reports.recorded_calls import recorded_calls
from transom.stores import Store
from transom.stores.base import forget_all
from transom.stores.postgres_url import without_password
from transom.tokenizer import o200k
from transom.wire.dialect import Dialect, Placed
from transom.wire.dialects import dialect_named

MAX_PROBLEMS = 5
"""The most wrong windows that are printed."""


def run(options: Replay) -> int:
    """Replay the files, and print the figures.

    Exit code 0 if every window is valid and within the budget, and not every call was refused; else 1.
    """
    outcome = replayed(options)
    show = print_json_report if options.json else print_report
    show(outcome, aside=options.out == STDOUT)
    return outcome.code


def replayed(options: Replay, own: Path = REPLAYS) -> Outcome:
    """Replay the files and return the figures. `own`: the store if the options name none; it is emptied first.

    Raises InvalidSetting for wrong options and if the files hold no conversation, other TransomErrors, OSError.
    """
    has_budget = options.budget is not None
    size = ASSUMED.context if options.budget is None else options.budget
    options = replace(options, budget=size)
    budget = Budget(context=size, prices=Prices.named(options.prices))
    policy, out = policy_named(options.policy), options.out
    if options.dialect is not None:
        dialect_named(options.dialect)
    check_files(options.files, None if out == STDOUT else out)
    url = url_of(own) if options.store is None else options.store
    with store_to_fill(options.store, own) as store:
        if options.store is None and own.exists():
            forget_all(store, store.names())
        with nullcontext() if out is None else output_file(out) as windows, ProgressBar() as bar:
            replayer = _Replayer(options, store, budget, policy, windows, bar)
            files = tuple(replayer.replay_file(file, done) for done, file in enumerate(options.files))
    if not any(file.formats for file in files):
        raise InvalidSetting(f"no conversation in {named_files(options.files)}")
    if not has_budget:
        print_notice(NO_BUDGET)
    return Outcome(
        budget=budget.context,
        policy=policy.name,
        store=without_password(url),
        files=files,
        timeline=replayer.timeline,
        needs=replayer.needs,
        problems=tuple(replayer.problems),
    )


def _window_line(conversation: str, call: RecordedCall) -> bytes:
    """Return the line of a call in the file of `--out`, as JSON: its window as a request, or why it was refused."""
    line: dict[str, Any] = {"conversation": conversation, "at": call.at}
    if call.refused is not None:
        line["refused"] = call.refused.bill
    elif call.window is not None:
        at = call.window.breaks
        line.update(call.request, tokens=call.window.tokens)
        line["breaks"] = None if at is None else {"slot": at.slot, "entry": at.entry, "why": at.why}
    return plain(line) + b"\n"


class _Replayer:
    """Replays files one after another, and collects what the report needs.

    `timeline`: of the conversation for the chart; `needs`: what refused calls need; `problems`: the first wrong
    windows.
    """

    def __init__(
        self, options: Replay, store: Store, budget: Budget, policy: Policy, windows: IO[bytes] | None, bar: ProgressBar
    ) -> None:
        self._options, self._store, self._budget, self._policy = options, store, budget, policy
        self._windows, self._bar = windows, bar
        self._names: set[str] = set()
        self.timeline: Timeline | None = None
        self.needs: Needs | None = None
        self.problems: list[str] = []
        o200k().count("load the tokenizer before anything is timed")

    def replay_file(self, path: Path, done: int) -> FileStats:
        """Replay every conversation of a file or a folder.

        `done`: how many files came before it, for the progress bar.
        """
        stats, formats, begin = ReplayStats(), Counter[str](), 0.0
        reader = read_input(path, self._options.format)
        for record, facts in readable_conversations(reader, path):
            formats[record.format] += 1
            stats = stats.plus(self._replay(record, facts, done + begin, done + reader.progress))
            begin = reader.progress
        return FileStats(file=file_name(path), stats=stats, formats=dict(formats))

    def _replay(self, record: Recorded, facts: list[Placed], begin: float, end: float) -> ReplayStats:
        """Replay one conversation. For the progress bar it is the work from `begin` to `end`, counted in files."""
        dialect = dialect_named(self._options.dialect or record.dialect)
        total, tokens, newest = ReplayStats(conversations=1), list[int | None](), -1
        log = self._store.open(self._take_name(record.id))
        for call in recorded_calls(record, budget=self._budget, policy=self._policy, dialect=dialect, log=log):
            if self._windows is not None:
                self._windows.write(_window_line(record.id, call))
            files_done = begin + (end - begin) * call.at / max(1, len(record.messages))
            self._bar.update(files_done / len(self._options.files), record.source)
            total = total.plus(self._checked(record, dialect, call, newest))
            tokens.append(None if call.window is None else call.window.tokens)
            newest = newest if call.window is None else max(newest, newest_fold(call.window))
        self._keep_timeline(Timeline(conversation=record.id, tokens=tuple(tokens)))
        turns = sum(isinstance(fact, Assistant) for _, fact in facts)
        return total.plus(ReplayStats(skipped=turns - total.calls))

    def _take_name(self, conversation: str) -> str:
        """Take a name for the log that no other log of this replay has: several conversations may have the same id."""
        name, number = conversation, 1
        while name in self._names:
            number += 1
            name = f"{conversation} ({number})"
        self._names.add(name)
        return name

    def _checked(self, record: Recorded, dialect: Dialect, call: RecordedCall, newest: int) -> ReplayStats:
        """Check the window of a call against the rules of the dialect and the budget, and return its figures.

        `newest`: the newest fold of the windows before it, or -1.
        """
        if call.window is None:
            if call.refused is not None:
                needs = needs_of(call.refused)
                self.needs = needs if self.needs is None else self.needs.merged(needs)
            return ReplayStats(calls=1, refused=1, seconds=call.seconds)
        violations = dialect.violations(call.request)
        is_over = call.window.tokens > self._budget.context
        if (violations or is_over) and len(self.problems) < MAX_PROBLEMS:
            why = f"{violations[0].rule}, {violations[0].why}" if violations else f"{call.window.tokens:,} tokens"
            self.problems.append(f"{record.source}, {record.id} at {call.at}: {why}")
        checked = ReplayStats(invalid=int(bool(violations)), over=int(is_over), seconds=call.seconds)
        return checked.plus(replay_stats(call.window, newest_before=newest))

    def _keep_timeline(self, timeline: Timeline) -> None:
        """Keep this timeline for the chart if it is the longest so far."""
        if self.timeline is None or len(timeline.tokens) > len(self.timeline.tokens):
            self.timeline = timeline
