"""Builds requests for a text that Transom writes (for example a summarizer's): as a request alone, or behind another
request."""

from __future__ import annotations

from typing import Any, cast

from transom.core.message import Head, Raw
from transom.core.tokens import replace_surrogates
from transom.core.tool import Tool
from transom.wire.dialect import Dialect, Rendered


def text_request(dialect: Dialect, system: str, text: str) -> Raw:
    """A request with a system prompt and one user message, as keyword arguments of the provider's SDK."""
    head = Head(messages=tuple(dialect.parse_system(system)))
    messages = [*dialect.render_head(head), dialect.user_message(replace_surrogates(text))]
    return dialect.arguments(dialect.body(head, dialect.join(messages)))


def forked_request(dialect: Dialect, live: Raw, text: str) -> Raw:
    """A copy of a live request with one more user message at its end.

    System prompt, tools and messages stay, so that the provider reads this prefix from its cache. All other settings
    (stop words, tool choice, response format) are left out: they were meant for the live answer. No `tool_choice` is
    set, because some providers drop the cache when it changes.
    """
    message = dialect.user_message(replace_surrogates(text))
    key = next(iter(dialect.arguments(dialect.body(Head(), []))))
    kept = _own_fields(live, _fields(dialect))
    before: list[Raw] = kept[key]
    joined = dialect.join([*map(Rendered, before[-1:]), message])
    if joined[: len(before[-1:])] != before[-1:]:  # its neighbour would be changed
        joined = [*before[-1:], *dialect.join([message])]
    return {**kept, key: [*before[:-1], *joined]}


def _fields(dialect: Dialect) -> Raw:
    """An example of a request that has every field that this dialect itself writes."""
    head = Head(messages=tuple(dialect.parse_system("system")))
    return dialect.arguments(dialect.body(head, [], [Tool(name="tool").schema()]))


def _own_fields(given: Raw, fields: Raw) -> Raw:
    """The fields of `given` that are also in `fields`, in the given order; the same for objects inside both."""
    kept: dict[str, Any] = {}
    for key, value in given.items():
        if key in fields:
            own = fields[key]
            nested = isinstance(value, dict) and isinstance(own, dict)
            kept[key] = _own_fields(cast("Raw", value), cast("Raw", own)) if nested else value
    return kept
