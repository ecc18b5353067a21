"""What of an entry is searched: what was said and done, once.

Left out is what only repeats other entries (folds, recalled text, answers of the readback tools) and what nobody said
(edits, traces, the system prompt).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import Any, cast

import msgspec
from msgspec import Struct

from transom.core import message as m
from transom.core.entry import Body, Entry
from transom.core.pairing import is_answered
from transom.readback.content import is_hidden, readable_parts
from transom.texts import READ_BACK

LOOK_BACK = 64
"""Replies that are kept in mind to find the call of a result."""
MAX_ABOUT = 1_000
"""Characters of a call's arguments that count for its result."""


class SearchText(Struct, frozen=True, kw_only=True):
    """What is searched of an entry. `about`: for a result, the arguments of its call; `tools`: of the calls or the
    result."""

    seq: int
    at: float
    role: str
    tools: tuple[str, ...]
    run_id: str
    hidden: bool
    about: str
    text: str


class SearchTexts:
    """Makes the search texts of the entries of one log, which are given in order."""

    def __init__(self) -> None:
        self._replies: deque[m.Assistant] = deque(maxlen=LOOK_BACK)

    def skip(self, entry: Entry) -> None:
        """Keep an entry in mind that is indexed already."""
        if isinstance(entry.body, m.Assistant) and entry.body.calls:
            self._replies.appendleft(entry.body)

    def of(self, entry: Entry) -> SearchText | None:
        """The search text; None if nothing of the entry is searched."""
        self.skip(entry)
        fact = entry.body
        if not isinstance(fact, m.Fact) or isinstance(fact, m.Recalled):
            return None
        call = self._call(fact, entry) if isinstance(fact, m.ToolResult) else None
        tools = tuple(each.name for each in fact.calls) if isinstance(fact, m.Assistant) else ()
        if isinstance(fact, m.ToolResult):
            named = entry.meta.tool_name if entry.meta is not None else ""
            tools = (named or call.name,) if call is not None else (named,) if named else ()
        if tools and READ_BACK.issuperset(tools):
            return None
        text = "\n".join(_texts(fact))
        if not text.strip():
            return None
        return SearchText(
            seq=entry.seq,
            at=entry.at,
            role=m.role_of(fact),
            tools=tools,
            run_id="" if entry.meta is None else entry.meta.run_id,
            hidden=is_hidden(entry),
            about="" if call is None else f"{call.name} {plain_arguments(call.args)}"[:MAX_ABOUT],
            text=text,
        )

    def _call(self, result: m.ToolResult, entry: Entry) -> m.Call | None:
        """The call that this result answers."""
        name = (result.extra or {}).get("name") or (entry.meta.tool_name if entry.meta is not None else None)
        for reply in self._replies:
            for call in reply.calls:
                if call.legacy == result.legacy and is_answered(call, by=result.call, name=name):
                    return call
        return None


def _texts(fact: m.Fact) -> Iterator[str]:
    for part in readable_parts(cast("Body", fact)):
        if part.text is not None and (part.address is None or part.address[0] != "args"):
            yield part.text
    for call in fact.calls if isinstance(fact, m.Assistant) else ():
        yield f"{call.name} {plain_arguments(call.args)}"


def plain_arguments(written: str) -> str:
    """The names and values of a call's arguments, without the escapes of JSON; what is no JSON stays as it is."""
    with suppress(ValueError, RecursionError):
        return " ".join(islice(_scalars(msgspec.json.decode(written)), 10_000))
    return written


def _scalars(value: Any) -> Iterator[str]:
    stack: list[Any] = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            for key, inner in reversed(cast("dict[str, Any]", item).items()):
                stack += (inner, key)
        elif isinstance(item, list):
            stack.extend(reversed(cast("list[Any]", item)))
        elif item is not None:
            yield str(item)
