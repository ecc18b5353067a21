"""Summaries without a model: the user's words, the assistant's reports, what was changed, what failed, the plan.

It is the default and the fallback. It makes the same changes to the same outline as a model does, so either can go on
from the other's summary. All of it is quoted or counted; nothing is concluded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from transom import texts
from transom.core.message import Assistant, Call, Fact, Handoff, ToolResult, User, role_of
from transom.core.summary import BY_CODE, SourceTurn, Summarise, Summary
from transom.core.tokens import TokenCounter
from transom.errors import SummaryFailed
from transom.strategies.actions.action import ABOUT, action_of
from transom.strategies.actions.outcome import outcome_of, outcome_text
from transom.strategies.actions.tools import PLAN_TOOLS
from transom.strategies.digest.plans import is_done, plan_items
from transom.strategies.sentences.corrections import LoggedStatement, outdated
from transom.strategies.sentences.salience import Statement, statements
from transom.strategies.text.one_line import one_line, values_in_a_line
from transom.summaries.base import Model, Steps
from transom.summaries.outline import Addition, Delta, Item, Outline, Status, Update, apply_delta, item_text
from transom.summaries.prompts import SECTIONS
from transom.summaries.rolling_summary import finished_summary, starting_outline
from transom.summaries.source import results_of, text_of

WORDS, REPORT, FIRST_WORDS = 240, 240, 500
"""Characters of the user's words, of a report of the assistant, and of the first task."""

FILES, RUNS, SENTENCES, FAILURES, WISHES = 8, 2, 5, 5, 6
"""The most files and commands of one line, and the most sentences, failures and wishes that a round adds."""

NEWEST_REQUEST = "Answer the newest request: "
"""How the item of a request begins that has no answer yet."""

READ = 1_000
"""Sentences, from the newest back, in which decisions are looked for."""

QUOTED = 60
"""A sentence is quoted already where so many characters of it are."""

DECISIVE = frozenset(("decision", "required", "change"))
"""Reasons for which a sentence is a decision or a finding."""

_MARKDOWN = re.compile(r"^\s*(?:#{1,6}|[-*•>]|\d{1,2}[.)])\s+|[*_`]{2,}")
_TAG = re.compile(r"</?[a-zA-Z][\w-]{0,40}>")
_ANNOUNCES = re.compile(
    r"(?i)(?:[\w']+(?: \w+){0,4}[!.:,] )*(?:(?:now|first|next|then|so|ok|okay),? )?"
    r"(?:let me|let's|i'll|i will|i'm going to|i am going to|(?:now )?i (?:need|want|have) to|now i|here'?s|here is)\b"
)
"""How a sentence begins that says what is done next: the calls after it say that better."""
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_DENSE = r"\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
"""Characters of scripts without blanks between words: Chinese and Japanese."""
_SHORT = re.compile(rf"\W*(?:(?:[^\W{_DENSE}]+\W*){{0,2}}|(?:[{_DENSE}]\W*){{0,4}})")


class CallDone(NamedTuple):
    """A call and how it ended: its tool and subject, the words of its outcome, whether it failed, and what it
    changed."""

    name: str
    outcome: str
    failed: bool
    ran: bool
    changes: tuple[str, ...]


class Round(NamedTuple):
    """What happened from one message of the user to the next: the user's words, the calls, and the assistant's last
    words, with whether they were its answer."""

    wish: str
    calls: tuple[CallDone, ...]
    report: str
    answered: bool


class Extractive(Struct, frozen=True):
    """Summaries without a model. Needs none and asks none; the same turns always give the same summary."""

    def steps(self, want: Summarise, counter: TokenCounter, model: Model | None) -> Steps:  # noqa: ARG002 - as the protocol has it
        """Make the summary. Yields nothing. Raises SummaryFailed if there is nothing to summarise, or too little."""
        yield from ()
        return extractive_summary(want, counter)


def fallback_summary(want: Summarise, counter: TokenCounter) -> Summary:
    """The summary that takes the place of one that failed. It is marked, to be made again when a model is there.

    Raises SummaryFailed as `Extractive` does.
    """
    return replace(extractive_summary(want, counter), degraded=True)


def extractive_summary(want: Summarise, counter: TokenCounter) -> Summary:
    """The summary of a want. Raises SummaryFailed if there is nothing to summarise, or too little."""
    if not want.turns:
        raise SummaryFailed("nothing to summarise: no turns since the last summary")
    outline = starting_outline(want, SECTIONS)
    outline = apply_delta(outline, extracted(want.turns, outline), SECTIONS)
    return finished_summary(want, outline, SECTIONS, counter, made_by=BY_CODE, by_model=False)


def extracted(turns: Sequence[SourceTurn], outline: Outline) -> Delta:
    """What the turns change in an outline."""
    blocks = list(blocks_of(turns))
    failures, solved = _failures(blocks, outline)
    story = (*_wishes(blocks, outline), *_progress(blocks))
    steps, past = _next_steps(turns, blocks, outline)
    now = _now(next((block for block in reversed(blocks) if block.report or block.calls), blocks[-1]))
    past += [*(outline.of("state") if now else ()), *(item for item in outline.of("progress") if item.tag == "open")]
    return Delta(
        add=(*story, *_decisions(turns, [one.text for one in story]), *failures, *now, *steps),
        update=(*solved, *(Update(item.id, "done") for item in past)),
    )


# ---- the turns


def blocks_of(turns: Sequence[SourceTurn]) -> Iterator[Round]:
    """The turns from each message of the user to the next."""
    wish, calls, report, answered, is_empty = "", list[CallDone](), "", False, True
    for turn in turns:
        head = turn.facts[0]
        if turn.injected:
            continue
        if isinstance(head, (User, Handoff)):
            if not is_empty:
                yield Round(wish, tuple(calls), report, answered)
            wish, calls, report, answered = _TAG.sub(" ", text_of(head)).strip(), [], "", False
        elif isinstance(head, Assistant):
            if words := text_of(head).strip():
                report, answered = words, not head.calls
            elif head.calls:
                answered = False
            calls += [_done(call, result) for call, result in results_of(turn) if call.name not in PLAN_TOOLS]
        is_empty = False
    yield Round(wish, tuple(calls), report, answered)


def _done(call: Call, result: ToolResult | None) -> CallDone:
    action = action_of(call)
    ended = outcome_of(result, action) if result is not None else None
    failed = ended is None or ended.failed or ended.status == "refused"
    name = f"{texts.plain_name(action.tool)} {texts.name_in_a_line(action.about)}".strip()
    ran = ended is not None and ended.ran
    return CallDone(name, outcome_text(action, ended), failed, ran, () if failed else tuple(sorted(action.changes)))


# ---- the sections


def _wishes(blocks: Sequence[Round], outline: Outline) -> Iterator[Addition]:
    """The user's words: of the first task more, of the others the newest. A word or two ask for little, so the first
    longer request gets the room if the conversation begins with these."""
    said = [block.wish for block in blocks if block.wish.strip()]
    wishes = [wish for wish in said if not _SHORT.fullmatch(wish[:80])] or said[:1]
    if wishes and not outline.of("intent"):
        title = "The first task" if wishes[0] is said[0] else "The first longer request"
        yield Addition("intent", f"{title}: {_quoted(wishes.pop(0), FIRST_WORDS)}")
    for wish in wishes[-WISHES:]:
        yield Addition("intent", _quoted(wish, WORDS))


def _progress(blocks: Sequence[Round]) -> Iterator[Addition]:
    """A line for each block: the assistant's report, what was changed, and how tests and builds ended."""
    for at, block in enumerate(blocks):
        clauses: list[str] = []
        if block.report and block.answered:
            clauses.append(_quoted(_first_words(block.report), REPORT))
        if files := list(dict.fromkeys(path for call in block.calls for path in call.changes)):
            more = f" and {len(files) - FILES:,} more" if len(files) > FILES else ""
            clauses.append(
                "changed "
                + ", ".join(texts.name_in_a_line(values_in_a_line([file], ABOUT)) for file in files[-FILES:])
                + more
            )
        runs = {call.name: call for call in block.calls if call.ran and not call.failed}
        clauses += [f"{call.name}: {call.outcome}" for call in list(runs.values())[-RUNS:]]
        if not clauses and block.calls:
            count, last = len(block.calls), block.calls[-1].name
            clauses.append(last if count == 1 else f"{count:,} calls, the last one {last}")
        if clauses:
            is_open = at == len(blocks) - 1 and not block.answered
            yield Addition("progress", "; ".join(clauses), "active" if is_open else "done", "open" if is_open else "")


def _decisions(turns: Sequence[SourceTurn], quoted: Sequence[str]) -> Iterator[Addition]:
    """The assistant's and the user's sentences that decide, require or correct something, but for those that a later
    one replaces, and those that are `quoted` already."""
    newest: list[LoggedStatement] = []
    for turn in reversed(turns):
        head = turn.facts[0]
        if not isinstance(head, (User, Assistant)) or turn.injected or len(newest) >= READ:
            continue
        text = text_of(head)
        if isinstance(head, Assistant) or len(text) > WORDS:  # else it is among the wishes, whole
            newest += [LoggedStatement(turn.key, one, role_of(head)) for one in reversed(statements(text))]
    found = newest[::-1]
    replaced = outdated(found)
    decisive = {
        at: words for at, one in enumerate(found) if at not in replaced and (words := _decisive_words(one.statement))
    }
    decisive = {at: words for at, words in decisive.items() if not any(words[:QUOTED] in text for text in quoted)}
    best = sorted(decisive, key=lambda at: (-found[at].statement.value, -at))[:SENTENCES]
    for at in sorted(best):
        yield Addition("decisions", f"{found[at].role}: {_quoted(decisive[at], WORDS)}")


def _decisive_words(statement: Statement) -> str:
    """What a statement decides, without the sentences that announce the next call; empty if it decides nothing."""
    reasons = set(statement.reasons)
    if DECISIVE.isdisjoint(reasons) or not reasons.isdisjoint({"question", "passing"}):
        return ""
    words = " ".join(one for one in _SENTENCE_END.split(statement.text) if not _ANNOUNCES.match(one))
    return "" if words.endswith((":", "：")) else words


def _failures(blocks: Sequence[Round], outline: Outline) -> tuple[list[Addition], list[Update]]:
    """The calls that failed, as each was made last; and the failures of before whose call was made again."""
    last: dict[str, CallDone] = {}
    failed: dict[str, CallDone] = {}
    for block in blocks:
        for call in block.calls:
            last.pop(call.name, None)
            last[call.name] = call
            if call.failed:
                failed[call.name] = call
    added: list[Addition] = []
    for name in [name for name in last if name in failed][-FAILURES:]:
        line = f"{name}: {failed[name].outcome}"
        if last[name].failed:
            added.append(Addition("errors", line, tag=_tag(name)))
        else:
            added.append(Addition("errors", f"{line}; later {last[name].outcome or 'it succeeded'}", "done"))
    solved: list[Update] = []
    tags = {_tag(name): call for name, call in last.items()}
    for item in outline.of("errors"):
        if item.status != "done" and item.tag in tags:
            solved.append(_solved(item, tags[item.tag]))
    return added, solved


def _solved(item: Item, call: CallDone) -> Update:
    """A failure of before whose call was made again. If it failed again, the new line takes its place."""
    later = "failed again, see below" if call.failed else call.outcome or "it succeeded"
    return Update(item.id, "done", f"{item.text}; later {later}")


def _tag(name: str) -> str:
    return f"call {name}"[:80]


def _now(block: Round) -> list[Addition]:
    """The assistant's last words, and the last call."""
    lines = [f"The assistant's last words: {_quoted(block.report, WORDS)}"] if block.report else []
    if block.calls and not block.answered:
        call = block.calls[-1]
        lines.append(f"The last call: {call.name}{': ' + call.outcome if call.outcome else ''}")
    return [Addition("state", line) for line in lines]


def _next_steps(
    turns: Sequence[SourceTurn], blocks: Sequence[Round], outline: Outline
) -> tuple[list[Addition], list[Item]]:
    """The open items of the newest plan, else the sentences of the last report that say what is open, and the request
    that has no answer; and the items of before that are none of these.

    A request of before stays open while the user wrote nothing new and the assistant is still at work on it.
    """
    plan = next((call for turn in reversed(turns) for call in reversed(_plans(turn.facts[0]))), None)
    added: list[Addition] = []
    if plan is not None:
        for status, words in plan_items(plan):
            if not is_done(status):
                found: Status = "blocked" if "block" in status.lower() else "active"
                added.append(Addition("next", words, found, "plan"))
    block = blocks[-1]
    goes_on = len(blocks) == 1 and not block.wish.strip() and not block.answered
    if plan is None:
        said = [one for one in statements(block.report) if "open" in one.reasons and "passing" not in one.reasons]
        added += [Addition("next", _quoted(one.text, WORDS), tag="words") for one in said[-2:]]
    if block.wish.strip() and not block.answered:
        added.append(Addition("next", f"{NEWEST_REQUEST}{_quoted(block.wish, WORDS)}", tag="words"))
    old, still = {"words"} if plan is None else {"words", "plan"}, {item_text(one.text) for one in added}
    if goes_on:
        still |= {item.text for item in outline.of("next") if item.text.startswith(NEWEST_REQUEST)}
    return added, [item for item in outline.of("next") if item.tag in old and item.text not in still]


def _plans(fact: Fact) -> list[Call]:
    return [call for call in fact.calls if call.name in PLAN_TOOLS] if isinstance(fact, Assistant) else []


# ---- words


def _quoted(text: str, most: int) -> str:
    """Somebody's words in quotation marks, in one line."""
    return f"{texts.OPEN}{texts.in_a_line(one_line(text, most))}{texts.CLOSE}"


def _first_words(text: str) -> str:
    """A report without its headings and marks."""
    lines = (_MARKDOWN.sub("", line).strip() for line in text[:4_000].splitlines())
    return " ".join(line for line in lines if line)
