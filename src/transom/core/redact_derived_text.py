"""Applies a redaction where text leaves the message in which it was said: to folds, summary requests and recalled text.

The log is not changed, and neither is a message in the window. The redaction itself is a function of the caller
(`transom.redaction` makes one). It must be pure, so that the same log gives the same windows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

from msgspec.structs import replace

from transom.core.edit import Fold
from transom.core.message import Assistant, Call, Fact, Handoff, Note, Recalled, Text, own_text
from transom.core.summary import SourceTurn, Summarise
from transom.core.view import View

MAX_SOURCE_CHARACTERS = 4_000_000
"""How many characters of the texts that a text was made from are searched for secrets. It is four times what a digest
quotes."""


class Redact(Protocol):
    """A function that replaces the secrets in a text by their names."""

    def __call__(self, text: str, sources: Iterable[str] = ()) -> str:
        """Return the redacted text. `sources`: the texts that it was made from. A secret in one of them is redacted
        also if only a part of it is quoted."""
        ...


def redacted_fold(view: View, fold: Fold, redact: Redact) -> Fold:
    """A copy of the fold whose text shows no secret of the turns it covers, nor one that another message tells. The
    fold must apply to the view."""
    sources = list(texts_of_view(view))
    # One after the other, so that `summary_end` is right again.
    summary, rest = fold.text[: fold.summary_end], fold.text[fold.summary_end :]
    summary = redact(summary, sources) if summary else summary
    return replace(fold, text=summary + redact(rest, sources), summary_end=len(summary))


def redacted_recall(view: View, recalled: Recalled, redact: Redact) -> Recalled:
    """A copy of the recalled text that shows no secret of the entries it comes from, nor one that another message
    tells."""
    text = redact(recalled.text, texts_of_view(view))
    return recalled if text == recalled.text else replace(recalled, text=text)


def redacted_fact(fact: Fact, redact: Redact, sources: Sequence[str] = ()) -> Fact:
    """A copy of the fact whose texts, calls and reasoning show no secret of their own, and none of `sources`."""

    def shown(text: str) -> str:
        return redact(text, sources)

    own = {"text": shown(fact.text)} if isinstance(fact, (Note, Recalled, Handoff)) else {}
    parts = tuple(replace(part, text=shown(part.text)) if isinstance(part, Text) else part for part in fact.parts)
    changed: dict[str, Any] = {"parts": parts, **own}
    if isinstance(fact, Assistant):
        changed["calls"] = tuple(replace(call, args=shown(call.args)) for call in fact.calls)
        changed["reasoning"] = tuple(replace(each, text=shown(each.text)) for each in fact.reasoning)
    return replace(fact, **changed)


def redacted_turns(turns: Sequence[SourceTurn], redact: Redact, sources: Sequence[str] = ()) -> tuple[SourceTurn, ...]:
    """Copies of turns that a summarizer may read: their facts show no secret of their own, and none of `sources`. What
    is a secret is often known from one message only ("the password is …"), and others repeat it."""
    return tuple(
        replace(turn, facts=tuple(redacted_fact(fact, redact, sources) for fact in turn.facts)) for turn in turns
    )


def redacted_want(want: Summarise, redact: Redact, others: Iterable[str] = ()) -> Summarise:
    """A copy of the want that shows no secret of its turns, and none of `others`. The turns, the notes and the focus
    are redacted; exact and typed values that contain a secret are left out. `request` and `prior` stay as they are."""
    whole = [text for turn in want.turns for fact in turn.facts for text in texts_of(fact)]
    sources = [*_bounded_texts(reversed(whole)), *others]
    return replace(
        want,
        turns=redacted_turns(want.turns, redact, sources),
        exact=tuple(value for value in want.exact if redact(value, sources) == value),
        typed=tuple(value for value in want.typed if redact(value, sources) == value),
        notes=tuple(redact(note, sources) for note in want.notes),
        focus=redact(want.focus, sources),
    )


def texts_of(fact: Fact) -> Iterator[str]:
    """Every text of a fact that may be quoted: text parts, its own text (see `own_text`), the arguments of calls,
    reasoning."""
    for part in fact.parts:
        if isinstance(part, Text):
            yield part.text
    if own := own_text(fact):
        yield own
    if isinstance(fact, Assistant):
        yield from (each.args if isinstance(each, Call) else each.text for each in (*fact.calls, *fact.reasoning))


def texts_of_view(view: View) -> Iterator[str]:
    """The texts of all facts of a view, folded or not, the newest first, until there are `MAX_SOURCE_CHARACTERS`
    characters. What is a secret is often known from one message only, and another one is quoted."""
    return texts_of_facts(view.fetch(seq).body for seq in reversed(range(view.length)))


def texts_of_facts(bodies: Iterable[object]) -> Iterator[str]:
    """The texts of those bodies of entries that are facts, until there are `MAX_SOURCE_CHARACTERS` characters."""
    return _bounded_texts(text for body in bodies if isinstance(body, Fact) for text in texts_of(body))


def _bounded_texts(texts: Iterable[str]) -> Iterator[str]:
    """The first texts, until there are `MAX_SOURCE_CHARACTERS` characters."""
    left = MAX_SOURCE_CHARACTERS
    for text in texts:
        if left <= 0:
            return
        left -= len(text)
        yield text
