"""Imports conversations from files into a store."""

from __future__ import annotations

import io
import shutil
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, cast

from msgspec import Struct, field
from msgspec.structs import replace

from transom.clock import Clock, system_clock
from transom.conversation.argument_checks import token_counter
from transom.core.message import Head
from transom.core.tokens import TokenCounter
from transom.errors import InvalidMessage, InvalidSetting, StoreDamaged, quote
from transom.importers.conversations.recognise import SESSIONS, OnSkip, Settings
from transom.importers.files.open_file import (
    FileLine,
    OpenFile,
    checked_source,
    files_in,
    is_zip,
    opened,
    parsed,
    stem_of,
)
from transom.importers.logs.choose_log import name_in, safe_name
from transom.importers.logs.import_session import SessionFacts, SessionImport
from transom.importers.logs.imported_log import ImportedLog, New
from transom.importers.read import Reader, ignore, session_in, skipped_file
from transom.importers.recorded import FORMATS, Recorded, format_named
from transom.importers.sessions.session_reader import Ranges, Said, SessionReader
from transom.search.source import check_name, is_own_log
from transom.stores import Store, StoredLog
from transom.tokenizer import o200k
from transom.wire.dialects import dialect_named

OnProgress = Callable[[float, str], None]
"""A function that takes the share of the work that is done, from 0 to 1, and the name of the file at work."""

_SEVERAL = "--id names one conversation, and there are several: leave it out"
_SCAN = 0.2
"""The share of the work of a session that its first reading is, which finds what was taken back."""


class Imported(Struct, frozen=True, kw_only=True):
    """What became of one conversation.

    `conversation`: its name in the store; `format`: the name of the file's format; `source`: the file. `messages`:
    facts that were appended; `earlier`: facts of the file that the log had already; `hidden`: how many of both the user
    had taken back, which are stored and never sent. `remarks`: what no window shows, one line each.
    `skipped`: what was left out (with its size), one line each.
    """

    conversation: str
    format: str
    source: str
    messages: int = 0
    earlier: int = 0
    hidden: int = 0
    remarks: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()


def import_file(
    source: str | Path | IO[Any],
    store: Store,
    *,
    format: str | None = None,  # noqa: A002 - the word that users know
    id: str | None = None,  # noqa: A002 - as for `Conversation.open`
    counter: TokenCounter | None = None,
    clock: Clock = system_clock,
    on_skip: OnSkip | None = None,
    on_progress: OnProgress | None = None,
) -> Iterator[Imported]:
    """Import every conversation of a file, a folder or an open file into a store, and yield what became of each.

    Nothing is imported before you iterate. Session files (`claude_code`, `codex`, `pi`) are read line by line, so a
    file of any size takes little memory. Where the store has the conversation already, the file is compared with it and
    only what follows is appended: importing the same file again changes nothing, and a file that has grown is
    continued.

    `format`: a name out of `FORMATS`; None: the content decides. `id`: the name for the conversation; the file must
    hold only one then. By default it is the conversation's own id, or the name of the file where there is none.
    `counter`: counts the tokens that entries are stored with (default: o200k). `on_skip`: called with one line of text
    for everything that is left out; by default such lines are only in `Imported.skipped`.
    `on_progress`: called with the share of the work that is done, from 0 to 1, and the name of the file.

    Raises InvalidSetting if `source` is neither a path nor an open file, for an unknown format, for `id` where there
    are several conversations or which Transom keeps for its own logs, and if the store has a conversation of that name
    that is not the beginning of the file's. Raises InvalidMessage for a file that cannot be read as conversations (in a
    folder it is left out instead), OSError.
    What was imported before stays.
    """
    path_or_file = checked_source(source)
    name = None if format is None else format_named(format).name
    if id is not None:
        check_name("id", id)
    if not callable(getattr(store, "open", None)):
        raise InvalidSetting(f"store: must be a store, as open_store gives it, not {quote(store)}")
    job = _FileImport(
        store=store,
        format=name,
        id=id,
        counter=o200k() if counter is None else token_counter(counter),
        clock=clock,
        on_skip=on_skip or ignore,
        on_progress=on_progress or (lambda _share, _label: None),
    )
    return job.run(path_or_file)


class _Both(Struct, frozen=True):
    """Passes a line of text on to two functions."""

    first: Callable[[str], object]
    second: OnSkip

    def __call__(self, line: str) -> None:
        self.first(line)
        self.second(line)


class _FileImport(Struct, kw_only=True):
    """One call of `import_file`.

    `names`: the conversations that it has imported so far; `in_folder`: the source is a folder of files.
    """

    store: Store
    format: str | None
    id: str | None
    counter: TokenCounter
    clock: Clock
    on_skip: OnSkip
    on_progress: OnProgress
    names: set[str] = field(default_factory=set[str])
    in_folder: bool = False

    def run(self, source: Path | IO[Any]) -> Iterator[Imported]:
        if not isinstance(source, Path):
            with _copied_to_file(source) as (path, label):
                yield from self._import(path, label, 0.0, 1.0)
            return
        if not source.is_dir():
            yield from self._import(source, str(source), 0.0, 1.0)
            return
        paths = files_in(source)
        self.in_folder = True
        for number, path in enumerate(paths):
            try:
                yield from self._import(path, str(path), number / len(paths), 1 / len(paths))
            except InvalidMessage as problem:
                self.on_skip(skipped_file(problem))
            except (InvalidSetting, StoreDamaged) as problem:
                if self.id is not None:
                    raise
                self.on_skip(f"{path}: skipped, {problem}")

    def _import(self, path: Path, label: str, begin: float, share: float) -> Iterator[Imported]:
        """Import one file and yield what became of each conversation in it.

        `label`: how messages name the file; its stem names a conversation that has no id. `begin`, `share`: which part
        of the whole work it is, for `on_progress`: where it begins and how long it is, both from 0 to 1. Raises
        InvalidMessage.
        """
        settings = Settings(format=self.format, on_skip=self.on_skip)
        kind, stem = "", stem_of(label)
        if not is_zip(path):
            with opened(path) as file:
                kind = session_in(replace(file, label=label), settings)
        if kind:
            yield from self._session(path, label, kind, begin, share)
            return
        notes: list[str] = []
        reader = Reader(path, replace(settings, on_skip=_Both(notes.append, self.on_skip)), label=label)
        for record in self._named(reader):
            self.on_progress(begin + share * reader.progress, label)
            yield replace(self._document(record, stem), skipped=tuple(notes))
            notes.clear()

    # ---- sessions

    def _session(self, path: Path, label: str, kind: str, begin: float, share: float) -> Iterator[Imported]:
        def progress(part: float) -> None:
            self.on_progress(begin + share * part, label)

        scanned = _scan(path, label, SESSIONS[kind].reader(), lambda part: progress(_SCAN * part))
        notes: list[str] = []
        skip = _Both(notes.append, self.on_skip)
        with opened(path) as packed:
            file = replace(packed, label=label)
            wanted = scanned.name(file.stem)
            title = self._take_name(
                wanted, file.stem, lambda log: self._is_session(log, kind, path, scanned), known_as=file.stem
            )
            log = self._open(self.store.open(title), kind, label)
            session = SessionImport(
                scanned.facts(kind, log, skip),
                log,
                main=scanned.main,
                open_log=lambda branch: self._open(self.store.open(f"{title}#{branch}"), kind, label),
            )
            where = label
            for line in _whole_lines(file, skip):
                where = line.where
                session.feed(line.raw, where)
                if not line.number % 100:
                    progress(_SCAN + (1 - _SCAN) * file.share)
            session.finish(where, skip)
        logs = session.branches.values()
        yield Imported(
            conversation=title,
            format=kind,
            source=label,
            messages=sum(each.appended for each in logs),
            earlier=sum(each.earlier for each in logs),
            hidden=session.facts.taken_back,
            remarks=(*self._renamed(wanted), *_remarks(session)),
            skipped=tuple(notes),
        )

    def _is_session(self, stored: StoredLog, kind: str, path: Path, scanned: _Scanned) -> bool:
        """True if a log was imported from the beginning of this session, or from more of it."""
        try:
            log = self._open(stored, kind, str(path))
            facts = scanned.facts(kind, log, ignore)
            with opened(path) as file:
                found = chain.from_iterable(facts.feed(line.raw, line.where) for line in _whole_lines(file, ignore))
                for branch, new in chain(found, facts.finish(str(path))):
                    if branch == scanned.main and log.unknown(new):
                        break
        except InvalidSetting:
            return False
        return True

    # ---- everything else

    def _document(self, record: Recorded, stem: str) -> Imported:
        head, placed = record.facts()
        top = Head(messages=tuple(head), tools=record.tools)
        new = [New(body=top), *(New(body=fact, meta=record.meta_of(at, fact)) for at, fact in placed)]

        def opened_log(stored: StoredLog) -> ImportedLog:
            return self._open(stored, record.format, record.source, record.dialect)

        def fits(stored: StoredLog) -> bool:
            with suppress(InvalidSetting):
                opened_log(stored).unknown(new)
                return True
            return False

        title = self._take_name(record.id, stem, fits)
        log = opened_log(self.store.open(title))
        log.add(new)
        remarks = self._renamed(record.id)
        if log.goes_on():
            remarks.append("the file is shorter than what was imported before; nothing was changed")
        else:
            log.flush()
        return Imported(
            conversation=title,
            format=record.format,
            source=record.source,
            messages=log.appended,
            earlier=log.earlier,
            hidden=sum(one.meta is not None and not one.meta.include_in_context for one in new),
            remarks=tuple(remarks),
        )

    # ---- the store

    def _named(self, records: Iterator[Recorded]) -> Iterator[Recorded]:
        """Return the conversations unchanged.

        Raises InvalidSetting at once if there are two or more and --id was given.
        """
        first = list(islice(records, 2)) if self.id is not None else []
        if len(first) == 2:
            raise InvalidSetting(_SEVERAL)
        return chain(first, records)

    def _take_name(self, wanted: str, stem: str, fits: Callable[[StoredLog], bool], known_as: str | None = None) -> str:
        """Take the name for the next conversation: `--id`, or `wanted`, with " (2)" and so on if it is taken.

        `stem`: the name of the file; `fits` and `known_as`: see `name_in`.

        Raises InvalidSetting if --id was given for a second conversation.
        """
        if self.id is not None:
            if self.names:
                raise InvalidSetting(_SEVERAL)
            name = self.id
        else:
            name = name_in(
                self.store, safe_name(wanted, stem), fits, self.names, known_as=known_as, several=self.in_folder
            )
        self.names.add(name)
        return name

    def _renamed(self, wanted: str) -> list[str]:
        """Return the remark that a conversation has not its id as its name, if Transom keeps that for its own logs."""
        if self.id is not None or not is_own_log(wanted):
            return []
        return [f"its id {quote(wanted)} is a name of Transom's own logs: the conversation has that of the file"]

    def _open(self, stored: StoredLog, kind: str, source: str, dialect: str = "") -> ImportedLog:
        counter = dialect_named(dialect or FORMATS[kind].dialect).format_counter(self.counter)
        return ImportedLog(stored, format_name=kind, source=source, counter=counter, clock=self.clock)


class _Scanned(Struct, frozen=True, kw_only=True):
    """What the first reading of a session finds.

    `taken_back`: the lines of each branch that were taken back; `main`: the name of the branch that is the session
    itself, which is a subagent's in a file of its own; `ids`: those of the session, the newest last.
    """

    taken_back: dict[str, Ranges]
    main: str
    ids: tuple[str, ...]

    def name(self, stem: str) -> str:
        """Return the name for the conversation: the session's id, so that a copy of the file is known again.

        `stem`: the name of the file without its end. It is the name if it is one of several ids, if the lines have no
        id, or if they are of a subagent, whose lines have the session's.
        """
        return stem if self.main or not self.ids or stem in self.ids else self.ids[-1]

    def facts(self, kind: str, log: ImportedLog, on_skip: OnSkip) -> SessionFacts:
        """Begin to read the session's facts, as its log has them."""
        reader = SESSIONS[kind].reader()
        return SessionFacts(kind, reader, main=self.main, ends=log.lines, taken_back=self.taken_back, on_skip=on_skip)


def _scan(path: Path, label: str, reader: SessionReader, progress: Callable[[float], None]) -> _Scanned:
    """Read a session once without storing anything, to find what was taken back and which branch is the session
    itself.
    """
    branches = set[str]()
    with opened(path) as file:
        for line in replace(file, label=label).lines():
            if not line.number % 100:
                progress(file.share)
            try:
                value = parsed(line.text, line.where)
            except InvalidMessage:
                continue
            branches |= {event.branch for event in reader.feed(value) if isinstance(event, Said)}
    branches |= {event.branch for event in reader.flush() if isinstance(event, Said)}
    only = next(iter(branches)) if len(branches) == 1 else ""  # the file of a subagent
    return _Scanned(taken_back=dict(reader.taken_back), main=only, ids=tuple(reader.ids))


def _whole_lines(file: OpenFile, skip: OnSkip) -> Iterator[FileLine]:
    """Yield the lines of a file, except a last line that is incomplete (no line end, and not JSON)."""
    for line in file.all_lines():
        if line.text and not line.raw.endswith(b"\n"):
            try:
                parsed(line.text, line.where)
            except InvalidMessage:
                skip(f"{line.where}: left out, it is not written to its end")
                continue
        yield line


def _remarks(session: SessionImport) -> Iterator[str]:
    """Yield what of a session no window shows: one line each."""
    facts = session.facts
    if facts.beside.total():
        kinds = ", ".join(f"{kind[:40]} {many:,}" for kind, many in facts.beside.most_common(6) if many)
        more = ", …" if len(+facts.beside) > 6 else ""
        yield f"{facts.beside.total():,} of {facts.lines:,} lines hold no message, and are not stored ({kinds}{more})"
    if facts.taken_back:
        yield f"{facts.taken_back:,} messages were taken back by the user: stored, and never sent"
    if shown := sum(log.shown_before for log in session.branches.values()):
        yield f"{shown:,} messages were taken back after they had been imported: they are still sent"
    if sides := sorted(session.branches.keys() - {session.main}):
        yield f"{len(sides):,} subagents are conversations of their own: {', '.join(sides[:5])}"


@contextmanager
def _copied_to_file(source: IO[Any]) -> Generator[tuple[Path, str]]:
    """Copy a stream to a temporary file for the block, since a session is read twice.

    Yields its path and the stream's name.
    """
    name = getattr(source, "name", None)
    label = name.strip("<>") if isinstance(name, str) else "stream"
    with tempfile.TemporaryDirectory(prefix="transom-") as folder:
        path = Path(folder, "input")
        with path.open("wb") as file:
            if isinstance(source, io.TextIOBase) and not hasattr(source, "buffer"):
                file.writelines(text.encode() for text in source)
            else:
                shutil.copyfileobj(cast("IO[bytes]", getattr(source, "buffer", source)), file)
        yield path, label
