"""Which statements are no longer in force: a later one has put another value in their place.

A statement is given up only with evidence, since a rule lost is worse than one too many: the same sentence with another
value; another setting where there can only be one; or words of change, about the same thing, with a value of the same
kind (between wishes, about the same thing alone). The user corrects everybody, others only themselves.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from math import fsum
from typing import NamedTuple

from transom.strategies.salience import Statement

SCALARS = frozenset(("money", "date", "clock", "units", "amount", "version"))
"""Kinds of which the same sentence with another value says what is now true; with another name it may mean another."""

SETTINGS = frozenset(("clock", "units"))
"""Kinds of which a conversation follows one at a time, once it was told which."""

RARE = 40
"""Statements that may share a word before it says nothing about what any of them is about."""

ASKED = frozenset(("required", "wish", "request"))
"""Reasons of a sentence that asks for something."""

_WORD, _PAIR = re.compile(r"[a-z]{3,}"), re.compile(r"(?=([\u3040-\u9fff]{2}))")
_ENDING = re.compile(r"(?<=[a-z]{3})(?:ing|ally|al|ly|ers?|ed|es|s)$")
_LABEL = re.compile(r"^[\w ]{1,24}: ")  # says what sort of sentence follows, not what it is about
_COMMON = frozenset(
    """the and for not you all any are was were has have had its this that these those with from into onto them they
    our your will can may use keep must never always should need want only without under below above over than
    then now new old user total update time date day week month year change moved one each every per who what when
    which please rather would like make""".split()  # noqa: SIM905 - a list of words reads as words
)


class Told(NamedTuple):
    """A statement, the entry it stands in, and who said it."""

    entry: int
    statement: Statement
    role: str = "user"


def outdated(told: Sequence[Told]) -> frozenset[int]:
    """The indexes of what a later statement has replaced, of `told` in log order; of one said again, the earlier."""
    topics = [_topic(one.statement.text) for one in told]
    known = Counter(word for topic in topics for word in topic)
    about: dict[str, set[int]] = {}
    gone: set[int] = set()
    for new, (_, one, _) in enumerate(told):
        form, settings = _form(one), [kind for kind, _ in one.values if kind in SETTINGS]
        replaced = [old for old in _earlier(told, new, about, form, *settings) if _again(told[old].statement, one)]
        if not replaced and "change" in one.reasons:
            rivals = _earlier(told, new, about, *topics[new]) - gone
            rivals = [old for old in rivals if _changed(told[old].statement, one)]
            near = {old: fsum(1 / known[word] for word in topics[old] & topics[new]) for old in rivals}  # in any order
            replaced = sorted(rivals, key=lambda old: (near[old], old))[-1:]
        gone.update(replaced)
        about[form] = {new}
        rare = [word for word in topics[new] if known[word] <= RARE] if one.values or "wish" in one.reasons else []
        for key in (*settings, *rare):
            about.setdefault(key, set()).add(new)
    return frozenset(gone)


def _earlier(told: Sequence[Told], new: int, about: dict[str, set[int]], *keys: str) -> set[int]:
    """What `new` could replace: of another entry, and by somebody whom its speaker may correct."""
    found, one = set[int]().union(*(about.get(key, ()) for key in keys)), told[new]
    return {old for old in found if told[old].entry < one.entry and one.role in {"user", told[old].role}}


def _again(old: Statement, new: Statement) -> bool:
    """Says the same sentence but for one value at most, or sets anew what has one setting."""
    if _form(old) == _form(new):
        return len(new.values - old.values) <= 1
    return all(ASKED.intersection(one.reasons) for one in (old, new)) and bool(SETTINGS & _differing(old, new))


def _changed(old: Statement, new: Statement) -> bool:
    """May be what words of change speak of: another value of a kind, or one wish in place of another."""
    return bool(_differing(old, new)) or (not old.values and all("wish" in one.reasons for one in (old, new)))


def _differing(old: Statement, new: Statement) -> set[str]:
    """The kinds of which both have values, and none the same."""
    both = {kind for kind, _ in old.values} & {kind for kind, _ in new.values}
    return both - {kind for kind, _ in old.values & new.values}


@lru_cache(maxsize=1 << 14)
def _form(statement: Statement) -> str:
    """The sentence without the values that may change."""
    text = statement.text.lower()
    for kind, value in sorted(statement.values):
        text = text.replace(value, kind) if kind in SCALARS else text
    return text


@lru_cache(maxsize=1 << 14)
def _topic(text: str) -> frozenset[str]:
    """The words that say what a sentence is about, without their endings."""
    said = _LABEL.sub("", text).lower()
    words = [*_WORD.findall(said), *_PAIR.findall(said)]
    return frozenset(_ENDING.sub("", word) for word in words if word not in _COMMON)
