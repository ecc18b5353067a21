"""Exports a conversation of a store, in the format that it was imported from or in another one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain

from msgspec import Struct

from transom.core.entry import Entry
from transom.core.message import Head, Raw, Text
from transom.errors import InvalidSetting, quote
from transom.exporters.log_messages import NO_PLACE, LeftOut, TimedMessage, shown_messages, unchanged_messages
from transom.exporters.session_lines import ClaudeCodeWriter, CodexWriter, PiWriter, session_id
from transom.importers.logs.import_mark import newest_mark
from transom.importers.recorded import FORMATS, format_named
from transom.stores import StoredLog
from transom.wire.dialects import dialect_named
from transom.wire.fields import compact_json
from transom.wire.frameworks import langchain_json, pydantic_ai_json

SESSION_WRITERS = {"claude_code": ClaudeCodeWriter, "codex": CodexWriter, "pi": PiWriter}
"""The formats that are a session of a program, and what writes each."""

_LISTS: dict[str, Callable[[Iterable[TimedMessage]], Iterator[Raw]]] = {
    "langchain": lambda messages: (langchain_json.from_chat(shown.message) for shown in messages),
    "pydantic_ai": lambda messages: pydantic_ai_json.from_chat((shown.message, shown.at) for shown in messages),
    "openai_agents": lambda messages: (shown.message for shown in messages),
}
"""The formats that are a list of messages, and how each renders its messages."""

_WITH_REASONING_OF_ALL = frozenset({"pi", "langchain", "pydantic_ai"})
"""The formats that have a place for the reasoning of any provider. The others take only that of their own."""

_WRITTEN = [name for name, each in FORMATS.items() if each.written]


class Exported(Struct, kw_only=True):
    """What an export has written so far.

    `conversation`: its name; `format`: the name of the format. `session`: the session's id in the file of a session of
    a program (the conversation's name if that is a UUID, else a UUID made from it); empty in other formats. `messages`:
    how many were written until now. `notes`: what the format cannot hold, one line for each kind; empty until the
    iteration has ended.
    """

    conversation: str
    format: str
    session: str = ""
    messages: int = 0
    notes: tuple[str, ...] = ()


class Export(Iterator[bytes]):
    """The bytes of an exported conversation, as an iterator of pieces; `export` makes it.

    The log is read while you iterate. `report`: what was written; it is final when the iteration has ended. `progress`:
    the share of the log that was read, from 0 to just below 1.
    """

    def __init__(self, log: StoredLog, format_name: str | None) -> None:
        if not callable(getattr(log, "load_snapshot", None)):
            raise InvalidSetting(f"log: must be a log of a store, as store.open(name) gives it, not {quote(log)}")
        mark = newest_mark(log)
        if format_name is None and mark is None:
            names = ", ".join(_WRITTEN)
            raise InvalidSetting(f"conversation {quote(log.name)} was not imported: name a --format ({names})")
        name = format_named(mark.format if format_name is None and mark is not None else format_name, _WRITTEN).name
        if not FORMATS[name].written:
            title, names = FORMATS[name].title, ", ".join(_WRITTEN)
            raise InvalidSetting(f"{title}: this format is read and not written; name another --format ({names})")
        session = session_id(log.name) if name in SESSION_WRITERS else ""
        self.report = Exported(conversation=log.name, format=name, session=session)
        self.progress = 0.0
        self._log = log
        self._pieces = self._write(is_own=mark is not None and mark.format == name)

    def __next__(self) -> bytes:
        return next(self._pieces).encode("utf-8", "backslashreplace")  # a lone surrogate, the way JSON escapes it

    def _write(self, *, is_own: bool) -> Iterator[str]:
        """Yield the text in pieces. `is_own`: the conversation was imported from this format."""
        left_out = LeftOut()
        name = self.report.format
        dialect = FORMATS[name].dialect
        head = Head()
        for entry in self._log.read():
            head = entry.body if isinstance(entry.body, Head) else head
        if is_own and dialect == "openai":
            messages = unchanged_messages(self._read(), left_out)
        else:
            messages = shown_messages(
                self._read(),
                dialect,
                left_out,
                reasoning=name in _WITH_REASONING_OF_ALL,
                close_calls=not is_own and name not in SESSION_WRITERS,
            )
        counted = self._counted(messages)
        if name in SESSION_WRITERS:
            yield from SESSION_WRITERS[name](self._log.name, left_out).whole(head, counted)
        else:
            yield from _document(name, head, counted, left_out)
        self.report.notes = left_out.notes()

    def _read(self) -> Iterator[Entry]:
        for entry in self._log.read():
            self.progress = entry.seq / len(self._log)
            yield entry

    def _counted(self, messages: Iterator[TimedMessage]) -> Iterator[TimedMessage]:
        for shown in messages:
            self.report.messages += 1
            yield shown


def export(log: StoredLog, format: str | None = None) -> Export:  # noqa: A002 - the word that users know
    """Export a stored conversation as pieces of bytes: `b"".join(export(store.open("trip"), "openai"))`.

    `format` None: the format that the conversation was imported from. In that format every message is as it was,
    followed by what was said since; the file's own ids, blanks and lines without a message are not kept. For another
    format every message is translated, and `Export.report` lists what that format cannot hold; in a format that is no
    session of a program, a call without a result gets one that says so. The export has what happened, not what a
    window shows: edits are left out.

    Raises InvalidSetting if `log` is no log of a store, for an unknown format and one that is not written, and if
    `format` is None for a conversation that was not imported. The call and the iteration read the whole log, and raise
    what that raises.
    """
    return Export(log, format)


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
