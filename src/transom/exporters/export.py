"""Exports a conversation of a store, in the format that it was imported from or in another one."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from transom.core.entry import Entry
from transom.core.message import Head
from transom.errors import InvalidSetting, quote
from transom.exporters.documents import SESSION_WRITERS, written
from transom.exporters.log_messages import LeftOut, TimedMessage, shown_messages, unchanged_messages
from transom.exporters.session_lines import session_id
from transom.importers.logs.import_mark import newest_mark
from transom.importers.recorded import FORMATS, format_named
from transom.stores import StoredLog

_WITH_REASONING_OF_ALL = frozenset({"pi", "langchain", "pydantic_ai"})
"""The formats that have a place for the reasoning of any provider. The others take only that of their own."""

_WRITTEN = [name for name, each in FORMATS.items() if each.written]


class Exported(Struct, kw_only=True):
    """What an export has written so far.

    `conversation`: its name; `format`: the name of the format. `session`: the id that a session of a program has in the
    file (the conversation's name if that is a UUID, else a UUID made from it); empty in other formats. `messages`: how
    many were written until now. `notes`: what the format cannot hold, one line for each kind; it is empty until the
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
        name = format_named(mark.format if format_name is None and mark is not None else format_name).name
        if not FORMATS[name].written:
            title, names = FORMATS[name].title, ", ".join(_WRITTEN)
            raise InvalidSetting(f"{title}: this format is read and not written; name another --format ({names})")
        session = session_id(log.name) if name in SESSION_WRITERS else ""
        self.report = Exported(conversation=log.name, format=name, session=session)
        self.progress = 0.0
        self._log = log
        self._pieces = self._write(is_own=mark is not None and mark.format == name)

    def __iter__(self) -> Export:
        return self

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
        yield from written(name, self._log.name, head, self._counted(messages), left_out)
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

    `format` None: the format that it was imported from. In that format every message is as it was, followed by what was
    said since; the file's own ids, blanks and lines without a message are not kept. For another format every message is
    translated, and `Export.report` lists what that format cannot hold; in one that is no session of a program, a call
    without a result gets one that says so. The export has what happened, not what a window
    shows: edits are left out.

    Raises InvalidSetting if `log` is no log of a store, for an unknown format and one that is not written, and if
    `format` is None for a conversation that was not imported.
    """
    return Export(log, format)
