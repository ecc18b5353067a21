"""Imports a session file line by line, so the memory does not grow with the file.

What the logs have already is compared with the file; what follows in the file is appended.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from msgspec.structs import replace

from transom.core.entry import Meta
from transom.core.message import Head, Raw, User
from transom.errors import InvalidMessage
from transom.importers.conversations.recognise import OnSkip
from transom.importers.files.open_file import parsed
from transom.importers.logs.imported_log import ImportedLog, New
from transom.importers.recorded import FORMATS
from transom.importers.sessions.injected import is_injected
from transom.importers.sessions.session_reader import Ranges, Said, SessionEvent, SessionReader, is_taken_back
from transom.wire.dialect import Placed
from transom.wire.dialects import dialect_named
from transom.wire.fields import as_dict
from transom.wire.fields import text as type_of

BATCH = 1_000_000
"""Entries wait until the file was read this many bytes further, and are appended together: each append waits for the
disk.
"""


class BranchFacts(NamedTuple):
    """Facts and heads of one branch that belong together: those of one turn. `branch`: empty for the session itself."""

    branch: str
    new: list[New]


class SessionFacts:
    """Makes facts of the lines of a session: feed it every line, then call `finish`.

    `kind`: the name of the format. `ends`: after which lines an earlier import ended; a turn that was not complete
    there is ended there again, so that the same facts come out. `taken_back`: the ranges of lines that the user took
    back, for each branch, from a first reading of the file.

    `beside` counts the lines that hold no message, by their type; `lines`: those that are not blank; `read`: all lines;
    `taken_back`: messages that the user took back.
    """

    def __init__(
        self,
        kind: str,
        reader: SessionReader,
        *,
        main: str,
        ends: AbstractSet[int],
        taken_back: Mapping[str, Ranges],
        on_skip: OnSkip,
    ) -> None:
        self.beside = Counter[str]()
        self.lines = self.read = self.taken_back = 0
        self._kind, self._dialect = kind, dialect_named(FORMATS[kind].dialect)
        self._reader, self._main, self._ends = reader, main, ends
        self._ranges, self._on_skip = taken_back, on_skip
        self._roles: dict[str, str] = {}  # of the last message of each branch

    def feed(self, line: bytes, where: str) -> Iterator[BranchFacts]:
        """Take the next line; yield the facts that it completes. The caller leaves out an incomplete last line."""
        before, kind = self._reader.count, "broken"
        self.read += 1
        if line.strip():
            self.lines += 1
            try:
                value = parsed(line, where)
            except InvalidMessage as problem:
                self._on_skip(f"{problem.where}: left out, {problem.why}")
            else:
                kind = type_of(as_dict(value), "type") or "other"
                yield from self._facts_of(self._reader.feed(value), where)
            self.beside[kind] += self._reader.count == before
        if self.read in self._ends:
            yield from self._facts_of(self._reader.flush(), where)

    def finish(self, where: str) -> Iterator[BranchFacts]:
        """Yield the facts of turns that the file does not complete. `where`: how errors name the end of the file.

        Does nothing if the file has fewer lines than it had in an earlier import.
        """
        if self.read >= max(self._ends, default=0):
            yield from self._facts_of(self._reader.flush(), where)
        for line in self._reader.left_out:
            self._on_skip(f"{where}: {line}")

    def _facts_of(self, events: list[SessionEvent], where: str) -> Iterator[BranchFacts]:
        """Make facts of messages that the reader has completed: one group for each branch."""
        said: dict[str, list[Said]] = {}
        for event in events:
            if isinstance(event, Said):
                said.setdefault(event.branch, []).append(event)
            else:
                head = Head(messages=tuple(self._dialect.parse_system(event.text)))
                yield BranchFacts(self._main, [New(body=head)])
        for branch, messages in said.items():
            yield BranchFacts(branch, self._facts(branch, messages, where))

    def _facts(self, branch: str, said: list[Said], where: str) -> list[New]:
        messages = [each.message for each in said]
        facts = self._parsed(messages, where)
        out: list[New] = []
        for at, fact in facts:
            first = not out and isinstance(messages[at].get("role"), str)
            joins = first and self._dialect.name == "anthropic" and messages[at]["role"] == self._roles.get(branch)
            fact = replace(fact, separate=True) if joins else fact  # noqa: PLW2901
            gone = is_taken_back(said[at], self._ranges.get(branch, []))
            self.taken_back += gone
            injected = isinstance(fact, User) and (said[at].injected or is_injected(fact, self._kind))
            meta = Meta(include_in_context=not gone, injected=injected) if gone or injected else None
            out.append(New(body=fact, at=said[at].at, meta=meta))
        if facts:
            self._roles[branch] = str(messages[facts[-1][0]].get("role"))
        return out

    def _parsed(self, messages: list[Raw], where: str) -> list[Placed]:
        """The facts in the messages of a turn. One that its API would refuse is left out; the others stay."""
        try:
            return self._dialect.parse(messages)
        except InvalidMessage as problem:
            if len(messages) == 1:
                self._on_skip(f"{where}: an earlier message is left out, {problem.why}")
                return []
        return [(at, fact) for at, message in enumerate(messages) for _, fact in self._parsed([message], where)]


class SessionImport:
    """The import of one session: feed it every line, then call `finish`.

    `facts`: makes the facts. `log`: the log of the branch `main`; `open_log`: opens that of another branch, which is a
    subagent's.
    """

    def __init__(
        self, facts: SessionFacts, log: ImportedLog, *, main: str, open_log: Callable[[str], ImportedLog]
    ) -> None:
        self.facts, self.main = facts, main
        self.branches = {main: log}
        self._log, self._open_log = log, open_log
        self._size = 0

    def feed(self, line: bytes, where: str) -> None:
        """Take the next line. Raises InvalidSetting if a log has an imported fact that the file has not."""
        for found in self.facts.feed(line, where):
            self._add(found)
        self._size += len(line)
        if self._size > BATCH:
            self._flush()

    def finish(self, where: str, on_skip: OnSkip) -> None:
        """Append what is left, after the last line. `where`: how errors name the end of the file."""
        for found in self.facts.finish(where):
            self._add(found)
        if self._log.goes_on() or self.facts.read < max(self._log.lines, default=0):
            on_skip(f"{where}: the file is shorter than what was imported before; nothing was changed")
        else:
            self._flush(self.facts.read)

    def _add(self, found: BranchFacts) -> None:
        if found.branch not in self.branches:
            self.branches[found.branch] = self._open_log(found.branch)
        self.branches[found.branch].add(found.new)

    def _flush(self, lines: int = 0) -> None:
        """Append what waits. The session itself is the last: without its end, the next import compares everything."""
        self._size = 0
        for log in self.branches.values():
            if log is not self._log:
                log.flush()
        self._log.flush(lines)
