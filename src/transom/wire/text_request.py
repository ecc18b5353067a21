"""Requests that are made of a text of ours: one of its own, or the end of another request."""

from __future__ import annotations

from typing import Any, cast

from transom.core.message import Head, Raw
from transom.core.tokens import replace_surrogates
from transom.core.tool import Tool
from transom.wire.dialect import Dialect, Rendered


def text_request(dialect: Dialect, system: str, text: str) -> Raw:
    """A request with a system prompt and one user message, as the keyword arguments of the SDK."""
    head = Head(messages=tuple(dialect.parse_system(system)))
    messages = [*dialect.render_head(head), dialect.user_message(replace_surrogates(text))]
    return dialect.arguments(dialect.body(head, dialect.join(messages)))


def forked_request(dialect: Dialect, live: Raw, text: str) -> Raw:
    """A live request with one more user message at its end.

    System prompt, tools and messages are those of the live one, so that its prefix is read from the provider's cache.
    Everything else (stop words, tool choice, the form of the answer) is left out: it was meant for the live answer. For
    the cache's sake no `tool_choice` is set: to change it makes some providers read all messages anew.
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
    """A request with every field of which the dialect itself has use."""
    head = Head(messages=tuple(dialect.parse_system("system")))
    return dialect.arguments(dialect.body(head, [], [Tool(name="tool").schema()]))


def _own_fields(given: Raw, fields: Raw) -> Raw:
    """Those of a request's fields that are in `fields`, and so in the objects among them, in the order given."""
    kept: dict[str, Any] = {}
    for key, value in given.items():
        if key in fields:
            own = fields[key]
            nested = isinstance(value, dict) and isinstance(own, dict)
            kept[key] = _own_fields(cast("Raw", value), cast("Raw", own)) if nested else value
    return kept
