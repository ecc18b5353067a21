"""Imports conversations from files into a store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from itertools import chain, count, islice
from pathlib import Path
from typing import IO, Any

from msgspec import Struct, field
from msgspec.structs import replace

from transom.clock import Clock, system_clock
from transom.conversation.argument_checks import token_counter
from transom.core.message import Head
from transom.core.tokens import TokenCounter
from transom.errors import InvalidMessage, InvalidSetting, StoreDamaged, quote
from transom.importers.logs.import_session import (
    ScannedSession,
    SessionFacts,
    import_lines,
    remarks_on,
    scan,
    whole_lines,
)
from transom.importers.logs.imported_log import ImportedLog, New
from transom.importers.lone_results import remark_on_results
from transom.importers.open_file import SUBAGENTS, checked_source, files_in, is_zip, on_disk, opened, stem_of
from transom.importers.read import Reader, ignore, session_in, skipped_file
from transom.importers.recognise import OnSkip, ReadOptions
from transom.importers.recorded import FORMATS, Recorded, format_named
from transom.importers.sessions.session_reader import subagent_name
from transom.search.indexed_store import check_name, is_own_log
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

    - `conversation`: its name in the store. `format`: the name of the file's format. `source`: the file.
    - `messages`: how many facts were appended. `earlier`: how many facts of the file the log had already. `hidden`: how
      many facts of the file the user had taken back: they are stored, and never sent. For a session, these numbers
      include its subagents, which become conversations of their own.
    - `remarks`: one line for each kind of thing that was stored and no window shows, or that was not stored because it
      is no message, and for a file that is shorter than what was imported before.
    - `skipped`: one line for each thing that could not be read and was left out since the conversation before; of the
      last conversation of a file also for what follows it.
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

    - `format`: a name out of `FORMATS`; None: the content decides.
    - `id`: the name for the conversation; the source must hold only one then. By default it is the conversation's own
      id, or the name of the file where there is none.
    - `counter`: counts the tokens that entries are stored with (default: o200k). `clock`: gives the time of entries
      whose messages have none.
    - `on_skip`: called with one line of text for everything that is left out. These lines are in `Imported.skipped`
      too, but for those of a file without a conversation.
    - `on_progress`: called with the share of the work that is done, from 0 to 1, and the name of the file.

    The call itself raises InvalidSetting if `source` is neither a path nor an open file, for an unknown format, for an
    `id` that Transom keeps for its own logs, and if `store` is no store. The iteration raises OSError, InvalidMessage
    for a file that cannot be read as conversations, and InvalidSetting for a folder without files to read, if `id` is
    given and there are several conversations, or if the store has a conversation of that name that is not the beginning
    of the file's. What was imported before an error stays.

    In a folder, the rest of a file that cannot be read is reported to `on_skip` and left out, and a conversation whose
    name is taken by another one gets the next free name, such as "trip (2)". Without `id`, InvalidSetting and
    StoreDamaged for one of its files are reported to `on_skip` too, and the next file follows.
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


def _conversations_in(path: Path, options: ReadOptions) -> Iterator[object]:
    """Yield something for each conversation that the import of this file would make. Of a session only the beginning is
    read."""
    kind = ""
    if not is_zip(path):
        with opened(path) as file:
            kind = session_in(file, options)
    yield from [kind] if kind else Reader(path, options)


class _FileImport(Struct, kw_only=True):
    """One call of `import_file`. `names`: the conversations that it has imported; `in_folder`: the source is a
    folder."""

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
        if not isinstance(source, Path) or not source.is_dir():
            with on_disk(source) as (path, label):
                yield from self._import(path, label, self._progress_of(label))
            return
        paths = files_in(source)  # if a session's own lines have a subagent too, the subagent's file is refused
        self.in_folder = True
        if self.id is not None:
            self._must_have_one(paths)
        for number, path in enumerate(paths):
            try:
                yield from self._import(path, str(path), self._progress_of(str(path), number, len(paths)))
            except InvalidMessage as problem:
                self.on_skip(skipped_file(problem))
            except (InvalidSetting, StoreDamaged) as problem:
                if self.id is not None:
                    raise
                self.on_skip(f"{path}: skipped, {problem}")

    def _must_have_one(self, paths: Sequence[Path]) -> None:
        """Raise InvalidSetting if the files of a folder hold several conversations, before one of them is stored."""
        options, found = ReadOptions(format=self.format, on_skip=ignore), 0
        for path in paths:
            with suppress(InvalidMessage):
                for _ in _conversations_in(path, options):
                    found += 1
                    if found > 1:
                        raise InvalidSetting(_SEVERAL)

    def _progress_of(self, label: str, number: int = 0, files: int = 1) -> Callable[[float], None]:
        """A function that takes the share of file `number` that is done, and tells the share of all `files`."""
        return lambda part: self.on_progress((number + part) / files, label)

    def _import(self, path: Path, label: str, progress: Callable[[float], None]) -> Iterator[Imported]:
        """Import one file, whose name in messages is `label`, and yield what became of each conversation in it."""
        options = ReadOptions(format=self.format, on_skip=self.on_skip)
        kind, stem = "", stem_of(label)
        if not is_zip(path):
            with opened(path, label) as file:
                kind = session_in(file, options)
        if kind:
            yield from self._session(path, label, kind, progress)
            return
        notes: list[str] = []
        noted = self._noted(notes)
        reader = Reader(path, replace(options, on_skip=noted), label=label)
        last: Imported | None = None  # yielded when the next one is there, or the end: what follows it may be left out
        try:
            for record in self._named(reader):
                if last is not None:
                    yield last
                    last = None
                progress(reader.progress)
                last = replace(self._document(record, stem), skipped=tuple(notes))
                notes.clear()
        except Exception as problem:
            if last is None:
                raise
            if not (self.in_folder and isinstance(problem, InvalidMessage)):
                yield last
                raise
            noted(skipped_file(problem))
        if last is not None:
            yield replace(last, skipped=(*last.skipped, *notes))

    def _noted(self, notes: list[str]) -> OnSkip:
        """Return a function that adds a line about something left out to `notes`, and reports it to `on_skip` too."""

        def on_skip(line: str) -> None:
            notes.append(line)
            self.on_skip(line)

        return on_skip

    # ---- sessions

    def _session(self, path: Path, label: str, kind: str, progress: Callable[[float], None]) -> Iterator[Imported]:
        stem = stem_of(label)
        scanned = scan(path, kind, lambda part: progress(_SCAN * part))
        notes: list[str] = []
        on_skip = self._noted(notes)
        wanted = scanned.name(stem)
        title = self._take_name(wanted, stem, lambda log: self._is_session(log, path, scanned), known_as=stem)
        log = self._open(self.store.open(title), kind, label)
        facts = SessionFacts(scanned, ends=log.lines, on_skip=on_skip)
        with opened(path, label) as file:
            lines = whole_lines(file, on_skip, lambda part: progress(_SCAN + (1 - _SCAN) * part))
            logs = import_lines(
                lines,
                facts,
                scanned.main,
                log,
                lambda branch: self._open(self.store.open(subagent_name(title, branch)), kind, label),
                on_skip,
            )
        yield Imported(
            conversation=title,
            format=kind,
            source=label,
            messages=sum(each.appended for each in logs.values()),
            earlier=sum(each.earlier for each in logs.values()),
            hidden=facts.taken_back,
            remarks=(*self._renamed(wanted), *remarks_on(facts, logs, scanned.main), *self._beside(path, scanned)),
            skipped=tuple(notes),
        )

    def _beside(self, path: Path, scanned: ScannedSession) -> Iterator[str]:
        """Yield a remark if subagents of this session have files of their own, which are not imported with it. In a
        folder they are imported too."""
        folder = path.with_name(stem_of(path.name)) / SUBAGENTS
        if self.in_folder or scanned.format != "claude_code" or scanned.main:
            return
        with suppress(OSError):
            if many := sum(path.name.endswith((".jsonl", ".jsonl.gz")) for path in folder.rglob("agent-*")):
                have = "subagent has a file of its own" if many == 1 else "subagents have files of their own"
                yield f"{many:,} {have}, not imported with this one: import {folder} too"

    def _is_session(self, stored: StoredLog, path: Path, scanned: ScannedSession) -> bool:
        """True if a log was imported from the beginning of this session, or from more of it."""
        try:
            log = self._open(stored, scanned.format, str(path))
            facts = SessionFacts(scanned, ends=log.lines, on_skip=ignore)
            with opened(path) as file:
                for branch, new in facts.of_lines(whole_lines(file, ignore)):
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
        remarks = [*self._renamed(record.id), *filter(None, [remark_on_results(fact for _, fact in placed)])]
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
        """Return the conversations as they come. Raises InvalidSetting at once if --id was given and there are two."""
        first = list(islice(records, 2)) if self.id is not None else []
        if len(first) == 2:
            raise InvalidSetting(_SEVERAL)
        return chain(first, records)

    def _take_name(self, wanted: str, stem: str, fits: Callable[[StoredLog], bool], known_as: str | None = None) -> str:
        """Choose the name for the next conversation, and note it as taken: `--id`, or what `name_in` returns."""
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
        """Return a remark if a conversation's id is a name that Transom keeps for its own logs; otherwise nothing."""
        if self.id is not None or not is_own_log(wanted):
            return []
        return [f"its id {quote(wanted)} is a name of Transom's own logs: the conversation has that of the file"]

    def _open(self, stored: StoredLog, kind: str, source: str, dialect: str = "") -> ImportedLog:
        counter = dialect_named(dialect or FORMATS[kind].dialect).format_counter(self.counter)
        return ImportedLog(stored, format_name=kind, source=source, counter=counter, clock=self.clock)


def safe_name(wanted: str, stem: str) -> str:
    """Return the wanted name for a conversation; but `stem`, the name of the file, if Transom keeps the wanted name for
    its own logs.

    The wanted name is an id out of a file, so it must not choose a log that no list of conversations shows. All names
    of our own logs have a slash, which the name of a file has not.
    """
    return stem if is_own_log(wanted) else wanted


def name_in(
    store: Store,
    wanted: str,
    fits: Callable[[StoredLog], bool],
    taken: AbstractSet[str],
    *,
    known_as: str | None,
    several: bool,
) -> str:
    """Return the name of the log into which a conversation is imported.

    `fits` says whether a log is of this conversation. The first log that fits is taken. They are looked at in this
    order: `wanted`, "WANTED (2)" and so on up to the first name without a log, then `known_as`, if that is not None and
    has a log. Names in `taken`, those of other conversations of this import, are passed over.

    If no log fits: with `several` files the first name without a log, because several files may have one id. For a
    single file the first log that does not fit, if there is one: then importing into it raises InvalidSetting.
    """
    name, unlike = wanted, ""
    numbered = chain([wanted], (f"{wanted} ({number})" for number in count(2)))
    for name in (each for each in numbered if each not in taken):
        log = store.open(name)
        if not len(log):
            break
        if fits(log):
            return name
        unlike = unlike or name
    if known_as is not None and known_as not in taken and not is_own_log(known_as):
        log = store.open(known_as)
        if len(log) and fits(log):
            return known_as
    return unlike if unlike and not several else name
