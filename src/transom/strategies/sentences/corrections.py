"""Statements that a later statement has replaced.

A lost rule is worse than one too many, so a statement counts as replaced only with evidence. There are three kinds: the
same sentence with another value; another value for a setting of which there is only one; or words of change about the
same topic, with a value of the same kind (between two wishes the topic is enough). The user can correct everybody,
others only themselves.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from math import fsum

from msgspec import Struct

from transom.strategies.sentences.salience import Statement

SCALARS = frozenset(("money", "date", "clock", "units", "amount", "version"))
"""Kinds of values that change: the same sentence with another such value is a correction. A sentence with another name
may be about another thing."""

SETTINGS = frozenset(("clock", "units"))
"""Kinds of which a conversation follows one value at a time, for example one time zone."""

RARE = 40
"""A word in more statements than this says nothing about the topic of any of them."""

REQUESTS = frozenset(("required", "wish", "request"))
"""Reasons of a sentence that asks for something."""

_WORD, _PAIR = re.compile(r"[a-z]{3,}"), re.compile(r"(?=([\u3040-\u9fff]{2}))")
_ENDING = re.compile(r"(?<=[a-z]{3})(?:ing|ally|al|ly|ers?|ed|es|s)$")
_LABEL = re.compile(r"^[\w ]{1,24}: ")  # a label names the sort of sentence, not its topic
_COMMON = frozenset(
    """the and for not you all any are was were has have had its this that these those with from into onto them they
    our your will can may use keep must never always should need want only without under below above over than
    then now new old user total update time date day week month year change moved one each every per who what when
    which please rather would like make""".split()  # noqa: SIM905 - a list of words reads as words
)


class LoggedStatement(Struct, frozen=True, dict=True):
    """A statement, the entry that contains it, and the role of its speaker.

    What the comparison with other statements needs is computed once: it goes on at every compaction.
    """

    entry: int
    statement: Statement
    role: str = "user"

    @cached_property
    def form(self) -> str:
        """The sentence without the values that may change."""
        text = self.statement.text.lower()
        for kind, value in sorted(self.statement.values):
            text = text.replace(value, kind) if kind in SCALARS else text
        return text

    @cached_property
    def topic(self) -> frozenset[str]:
        """The words that say what the sentence is about, without their endings."""
        text = _LABEL.sub("", self.statement.text).lower()
        words = [*_WORD.findall(text), *_PAIR.findall(text)]
        return frozenset(_stem(word) for word in words if word not in _COMMON)

    @cached_property
    def settings(self) -> tuple[str, ...]:
        """The kinds of its values of which a conversation follows one at a time."""
        return tuple(kind for kind, _ in self.statement.values if kind in SETTINGS)

    @cached_property
    def has_rivals(self) -> bool:
        """Whether words of change may mean it: it has a value, or is a wish."""
        return bool(self.statement.values) or "wish" in self.statement.reasons


@lru_cache(maxsize=1 << 14)
def _stem(word: str) -> str:
    return _ENDING.sub("", word)


def outdated(statements: Sequence[LoggedStatement]) -> frozenset[int]:
    """The indexes of the statements that a later one has replaced; of a repeated statement, the earlier.

    `statements` are in log order.
    """
    known: Counter[str] = Counter()
    for one in statements:
        known.update(one.topic)
    about: dict[str, set[int]] = {}
    replaced_so_far: set[int] = set()
    for at, new in enumerate(statements):
        same = _earlier(statements, new, about, (new.form, *new.settings))
        replaced = [old for old in same if _repeats(statements[old], new)]
        if not replaced and "change" in new.statement.reasons:
            rivals = _earlier(statements, new, about, new.topic).difference(replaced_so_far)
            rivals = [old for old in rivals if _may_replace(statements[old].statement, new.statement)]
            # fsum: the sum must not depend on the order of a set
            near = {old: fsum(1 / known[word] for word in statements[old].topic & new.topic) for old in rivals}
            replaced = sorted(rivals, key=lambda old: (near[old], old))[-1:]
        replaced_so_far.update(replaced)
        about[new.form] = {at}
        for kind in new.settings:
            about.setdefault(kind, set()).add(at)
        if new.has_rivals:
            for word in new.topic:
                if known[word] <= RARE:
                    about.setdefault(word, set()).add(at)
    return frozenset(replaced_so_far)


def _earlier(
    statements: Sequence[LoggedStatement], new: LoggedStatement, about: dict[str, set[int]], keys: Iterable[str]
) -> set[int]:
    """The statements that `new` could replace: of another entry, by a speaker whom its own speaker may correct."""
    found = [about[key] for key in keys if key in about]
    if not found:
        return set()
    return {
        old
        for old in set[int]().union(*found)
        if statements[old].entry < new.entry and new.role in {"user", statements[old].role}
    }


def _repeats(old: LoggedStatement, new: LoggedStatement) -> bool:
    """Whether `new` is the same sentence but for one value at most, or gives a setting another value."""
    before, after = old.statement, new.statement
    if old.form == new.form:
        return len(after.values - before.values) <= 1
    if not all(REQUESTS.intersection(one.reasons) for one in (before, after)):
        return False
    return bool(SETTINGS & _differing(before, after))


def _may_replace(old: Statement, new: Statement) -> bool:
    """Whether words of change may mean this pair: another value of the same kind, or another wish."""
    return bool(_differing(old, new)) or (not old.values and all("wish" in one.reasons for one in (old, new)))


def _differing(old: Statement, new: Statement) -> set[str]:
    """The kinds of values that both have, and no value in common."""
    both = {kind for kind, _ in old.values} & {kind for kind, _ in new.values}
    return both - {kind for kind, _ in old.values & new.values}
