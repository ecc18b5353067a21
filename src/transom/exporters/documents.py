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

MESSAGE_KEYS = {"openai": "messages", "anthropic": "messages", "responses": "input", "gemini": "contents"}
"""The key under which a body of each API has its messages."""


def written(
    format_name: str, conversation: str, head: Head, messages: Iterable[TimedMessage], left_out: LeftOut
) -> Iterator[str]:
    """Yield the text of a file in this format, in pieces. `conversation`: its name, which ids are derived from.
    `messages`: in the format's dialect."""
    if format_name in SESSION_WRITERS:
        return SESSION_WRITERS[format_name](conversation, left_out).whole(head, messages)
    return _DocumentWriter(format_name, left_out).whole(head, messages)


SESSION_WRITERS = {"claude_code": ClaudeCodeWriter, "codex": CodexWriter, "pi": PiWriter}
"""The formats that are a session of a program, and what writes each."""

_LISTS: dict[str, Callable[[Iterable[TimedMessage]], Iterator[Raw]]] = {
    "langchain": lambda messages: (langchain_json.from_chat(shown.message) for shown in messages),
    "pydantic_ai": lambda messages: pydantic_ai_json.from_chat((shown.message, shown.at) for shown in messages),
    "openai_agents": lambda messages: (shown.message for shown in messages),
}
"""The formats that are a list of messages, and how each renders its messages."""


class _DocumentWriter:
    """Writes a body of an API, or a list of messages."""

    def __init__(self, format_name: str, left_out: LeftOut) -> None:
        self._format, self._left_out = format_name, left_out
        self._dialect = dialect_named(FORMATS[format_name].dialect)

    def whole(self, head: Head, messages: Iterable[TimedMessage]) -> Iterator[str]:
        items = self._items(chain(self._instructions(head), messages))
        if self._format in _LISTS:
            if head.tools:
                self._left_out.add("tool schemas left out", len(head.tools), why=NO_PLACE)
            yield from _list_text(items)
            yield "\n"
            return
        body = self._dialect.body(head, [], head.tools)
        for number, (name, value) in enumerate(body.items()):
            yield ("," if number else "{") + f"{compact_json(name)}:"
            yield from _list_text(items) if name == MESSAGE_KEYS[self._dialect.name] else [compact_json(value)]
        yield "}\n"

    def _items(self, messages: Iterable[TimedMessage]) -> Iterator[Raw]:
        return _LISTS[self._format](messages) if self._format in _LISTS else (shown.message for shown in messages)

    def _instructions(self, head: Head) -> list[TimedMessage]:
        """Return the instructions of a head as messages; empty for an API whose bodies have them outside the
        messages."""
        rendered = [each.message for each in self._dialect.render_head(head)]
        if not rendered and self._format in _LISTS:
            texts = ["".join(part.text for part in each.parts if isinstance(part, Text)) for each in head.messages]
            rendered = [{"role": "system", "content": text} for text in texts]
        return [TimedMessage(message, 0.0) for message in rendered]


def _list_text(items: Iterable[Raw]) -> Iterator[str]:
    """Yield the text of a JSON array, one item at a time."""
    begin = "["
    for item in items:
        yield begin + compact_json(item)
        begin = ","
    yield "[]" if begin == "[" else "]"
