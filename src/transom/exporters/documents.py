"""Writes the messages of a conversation in a file format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain

from transom.core.message import Head, Raw, Text
from transom.exporters.log_messages import NO_PLACE, LeftOut, TimedMessage
from transom.exporters.session_lines import ClaudeCodeWriter, CodexWriter, PiWriter
from transom.importers.recorded import FORMATS
from transom.wire.dialects import dialect_named
from transom.wire.fields import compact_json
from transom.wire.frameworks import langchain_json, pydantic_ai_json


def written(
    format_name: str, conversation: str, head: Head, messages: Iterable[TimedMessage], left_out: LeftOut
) -> Iterator[str]:
    """Yield the text of a file in this format, in pieces. `conversation`: its name, which ids are derived from.
    `messages`: in the format's dialect. `left_out`: gets what the format cannot hold."""
    if format_name in SESSION_WRITERS:
        return SESSION_WRITERS[format_name](conversation, left_out).whole(head, messages)
    return _document(format_name, head, messages, left_out)


SESSION_WRITERS = {"claude_code": ClaudeCodeWriter, "codex": CodexWriter, "pi": PiWriter}
"""The formats that are a session of a program, and what writes each."""

_LISTS: dict[str, Callable[[Iterable[TimedMessage]], Iterator[Raw]]] = {
    "langchain": lambda messages: (langchain_json.from_chat(shown.message) for shown in messages),
    "pydantic_ai": lambda messages: pydantic_ai_json.from_chat((shown.message, shown.at) for shown in messages),
    "openai_agents": lambda messages: (shown.message for shown in messages),
}
"""The formats that are a list of messages, and how each renders its messages."""


def _document(format_name: str, head: Head, messages: Iterable[TimedMessage], left_out: LeftOut) -> Iterator[str]:
    """Yield the text of a body of an API, or of a list of messages, which begins with the instructions."""
    dialect, listed = dialect_named(FORMATS[format_name].dialect), _LISTS.get(format_name)
    first = [each.message for each in dialect.render_head(head)]
    if listed is None:
        texts = _list_text(chain(first, (shown.message for shown in messages)))
        for number, (name, value) in enumerate(dialect.body(head, [], head.tools).items()):
            yield ("," if number else "{") + f"{compact_json(name)}:"
            yield from texts if value == [] else [compact_json(value)]  # the only empty list is that of the messages
        yield "}\n"
        return
    if head.tools:
        left_out.add("tool schemas left out", len(head.tools), why=NO_PLACE)
    if not first:  # an API that has them beside the messages
        said = ("".join(part.text for part in each.parts if isinstance(part, Text)) for each in head.messages)
        first = [{"role": "system", "content": text} for text in said]
    yield from _list_text(listed(chain((TimedMessage(each, 0.0) for each in first), messages)))
    yield "\n"


def _list_text(items: Iterable[Raw]) -> Iterator[str]:
    """Yield the text of a JSON array, one item at a time."""
    begin = "["
    for item in items:
        yield begin + compact_json(item)
        begin = ","
    yield "[]" if begin == "[" else "]"
