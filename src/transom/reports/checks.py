"""Runs the checks of a file: each recorded conversation is replayed once, and every check looks at each call.

A check that fails names the call, if it is about one. If a text is missing, it also names the edit by which the text
left the windows: that is the edit that hides it at the first call without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from math import inf
from operator import itemgetter
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from transom.cache_prices import Prices
from transom.core.budget import Budget
from transom.core.edit import Fold, Trim
from transom.core.message import Fact, Recalled, role_of, strings_in
from transom.core.policy import Policy
from transom.core.view import View
from transom.evaluation.compare import RecordedCall
from transom.evaluation.explanations import Explanation, explain
from transom.evaluation.fold_ranges import FoldRanges
from transom.evaluation.grounding import values_of
from transom.importers.read import read
from transom.importers.recorded import Recorded
from transom.policies import policy_named
from transom.providers.model_prices import TokenPrices
from transom.readback.readable_entries import readable_parts
from transom.reports.check_file import Check, CheckFile
from transom.reports.recorded_calls import recorded_calls
from transom.wire.dialects import dialect_named

OnProgress = Callable[[Recorded, float], object]
"""Called before each conversation and behind each of its calls, with the share of the work that is done."""

MOST_ENTRIES = 3
"""The most entries that a failure lists: those that have a missing text."""


class HidingEdit(Struct, frozen=True, kw_only=True):
    """An edit by which a text left the windows, or by which the cached prefix was broken.

    `entry`: the seq of the edit. `kind`: "fold" or "trim". `covers`: the entries that it hides, in words. `why`: the
    step of the policy that made it. `plan`: the seq of the first entry of the plan that decided it; None if no plan did
    (a person, a program, or the client that shortened a message).
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
    - `left_at`: the call at which a missing text left: no call from it on has the text, up to the call that failed.
      None if it was never said, and for other checks. `entries`: the newest entries that have the text, at most
      MOST_ENTRIES, and what became of them at `left_at`. `edits`: the edits by which the text left, or by which the
      cached prefix was broken.
    """

    conversation: str
    call: int | None
    problem: str
    failed_calls: int = 1
    left_at: int | None = None
    entries: tuple[Explanation, ...] = ()
    edits: tuple[HidingEdit, ...] = ()

    def lines(self) -> Iterator[str]:
        """Yield the failure as lines for people: the problem first, then the edits, then the entries with the text."""
        others = self.failed_calls - 1
        more = f" (and at {others:,} other call{'s' * (others > 1)})" if others > 0 else ""
        where = f"call {self.call} of {self.conversation}" if self.call else self.conversation
        yield f"{where}: {self.problem}{more}"
        for edit in self.edits:
            who = "without a plan" if edit.plan is None else f"plan {edit.plan}"
            what = f"the {edit.kind} in entry {edit.entry}, of {edit.covers}"
            begin = f"it left at call {self.left_at} by" if self.left_at else "broken by"
            yield f"{begin} {what}: {edit.why} ({who})"
        for row in self.entries:
            why = "" if self.edits or not row.why else f", {row.why}"
            yield f"entry {row.entry} ({row.role}) is {row.state}{why}: {row.text}"


class CheckResult(Struct, frozen=True, kw_only=True):
    """What became of one check, over all conversations. The check holds if there are no `failures`, of which there is
    at most one for each conversation.

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


class _Outcome(NamedTuple):
    """What became of a check in one conversation.

    `calls`: how many it looked at. `had_text`: whether the text of the check was said at all; True for a check without
    one.
    """

    calls: int
    failure: CheckFailure | None
    had_text: bool = True


def run_checks(
    file: CheckFile, *, policy: Policy | str | None = None, on_progress: OnProgress | None = None
) -> Checked:
    """Replay the conversations of a file of checks, and judge every check.

    `file`: as `read_check_file` returns it: results are found by the names that it gives to the checks. A check that
    fails raises nothing: see `Checked.failed`. A check also fails if none of the conversations has its text, or if
    there is none. `policy`: used in place of the one in the file. (For another budget see `read_check_file`.)
    `on_progress`: see `OnProgress`. Raises what reading the conversations raises, and InvalidSetting for a wrong
    setting of the file and for an unknown `policy`.
    """
    chosen = policy_named(file.policy if policy is None else policy)
    limits = Budget(context=file.budget_tokens, prices=Prices.named(file.prices))
    dialect = None if file.dialect is None else dialect_named(file.dialect)
    prices = file.token_prices() if any(check.max_cost is not None for check in file.checks) else None
    found: dict[str, list[_Outcome]] = {check.name: [] for check in file.checks}
    conversations = total = 0
    for record, begin, end in _conversations(file):
        if on_progress is not None:
            on_progress(record, begin)
        expected = sum(message.get("role") == "assistant" for message in record.messages) or 1
        calls: list[RecordedCall] = []
        for call in recorded_calls(record, budget=limits, policy=chosen, dialect=dialect):
            calls.append(call)
            if on_progress is not None:
                on_progress(record, begin + (end - begin) * min(1.0, call.number / expected))
        conversations += 1
        total += len(calls)
        for check in file.checks:
            if check.conversation in ("", record.id):
                found[check.name].append(_judge(check, record.id, calls, prices))
    return Checked(
        file=str(file.path),
        policy=chosen.name,
        budget=file.budget_tokens,
        conversations=conversations,
        calls=total,
        results=tuple(_result(check, found[check.name]) for check in file.checks),
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


def _result(check: Check, judged: Sequence[_Outcome]) -> CheckResult:
    """Return the result of a check over all conversations. A check whose text was said in none of them fails too: its
    files may have been exchanged."""
    failures = tuple(one.failure for one in judged if one.failure is not None)
    if not failures and not any(one.had_text for one in judged):
        where = f"conversation {check.conversation}" if check.conversation else "these files"
        problem = "no message before a call has this text" if judged else "there is no conversation"
        failures = (CheckFailure(conversation=where, call=None, problem=problem),)
    return CheckResult(name=check.name, calls=sum(one.calls for one in judged), failures=failures)


def _judge(check: Check, conversation: str, calls: Sequence[RecordedCall], prices: TokenPrices | None) -> _Outcome:
    """Judge a check in one conversation. A call for which no window fits fails, whatever the check demands."""
    if check.contains is not None or check.matches is not None:
        return _judge_text(check, conversation, calls)
    failure = None
    if check.max_cost is not None:
        assert prices is not None
        failure = _too_expensive(check.max_cost, prices, conversation, calls)
    elif check.min_cached_share is not None:
        failure = _too_little_cached(check.min_cached_share, conversation, calls)
    if failure is None:
        most = inf if check.max_tokens is None else int(check.max_tokens)
        problems = [(call.number, problem) for call in calls if (problem := _size_problem(call, most))]
        if problems:
            number, problem = problems[0]
            failure = CheckFailure(conversation=conversation, call=number, problem=problem, failed_calls=len(problems))
    return _Outcome(len(calls), failure)


def _size_problem(call: RecordedCall, most: float) -> str:
    if call.window is None:
        return f"it gets no window: {call.refused}"
    return f"its window has {call.window.tokens:,} tokens, more than {most:,}" if call.window.tokens > most else ""


def _too_expensive(
    most: float, prices: TokenPrices, conversation: str, calls: Sequence[RecordedCall]
) -> CheckFailure | None:
    """Return the failure at the call with which the cost of a conversation passes `most` dollars; None if none does."""
    windows = [(call.number, call.window) for call in calls if call.window is not None]
    costs = [prices.input_cost(window.size.tokens, window.shared_tokens) for _, window in windows]
    totals = zip(windows, accumulate(costs), strict=True)
    passed = next((number for (number, _), dollars in totals if dollars > most), None)
    if passed is None:
        return None
    problem = f"the cost passes ${most:,.4f} here; all {len(calls):,} calls cost ${sum(costs):,.4f}"
    return CheckFailure(conversation=conversation, call=passed, problem=problem)


def _too_little_cached(least: float, conversation: str, calls: Sequence[RecordedCall]) -> CheckFailure | None:
    """Return the failure of a conversation that reads less than the share `least` of its tokens from the cache, with
    the break of the prefix that cost most; None if it reads enough."""
    windows = [(call.number, call.window) for call in calls if call.window is not None]
    tokens = sum(window.size.tokens for _, window in windows)
    shared = sum(window.shared_tokens for _, window in windows)
    if not tokens or shared >= least * tokens:
        return None
    problem = f"the cached share is {shared / tokens:.1%}, below {least:.1%}"
    sizes = (0, *(window.size.tokens for _, window in windows))
    breaks = [
        (before - window.shared_tokens, number, window)
        for before, (number, window) in zip(sizes, windows, strict=False)
        if window.breaks is not None
    ]
    if not breaks:
        return CheckFailure(conversation=conversation, call=None, problem=problem)
    lost, number, window = max(breaks, key=itemgetter(0))
    assert window.breaks is not None
    problem += f"; the largest break is at this call: {lost:,} tokens"
    edits = tuple(_edits(window.view, (window.breaks.entry,)))
    return CheckFailure(conversation=conversation, call=number, problem=problem, edits=edits)


def _judge_text(check: Check, conversation: str, calls: Sequence[RecordedCall]) -> _Outcome:
    """Judge a check of a text. It fails at a call whose window does not have the text, although it was said before."""
    texts = _Texts(check)
    windows = [call.window for call in calls if call.window is not None]
    seqs = _entries_with(texts, windows[-1].view) if windows else []
    first = 0  # the first call after it was said, or whose head has it
    left: RecordedCall | None = None  # the first call without it since it was last there
    missing: dict[int, tuple[RecordedCall, RecordedCall | None]] = {}
    for call in calls:
        is_there = call.window is not None and texts.has(call.request)
        if call.window is not None:
            had_text = bool(seqs) and seqs[0] < call.window.view.length
            first = first or call.number * (is_there or had_text)
            left = None if is_there else left or (call if first else None)
        if not is_there:
            missing[call.number] = call, left
    due = _due(check, len(calls), first, always_refused=bool(calls) and not windows)
    if due is None:  # another conversation has it
        return _Outcome(0, None, had_text=False)
    absent = next((number for number in due if not 1 <= number <= len(calls)), None)
    if absent is not None:
        problem = f"there is no call {absent}: it has {len(calls):,} calls"
        return _Outcome(len(due), CheckFailure(conversation=conversation, call=None, problem=problem), bool(first))
    failed = [number for number in due if number in missing]
    if not failed:
        return _Outcome(len(due), None, bool(first))
    failure = replace(_missing_text(conversation, *missing[failed[0]], seqs), failed_calls=len(failed))
    return _Outcome(len(due), failure, bool(first))


def _due(check: Check, calls: int, first: int, *, always_refused: bool) -> Sequence[int] | None:
    """Return the numbers of the calls that must have the text; None if the check is about another conversation, because
    the text is not said in this one.

    `calls`: how many calls there are. `first`: the number of the first call after the text was said; 0 if it never was.
    `always_refused`: no call has a window, so nobody can tell what was said before it: then all must have the text.
    """
    if not check.calls:
        return range(first or 1, calls + 1) if first or always_refused else ()
    if not first and not check.conversation:
        return None
    return sorted({number if number > 0 else calls + 1 + number for number in check.calls})


def _entries_with(texts: _Texts, view: View) -> list[int]:
    """Return the entries that have the text. Recalled texts are left out: they only repeat other entries."""
    bodies = ((seq, view.fetch(seq).body) for seq in range(view.length))
    return [
        seq
        for seq, body in bodies
        if isinstance(body, Fact)
        and not isinstance(body, Recalled)
        and texts.has([part.text or "" for part in readable_parts(body)])
    ]


def _missing_text(
    conversation: str, call: RecordedCall, left: RecordedCall | None, seqs: Sequence[int]
) -> CheckFailure:
    """Return the failure at a call whose window does not have the text. `left`: the call at which the text left, whose
    window tells which edits hide it; None: it was never said. `seqs`: the entries that have it."""
    if call.window is None or left is None or left.window is None:
        problem = "no message before it has this text" if call.window else f"it gets no window: {call.refused}"
        return CheckFailure(conversation=conversation, call=call.number, problem=problem)
    view = left.window.view
    rows = explain(view, [seq for seq in seqs if seq < view.length][-MOST_ENTRIES:])
    edits = dict.fromkeys(edit for row in rows for edit in row.edits)
    return CheckFailure(
        conversation=conversation,
        call=call.number,
        problem="its window does not have this text",
        left_at=left.number,
        entries=tuple(rows),
        edits=tuple(_edits(view, tuple(edits))),
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
            return self._pattern(text.encode("utf-8", "replace"), 0) is not None
        return self._wanted in text or self._wanted in " ".join(text.split())


def _edits(view: View, seqs: Sequence[int]) -> list[HidingEdit]:
    """Describe the folds and trims among these entries; other entries are left out."""
    found: list[HidingEdit] = []
    ranges = FoldRanges(view)
    for entry in map(view.fetch, seqs):
        edit = entry.body
        if not isinstance(edit, Fold | Trim):
            continue
        covers = ranges.about(edit)
        kind = role_of(edit)
        found.append(HidingEdit(entry=entry.seq, kind=kind, covers=covers, why=edit.why or kind, plan=entry.plan))
    return found
