"""Exports a conversation of a store: in the format it was imported from, with the same bytes, or in any other
format.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from transom import private_files
from transom.core.entry import Entry
from transom.core.message import Fact, Head
from transom.errors import InvalidSetting, quote
from transom.importers import unified
from transom.importers.messages import Shown, shown_messages
from transom.importers.recorded import FORMATS, format_named
from transom.importers.source_text import SourceText, joined_text, source_of
from transom.importers.writers import LeftOut, Writer, writer_for
from transom.stores import StoredLog

KEEP_REASONING = frozenset({"pi", "langchain", "pydantic_ai"})
"""The formats that have a place for the reasoning of any provider."""


_WRITTEN = [name for name, each in FORMATS.items() if each.written]


def _not_written(name: str) -> InvalidSetting:
    names = ", ".join(_WRITTEN)
    return InvalidSetting(
        f"{FORMATS[name].title}: this format is read and not written; name another --format ({names})"
    )


class Exported(Struct, kw_only=True):
    """What an export has written so far; final when the iteration has ended.

    `conversation`: its name; `format`: the name of the format. `imported`: messages whose text is that of the imported
    file, byte for byte; `messages`: messages that were written anew. `notes`: what the format cannot hold, one line for
    each kind.
    """

    conversation: str
    format: str
    imported: int = 0
    messages: int = 0
    notes: tuple[str, ...] = ()


class Export(Iterator[bytes]):
    """The bytes of an exported conversation, as an iterator of pieces.

    `report`: what was written; final when the iteration has ended. `progress`: the share of the log that was read, 0 to
    1. The log is read while you iterate.
    """

    def __init__(self, log: StoredLog, format_name: str | None) -> None:
        if not callable(getattr(log, "load_snapshot", None)):
            raise InvalidSetting(f"log: must be a log of a store, as store.open(name) gives it, not {quote(log)}")
        origin = origin_of(log)
        if format_name is None and origin is None:
            names = ", ".join(_WRITTEN)
            raise InvalidSetting(f"conversation {quote(log.name)} was not imported: name a --format ({names})")
        name = format_named(origin if format_name is None else format_name).name
        if not FORMATS[name].written and name != origin:
            raise _not_written(name)
        self.report = Exported(conversation=log.name, format=name)
        self.progress = 0.0
        self._log = log
        self._pieces = self._same() if name == origin else self._other()

    def __iter__(self) -> Export:
        return self

    def __next__(self) -> bytes:
        return next(self._pieces).encode("utf-8", "surrogateescape")

    def _same(self) -> Iterator[str]:
        """Yield the text in the format that it was imported from, with what happened since."""
        last = last_source(self._log)
        assert last is not None
        seq, source = last
        if source.whole:
            yield from self._document(seq, source)
        else:
            yield from self._session()

    def _document(self, seq: int, source: SourceText) -> Iterator[str]:
        text = joined_text(source, self._log.__getitem__)
        self.report.imported = sum(isinstance(entry.body, Fact) for entry in self._log.read(0, seq))
        since = (entry for entry in self._log.read(seq) if isinstance(entry.body, Fact))
        left_out = LeftOut()
        added = list(self._messages(since, left_out))
        if not added:
            yield text
            return
        if not FORMATS[self.report.format].written:
            raise _not_written(self.report.format)
        self.report.messages = len(added)
        yield self._writer(left_out).extended(text, added)
        self._finish(left_out, "the whole text was written anew: the same JSON, not the same bytes")

    def _session(self) -> Iterator[str]:
        left_out = LeftOut()
        writer = self._writer(left_out)
        recent: dict[int, Entry] = {}
        for entry in self._read():
            source = source_of(entry)
            if source is None:
                recent[entry.seq] = entry
                continue
            own = [each for seq, each in recent.items() if seq < source.first]
            yield from self._added(own, writer, left_out)
            text = joined_text(source, lambda seq: recent[seq] if seq in recent else self._log[seq])
            self.report.imported += sum(
                isinstance(each.body, Fact) for seq, each in recent.items() if seq >= source.first
            )
            writer.follow(text)
            yield text
            recent.clear()
        yield from self._added(list(recent.values()), writer, left_out)
        self._finish(left_out)

    def _added(self, entries: list[Entry], writer: Writer, left_out: LeftOut) -> Iterator[str]:
        """Yield, as lines of a session, what happened in Transom between two imports or since the last one."""
        messages = self._messages(entries, left_out)
        yield from writer.added(self._counted(messages))

    def _other(self) -> Iterator[str]:
        left_out = LeftOut()
        writer = self._writer(left_out)
        head = Head()
        for entry in self._log.read():
            head = entry.body if isinstance(entry.body, Head) else head
        messages = self._messages(self._read(), left_out)
        yield from writer.whole(head, self._counted(messages))
        self._finish(left_out)

    def _read(self) -> Iterator[Entry]:
        for entry in self._log.read():
            self.progress = entry.seq / len(self._log)
            yield entry

    def _messages(self, entries: Iterable[Entry], left_out: LeftOut) -> Iterator[Shown]:
        """Yield these entries as messages of the format's dialect."""
        name = self.report.format
        return shown_messages(entries, FORMATS[name].dialect, left_out, reasoning=name in KEEP_REASONING)

    def _counted(self, messages: Iterator[Shown]) -> Iterator[Shown]:
        for shown in messages:
            self.report.messages += 1
            yield shown

    def _writer(self, left_out: LeftOut) -> Writer:
        return writer_for(self.report.format, self._log.name, left_out)

    def _finish(self, left_out: LeftOut, *more: str) -> None:
        self.report.notes = (*left_out.notes(), *more)


def export(log: StoredLog, format: str | None = None) -> Export:  # noqa: A002 - the word that users know
    """Export a stored conversation as pieces of bytes: `b"".join(export(store.open("trip"), "openai"))`.

    In the format it was imported from (`format` None) the bytes are those of the imported file; messages that were
    added since stand where they happened. If messages were added to a single JSON document, it is written anew: the
    same JSON, other bytes. In another format every message is translated, and `Export.report` lists what that format
    cannot hold. The export has what happened, not what a window shows: edits are left out.

    Raises InvalidSetting if `log` is no log of a store, for an unknown format, and if `format` is None for a
    conversation that was not imported. The iteration raises InvalidMessage if an entry has lost a text of the imported
    file.
    """
    return Export(log, format)


def origin_of(log: StoredLog) -> str | None:
    """Return the name of the format that a conversation was imported from; None if it was not imported."""
    for entry in log.read():
        if (source := source_of(entry)) is not None:
            return source.format
    return None


def last_source(log: StoredLog) -> tuple[int, SourceText] | None:
    """Return the newest source text of a log, with the seq of its entry; None if there is none."""
    last = None
    for entry in log.read():
        if (source := source_of(entry)) is not None:
            last = entry.seq, source
    return last


def export_unified(log: StoredLog, folder: Path) -> Exported:
    """Write a conversation into the layout of the unified context: to `<folder>/<id>/messages.json` and
    `<folder>/index.json`.

    Other conversations of the folder stay; an older one with the same id is replaced. Raises OSError if a file cannot
    be written, InvalidSetting for an id that cannot be the name of a folder.
    """
    found = export(log, "unified")
    last = last_source(log)
    beside = (last[1].beside if last is not None else None) or {"id": log.name}
    place = unified.messages_path(folder, str(beside.get("id") or log.name))
    private_files.make_folder(place.parent)
    with private_files.opened(place) as file:
        file.writelines(found)
    unified.add_to_index(folder, beside)
    return found.report
