"""One rolling summary: what the summary before it held, and what the new turns change.

A model names the changes. The rest happens here: they are merged, what must be there to the letter is put in, the text
is brought under its cap and below the size of its input. Where no model answers, code keeps the notes
(`summary_without_model`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from transom import quoting, texts
from transom.core.message import Assistant, Usage, User
from transom.core.summary import SourceTurn, Summarise, Summary
from transom.core.tokens import MESSAGE_TOKENS, TokenCounter
from transom.errors import SummaryFailed
from transom.strategies.text.one_line import one_line
from transom.summaries.flat_text import text_of
from transom.summaries.outline import (
    ITEM_CHARACTERS,
    Addition,
    Delta,
    Outline,
    Section,
    age,
    apply_delta,
    outline_of,
    stored,
)
from transom.summaries.parse_answer import lines_of
from transom.summaries.prompts import SECTIONS
from transom.summaries.summary_text import fit_summary

INTENT_SECTION = "intent"
"""The section with what the user wants, which every set of prompts has."""

SMALLER_SHARE = 0.75
"""The share of its input that a summary may have where its cap is larger."""


def starting_outline(want: Summarise, sections: Sequence[Section]) -> Outline:
    """The outline that a new summary begins with: that of the summary before, one round older, with the values that the
    new text must hold to the letter. Values that the user typed come first, of whatever round. A value that could pass
    for a mark of ours is left out.

    If the summary before has no outline, as of somebody else's summarizer, the lines of its text are the items.
    """
    outline = age(outline_of(want.prior.state if want.prior is not None else None))
    if want.prior is not None and not outline.items:
        outline = apply_delta(outline, lines_of(want.prior.text, sections), sections)
    typed = tuple(filter(texts.is_plain_value, unique((*want.typed, *outline.typed))))
    exact = tuple(filter(texts.is_plain_value, unique((*typed, *want.exact, *outline.exact))))
    return replace(outline, exact=exact, typed=typed)


def _without_unused_values(outline: Outline, want: Summarise) -> Outline:
    """The outline without exact values that are not needed any more."""
    asked = {*outline.typed, *want.exact}
    said = [item.text for item in outline.items if item.status != "done"]
    for turn in want.turns:
        for fact in turn.facts:
            said += [text_of(fact), *(call.args for call in (fact.calls if isinstance(fact, Assistant) else ()))]
    words = "\n".join(said)
    used = (value for value in outline.exact if value in asked or value.rstrip("/").rpartition("/")[2] in words)
    return replace(outline, exact=tuple(used))


def notes_of(want: Summarise) -> tuple[str, ...]:
    """The notes that a summary must have: those of the summary before, then the new ones, each once, blank ones left
    out."""
    return unique((*(want.prior.notes if want.prior is not None else ()), *want.notes))


def with_first_request(outline: Outline, sections: Sequence[Section], want: Summarise) -> Outline:
    """The outline; if its section "intent" is empty, with the first request of the new turns in it, in the user's
    words. Messages that a program wrote do not count. If there is no such request, or `sections` has no "intent", the
    outline is returned as it is."""
    if outline.of(INTENT_SECTION) or INTENT_SECTION not in {section.key for section in sections}:
        return outline
    requests = (turn.facts[0] for turn in want.turns if isinstance(turn.facts[0], User) and not turn.injected)
    first = next(filter(None, (one_line(text_of(fact), ITEM_CHARACTERS // 2) for fact in requests)), "")
    if not first:
        return outline
    words = f"{quoting.OPEN}{quoting.in_a_line(first)}{quoting.CLOSE}"
    return apply_delta(outline, Delta(add=(Addition(INTENT_SECTION, f"The first task: {words}"),)), sections)


def summary_without_model(want: Summarise, counter: TokenCounter) -> Summary | None:
    """The summary that code makes where no model does: what the summary before it held, with the new notes.

    None without new notes: the record of the same turns says more than code could. It is `degraded`, so that a model
    makes it again. Raises SummaryFailed as `finished_summary` does.
    """
    if not want.notes:
        return None
    outline = starting_outline(replace(want, exact=(), typed=()), SECTIONS)
    return replace(finished_summary(want, outline, SECTIONS, counter, made_by=""), degraded=True)


def finished_summary(
    want: Summarise,
    outline: Outline,
    sections: Sequence[Section],
    counter: TokenCounter,
    *,
    made_by: str,
    last: int | None = None,
    usage: Usage | None = None,
) -> Summary:
    """The summary with this outline, and the notes of `want`, up to the unit with the key `last` (None: all that was
    wanted). It has at most `want.max_tokens` tokens, and is always smaller than the turns, notes and earlier summary
    that it stands for: if need be, items are left out. So are exact values of earlier rounds that nothing names any
    more.

    `made_by`: the model, as `Summary.made_by`; the first line of the text says whether a model made it. `usage`: what
    the requests for it took.

    Raises SummaryFailed if it has neither items nor notes, does not fit in `want.max_tokens`, or cannot be made smaller
    than what it is made of.
    """
    notes, last = notes_of(want), want.last if last is None else last
    if not outline.items and not notes:
        raise SummaryFailed("there is nothing in it")
    title = texts.summary_title(last, by_model=bool(made_by))
    outline = _without_unused_values(outline, want)
    covered = [turn for turn in want.turns if turn.key <= last]
    carried = frozenset(outline.exact).difference(want.exact)
    fitted = fit_summary(outline, sections, notes, counter, want.max_tokens, title=title, carried=carried)
    if fitted.tokens >= (before := input_tokens(want, covered, counter, fitted.tokens)):
        most = int(SMALLER_SHARE * before)
        try:
            fitted = fit_summary(outline, sections, notes, counter, most, title=title, carried=carried)
        except SummaryFailed:
            raise SummaryFailed(f"it would not be smaller than its input of {before:,} tokens") from None
    return Summary(
        last=last,
        text=fitted.text,
        state=stored(fitted.outline),
        notes=fitted.notes,
        prior=want.prior_seq,
        made_by=made_by,
        usage=usage,
    )


def input_tokens(want: Summarise, turns: Sequence[SourceTurn], counter: TokenCounter, most: int) -> int:
    """The tokens of what a summary is made of: the summary before, the new notes and these turns. Counting stops once
    there are more than `most`, so a result above `most` may be too low."""
    total = sum(counter.count(texts.to_the_letter(note)) + 1 for note in want.notes)
    total += counter.count(want.prior.text) if want.prior is not None else 0
    for turn in turns:
        for fact in turn.facts:
            if total > most:
                return total
            calls = fact.calls if isinstance(fact, Assistant) else ()
            total += MESSAGE_TOKENS + counter.count(text_of(fact)) + sum(counter.count(call.args) for call in calls)
    return total


def unique(values: Iterable[str]) -> tuple[str, ...]:
    """The values that are not blank, each once, in the order in which they first come."""
    return tuple(dict.fromkeys(value for value in values if value.strip()))
