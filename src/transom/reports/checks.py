"""Runs the checks of a file: each recorded conversation is replayed once, and every check looks at each call.

A check that fails names the call. If a text is missing, it also names the edit by which the text left the windows: that
is the edit that hides it at the first call without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from transom.core.budget import Budget
from transom.core.edit import Fold, Trim
from transom.core.message import Fact, Recalled, strings_in
from transom.core.policy import Policy
from transom.core.view import View
from transom.core.window import Window
from transom.errors import BudgetImpossible
from transom.evaluation.compare import RecordedCall
from transom.evaluation.explain import Explanation, explain
from transom.evaluation.fold_ranges import FoldRanges
from transom.evaluation.grounding import values_of
from transom.importers.read import read
from transom.importers.recorded import Recorded
from transom.policies import policy_named
from transom.prices import Prices
from transom.providers.models import TokenPrices
from transom.readback.content import readable_parts
from transom.reports.check_file import Check, CheckFile
from transom.reports.recorded_calls import recorded_calls
from transom.wire.dialects import dialect_named

OnProgress = Callable[[Recorded, float], object]
"""Called before each conversation and behind each of its calls, with the share of the work that is done."""

MOST_ENTRIES = 3
"""The most entries that a failure lists: those that have a missing text."""


class HidingEdit(Struct, frozen=True, kw_only=True):
    """The edit by which a text left the windows.

    `entry`: its seq. `kind`: "fold" or "trim". `covers`: the entries that it hides. `why`: the step of the policy that
    made it. `plan`: the plan that decided it; None if a person did.
    """

    entry: int
    kind: str
    covers: str
    why: str
    plan: int | None


class CheckFailure(Struct, frozen=True, kw_only=True):
    """Why a check failed in one conversation.

    - `conversation`: its id. `call`: the first call at which it failed; None if it is not about a single call.
    - `problem`: one sentence. `failed_calls`: how many calls failed.
    - `left_at`: of a missing text, the first call without it since it was last there. `entries`: the entries that have
      the text, and what became of them at that call. `edits`: the edits by which it left, or
      by which the cached prefix was broken.
    """

    conversation: str
    call: int | None
    problem: str
    failed_calls: int = 1
    left_at: int | None = None
    entries: tuple[Explanation, ...] = ()
    edits: tuple[HidingEdit, ...] = ()

    def lines(self) -> Iterator[str]:
        """Yield the failure as lines for people."""
        others = self.failed_calls - 1
        more = f" (and at {others:,} other call{'s' * (others > 1)})" if others > 0 else ""
        where = f"call {self.call} of {self.conversation}" if self.call else self.conversation
        yield f"{where}: {self.problem}{more}"
        for edit in self.edits:
            who = "made by hand" if edit.plan is None else f"plan {edit.plan}"
            what = f"the {edit.kind} in entry {edit.entry}, of {edit.covers}"
            begin = f"it left at call {self.left_at} by" if self.left_at else "broken by"
            yield f"{begin} {what}: {edit.why} ({who})"
        for row in self.entries:
            why = "" if self.edits or not row.why else f", {row.why}"
            yield f"entry {row.entry} ({row.role}) is {row.state}{why}: {row.text}"


class CheckResult(Struct, frozen=True, kw_only=True):
    """What became of one check. It holds if there are no `failures`.

    `name`: of the check. `calls`: how many calls it looked at.
    """

    name: str
    calls: int
    failures: tuple[CheckFailure, ...] = ()


class Checked(Struct, frozen=True, kw_only=True):
    """What became of a file of checks.

    `file`: its path. `policy`, `budget`: what its windows were built with. `conversations`, `calls`: how many were
    looked at. `results`: one for each check.
    """

    file: str
    policy: str
    budget: int
    conversations: int
    calls: int
    results: tuple[CheckResult, ...]

    @property
    def failed(self) -> list[CheckResult]:
        """The results of the checks that failed."""
        return [result for result in self.results if result.failures]


class _Judge(Protocol):
    """Judges one check in one conversation."""

    calls: int

    @property
    def is_said(self) -> bool: ...

    def see(self, call: RecordedCall, window: Window) -> None: ...

    def refuse(self, call: RecordedCall, refused: BudgetImpossible) -> None: ...

    def failure(self) -> CheckFailure | None: ...


def run_checks(
    file: CheckFile, *, policy: Policy | str | None = None, on_progress: OnProgress | None = None
) -> Checked:
    """Replay the conversations of a file of checks, and judge every check.

    `policy`: in place of that of the file. Another budget is given to `read_check_file`. Raises OSError,
    InvalidMessage, InvalidSetting.
    """
    chosen = policy_named(file.policy if policy is None else policy)
    limits = Budget(context=file.budget_tokens, prices=Prices.named(file.prices))
    dialect = None if file.dialect is None else dialect_named(file.dialect)
    prices = file.token_prices() if any(check.max_cost is not None for check in file.checks) else None
    found = {check.name: _Found() for check in file.checks}
    conversations = calls = 0
    for record, begin, end in _conversations(file):
        if on_progress is not None:
            on_progress(record, begin)
        expected = sum(message.get("role") == "assistant" for message in record.messages) or 1
        conversations += 1
        checks = [check for check in file.checks if check.conversation in ("", record.id)]
        judges = [(check.name, _judge(check, record.id, prices)) for check in checks]
        for call in recorded_calls(record, budget=limits, policy=chosen, dialect=dialect):
            calls += 1
            if on_progress is not None:
                on_progress(record, begin + (end - begin) * min(1.0, call.number / expected))
            for _, judge in judges:
                if call.window is not None:
                    judge.see(call, call.window)
                elif call.refused is not None:
                    judge.refuse(call, call.refused)
        for name, judge in judges:
            found[name].add(judge)
    return Checked(
        file=str(file.path),
        policy=chosen.name,
        budget=file.budget_tokens,
        conversations=conversations,
        calls=calls,
        results=tuple(found[check.name].result(check) for check in file.checks),
    )


def _conversations(file: CheckFile) -> Iterator[tuple[Recorded, float, float]]:
    """Yield the conversations of a file of checks, each with the shares of its files before it and up to its end."""
    paths = file.inputs()
    for done, path in enumerate(paths):
        reader = read(path, file.format)
        begun = 0.0
        for record in reader:
            if record.messages:
                yield record, (done + begun) / len(paths), (done + reader.progress) / len(paths)
            begun = reader.progress


class _Found:
    """What was found of one check in all conversations."""

    def __init__(self) -> None:
        self._failures: list[CheckFailure] = []
        self._conversations = self._calls = 0
        self._said = False

    def add(self, judge: _Judge) -> None:
        """Take in a judge that has seen all calls of a conversation."""
        self._conversations += 1
        if failure := judge.failure():
            self._failures.append(failure)
        self._calls += judge.calls
        self._said |= judge.is_said

    def result(self, check: Check) -> CheckResult:
        """The result. A check that found nothing to look at fails: its log may have been exchanged."""
        failures = tuple(self._failures)
        if not failures and not self._said:
            where = f"conversation {check.conversation}" if check.conversation else "these files"
            problem = "no message before a call has this text" if self._conversations else "there is no conversation"
            failures = (CheckFailure(conversation=where, call=None, problem=problem),)
        return CheckResult(name=check.name, calls=self._calls, failures=failures)


def _judge(check: Check, conversation: str, prices: TokenPrices | None) -> _Judge:
    if check.contains is not None or check.matches is not None:
        return _TextJudge(check, conversation)
    if check.max_tokens is not None:
        return _TokensJudge(int(check.max_tokens), conversation)
    if check.max_cost is not None:
        assert prices is not None
        return _CostJudge(check.max_cost, prices, conversation)
    assert check.min_cached_share is not None
    return _CacheJudge(check.min_cached_share, conversation)


class _First:
    """Remembers the first failing call, and counts the others."""

    def __init__(self, conversation: str) -> None:
        self._conversation = conversation
        self._first: CheckFailure | None = None
        self.calls: int = 0
        self._failed = 0

    @property
    def is_said(self) -> bool:
        """Whether there was something to judge: these checks judge every conversation."""
        return True

    def _fail(self, call: int, problem: str) -> None:
        self._failed += 1
        if self._first is None:
            self._first = CheckFailure(conversation=self._conversation, call=call, problem=problem)

    def refuse(self, call: RecordedCall, refused: BudgetImpossible) -> None:
        """A call that gets no window fails."""
        self.calls += 1
        self._fail(call.number, f"it gets no window: {refused}")

    def failure(self) -> CheckFailure | None:
        return None if self._first is None else replace(self._first, failed_calls=self._failed)


class _TokensJudge(_First):
    """Fails at a call whose window has more tokens."""

    def __init__(self, most: int, conversation: str) -> None:
        super().__init__(conversation)
        self._most = most

    def see(self, call: RecordedCall, window: Window) -> None:
        self.calls += 1
        if window.tokens > self._most:
            self._fail(call.number, f"its window has {window.tokens:,} tokens, more than {self._most:,}")


class _CostJudge(_First):
    """Fails at the call with which the cost of a conversation passes the limit."""

    def __init__(self, most: float, prices: TokenPrices, conversation: str) -> None:
        super().__init__(conversation)
        self._most, self._prices, self._dollars = most, prices, 0.0
        self._passed: int = 0

    def see(self, call: RecordedCall, window: Window) -> None:
        self.calls += 1
        self._dollars += self._prices.input_cost(window.size.tokens, window.shared_tokens)
        if not self._passed and self._dollars > self._most:
            self._passed = call.number

    def failure(self) -> CheckFailure | None:
        if self._passed:
            problem = f"the cost passes ${self._most:,.4f} here; all {self.calls:,} calls cost ${self._dollars:,.4f}"
            return CheckFailure(conversation=self._conversation, call=self._passed, problem=problem)
        return super().failure()


class _CacheJudge(_First):
    """Fails if too small a share of the tokens is read from the cache; names the break that cost most."""

    def __init__(self, least: float, conversation: str) -> None:
        super().__init__(conversation)
        self._least = least
        self._tokens = self._shared = self._before = 0
        self._worst: tuple[int, int, Window] | None = None  # tokens that are no longer cached, the call, its window

    def see(self, call: RecordedCall, window: Window) -> None:
        self.calls += 1
        self._tokens += window.size.tokens
        self._shared += window.shared_tokens
        lost = self._before - window.shared_tokens
        if window.breaks is not None and (self._worst is None or lost > self._worst[0]):
            self._worst = lost, call.number, window
        self._before = window.size.tokens

    def failure(self) -> CheckFailure | None:
        if not self._tokens or self._shared >= self._least * self._tokens:
            return super().failure()
        share = self._shared / self._tokens
        problem = f"the cached share is {share:.1%}, below {self._least:.1%}"
        if self._worst is None:
            return CheckFailure(conversation=self._conversation, call=None, problem=problem)
        lost, number, window = self._worst
        assert window.breaks is not None
        problem += f"; the largest break is at this call: {lost:,} tokens"
        edits = _edits(window.view, (window.breaks.entry,))
        return CheckFailure(conversation=self._conversation, call=number, problem=problem, edits=tuple(edits))


class _TextJudge:
    """Fails at a call whose window does not have a text that was said before."""

    def __init__(self, check: Check, conversation: str) -> None:
        self._check, self._conversation = check, conversation
        self._texts = _Texts(check)
        self._read = 0  # entries that were looked at
        self._seqs: list[int] = []  # of the entries that have the text
        self._first = 0  # the first call after it was said, or whose head has it
        self._left: tuple[int, Window] | None = None  # the first call without it since it was last there
        self._missing: dict[int, tuple[int, Window] | BudgetImpossible | None] = {}
        self._number = self.calls = 0

    @property
    def is_said(self) -> bool:
        """Whether the conversation has the text anywhere before a call."""
        return bool(self._first)

    @property
    def _is_always_refused(self) -> bool:
        """Whether no call gets a window, so that nobody can say what was said before it."""
        return bool(self._missing) and all(isinstance(one, BudgetImpossible) for one in self._missing.values())

    def see(self, call: RecordedCall, window: Window) -> None:
        self._number = call.number
        self._add_entries(window.view)
        is_there = self._texts.has(call.request)
        if not self._first and (is_there or self._seqs):
            self._first = call.number
        if is_there:
            self._left = None
        elif self._left is None and self._first:
            self._left = call.number, window
        if not is_there:
            self._missing[call.number] = self._left

    def refuse(self, call: RecordedCall, refused: BudgetImpossible) -> None:
        self._number = call.number
        self._missing[call.number] = refused

    def failure(self) -> CheckFailure | None:
        wanted = [number if number > 0 else self._number + 1 + number for number in self._check.calls]
        if not wanted and (self._first or self._is_always_refused):
            due = range(self._first or 1, self._number + 1)
        elif not wanted:
            due = range(0)
        elif self.is_said or self._check.conversation:
            due = sorted(set(wanted))
        else:  # another conversation has it
            return None
        self.calls = len(due)
        absent = next((number for number in due if not 1 <= number <= self._number), None)
        if absent is not None:
            problem = f"there is no call {absent}: it has {self._number:,} calls"
            return CheckFailure(conversation=self._conversation, call=None, problem=problem)
        failed = [number for number in due if number in self._missing]
        return replace(self._failure(failed[0]), failed_calls=len(failed)) if failed else None

    def _add_entries(self, view: View) -> None:
        for entry in map(view.fetch, range(self._read, view.length)):
            body = entry.body
            if isinstance(body, Recalled) or not isinstance(body, Fact):
                continue  # what only repeats others
            if self._texts.has([part.text or "" for part in readable_parts(body)]):
                self._seqs.append(entry.seq)
        self._read = view.length

    def _failure(self, number: int) -> CheckFailure:
        found = self._missing[number]
        if not isinstance(found, tuple):
            problem = "no message before it has this text" if found is None else f"it gets no window: {found}"
            return CheckFailure(conversation=self._conversation, call=number, problem=problem)
        left_at, window = found
        rows = explain(window.view, [seq for seq in self._seqs if seq < window.view.length][-MOST_ENTRIES:])
        edits = dict.fromkeys(edit for row in rows for edit in row.edits)
        return CheckFailure(
            conversation=self._conversation,
            call=number,
            problem="its window does not have this text",
            left_at=left_at,
            entries=tuple(rows),
            edits=tuple(_edits(window.view, tuple(edits))),
        )


class _Texts:
    """Says whether JSON values have the text of a check. Windows share most of their texts, so each is looked at once.

    The arguments of a call are looked at as they are written, and as the values that they stand for.
    """

    def __init__(self, check: Check) -> None:
        self._pattern = check.pattern
        self._wanted = " ".join((check.contains or "").split())
        self._known = dict[str, bool]()

    def has(self, value: object) -> bool:
        """Whether a string in this value has the text."""
        return any(map(self._is_in, strings_in(value)))

    def _is_in(self, text: str) -> bool:
        known = self._known.get(text)
        if known is None:
            known = self._known[text] = self._found(text) or (
                text[:1] in "{[" and any(map(self._found, values_of(text)))
            )
        return known

    def _found(self, text: str) -> bool:
        if self._pattern is not None:
            return self._pattern.search(text.encode("utf-8", "replace"), 0) is not None
        return self._wanted in text or self._wanted in " ".join(text.split())


def _edits(view: View, seqs: Sequence[int]) -> list[HidingEdit]:
    """Describe edits; what is no fold or trim is left out."""
    found: list[HidingEdit] = []
    for entry in map(view.fetch, seqs):
        edit = entry.body
        if not isinstance(edit, Fold | Trim):
            continue
        covers = FoldRanges(view).text(edit) if isinstance(edit, Fold) else f"entry {edit.entry}"
        kind = type(edit).__name__.lower()
        found.append(HidingEdit(entry=entry.seq, kind=kind, covers=covers, why=edit.why or kind, plan=entry.plan))
    return found
