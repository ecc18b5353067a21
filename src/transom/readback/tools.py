"""The readback tools for a model, and the answers to its calls.

Each tool has a struct for its arguments. The schema that the model sees and the check of what it sends are both made
from it. Nothing that a model sends raises: an error is an answer of one line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, cast

import msgspec
from msgspec import Meta, Struct

from transom.core.budget import Budget
from transom.core.log import Log
from transom.core.message import Raw
from transom.core.redact_derived_text import Redact, texts_of_facts
from transom.core.tokens import replace_surrogates
from transom.core.tool import Tool
from transom.errors import InvalidSetting, StoreUnavailable, quote
from transom.quoting import escaped, plain_name
from transom.readback.grep_log import MAX_CONTEXT, MAX_MATCHES, GrepResult, grep
from transom.readback.pages import (
    MAX_BYTES,
    MAX_ENTRIES,
    MAX_LINES,
    EntryList,
    Page,
    list_entries,
    read,
    take_fitting,
    utf8_prefix,
)
from transom.readback.references import FORMS, parse_reference
from transom.texts import GREP, LIST, READ, SEARCH

BYTES_PER_TOKEN = 0.5
"""Bytes that an answer may have for each token of the budget.

For plain text this makes an answer an eighth of a window.
"""
HEADER_BYTES = 400
"""Bytes that are reserved for the first line of an answer."""
MIN_ANSWER_BYTES = 1_000
MAX_HITS = 10

Ref = Annotated[str, Meta(description=f"What to read: {FORMS}.")]
Line = Annotated[int, Meta(ge=1, le=1_000_000_000, description="Line of the (first) entry to begin at, from 1.")]


class ReadArguments(Struct, kw_only=True, forbid_unknown_fields=True):
    """Read what a marker such as [entry 412] stands for, exactly as it was: long tool output, left-out turns. A page
    begins with a line that says how to get the next one."""

    ref: Ref
    start: Line = 1
    column: Annotated[int, Meta(ge=1, le=1_000_000_000, description="Character of that line to begin at, from 1.")] = 1
    lines: Annotated[int, Meta(ge=1, le=10_000, description="The most lines to show.")] = MAX_LINES

    def answer(self, log: Log, max_bytes: int) -> Page:
        """Read the page that the model asked for. Raises as `readback.pages.read`."""
        return read(log, self.ref, self.start, self.column, self.lines, max_bytes)


class GrepArguments(Struct, kw_only=True, forbid_unknown_fields=True):
    """Find lines in everything this conversation ever held, also where it is no longer shown. Each match names its
    entry and line, for transom_read."""

    pattern: Annotated[str, Meta(min_length=1, description="Regular expression (RE2), within a line; (?i): any case.")]
    ref: Annotated[str, Meta(description="Where to look, as for transom_read. Default: everywhere.")] = ""
    start: Line = 1
    limit: Annotated[int, Meta(ge=1, le=500, description="The most matches to show.")] = MAX_MATCHES
    context: Annotated[int, Meta(ge=0, le=MAX_CONTEXT, description="Lines to show before and after each match.")] = 0

    def answer(self, log: Log, max_bytes: int) -> GrepResult:
        """Search for the pattern that the model gave. Raises as `readback.grep_log.grep`."""
        return grep(log, self.pattern, self.ref or None, self.start, self.limit, self.context, max_bytes)


class ListArguments(Struct, kw_only=True, forbid_unknown_fields=True):
    """List the entries of this conversation, a line each: number, role, tool, tokens, first words."""

    first: Annotated[int, Meta(ge=0, le=10**15, description="Entry to begin at.")] = 0
    last: Annotated[int, Meta(ge=-1, description="Entry to end with; -1: the newest.")] = -1
    limit: Annotated[int, Meta(ge=1, le=1_000, description="The most entries to list.")] = MAX_ENTRIES

    def answer(self, log: Log, max_bytes: int) -> EntryList:
        """List the entries that the model asked for. Raises as `readback.pages.list_entries`."""
        return list_entries(log, self.first, None if self.last < 0 else self.last, self.limit, max_bytes)


Search = Callable[..., Sequence[Any]]
"""A function that finds entries of one conversation: `Conversation.search`. It takes the query and `limit`, `roles`,
`tools` and `file`, and returns hits as `transom.search.SearchHit`."""


class SearchArguments(Struct, kw_only=True, forbid_unknown_fields=True):
    """Find what was said in this conversation by words, names, parts of names or the text of an error, the best first.
    Use it when you do not know the exact wording; transom_read gives an entry whole."""

    query: Annotated[str, Meta(min_length=1, description="Words; no character has a special meaning.")]
    role: Annotated[str, Meta(description="Only entries of this role: user, assistant, tool.")] = ""
    tool: Annotated[str, Meta(description="Only calls and results of this tool.")] = ""
    file: Annotated[str, Meta(description="Only entries that name this file, or part of its path.")] = ""
    limit: Annotated[int, Meta(ge=1, le=100, description="The most entries to show.")] = MAX_HITS

    def found_by(self, search: Search, max_bytes: int) -> tuple[str, list[int]]:
        """Search. Return the answer (how many lines it has, and a line for each entry found, as far as `max_bytes`
        allows), and the seqs of all entries found."""
        hits = search(
            self.query,
            limit=self.limit,
            roles=(self.role,) if self.role else (),
            tools=(self.tool,) if self.tool else (),
            file=self.file,
        )
        lines, _ = take_fitting(iter([_hit_line(hit) for hit in hits]), self.limit, max_bytes)
        found = [parse_reference(hit.reference).first for hit in hits]
        return "\n".join([f"[{len(lines):,} found]", *lines]), found


def _hit_line(hit: Any) -> str:
    tool = f" {plain_name(hit.tool)}" if hit.tool else ""
    return f"{hit.reference}, {hit.role}{tool}: {hit.snippet}"


Arguments = ReadArguments | GrepArguments | ListArguments | SearchArguments

ARGUMENTS: dict[str, type[Arguments]] = {
    READ: ReadArguments,
    GREP: GrepArguments,
    LIST: ListArguments,
    SEARCH: SearchArguments,
}
"""The arguments of each tool; its schema and its description are made from them."""


def _tool(name: str, kind: type[Arguments]) -> Tool:
    _, schemas = msgspec.json.schema_components((kind,))
    parameters: Raw = {key: schemas[kind.__name__][key] for key in ("type", "properties", "required")}
    return Tool(
        name=name,
        description=" ".join((kind.__doc__ or "").split()),
        parameters={**parameters, "additionalProperties": False},
    )


TOOLS: tuple[Tool, ...] = tuple(_tool(name, kind) for name, kind in ARGUMENTS.items())
"""The readback tools. Give them to a request together with your own tools."""


def answer_limit(budget: Budget) -> int:
    """Return the most bytes of one answer in a window of this budget: half a byte for each usable token, but no more
    than 20,000. (`answer_call` allows at least 1,000.)"""
    return budget.share(MAX_BYTES, BYTES_PER_TOKEN)


def answer_call(
    log: Log,
    name: str,
    arguments: object,
    max_bytes: int = MAX_BYTES,
    *,
    search: Search | None = None,
    redact: Redact | Callable[[str], str] | None = None,
) -> str:
    """Answer a call of a readback tool, in at most `max_bytes` UTF-8 bytes; a `max_bytes` below 1,000 counts as 1,000.

    - `arguments`: a JSON text, or the object itself where the provider gives one; None or an empty text means no
      arguments.
    - `search`: the `search` of the log's conversation; without it the answer of `transom_search` says to use grep.
    - `redact`: applied to each answer except errors; None redacts nothing. A page, or a line, may begin or end in the
      middle of a secret: a `Redactor` removes that part too, because it also gets the secrets of the quoted entries; a
      plain function sees only the answer.

    Nothing that a model sends raises: an unknown tool, wrong arguments, or a store that cannot be read now give an
    answer of one line, "[error: …]". So does an InvalidSetting, TypeError or ValueError that `search` raises. What
    `redact` raises is raised.
    """
    max_bytes = max(MIN_ANSWER_BYTES, max_bytes)
    kind = ARGUMENTS.get(name) if type(name) is str else None
    if kind is None:
        return _error(f"there is no tool {quote(name, 80)} here: there are {', '.join(ARGUMENTS)}", max_bytes)
    try:
        parsed, room = _parse(kind, arguments), max_bytes - HEADER_BYTES
        if not isinstance(parsed, SearchArguments):
            found = parsed.answer(log, room)
            answer, quoted = str(found), found.quoted_entries
        elif search is None:
            return _error(f"there is no search index here: use {GREP}", max_bytes)
        else:
            answer, quoted = parsed.found_by(search, room)
        quoted_texts = list(texts_of_facts(log[seq].body for seq in quoted)) if isinstance(redact, Redact) else []
    except (InvalidSetting, StoreUnavailable) as problem:
        return _error(str(problem), max_bytes)
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError) as problem:
        return _error(f"the arguments of {name} cannot be read: {problem}", max_bytes)
    if isinstance(redact, Redact):
        answer = redact(answer, redact.secrets(quoted_texts))
    elif redact is not None:
        answer = redact(answer)
    return utf8_prefix(answer, max_bytes)


def _error(why: str, max_bytes: int) -> str:
    return f"[error: {utf8_prefix(escaped(why[:500]), max_bytes - len('[error: ]'))}]"


def _parse(kind: type[Arguments], arguments: object) -> Arguments:
    """Parse the arguments of a call. Raises an error of msgspec, or ValueError.

    Models write them in several ways: a number may be a text, null means the default, and None or an empty text means
    no arguments.
    """
    value: Any = arguments
    if isinstance(value, str):
        value = msgspec.json.decode(replace_surrogates(value)) if value.strip() else {}
    if isinstance(value, dict):
        value = {key: item for key, item in cast("dict[Any, Any]", value).items() if item is not None}
    return msgspec.convert({} if value is None else value, kind, strict=False)
