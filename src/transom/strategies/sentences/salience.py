"""How much sentences and units matter, and why: scores that can be explained.

The signals are about how people write: what is required, wished, decided, changed or open, and values that cannot be
guessed. The output of a tool asks for nothing, so its sentences have no score.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from msgspec import Struct

from transom.core.entry import Entry
from transom.core.message import Assistant, Fact, Handoff, Instruction, Text, User
from transom.strategies.sentences.patterns import KINDS, SIGNALS
from transom.strategies.text.identifiers import all_names

MAX_SENTENCE, MAX_SINGLE = 400, 160
"""Characters of the longest sentence (a longer one is material), and of a text that is one statement as a whole."""

VALUE = 2.0
"""The weight of each kind of values in a sentence."""

FURTHER = 0.5
"""The weight of each further reason, compared with the one before."""

SHARED = 2.0
"""What each name that the recent turns use adds to the score of a unit."""

LARGE = 1_000
"""A unit with more tokens of results is mostly material, so its score falls."""

_PASSING = re.compile(r"(?i)(?:I'm |we're )?[a-z]+ing\b|(?:ok|okay|noted|acknowledged|done|sure|thanks)\b")
"""The beginning of a sentence that is true for the moment only: what is being done, or that something was heard."""

_ENDS = re.compile(r"(?<=[.!?;])\s+(?=[\"'(\[]?[A-Z\d])|(?<=[。！？；])|\n+")
_BULLET = re.compile(r"^(?:[-*•]|\d+[.)])\s+")


class Statement(Struct, frozen=True):
    """A sentence, how much it matters, the names of the reasons, and its values with their kinds."""

    text: str
    value: float
    reasons: tuple[str, ...]
    values: frozenset[tuple[str, str]] = frozenset()


@lru_cache(maxsize=1 << 14)
def statements(text: str) -> tuple[Statement, ...]:
    """The sentences of a text that are short enough to be quoted, with their scores."""
    whole = text.strip()
    pieces = [whole] if len(whole) <= MAX_SINGLE and "\n" not in whole else _ENDS.split(whole)
    pieces = (_BULLET.sub("", piece.strip()) for piece in pieces)
    return tuple(_statement(piece) for piece in pieces if 1 < len(piece) <= MAX_SENTENCE)


def _statement(text: str) -> Statement:
    """Each further reason adds less: a sentence that says one thing in many ways is still one sentence."""
    values = frozenset(_values(text))
    reasons = [(signal.weight, signal.name) for signal in SIGNALS if signal.pattern.search(text)]
    reasons += [(VALUE, kind) for kind in KINDS if any(kind == one for one, _ in values)]
    reasons.sort(key=lambda reason: -reason[0])
    value = sum(weight * FURTHER**n for n, (weight, _) in enumerate(reasons))
    if _PASSING.match(text):
        value, reasons = value / 4, [*reasons, (0.0, "passing")]
    return Statement(text, value, tuple(word for _, word in reasons), values)


def _values(text: str) -> Iterator[tuple[str, str]]:
    for kind, pattern in KINDS.items():
        found = False
        for match in pattern.finditer(text):
            yield kind, match.group().lower().rstrip(".,")
            found = True
        if found:
            text = pattern.sub(" ", text)


def authored_text(fact: object) -> str:
    """The text of a fact that the user, the model or another agent wrote; empty for tool results and notes."""
    if isinstance(fact, (User, Instruction, Assistant)):
        return "\n".join(part.text for part in fact.parts if isinstance(part, Text))
    return fact.text if isinstance(fact, Handoff) else ""


def unit_score(
    entries: tuple[Entry, ...], recent: frozenset[str] = frozenset(), *, age: float = 0.0
) -> tuple[float, tuple[str, ...]]:
    """How much a unit matters, and why: by its statements, by the names it shares with the `recent` turns, and by its
    `age` (0 the newest, 1 the oldest); less if it is mostly a tool's output."""
    found = statements(authored_text(entries[0].body))
    value, reasons = sum(one.value for one in found), dict.fromkeys(word for one in found for word in one.reasons)
    if shared := len(recent & names_of_unit(entries)):
        value, reasons["shared"] = value + SHARED * min(3, shared), None
    if (results := sum(sum(entry.tokens) for entry in entries[1:])) > LARGE:
        value, reasons["large"] = value * LARGE / results, None
    return value * (1.5 - age), tuple(reasons)


def names_of_unit(entries: tuple[Entry, ...]) -> frozenset[str]:
    """The names in a unit's texts, calls and results."""
    facts = [entry.body for entry in entries if isinstance(entry.body, Fact)]
    found = [part.text for fact in facts for part in fact.parts if isinstance(part, Text)]
    found += [call.args for fact in facts if isinstance(fact, Assistant) for call in fact.calls]
    return frozenset[str]().union(*map(_names, found))


_names = lru_cache(maxsize=1 << 14)(all_names)
