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
from transom.strategies.text.identifiers import names_in

MOST, SHORT = 400, 160
"""Characters of the longest sentence (a longer one is material), and of a text that is one statement as a whole."""

VALUE = 2.0
"""The weight of each kind of values in a sentence."""

FURTHER = 0.5
"""The weight of each further reason, compared with the one before."""

SHARED = 2.0
"""What each name that the recent turns use adds to the score of a unit."""

LARGE = 1_000
"""A unit with more tokens of results is mostly material, so its score falls."""

_COUNT = r"(?:\d[\d,.]*|(?:one|two|three|four|five|six|seven|eight|nine|ten|twenty|fifty)(?: (?:hundred|thousand))?)"
_MONTH = r"(?:jan|feb|mar|apr|may|june?|july?|aug|sep|oct|nov|dec)[a-z]*\.?"
_ZONE = r"(?:Pacific|Eastern|Central|Mountain|Greenwich|[Ll]ocal) [Tt]ime"
_DATE = rf"\d{{4}}-\d\d-\d\d|\d\d?/\d\d?(?:/\d+)?|\d\d-\d\d|{_MONTH} \d\d?|\d+月\d+日"
_NO_NAME = r"(?!(?:Only|Use|The|This|For|Please|Never|Always|No|If|We|In|On)\b)"
KINDS = {
    kind: re.compile(pattern)
    for kind, pattern in (
        ("money", rf"(?i)[$€£¥]\s?\d[\d,.]*\b|\b{_COUNT} ?(?:dollars|euros?|pounds|usd|eur)\b|\d+ ?元"),
        ("date", rf"(?i)\b(?:{_DATE})(?!\w)"),
        ("clock", rf"\b(?:UTC|GMT|[PMCE][SD]T|CES?T|{_ZONE})\b(?:[+-]\d+)?"),
        ("units", r"(?i)\b(?:metric|imperial)\b"),
        ("amount", rf"(?i)\b{_COUNT} ?(?:%|percent|ms|seconds?|minutes?|hours?|days|[kmg]i?b)(?!\w)"),
        ("version", r"\bv?\d+\.\d+(?:\.\d+)*\b"),
        ("person", rf"\b{_NO_NAME}[A-Z][a-z]+ [A-Z][a-z]+\b"),
        ("place", r"(?:https?://|[\w.~-]*/)[\w./~-]+|\b\w+(?:\.\w+)+\b"),
        ("name", r"\b(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{4,}|\w+_\w+"),
    )
}
"""Kinds of values, in order: a text that one kind matches is not matched again by the next. A correction gives another
value of the same kind."""

_REQUIRED = (
    r"\b(?:must|should|shall|needs?|ha(?:ve|s) to|requires?d?|never|always|do not|don't|cannot|only(?! an?\b)|"
    r"under|below|no more than|at (?:least|most)|up to|without|forbidden|allowed|make sure|ensure|at all times|"
    r"(?:no|nobody) else)\b|(?:^|: )no\b|必须|需要|应该|应当|不要|不得|禁止|务必|一定要|只能|至少|最多"
)
_REQUEST = (
    r"(?:^|[:;,] |\bplease )(?:use|put|show|keep|report|make|write|send|set|run|give|answer|reply|format|add|fix|call|"
    r"treat|follow|remember|stick|assume|stop|avoid)\b"
)
_CHANGE = (
    r"\b(?:from now on|no longer|anymore|instead|actually|rather|correction|scratch that|chang(?:ed?|es) to|changed|"
    r"moved|switch(?:ed)?(?: \w+)* to|renamed|replaced|rebased|rotated|retired|updated?|supersedes?|revised|postponed|"
    r"raised|lowered|now|new|previous|as of)\b|现在|改为|改成|改用|不再|而不是|更正|其实|换成"
)
_OPEN = (
    r"\b(?:next (?:step|up)|to-?do|open question|awaiting|blocked|fail(?:s|ed|ing|ure)?|error|pending|remaining|"
    r"unresolved|current(?:ly)?|progress|phase|deadline)\b|下一步|待办|失败|错误|截止"
)
SIGNALS = tuple(
    (word, weight, re.compile(pattern, re.IGNORECASE))
    for word, weight, pattern in (
        ("required", 3.0, _REQUIRED),
        (
            "wish",
            2.0,
            r"\b(?:wants?|prefers?|preferred|wish(?:es)?|rather|please|would like|likes?)\b|希望|想要|请|偏好",
        ),
        ("request", 2.0, _REQUEST),
        ("change", 2.0, _CHANGE),
        (
            "decision",
            2.0,
            r"\b(?:decided|agreed|we will|we'll|let's|going with|chose|settled)\b|, not \b|决定|同意|采用",
        ),
        ("open", 2.0, _OPEN),
        ("condition", 1.0, r"\b(?:if|unless|until|before|after|when)\b|如果|除非|直到|之前|之后"),
        ("is", 1.0, r"\b(?:is|are|lives at|runs? in|running in|belongs? to|based on|called)\b| = |是|为"),
        ("question", 1.0, r"[?？]\s*$"),
        ("code", 1.0, r"`[^`]+`"),
    )
)
"""The signals of a sentence: the name of each, its weight, and its pattern."""

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
    pieces = [whole] if len(whole) <= SHORT and "\n" not in whole else _ENDS.split(whole)
    pieces = (_BULLET.sub("", piece.strip()) for piece in pieces)
    return tuple(_statement(piece) for piece in pieces if 1 < len(piece) <= MOST)


def _statement(text: str) -> Statement:
    """Each further reason adds less: a sentence that says one thing in many ways is still one sentence."""
    values = frozenset(_values(text))
    reasons = [(weight, word) for word, weight, pattern in SIGNALS if pattern.search(text)]
    reasons += [(VALUE, kind) for kind in KINDS if any(kind == one for one, _ in values)]
    reasons.sort(key=lambda reason: -reason[0])
    value = sum(weight * FURTHER**n for n, (weight, _) in enumerate(reasons))
    if _PASSING.match(text):
        value, reasons = value / 4, [*reasons, (0.0, "passing")]
    return Statement(text, value, tuple(word for _, word in reasons), values)


def _values(text: str) -> Iterator[tuple[str, str]]:
    for kind, pattern in KINDS.items():
        for match in pattern.finditer(text):
            yield kind, match.group().lower().rstrip(".,")
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


@lru_cache(maxsize=1 << 14)
def _names(text: str) -> frozenset[str]:
    return frozenset(name for _, group in names_in(text) for name in group)
