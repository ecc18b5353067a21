"""Helpers for the rules of all dialects: they take any JSON value as a request, and what is wrong becomes a
`Violation`.

No rule uses the code that renders, so that a mistake there cannot hide itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from reprlib import Repr
from typing import NamedTuple

from msgspec import Struct

from transom.wire.fields import as_dict, as_list


class Violation(Struct, frozen=True):
    """A rule of an API that a request breaks.

    `rule`: the number that the API's `rules.py` (in its folder of `transom/wire`) gives to the rule, such as A1, or a
    word for a rule without a number. `index`: the index of the message that breaks it; -1 for the request as a whole,
    or its tools. `why`: how the request breaks it.
    """

    rule: str
    index: int
    why: str


Finding = tuple[str, str]
"""A rule, and how it is broken."""

NON_EMPTY = re.compile(r"(?s).+")
"""Any text but the empty one."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_NAMES: dict[type, str] = {str: "a string", list: "a list", dict: "an object"}


class Must(NamedTuple):
    """What a field must be, and the rule that says so. `be`: a type, several types, or a pattern that its text must
    match as a whole."""

    rule: str
    be: re.Pattern[str] | type | tuple[type, ...]


def wrong_object_text(path: str, arguments: object) -> Iterator[str]:
    """A sentence if `arguments` is a text that is no JSON object, else nothing; a value that is no text is found by
    `wrong_fields`. `path`: what the sentence calls the arguments."""
    if isinstance(arguments, str):
        try:
            # of NaN and Infinity, which are not JSON, `int` makes a ValueError
            if isinstance(json.loads(arguments, parse_constant=int), dict):
                return
        except (ValueError, RecursionError):
            pass
        yield f"{path} is no JSON object: {short_repr(arguments)}"


TYPED = {"type": Must("content", str)}
"""What every content part must have."""
TEXT = {"text": Must("content", str)}
"""What a text part must have."""


def collect_violations(
    whole: Iterable[Finding], each: Iterable[Iterable[Finding]], *together: Iterable[Violation]
) -> list[Violation]:
    """All findings as violations, by the index of their message.

    `whole`: findings in the request as a whole. `each`: those in each of its messages. `together`: violations between
    messages.
    """
    placed = enumerate([whole, *each], start=-1)
    found = [Violation(rule, index, why) for index, findings in placed for rule, why in findings]
    return sorted([*found, *chain(*together)], key=lambda violation: violation.index)


def wrong_fields(where: str, value: object, musts: Mapping[str, Must]) -> Iterator[Finding]:
    """A finding for each field of an object that is not what `musts` says. A missing field counts as null, and a value
    that is no object as an object without fields. `where`: what the finding puts before the name of a field: "tools[2]"
    gives "tools[2].name". Empty: nothing."""
    fields = as_dict(value)
    for key, (rule, be) in musts.items():
        held, path = fields.get(key), f"{where}.{key}" if where else key
        if isinstance(be, re.Pattern):
            if not (isinstance(held, str) and be.fullmatch(held)):
                yield rule, f"{path} {short_repr(held)}"
        elif not isinstance(held, be):
            names = " or ".join(_NAMES[kind] for kind in (be if isinstance(be, tuple) else (be,)) if kind in _NAMES)
            yield rule, f"{path} is not {names}"


def lone_surrogates(value: object) -> Iterator[Finding]:
    """One finding if a text inside the value has a lone surrogate, else none: a request is UTF-8, which has no such
    characters."""
    stack: list[object] = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            if not item.isascii() and _SURROGATE.search(item):
                yield "text", "a lone surrogate"
                return
        elif item is not None:
            fields = as_dict(item)
            stack += [*fields, *fields.values(), *as_list(item)]


_SHORT = Repr()
_SHORT.maxstring = _SHORT.maxother = 100


def short_repr(value: object) -> str:
    """A value in a few words for an error, however long or deep it is."""
    return _SHORT.repr(value)
