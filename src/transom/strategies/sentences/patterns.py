"""The patterns that sentences are searched for: kinds of values, and signals of what matters.

Most sentences match few of them, and a search costs more than a look for a word. So a pattern has hints: one of them is
in every ASCII text that the pattern matches. Other texts are searched for all.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Kind(NamedTuple):
    """A kind of values. `hints` are characters or words in lower case, "0" any digit; no hints: any text may match."""

    pattern: re.Pattern[str]
    hints: tuple[str, ...] = ()


class Signal(NamedTuple):
    """A signal with its weight. `hints` are whole words in lower case; no hints: any text may match."""

    name: str
    weight: float
    pattern: re.Pattern[str]
    hints: frozenset[str] = frozenset()


def found_by(text: str) -> tuple[list[str], list[Signal]]:
    """The names of the kinds and the signals that may be in a text, in order."""
    if not text.isascii():
        return [*KINDS], [*SIGNALS]
    lower = text.lower().translate(_DIGITS)
    words = set(_WORD.findall(lower))
    kinds = [name for name, kind in KINDS.items() if not kind.hints or any(hint in lower for hint in kind.hints)]
    return kinds, [signal for signal in SIGNALS if not signal.hints or not signal.hints.isdisjoint(words)]


_WORD = re.compile(r"[a-z]+")
_DIGITS = str.maketrans("123456789", "000000000")

_COUNT = r"(?:\d[\d,.]*|(?:one|two|three|four|five|six|seven|eight|nine|ten|twenty|fifty)(?: (?:hundred|thousand))?)"
_MONTH = r"(?:jan|feb|mar|apr|may|june?|july?|aug|sep|oct|nov|dec)[a-z]*\.?"
_ZONE = r"(?:Pacific|Eastern|Central|Mountain|Greenwich|[Ll]ocal) [Tt]ime"
_DATE = rf"\d{{4}}-\d\d-\d\d|\d\d?/\d\d?(?:/\d+)?|\d\d-\d\d|{_MONTH} \d\d?|\d+月\d+日"
_NO_NAME = r"(?!(?:Only|Use|The|This|For|Please|Never|Always|No|If|We|In|On)\b)"
KINDS = {
    "money": Kind(
        re.compile(rf"(?i)[$€£¥]\s?\d[\d,.]*\b|\b{_COUNT} ?(?:dollars|euros?|pounds|usd|eur)\b|\d+ ?元"),
        ("$", "dollars", "eur", "pounds", "usd"),
    ),
    "date": Kind(re.compile(rf"(?i)\b(?:{_DATE})(?!\w)"), ("0",)),
    "clock": Kind(
        re.compile(rf"\b(?:UTC|GMT|[PMCE][SD]T|CES?T|{_ZONE})\b(?:[+-]\d+)?"),
        ("utc", "gmt", "cet", "time", *(zone + kind for zone in "pmce" for kind in ("st", "dt"))),
    ),
    "units": Kind(re.compile(r"(?i)\b(?:metric|imperial)\b"), ("metric", "imperial")),
    "amount": Kind(
        re.compile(rf"(?i)\b{_COUNT} ?(?:%|percent|ms|seconds?|minutes?|hours?|days|[kmg]i?b)(?!\w)"),
        ("%", "percent", "ms", "second", "minute", "hour", "days", "kb", "mb", "gb", "ib"),
    ),
    "version": Kind(re.compile(r"\bv?\d+\.\d+(?:\.\d+)*\b"), ("0",)),
    "person": Kind(re.compile(rf"\b{_NO_NAME}[A-Z][a-z]+ [A-Z][a-z]+\b")),
    "place": Kind(re.compile(r"(?:https?://|[\w.~-]*/)[\w./~-]+|\b\w+(?:\.\w+)+\b"), ("/", ".")),
    "name": Kind(re.compile(r"\b(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{4,}|\w+_\w+"), ("0", "_")),
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
_WISH = r"\b(?:wants?|prefers?|preferred|wish(?:es)?|rather|please|would like|likes?)\b|希望|想要|请|偏好"
_DECISION = r"\b(?:decided|agreed|we will|we'll|let's|going with|chose|settled)\b|, not \b|决定|同意|采用"
_REQUIRED_HINTS = """must should shall need needs have has require requires required requiresd never always do don
cannot only under below no at up without forbidden allowed make ensure nobody"""
_WISH_HINTS = "want wants prefer prefers preferred wish wishes rather please would like likes"
_REQUEST_HINTS = """use put show keep report make write send set run give answer reply format add fix call treat follow
remember stick assume stop avoid"""
_CHANGE_HINTS = """from no anymore instead actually rather correction scratch change changes changed moved switch
switched renamed replaced rebased rotated retired update updated supersede supersedes revised postponed raised lowered
now new previous as"""
_DECISION_HINTS = "decided agreed we let going chose settled not"
_OPEN_HINTS = """next to todo open awaiting blocked fail fails failed failing failure error pending remaining unresolved
current currently progress phase deadline"""
_CONDITION_HINTS = "if unless until before after when"


def _signal(name: str, weight: float, pattern: str, hints: str = "") -> Signal:
    return Signal(name, weight, re.compile(pattern, re.IGNORECASE), frozenset(hints.split()))


SIGNALS = (
    _signal("required", 3.0, _REQUIRED, _REQUIRED_HINTS),
    _signal("wish", 2.0, _WISH, _WISH_HINTS),
    _signal("request", 2.0, _REQUEST, _REQUEST_HINTS),
    _signal("change", 2.0, _CHANGE, _CHANGE_HINTS),
    _signal("decision", 2.0, _DECISION, _DECISION_HINTS),
    _signal("open", 2.0, _OPEN, _OPEN_HINTS),
    _signal("condition", 1.0, r"\b(?:if|unless|until|before|after|when)\b|如果|除非|直到|之前|之后", _CONDITION_HINTS),
    _signal("is", 1.0, r"\b(?:is|are|lives at|runs? in|running in|belongs? to|based on|called)\b| = |是|为"),
    _signal("question", 1.0, r"[?？]\s*$"),
    _signal("code", 1.0, r"`[^`]+`"),
)
"""The signals of a sentence, in order."""
