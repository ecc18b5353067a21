"""Decides what of an entry is searched: what was said and done, once.

Left out are entries that only repeat others (folds, recalled text, answers of the readback tools) and entries that
nobody said (edits, traces, the system prompt).
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
from transom.readback.readable_entries import is_hidden, readable_parts
from transom.texts import READ_BACK

LOOK_BACK = 64
"""The newest replies with calls that are remembered, to find the call of a result."""
MAX_ABOUT = 1_000
"""The most characters of a call's arguments that are searched with its result."""


class SearchText(Struct, frozen=True, kw_only=True):
    """What is searched of an entry.

    - `seq`, `at`: its number, and its time in seconds since the epoch.
    - `role`, `run_id`, `hidden`: what filters compare. `hidden`: true for a fact that no window contains.
    - `tools`: the names of the tools that a reply calls, or of the tool that a result is from.
    - `about`: for a result, the name and the arguments of its call, the first 1,000 characters of both together; empty
      for other entries, and if the call is not among the last 64 replies with calls.
    - `text`: what was said.
    """

    seq: int
    at: float
    role: str
    tools: tuple[str, ...]
    run_id: str
    hidden: bool
    about: str
    text: str


class SearchTexts:
    """Makes the search texts of the entries of one log. Pass the entries in order: those before the first that is
    wanted to `skip`, at least the 64 before it (LOOK_BACK), every other one to `of`."""

    def __init__(self) -> None:
        self._replies: deque[m.Assistant] = deque(maxlen=LOOK_BACK)

    def skip(self, entry: Entry) -> None:
        """Pass over an entry that is indexed already. A reply with calls is remembered, because a later result may
        answer them: the newest 64 of these."""
        if isinstance(entry.body, m.Assistant) and entry.body.calls:
            self._replies.appendleft(entry.body)

    def of(self, entry: Entry) -> SearchText | None:
        """Return the search text of the next entry. None if nothing of it is searched: it is no fact, has no text, is
        recalled, is the answer of a readback tool, or a reply that calls these tools only."""
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
        """Return the call that this result answers; None if it is not among the remembered replies."""
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
    """Return the names and values in a call's arguments, a JSON text, without its escapes: the first 10,000 names and
    values, with blanks between them. A text that is not JSON is returned as it is."""
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
