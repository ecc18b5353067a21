"""The arguments of a tool that no table knows, in a few words, and what is typed into a running command."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from transom.core.message import Call
from transom.strategies.text.stubs import tool_words

LONGEST_PATH = 400
"""Characters up to which a value may be a path."""

MOST_ARGUMENTS = 8
"""How many arguments of a tool that no table knows stand in its line."""

LIMIT = re.compile(
    r"(?:_|\b)(?:ms|tokens|seconds|timeout|limit|offset)\Z|[a-z](?:Ms|Tokens|Seconds|Timeout|Limit|Offset)\Z"
)
"""The end of the name of an argument that only says how long or how much, if its value is a number."""

TYPED = ("chars", "input", "keys", "text", "data")
"""Arguments that hold what is typed into a running command."""

PLAN_ARGUMENT = "plan"
"""The argument in which an agent shows the user what it means to do, as one text."""

NUMBER = re.compile(r"\s*(?:-?\d{1,9}|true|false|null)\s*")
"""A value that is a number, or that says yes or no."""

ID_KEY = re.compile(r"(?:^|_)id\Z|[a-z]I[dD]\Z")
"""The end of the name of an argument that is an id."""

_SAYS_WHAT_IT_IS = re.compile(r"\S\s+\S|[^\W\d_][\w.]*[/@_-]\w|\d-\d|://")
"""In a value that needs no name: several words, a path, an address, a date, an id of several parts."""


def is_plan(key: str, value: str) -> bool:
    """Whether an argument is a plan that an agent shows the user: a text of several lines."""
    return key == PLAN_ARGUMENT and "\n" in value.strip()


def noun_of(key: str) -> str:
    """What an argument is the id of: "reservation" of `reservation_id`; "" of one that is no id."""
    return key[:-2].rstrip("_").lower() if ID_KEY.search(key) else ""


def is_typing(call: Call) -> bool:
    """Whether a tool types into a command that runs."""
    return "stdin" in tool_words(call.name)


def typed(values: Sequence[tuple[str, str]]) -> Iterator[str]:
    """What was typed into a running command, if anything, and the session."""
    for key, value in values:
        if key in TYPED:
            yield "".join(one if one.isprintable() else repr(one)[1:-1] for one in value)
    yield from (f"session {value}" for key, value in values if key.startswith("session"))


def named_arguments(call: Call, values: Sequence[tuple[str, str]]) -> Iterator[str]:
    """The arguments of a tool that no table knows: `name=value`; without the name if there is only one, if the tool's
    name says what it is the id of, or if the value says what it is. The name of a list stands once. Left out is what
    only says how long or how much. Of a plan nothing is named: it is quoted."""
    is_proposal = any(is_plan(key, value) for key, value in values)
    given = [(key, value) for key, value in values if not (LIMIT.search(key) and NUMBER.fullmatch(value))]
    name, before = call.name.lower(), ""
    for key, value in given[:MOST_ARGUMENTS] if not is_proposal else ():
        is_bare = len(given) == 1 or key in {"", before} or (noun_of(key) and noun_of(key) in name)
        yield value if is_bare or _SAYS_WHAT_IT_IS.search(value[:LONGEST_PATH]) else f"{key}={value}"
        before = key
