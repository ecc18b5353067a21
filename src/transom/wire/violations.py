"""How the rules of every dialect look at a request: any JSON has an answer, and what is found becomes a violation.

No rule asks the code that renders: a mistake there must not hide itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from reprlib import Repr
from typing import Any, NamedTuple, cast

from msgspec import Struct


class Violation(Struct, frozen=True):
    """A broken rule, the message that breaks it (-1: the request as a whole, or its tools), and how.

    `rule` is the number in that API's list of rules, or a word for a rule without a number.
    """

    rule: str
    index: int
    why: str


Json = dict[str, Any]
Finding = tuple[str, str]
"""A rule, and how it is broken."""

NON_EMPTY = re.compile(r"(?s).+")
"""Any text but the empty one."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_NAMES: dict[type, str] = {str: "a string", list: "a list", dict: "an object"}


class Must(NamedTuple):
    """What a field must be, of a type or as a pattern takes it, and the rule that says so."""

    rule: str
    be: re.Pattern[str] | type | tuple[type, ...]
    else_: str = ""


TYPED = {"type": Must("content", str, "has no type")}
TEXT = {"text": Must("content", str, "has no text")}
"""What a content part of any kind must hold, and one that is words."""


def collect_violations(
    whole: Iterable[Finding], each: Iterable[Iterable[Finding]], *together: Iterable[Violation]
) -> list[Violation]:
    """What was found in a request as a whole, in each of its messages and between them, in their order."""
    placed = enumerate([whole, *each], start=-1)
    found = [Violation(rule, index, why) for index, findings in placed for rule, why in findings]
    return sorted([*found, *chain(*together)], key=lambda violation: violation.index)


def wrong_fields(where: str, value: object, musts: Mapping[str, Must]) -> Iterator[Finding]:
    """Which fields of an object are not what they must be; one that is missing is null."""
    fields = as_dict(value)
    for key, (rule, be, else_) in musts.items():
        held, path = fields.get(key), f"{where}.{key}" if where else key
        if isinstance(be, re.Pattern):
            if not (isinstance(held, str) and be.fullmatch(held)):
                yield rule, f"{path} {short_repr(held)}"
        elif not isinstance(held, be):
            names = " or ".join(_NAMES[kind] for kind in (be if isinstance(be, tuple) else (be,)) if kind in _NAMES)
            yield rule, f"{where} {else_}".lstrip() if else_ else f"{path} is not {names}"


def lone_surrogates(value: object) -> Iterator[Finding]:
    """A request is UTF-8, which has no lone surrogates. Whatever the depth."""
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


def as_dict(value: object) -> Json:
    """An object; empty if it is none."""
    return cast("Json", value) if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """A list; empty if it is none."""
    return list(cast("list[Any]", value)) if isinstance(value, (list, tuple)) else []


def dicts(value: object) -> list[Json]:
    """A list of objects; those are empty that are none."""
    return [as_dict(item) for item in as_list(value)]


def text(fields: Json, key: str) -> str:
    """A field's text; empty if it holds none."""
    value = fields.get(key)
    return value if isinstance(value, str) else ""


_SHORT = Repr()
_SHORT.maxstring = _SHORT.maxother = 100


def short_repr(value: object) -> str:
    """A value in a few words, however long or deep it is."""
    return _SHORT.repr(value)
