"""Imports a session file line by line, so that the memory does not grow with the file.

The file is read twice. `scan` finds out what the user took back, because an entry that is stored stays as it is. Then
`SessionFacts` makes facts of the lines, and `import_lines` appends those that the logs lack.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from transom.core.entry import Meta
from transom.core.message import Head, User
from transom.errors import InvalidMessage, listed
from transom.importers.logs.imported_log import ImportedLog, New
from transom.importers.lone_results import LoneResults
from transom.importers.open_file import NOT_ENDED, FileLine, OpenFile, opened, parsed
from transom.importers.recognise import SESSIONS, OnSkip
from transom.importers.recorded import FORMATS
from transom.importers.sessions.injected_messages import is_injected
from transom.importers.sessions.session_reader import (
    Ranges,
    Said,
    SessionEvent,
    accepted_messages,
    is_in,
    subagent_name,
)
from transom.wire.dialects import dialect_named
from transom.wire.fields import as_dict, text

BATCH = 1_000_000
"""Entries wait until the file was read this many bytes further, and are appended together: each append waits for the
disk."""


MOST_TYPES = 6
"""How many types of lines without a message a remark names."""

MOST_SUBAGENTS = 5
"""How many subagents a remark names."""


class ScannedSession(Struct, frozen=True, kw_only=True):
    """What the first reading of a session file finds.

    `format`: the name of its format. `taken_back`: for each branch, the ranges of lines whose messages were taken back.
    `main`: the branch that is the conversation of the file: "" for the session itself, or the subagent in a file that
    has nothing else. `is_named`: whether `main` is a subagent that the lines name. `ids`: the ids that the lines give
    to the session, the newest last.
    """

    format: str
    taken_back: dict[str, Ranges]
    main: str
    is_named: bool
    ids: tuple[str, ...]

    def name(self, stem: str) -> str:
        """Return the name for the conversation. `stem`: the name of the file without its suffix.

        For a file of a named subagent: the name that the subagent has in its session. For a session: its newest id, so
        that a copy of the file is known again. `stem` if that is one of the ids, if there is no id, and for a subagent
        without a name.
        """
        if self.ids and self.is_named:
            return subagent_name(self.ids[-1], self.main)
        return stem if self.main or not self.ids or stem in self.ids else self.ids[-1]


def scan(path: Path, format_name: str, progress: Callable[[float], None]) -> ScannedSession:
    """Read a session file once without storing anything, and say what was taken back and how the session is named.
    Lines that are not JSON are passed over. `progress`: called with the share of the file that was read, from 0 to 1.

    Raises OSError, and InvalidMessage where the file cannot be read or unpacked.
    """
    reader = SESSIONS[format_name]()
    branches = set[str]()
    with opened(path) as file:
        for line in whole_lines(file, lambda _: None, progress):
            try:
                value = parsed(line.text, line.where)
            except InvalidMessage:
                continue
            branches |= {event.branch for event in reader.feed(value) if isinstance(event, Said)}
    branches |= {event.branch for event in reader.flush() if isinstance(event, Said)}
    main = next(iter(branches)) if len(branches) == 1 else ""
    return ScannedSession(
        format=format_name,
        taken_back=dict(reader.taken_back),
        main=main,
        is_named=bool(main) and main not in reader.unnamed,
        ids=tuple(reader.ids),
    )


def whole_lines(
    file: OpenFile, on_skip: OnSkip, progress: Callable[[float], None] = lambda _: None
) -> Iterator[FileLine]:
    """Yield the lines of a file, blank ones too. A last line without a line end that is not whole JSON is reported to
    `on_skip` and left out: a program still writes it.

    `progress`: called now and then with the share of the file that was read, from 0 to 1.
    """
    for line in file.all_lines():
        if not line.number % 100:
            progress(file.share)
        if line.text and not line.raw.endswith(b"\n"):
            try:
                parsed(line.text, line.where)
            except InvalidMessage:
                on_skip(f"{line.where}: {NOT_ENDED}")
                continue
        yield line


BranchFacts = tuple[str, list[New]]
"""The branch of a turn (the subagent whose turn it is; empty for the session itself), and its facts and heads."""


class SessionFacts:
    """Makes facts of the lines of a session: one object for one reading of the file, from its beginning.

    `scanned`: what `scan` returned for the file. `ends`: how many lines the file had at the ends of earlier imports
    (`ImportMark.lines`). A turn that was not complete at such a line is ended at it again, so that the same facts come
    out.

    While lines are read, it counts. `lines`: those that are not blank; `read`: all lines; `size`: their bytes;
    `beside`: the lines that hold no message, by their type ("broken" if they are not JSON); `taken_back`: messages that
    the user took back. `results`: by branch, the tool results that answer no open call.
    """

    def __init__(self, scanned: ScannedSession, *, ends: AbstractSet[int], on_skip: OnSkip) -> None:
        self.beside = Counter[str]()
        self.results: dict[str, LoneResults] = {}
        self.lines = self.read = self.size = self.taken_back = 0
        self._scanned, self._ends, self._on_skip = scanned, ends, on_skip
        self._dialect = dialect_named(FORMATS[scanned.format].dialect)
        self._reader = SESSIONS[scanned.format]()
        self._roles: dict[str, str] = {}  # of the last message of each branch

    def of_lines(self, lines: Iterable[FileLine]) -> Iterator[BranchFacts]:
        """Yield the facts of each turn, as soon as a line completes it; at the end, those of incomplete turns too.

        A file with fewer lines than at an earlier import has lost its end: then incomplete turns are left out.
        """
        where = ""
        for line in lines:
            where = line.where
            self.read += 1
            self.size += len(line.raw)
            if line.text:
                yield from self._of_line(line)
            if self.read in self._ends:
                yield from self._of_events(self._reader.flush(), where)
        if self.read >= max(self._ends, default=0):
            yield from self._of_events(self._reader.flush(), where)
        for said in self._reader.left_out:
            self._on_skip(f"{where}: {said}")

    def _of_line(self, line: FileLine) -> Iterator[BranchFacts]:
        before, kind = self._reader.count, "broken"
        self.lines += 1
        try:
            value = parsed(line.text, line.where)
        except InvalidMessage as problem:
            self._on_skip(f"{problem.where}: left out, {problem.why}")
        else:
            kind = text(as_dict(value), "type") or "other"
            yield from self._of_events(self._reader.feed(value), line.where)
        self.beside[kind] += self._reader.count == before

    def _of_events(self, events: list[SessionEvent], where: str) -> Iterator[BranchFacts]:
        """Yield one group of facts for each branch that these events are of."""
        said: dict[str, list[Said]] = {}
        for event in events:
            if isinstance(event, Said):
                said.setdefault(event.branch, []).append(event)
            else:
                head = Head(messages=tuple(self._dialect.parse_system(event.text)))
                yield self._scanned.main, [New(body=head)]
        for branch, messages in said.items():
            yield branch, self._of_turn(branch, messages, where)

    def _of_turn(self, branch: str, turn: list[Said], where: str) -> list[New]:
        """Make the facts of one turn. At Anthropic, messages of one role that follow one another are read as one: so a
        turn that begins with the role of the last one is marked as a message of its own."""
        said, facts = accepted_messages(
            turn, self._dialect, lambda _, why: self._on_skip(f"{where}: an earlier message is left out, {why}")
        )
        out: list[New] = []
        for at, fact in facts:
            role = said[at].message.get("role")
            joins = not out and self._dialect.name == "anthropic" and role == self._roles.get(branch)
            fact = replace(fact, separate=True) if joins else fact  # noqa: PLW2901
            gone = is_in(said[at].first, self._scanned.taken_back.get(branch, []))
            self.taken_back += gone
            injected = isinstance(fact, User) and (said[at].injected or is_injected(fact, self._scanned.format))
            meta = Meta(include_in_context=not gone, injected=injected) if gone or injected else None
            out.append(New(body=fact, at=said[at].at, meta=meta))
        if facts:
            shown = (one.body for one in out if one.meta is None or one.meta.include_in_context)
            self.results.setdefault(branch, LoneResults()).add(shown)
            self._roles[branch] = str(said[facts[-1][0]].message.get("role"))
        return out


def import_lines(
    lines: Iterable[FileLine],
    facts: SessionFacts,
    main: str,
    log: ImportedLog,
    open_log: Callable[[str], ImportedLog],
    on_skip: OnSkip,
) -> dict[str, ImportedLog]:
    """Append what the lines of a session have and the logs lack, in batches: what was appended before an error stays.
    Return the log of each branch, by its name.

    `log`: the log of the branch `main`; `open_log`: opens the log of another branch, which is a subagent. If the file
    is shorter than at an earlier import, nothing more is appended, and `on_skip` is told. Raises InvalidSetting if a
    log has an imported fact that the file has not.
    """
    logs, appended = {main: log}, 0

    def flush(lines_read: int = 0) -> None:
        for each in logs.values():
            if each is not log:
                each.flush()
        log.flush(lines_read)  # last: as long as it has no new mark, the next import compares all of this again

    for branch, new in facts.of_lines(lines):
        if branch not in logs:
            logs[branch] = open_log(branch)
        logs[branch].add(new)
        if facts.size > appended + BATCH:
            appended = facts.size
            flush()
    if log.goes_on() or facts.read < max(log.lines, default=0):
        on_skip(f"{log.source}: the file is shorter than what was imported before; nothing was changed")
    else:
        flush(facts.read)
    return logs


def remarks_on(facts: SessionFacts, logs: dict[str, ImportedLog], main: str) -> Iterator[str]:
    """Yield remarks on an imported session, for people, one for each kind: lines without a message, messages that the
    user took back, results that answer no open call, and subagents."""
    if facts.beside.total():
        kinds = [f"{kind[:40]} {many:,}" for kind, many in facts.beside.most_common() if many]
        shown = listed(kinds, MOST_TYPES, "more type" if len(kinds) == MOST_TYPES + 1 else "more types")
        yield f"{facts.beside.total():,} of {facts.lines:,} lines hold no message, and are not stored ({shown})"
    if facts.taken_back:
        taken = "1 message was" if facts.taken_back == 1 else f"{facts.taken_back:,} messages were"
        yield f"{taken} taken back by the user: stored, and never sent"
    yield from filter(None, (each.remark() for each in facts.results.values()))
    if shown := sum(log.shown_before for log in logs.values()):
        them = (
            ("1 message was", "it had", "it is") if shown == 1 else (f"{shown:,} messages were", "they had", "they are")
        )
        yield f"{them[0]} taken back after {them[1]} been imported: {them[2]} still sent"
    if sides := sorted(logs.keys() - {main}):
        are = "subagent is a conversation of its own" if len(sides) == 1 else "subagents are conversations of their own"
        yield f"{len(sides):,} {are}: {listed(sides, MOST_SUBAGENTS)}"
