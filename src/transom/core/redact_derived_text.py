"""Applies a redaction where text leaves the message in which it was said: to folds, summary requests and recalled text.

The log is not changed, and neither is a message in the window. The redaction itself is a function of the caller
(`transom.redaction` makes one). It must be pure, so that the same log gives the same windows.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

from msgspec.structs import replace

from transom.core.edit import Fold
from transom.core.log import IndexCache, stored
from transom.core.message import Assistant, Call, Fact, Failure, Handoff, Note, Recalled, Text, own_text
from transom.core.secret_index import SecretIndex, Secrets
from transom.core.summary import SourceTurn, Summarise
from transom.core.view import View

MAX_SOURCE_CHARACTERS = 4_000_000
"""How many characters of texts are searched for secrets. It is four times what a record quotes."""


@runtime_checkable
class Redact(Protocol):
    """Replaces the secrets in a text by their names: a callable that also has the method `secrets`, such as
    `transom.redaction.Redactor`. A plain function is not enough. It must be pure: the same text always gives the
    same."""

    def __call__(self, text: str, *known: Secrets) -> str:
        """Return the text without the secrets that are found in it, and without those that are known from other texts,
        also if it quotes only a part of one. The work grows with `known`, unless that is a `SecretIndex`."""
        ...

    def secrets(self, texts: Iterable[str]) -> Secrets:
        """Return the secrets that are found in these texts, each with the name that stands in its place."""
        ...


def known_secrets(view: View, redact: Redact, indexes: IndexCache) -> SecretIndex:
    """The secrets that are found in the stored entries of a view. They must be removed from other texts too: often only
    one message shows that a value is a secret ("the password is …"), and others repeat the value.

    Only the newest facts are searched: those that have `MAX_SOURCE_CHARACTERS` characters together. Each fact is
    searched once: `indexes` keeps what was found from one plan to the next, and what is returned belongs to it, so do
    not change it.
    """
    last, n = indexes.of(_LastSecrets), min(view.length, stored(view.log))
    found = last.found
    if found is None or found.redact is not redact or found.n > n:
        found = last.found = _FoundSecrets(redact, _first_searched(view, n))
    while found.n < n:
        found.add(view.fetch(found.n).body)
    return found.known


class _FoundSecrets:
    """The secrets in the entries before `n`, as far back as they are searched."""

    def __init__(self, redact: Redact, n: int) -> None:
        self.redact, self.n = redact, n
        self.known = SecretIndex()
        self._facts: deque[tuple[int, Secrets]] = deque()  # the characters of each, and its secrets
        self._characters = 0

    def add(self, body: object) -> None:
        """Add the next entry. The oldest facts leave beyond `MAX_SOURCE_CHARACTERS`."""
        self.n += 1
        if not isinstance(body, Fact):
            return
        texts = list(texts_of(body))
        characters, found = sum(map(len, texts)), self.redact.secrets(texts)
        self._facts.append((characters, found))
        self._characters += characters
        self.known.add(found)
        while self._characters - self._facts[0][0] >= MAX_SOURCE_CHARACTERS:
            characters, gone = self._facts.popleft()
            self._characters -= characters
            self.known.remove(gone)


class _LastSecrets:
    """The secrets that were found last, to go on from."""

    found: _FoundSecrets | None = None


def _first_searched(view: View, n: int) -> int:
    """The seq from which on the facts before entry `n` have `MAX_SOURCE_CHARACTERS` characters, or 0."""
    seq, characters = n, 0
    while seq > 0 and characters < MAX_SOURCE_CHARACTERS:
        seq -= 1
        body = view.fetch(seq).body
        characters += sum(map(len, texts_of(body))) if isinstance(body, Fact) else 0
    return seq


def redacted_fold(view: View, fold: Fold, redact: Redact, indexes: IndexCache) -> Fold:
    """A copy of the fold whose text shows no secret that is found in the text itself, and none of those in the log
    (`known_secrets`). Its `summary_end` is moved to fit. The fold must apply to the view. The copy may not apply: names
    may be longer than secrets."""
    known = known_secrets(view, redact, indexes)
    # One after the other, so that `summary_end` is right again.
    summary, rest = fold.text[: fold.summary_end], fold.text[fold.summary_end :]
    summary = redact(summary, known) if summary else summary
    return replace(fold, text=summary + redact(rest, known), summary_end=len(summary))


def redacted_recall(view: View, recalled: Recalled, redact: Redact, indexes: IndexCache) -> Recalled:
    """The recalled text without the secrets that are found in it or in the entries that it quotes, and without those in
    `known_secrets`. A copy, or the same object if nothing changes."""
    bodies = (view.fetch(seq).body for seq in recalled.refs if 0 <= seq < view.length)
    text = redact(recalled.text, known_secrets(view, redact, indexes), redact.secrets(texts_of_facts(bodies)))
    return recalled if text == recalled.text else replace(recalled, text=text)


def redacted_fact(fact: Fact, redact: Redact, *known: Secrets) -> Fact:
    """A copy of the fact whose texts, calls and reasoning show no secret of their own, and none of `known`. The names
    of tools, images and other raw parts, and `extra` stay as they are."""

    def shown(text: str) -> str:
        return redact(text, *known)

    own = {"text": shown(fact.text)} if isinstance(fact, (Note, Recalled, Handoff)) else {}
    if isinstance(fact, Failure):
        own = {name: shown(getattr(fact, name)) for name in ("text", "shown", "reasoning", "error")}
    parts = tuple(replace(part, text=shown(part.text)) if isinstance(part, Text) else part for part in fact.parts)
    changed: dict[str, Any] = {"parts": parts, **own}
    if isinstance(fact, Assistant):
        changed["calls"] = tuple(replace(call, args=shown(call.args)) for call in fact.calls)
        changed["reasoning"] = tuple(replace(each, text=shown(each.text)) for each in fact.reasoning)
    return replace(fact, **changed)


def redacted_turns(turns: Sequence[SourceTurn], redact: Redact, *known: Secrets) -> tuple[SourceTurn, ...]:
    """Copies of turns that a summarizer may read: their facts show no secret of their own, and none of `known`."""
    return tuple(
        replace(turn, facts=tuple(redacted_fact(fact, redact, *known) for fact in turn.facts)) for turn in turns
    )


def redacted_want(view: View, want: Summarise, redact: Redact, indexes: IndexCache) -> Summarise:
    """A copy of the want that shows no secret of its turns, and none of `known_secrets`. The turns, the notes and the
    focus are redacted; exact and typed values that contain a secret are left out. `request`, which is sent as any
    request of the conversation, and `prior`, which was made of redacted turns, stay as they are."""
    facts = (fact for turn in reversed(want.turns) for fact in reversed(turn.facts))
    known = known_secrets(view, redact, indexes), SecretIndex(redact.secrets(texts_of_facts(facts)))
    return replace(
        want,
        turns=redacted_turns(want.turns, redact, *known),
        exact=tuple(value for value in want.exact if redact(value, *known) == value),
        typed=tuple(value for value in want.typed if redact(value, *known) == value),
        notes=tuple(redact(note, *known) for note in want.notes),
        focus=redact(want.focus, *known),
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


def texts_of_facts(bodies: Iterable[object]) -> Iterator[str]:
    """Yield the texts (`texts_of`) of those bodies of entries that are facts, in order, until they have
    `MAX_SOURCE_CHARACTERS` characters (4 million). The text that reaches this number is still given whole."""
    left = MAX_SOURCE_CHARACTERS
    for text in (text for body in bodies if isinstance(body, Fact) for text in texts_of(body)):
        if left <= 0:
            return
        left -= len(text)
        yield text
