"""Writes messages in a file format: whole conversations, or what was added to an imported one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, Protocol

from transom.core.message import Head, Raw, Text
from transom.importers import langchain, pydantic_ai, unified
from transom.importers.messages import LeftOut, Shown
from transom.importers.recorded import FORMATS
from transom.importers.session_writers import ClaudeCodeWriter, CodexWriter, PiWriter
from transom.importers.values import dumped
from transom.wire.dialects import dialect_named

MESSAGES = {"openai": "messages", "anthropic": "messages", "responses": "input", "gemini": "contents"}
"""The key under which a body of each API has its messages."""


class Writer(Protocol):
    """Writes one conversation in one format. It takes messages in the format's dialect."""

    def whole(self, head: Head, messages: Iterable[Shown]) -> Iterator[str]:
        """Yield the text of a new file with this head and these messages, in pieces."""
        ...

    def follow(self, text: str) -> None:
        """Take the imported text up to here, which the added lines will follow: their ids and parents are derived from
        it.
        """
        ...

    def added(self, messages: Iterable[Shown]) -> Iterator[str]:
        """Yield the text of these messages as further lines of a session."""
        ...

    def extended(self, text: str, added: Sequence[Shown]) -> str:
        """Return the text of a document with these messages added at its end."""
        ...


def writer_for(format_name: str, conversation: str, left_out: LeftOut) -> Writer:
    """Make the writer for a format. `conversation`: the name of the conversation, which ids are derived from."""
    if format_name in _SESSIONS:
        return _SESSIONS[format_name](conversation, left_out)
    return _DocumentWriter(format_name, left_out)


_SESSIONS: dict[str, Callable[[str, LeftOut], Writer]] = {
    "claude_code": ClaudeCodeWriter,
    "codex": CodexWriter,
    "pi": PiWriter,
}

_LISTS: dict[str, Callable[[Iterable[Shown]], Iterator[Raw]]] = {
    "langchain": lambda messages: (langchain.from_chat(shown.message) for shown in messages),
    "pydantic_ai": lambda messages: pydantic_ai.from_chat((shown.message, shown.at) for shown in messages),
    "openai_agents": lambda messages: (shown.message for shown in messages),
    "unified": lambda messages: (unified.from_chat(shown.message, shown.at) for shown in messages),
}
"""The formats that are a list of messages, and how each renders its messages."""


class _DocumentWriter:
    """Writes a body of an API, or a list of messages: see `Writer`."""

    def __init__(self, format_name: str, left_out: LeftOut) -> None:
        self._format, self._left_out = format_name, left_out
        self._dialect = dialect_named(FORMATS[format_name].dialect)

    def whole(self, head: Head, messages: Iterable[Shown]) -> Iterator[str]:
        items = self._items(chain(self._instructions(head), messages))
        if self._format in _LISTS:
            if head.tools:
                self._left_out.add("tool schemas left out, the format has no place for them", len(head.tools))
            yield from _list_text(items)
            yield "\n"
            return
        body = self._dialect.body(head, [], head.tools)
        for number, (name, value) in enumerate(body.items()):
            yield ("," if number else "{") + f"{dumped(name)}:"
            yield from _list_text(items) if name == MESSAGES[self._dialect.name] else [dumped(value)]
        yield "}\n"

    def extended(self, text: str, added: Sequence[Shown]) -> str:
        items = list(self._items(added))
        try:
            value: Any = json.loads(text)
        except ValueError:  # a message a line
            return text + "".join(f"{dumped(item)}\n" for item in items)
        _messages_of(value).extend(items)
        return dumped(value) + "\n"

    def follow(self, text: str) -> None:
        """Do nothing: a document is written as a whole."""

    def added(self, messages: Iterable[Shown]) -> Iterator[str]:
        return (f"{dumped(item)}\n" for item in self._items(messages))

    def _items(self, messages: Iterable[Shown]) -> Iterator[Raw]:
        return _LISTS[self._format](messages) if self._format in _LISTS else (shown.message for shown in messages)

    def _instructions(self, head: Head) -> list[Shown]:
        """Return the instructions that this format has among the messages."""
        rendered = [each.message for each in self._dialect.render_head(head)]
        if not rendered and self._format in _LISTS:
            texts = ["".join(part.text for part in each.parts if isinstance(part, Text)) for each in head.messages]
            rendered = [{"role": "system", "content": text} for text in texts]
        return [Shown(message, 0.0) for message in rendered]


def _messages_of(value: Any) -> list[Any]:
    """Return the list of messages in a document, itself and not a copy; creates one if it is missing."""
    if isinstance(value, list):
        return value  # pyright: ignore[reportUnknownVariableType] - of any JSON
    for key in ("messages", "input", "contents", "items", "kwargs", "values"):
        if isinstance(value.get(key), list | dict):
            return _messages_of(value[key])
    if isinstance(value.get("input"), str):
        value["input"] = [{"role": "user", "content": value["input"]}]
    return value.setdefault("input", [])


def _list_text(items: Iterable[Raw]) -> Iterator[str]:
    """Yield the text of a JSON array, one item at a time."""
    begin = "["
    for item in items:
        yield begin + dumped(item)
        begin = ","
    yield "[]" if begin == "[" else "]"
