"""The patterns that sentences are searched for: kinds of values, and signals of what matters."""

from __future__ import annotations

import re
from typing import NamedTuple


class Signal(NamedTuple):
    """A signal with its weight."""

    name: str
    weight: float
    pattern: re.Pattern[str]


_COUNT = r"(?:\d[\d,.]*|(?:one|two|three|four|five|six|seven|eight|nine|ten|twenty|fifty)(?: (?:hundred|thousand))?)"
_MONTH = r"(?:jan|feb|mar|apr|may|june?|july?|aug|sep|oct|nov|dec)[a-z]*\.?"
_ZONE = r"(?:Pacific|Eastern|Central|Mountain|Greenwich|[Ll]ocal) [Tt]ime"
_DATE = rf"\d{{4}}-\d\d-\d\d|\d\d?/\d\d?(?:/\d+)?|\d\d-\d\d|{_MONTH} \d\d?|\d+月\d+日"
_NO_NAME = r"(?!(?:Only|Use|The|This|For|Please|Never|Always|No|If|We|In|On)\b)"
KINDS = {
    "money": re.compile(rf"(?i)[$€£¥]\s?\d[\d,.]*\b|\b{_COUNT} ?(?:dollars|euros?|pounds|usd|eur)\b|\d+ ?元"),
    "date": re.compile(rf"(?i)\b(?:{_DATE})(?!\w)"),
    "clock": re.compile(rf"\b(?:UTC|GMT|[PMCE][SD]T|CES?T|{_ZONE})\b(?:[+-]\d+)?"),
    "units": re.compile(r"(?i)\b(?:metric|imperial)\b"),
    "amount": re.compile(rf"(?i)\b{_COUNT} ?(?:%|percent|ms|seconds?|minutes?|hours?|days|[kmg]i?b)(?!\w)"),
    "version": re.compile(r"\bv?\d+\.\d+(?:\.\d+)*\b"),
    "person": re.compile(rf"\b{_NO_NAME}[A-Z][a-z]+ [A-Z][a-z]+\b"),
    "place": re.compile(r"(?:https?://|[\w.~-]*/)[\w./~-]+|\b\w+(?:\.\w+)+\b"),
    "name": re.compile(r"\b(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{4,}|\w+_\w+"),
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


def _signal(name: str, weight: float, pattern: str) -> Signal:
    return Signal(name, weight, re.compile(pattern, re.IGNORECASE))


SIGNALS = (
    _signal("required", 3.0, _REQUIRED),
    _signal("wish", 2.0, _WISH),
    _signal("request", 2.0, _REQUEST),
    _signal("change", 2.0, _CHANGE),
    _signal("decision", 2.0, _DECISION),
    _signal("open", 2.0, _OPEN),
    _signal("condition", 1.0, r"\b(?:if|unless|until|before|after|when)\b|如果|除非|直到|之前|之后"),
    _signal("is", 1.0, r"\b(?:is|are|lives at|runs? in|running in|belongs? to|based on|called)\b| = |是|为"),
    _signal("question", 1.0, r"[?？]\s*$"),
    _signal("code", 1.0, r"`[^`]+`"),
)
"""The signals of a sentence, in order."""
