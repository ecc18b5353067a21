"""Imports a session file line by line, so the memory does not grow with the file.

What the log has already is compared with the file; what follows in the file is appended.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator

from msgspec import Struct, field
from msgspec.structs import replace

from transom.core.entry import Meta
from transom.core.message import Fact, Head, Raw, User
from transom.errors import InvalidMessage, InvalidSetting, quote
from transom.importers.documents import OnSkip
from transom.importers.files import parsed
from transom.importers.imported_log import ImportedLog, New, Stored, stored_texts
from transom.importers.injected import is_injected
from transom.importers.session_events import Ranges, Said, SessionEvent, SessionReader, is_taken_back
from transom.wire.dialect import Dialect, Placed
from transom.wire.violations import as_dict
from transom.wire.violations import text as type_of

BATCH = 64_000
"""Characters of a file that become one source text, together with the entries that were made from them."""

MOST_HELD = 16_000_000
"""A turn of more characters than this is taken in pieces."""


class Counts(Struct, kw_only=True):
    """What an import of a session has done.

    `messages`: facts that were appended; `earlier`: facts that the log had already; `taken_back`: messages that the
    user took back; `unreadable`: messages that could be kept only as text; `lines`: lines of the file that are not
    blank.
    """

    messages: int = 0
    earlier: int = 0
    taken_back: int = 0
    unreadable: int = 0
    lines: int = 0
    beside: Counter[str] = field(default_factory=Counter[str])
    """Lines that hold no message, by their type."""
    shown_before: int = 0
    """Messages that were taken back after they had been imported; they are still sent."""


class _SessionLine(Struct, frozen=True):
    """A line of the file. `before` and `behind`: how many messages the file has before the line and up to its end."""

    before: int
    behind: int
    text: str


class _Group(Struct, frozen=True):
    """Facts of one branch that belong together.

    `first` and `last`: the numbers of the message lines they were made from.
    """

    branch: str
    first: int
    last: int
    facts: list[New]


class SessionImport:
    """The import of one session: feed it every line, then call `finish`.

    `main`: the branch whose log keeps the text of the session; the logs of other branches (subagents) have only facts.
    `open_log`: opens the log of a branch; an empty name means the main one. `taken_back`: the ranges of lines that the
    user took back, for each branch, from a first reading of the file.
    """

    def __init__(
        self,
        reader: SessionReader,
        *,
        dialect: Dialect,
        open_log: Callable[[str], ImportedLog],
        main: str,
        taken_back: dict[str, Ranges],
        on_skip: OnSkip,
    ) -> None:
        self.counts = Counts()
        self.branches: dict[str, _BranchLog] = {}
        self._main_name = main
        self._reader, self._dialect = reader, dialect
        self._open_log, self._taken_back, self._on_skip = open_log, taken_back, on_skip
        self._main = self._branch(main)
        self._stored = stored_texts(self._main.log.log)
        self._due: Stored | None = next(self._stored, None)
        self._check_origin()
        self._lines: deque[_SessionLine] = deque()
        self._size = 0
        self._groups: list[_Group] = []

    def feed(self, line: bytes, where: str) -> None:
        """Take the next line, with its line end. The caller leaves out a last line that is incomplete."""
        before, kind = self._reader.count, "broken"
        if line.strip():
            self.counts.lines += 1
            try:
                value = parsed(line, where)
            except InvalidMessage as problem:
                self._on_skip(f"{problem.where}: kept as text, {problem.why}")
            else:
                kind = type_of(as_dict(value), "type") or "other"
                self._take(self._reader.feed(value), where)
        text = line.decode("utf-8", "surrogateescape")
        self._lines.append(_SessionLine(before, self._reader.count, text))
        if self._reader.count == before and line.strip():
            self.counts.beside[kind] += 1
        self._size += len(text)
        if self._due is not None:
            self._compare(where)
        elif self._size >= BATCH:
            self._commit(where)

    def finish(self, where: str) -> None:
        """Append what is left, after the last line. `where`: how errors name the end of the file."""
        self._take(self._reader.flush(), where)
        for line in self._reader.left_out:
            self._on_skip(f"{where}: {line}")
        if self._due is not None:
            self._compare_rest(where)
        self._append(self._reader.count)
        for branch in self.branches.values():
            branch.log.flush()

    def _check_origin(self) -> None:
        """Raise InvalidSetting if the log has entries that were not imported, or were imported from another format."""
        log, due = self._main.log, self._due
        name = quote(log.log.name)
        if due is None and len(log.log):
            why = "is in the store already, and was not imported"
        elif due is not None and due.source.format != log.format_name:
            why = f"was imported from another format, {due.source.format}"
        else:
            return
        raise InvalidSetting(f"conversation {name} {why}; import under an --id")

    # ---- messages to facts

    def _take(self, events: list[SessionEvent], where: str) -> None:
        """Make facts of messages that the reader has completed.

        The messages of one branch from one call become one group.
        """
        said: dict[str, list[Said]] = {}
        for event in events:
            if isinstance(event, Said):
                said.setdefault(event.branch, []).append(event)
            else:
                head = Head(messages=tuple(self._dialect.parse_system(event.text)))
                number = self._reader.count
                self._groups.append(_Group(self._main_name, number, number - 1, [New(body=head)]))
        for branch, messages in said.items():
            self._groups.append(
                _Group(
                    branch,
                    min(each.first for each in messages),
                    max(each.last for each in messages),
                    self._facts(self._branch(branch), messages, where),
                )
            )

    def _facts(self, branch: _BranchLog, said: list[Said], where: str) -> list[New]:
        messages = [each.message for each in said]
        facts = self._parsed(messages, where)
        out: list[New] = []
        for at, fact in facts:
            first = not out and isinstance(messages[at].get("role"), str) and messages[at]["role"] == branch.before
            fact = replace(fact, separate=True) if first and self._dialect.name == "anthropic" else fact  # noqa: PLW2901
            gone = is_taken_back(said[at], self._taken_back.get(branch.name, []))
            self.counts.taken_back += gone
            injected = isinstance(fact, User) and (said[at].injected or is_injected(fact, self._main.log.format_name))
            meta = Meta(include_in_context=not gone, injected=injected) if gone or injected else None
            out.append(New(body=fact, at=said[at].at, meta=meta))
        branch.before = str(messages[facts[-1][0]].get("role")) if facts else branch.before
        return out

    def _parsed(self, messages: list[Raw], where: str) -> list[Placed]:
        """The facts in the messages of a turn. One that its API would refuse is kept as text; the others stay."""
        try:
            return self._dialect.parse(messages)
        except InvalidMessage as problem:
            if len(messages) == 1:
                self.counts.unreadable += 1
                self._on_skip(f"{where}: an earlier message is kept as text, {problem.why}")
                return []
        return [(at, fact) for at, message in enumerate(messages) for _, fact in self._parsed([message], where)]

    def _branch(self, name: str) -> _BranchLog:
        if name not in self.branches:
            is_main = name == self._main_name
            self.branches[name] = _BranchLog(name, self._open_log("" if is_main else name), is_main=is_main)
        return self.branches[name]

    # ---- what the log has already

    def _compare(self, where: str) -> None:
        """Compare the lines read so far with the next stored source text; once all of it was read, pass over its
        entries.
        """
        due = self._due
        assert due is not None
        if self._size < len(due.text):
            return
        text = "".join(line.text for line in self._lines)
        if not text.startswith(due.text):
            raise self._differs(where)
        rest = text[len(due.text) :]
        self._take(self._reader.flush(), where)
        self._pass_over(due, where)
        self._lines.clear()
        self._size = len(rest)
        if rest:  # the end of the line, which was not written at the time
            self._lines.append(_SessionLine(self._reader.count, self._reader.count, rest))
        self._due = next(self._stored, None)

    def _compare_rest(self, where: str) -> None:
        """Check, where the file ends before the text that was imported, that the file is the beginning of that text.

        Raises InvalidSetting if it is not. Otherwise nothing is changed.
        """
        assert self._due is not None
        text = "".join(line.text for line in self._lines)
        if not self._due.text.startswith(text):
            raise self._differs(where)
        self._on_skip(f"{where}: the file is shorter than what was imported before; nothing was changed")
        self._lines.clear()
        self._groups.clear()

    def _pass_over(self, due: Stored, where: str) -> None:
        """Drop the groups read so far: they are in the log already. Subagents get those that their logs lack."""
        main = [new for group in self._groups if group.branch == self._main_name for new in group.facts]
        if [type(new.body) for new in main] != [type(entry.body) for entry in due.entries]:
            raise self._differs(where, "its messages were read in another way by the version that imported it")
        for new, entry in zip(main, due.entries, strict=True):
            self.counts.shown_before += _is_hidden(new.meta) and not _is_hidden(entry.meta)
        self.counts.earlier += sum(isinstance(new.body, Fact) for new in main)
        self._append_to_sides(self._groups)
        self._groups.clear()

    def _differs(self, where: str, why: str = "") -> InvalidSetting:
        name = quote(self._main.log.log.name)
        why = why or f"and is not the beginning of this file: they differ before {where}"
        return InvalidSetting(f"conversation {name} is in the store already, {why}; import it under another --id")

    # ---- appending

    def _commit(self, where: str) -> None:
        """Append all lines whose messages the reader has completed.

        A turn of more than MOST_HELD characters is not waited for.
        """
        cut = self._cut(self._reader.held_from)
        if self._size > MOST_HELD and (not self._lines or self._lines[0].behind > cut):
            self._take(self._reader.flush(), where)
            cut = self._reader.count
        self._append(cut)

    def _cut(self, cut: int) -> int:
        """Return the largest message number up to `cut` that is not inside a group."""
        while straddling := [group.first for group in self._groups if group.first < cut <= group.last]:
            cut = min(straddling)
        return cut

    def _append(self, cut: int) -> None:
        """Append the lines before message number `cut`, with the facts that were made from them."""
        texts: list[str] = []
        while self._lines and self._lines[0].behind <= cut:
            texts.append(self._lines.popleft().text)
        if not texts:
            return
        text = "".join(texts)
        self._size -= len(text)
        ready = [group for group in self._groups if group.last < cut]
        self._groups = [group for group in self._groups if group.last >= cut]
        self._append_to_sides(ready)
        facts = [new for group in ready if group.branch == self._main_name for new in group.facts]
        self.counts.messages += sum(isinstance(new.body, Fact) for new in facts)
        self._main.log.add(facts, text)

    def _append_to_sides(self, groups: list[_Group]) -> None:
        """Append subagents' facts to their own logs.

        This is done before the session's lines are stored: if the process dies between, a new import finds these facts
        and does not add them twice.
        """
        for group in groups:
            if group.branch != self._main_name:
                branch = self.branches[group.branch]
                new = branch.skip_known(group.facts)
                self.counts.messages += len(new)
                self.counts.earlier += len(group.facts) - len(new)
                branch.log.add(new, None)
                branch.log.flush()


def _is_hidden(meta: Meta | None) -> bool:
    """True if the message was taken back: it is never sent."""
    return meta is not None and not meta.include_in_context


class _BranchLog:
    """One conversation of the session: its log, and for a subagent the facts that its log has already."""

    def __init__(self, name: str, log: ImportedLog, *, is_main: bool) -> None:
        self.name, self.log = name, log
        self.before = ""  # the role of the last message
        self._known: Iterator[Fact] = iter(())
        if not is_main:
            self._known = (entry.body for entry in log.log.read(0, len(log.log)) if isinstance(entry.body, Fact))

    def skip_known(self, facts: list[New]) -> list[New]:
        """Skip the facts that the log has already, and return the rest. Each call goes on where the last one ended.

        Raises InvalidSetting if the log has another fact at the same place.
        """
        for at, new in enumerate(facts):
            known = next(self._known, None)
            if known is None:
                return facts[at:]
            if known != new.body:
                name = quote(self.log.log.name)
                raise InvalidSetting(f"conversation {name} is in the store already, and differs from the file")
        return []
