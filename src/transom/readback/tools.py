"""The read-back as tools that a model can call, and their answers.

A schema and the check of what a model sends are made from one struct each, so they cannot differ. Nothing that a model
sends raises: what cannot be done is said in one line, which is the answer.
"""

from __future__ import annotations

from typing import Annotated, Any, cast

import msgspec
from msgspec import Meta, Struct

from transom.core.budget import Budget
from transom.core.log import Log
from transom.core.message import Raw
from transom.core.tokens import replace_surrogates
from transom.core.tool import Tool
from transom.errors import InvalidSetting
from transom.readback.content import escaped
from transom.readback.entry_list import ENTRIES, list_entries
from transom.readback.matches import CONTEXT, MATCHES, grep
from transom.readback.pages import LINES, ROOM, prefix, read
from transom.readback.references import FORMS
from transom.texts import GREP, LIST, READ

SHARE = 0.5
"""Bytes an answer may have for each usable token: an eighth of a window of plain text."""
HEAD = 400
"""Bytes that are kept for an answer's first line."""

Ref = Annotated[str, Meta(description=f"What to read: {FORMS}.")]
Line = Annotated[int, Meta(ge=1, le=1_000_000_000, description="Line of the (first) entry to begin at, from 1.")]


class ReadBack(Struct, kw_only=True, forbid_unknown_fields=True):
    """Read what a marker such as [entry 412] stands for, exactly as it was: long tool output, left-out turns. A page
    begins with a line that says how to get the next one."""

    ref: Ref
    start: Line = 1
    column: Annotated[int, Meta(ge=1, le=1_000_000_000, description="Character of that line to begin at, from 1.")] = 1
    lines: Annotated[int, Meta(ge=1, le=10_000, description="The most lines to show.")] = LINES

    def answer(self, log: Log, room: int) -> object:
        return read(log, self.ref, self.start, self.column, self.lines, room)


class GrepBack(Struct, kw_only=True, forbid_unknown_fields=True):
    """Find lines in everything this conversation ever held, also where it is no longer shown. Each match names its
    entry and line, for transom_read."""

    pattern: Annotated[str, Meta(min_length=1, description="Regular expression (RE2), within a line; (?i): any case.")]
    ref: Annotated[str, Meta(description="Where to look, as for transom_read. Default: everywhere.")] = ""
    start: Line = 1
    limit: Annotated[int, Meta(ge=1, le=500, description="The most matches to show.")] = MATCHES
    context: Annotated[int, Meta(ge=0, le=CONTEXT, description="Lines to show before and after each match.")] = 0

    def answer(self, log: Log, room: int) -> object:
        return grep(log, self.pattern, self.ref or None, self.start, self.limit, self.context, room)


class ListBack(Struct, kw_only=True, forbid_unknown_fields=True):
    """List the entries of this conversation, a line each: number, role, tool, tokens, first words."""

    first: Annotated[int, Meta(ge=0, le=10**15, description="Entry to begin at.")] = 0
    last: Annotated[int, Meta(ge=-1, description="Entry to end with; -1: the newest.")] = -1
    limit: Annotated[int, Meta(ge=1, le=1_000, description="The most entries to list.")] = ENTRIES

    def answer(self, log: Log, room: int) -> object:
        return list_entries(log, self.first, None if self.last < 0 else self.last, self.limit, room)


Asked = ReadBack | GrepBack | ListBack

ASKED: dict[str, type[Asked]] = {READ: ReadBack, GREP: GrepBack, LIST: ListBack}
"""What each tool is asked with, and so its schema."""


def _tool(name: str, kind: type[Asked]) -> Tool:
    _, found = msgspec.json.schema_components((kind,))
    parameters: Raw = {key: found[kind.__name__][key] for key in ("type", "properties", "required")}
    return Tool(
        name=name,
        description=" ".join((kind.__doc__ or "").split()),
        parameters={**parameters, "additionalProperties": False},
    )


TOOLS: tuple[Tool, ...] = tuple(_tool(name, kind) for name, kind in ASKED.items())
"""The tools, to be given to a request beside the caller's own."""


def bound(budget: Budget) -> int:
    """Bytes that one answer may have: 20,000, less in a small window. An answer never has more tokens than bytes."""
    return budget.share(ROOM, SHARE)


def answer(log: Log, name: str, arguments: object, most: int = ROOM) -> str:
    """The answer to a model's call, at most `most` bytes (1,000 at least) of UTF-8. Nothing a model sends raises.

    `arguments`: JSON text, or the object itself where a provider gives one.
    """
    most, kind = max(1_000, most), ASKED.get(name) if type(name) is str else None
    if kind is None:
        return f"[error: there is no tool {escaped(str(name)[:80])!r} here: there are {', '.join(ASKED)}]"
    try:
        return prefix(str(_asked(kind, arguments).answer(log, most - HEAD)), most)
    except InvalidSetting as problem:
        why = str(problem)
    except (msgspec.MsgspecError, ValueError, RecursionError) as problem:
        why = f"the arguments of {name} cannot be read: {problem}"
    return f"[error: {escaped(why[:500])}]"


def _asked(kind: type[Asked], arguments: object) -> Asked:
    """Numbers may come as texts, what is not meant as null, and no arguments at all as nothing: models do all three."""
    given: Any = arguments
    if isinstance(given, str):
        given = msgspec.json.decode(replace_surrogates(given)) if given.strip() else {}
    if isinstance(given, dict):
        given = {key: value for key, value in cast("dict[Any, Any]", given).items() if value is not None}
    return msgspec.convert({} if given is None else given, kind, strict=False)
