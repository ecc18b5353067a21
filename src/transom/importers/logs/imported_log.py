"""The log into which a conversation is imported: it compares the file's messages with what it has, and appends those
that follow. No view of the log is built.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from msgspec import Struct

from transom.clock import Clock
from transom.core.entry import Body, Entry, Meta
from transom.core.message import Fact, Head
from transom.core.tokens import FormatCounter
from transom.errors import Conflict, InvalidSetting, quote
from transom.importers.logs.import_mark import ImportMark, body_of, mark_of
from transom.importers.sessions.session_reader import Ranges, is_in
from transom.stores import StoredLog
from transom.wire.same_message import key_of


class New(Struct, frozen=True, kw_only=True):
    """A fact or a head that a file has, and that the log may lack.

    `body`: the body of its entry; `at`: when it happened, in seconds since the epoch, None for now; `meta`: the
    metadata of its entry, which says whether it was taken back or injected.
    """

    body: Body | Fact
    at: float | None = None
    meta: Meta | None = None


class ImportedLog:
    """The log of one conversation, while a file is imported into it. No other process may append to it meanwhile.

    The facts of the log are compared with those of the file, in order. Every fact that was imported earlier must be in
    the file. A fact that was added in Transom since may be in the file or not.

    `source`: how errors name the file. `counter`: counts the tokens of the entries that are appended; `clock`: gives
    the time of those that have none. Three attributes count facts of the file. `appended`: the log lacked them, and
    they are or will be appended; `earlier`: the log had them; `shown_before`: of these, the facts that the user took
    back only after they were imported, and that are still sent.

    Making one reads the whole log. Raises InvalidSetting if the log has entries and none was imported, or if they were
    imported from another format; InvalidMessage if a mark of an import is damaged.
    """

    def __init__(self, log: StoredLog, *, format_name: str, source: str, counter: FormatCounter, clock: Clock) -> None:
        self.log, self.format_name, self.source = log, format_name, source
        self.appended = self.earlier = self.shown_before = 0
        self._counter, self._clock = counter, clock
        self._next = self._first = len(log)
        self._waiting: list[Entry] = []
        self._lines = set[int]()
        self._ranges: Ranges = []  # of the imported entries
        self._head = Head()
        self._read_marks()
        self._known = (entry for entry in log.read(0, len(log)) if isinstance(entry.body, Fact))

    @property
    def lines(self) -> frozenset[int]:
        """How many lines the session file had at the ends of earlier imports: see `ImportMark.lines`."""
        return frozenset(self._lines)

    def add(self, new: Sequence[New]) -> None:
        """Take the next facts and heads of the file. Those that the log lacks are appended later: see `flush`.

        Raises InvalidSetting if the log has an imported fact that the file has not.
        """
        self._waiting += [self._entry(one) for one in self.unknown(new)]

    def unknown(self, new: Sequence[New]) -> list[New]:
        """Return those of the file's next facts and heads that the log lacks, and append nothing.

        Each call moves the counters, and goes on in the log behind the facts that it found: so give each fact once, in
        the order of the file. Raises InvalidSetting if the log has an imported fact that the file has not.
        """
        out = [one for one in new if not self._has(one)]
        self.appended += sum(isinstance(one.body, Fact) for one in out)
        return out

    def goes_on(self) -> bool:
        """True if the log has imported facts behind the last fact of the file. Call it once, when the file has ended:
        it uses up the facts of the log."""
        return any(is_in(entry.seq, self._ranges) for entry in self._known)

    def flush(self, lines: int = 0) -> None:
        """Append the entries that `add` has prepared, and an import mark, in one append.

        `lines`: how many lines the session file has, at its end; else 0. Nothing is appended if no entry waits and the
        log has a mark with these `lines`; but an empty log always gets a mark. Raises InvalidSetting if somebody else
        appended to the log meanwhile.
        """
        ended = lines and lines not in self._lines
        if not self._waiting and self._next and not ended:
            return
        mark = ImportMark(format=self.format_name, first=self._first, lines=lines)
        at = self._waiting[-1].at if self._waiting else None
        waiting, self._waiting = [*self._waiting, self._entry(New(body=body_of(mark), at=at))], []
        self._first = self._next
        try:
            self.log.append(waiting, waiting[0].seq)
        except Conflict as problem:
            name = quote(self.log.name)
            raise InvalidSetting(f"conversation {name}: {problem}; import it again when nobody writes it") from None

    def _read_marks(self) -> None:
        heads: list[tuple[int, Head]] = []
        for entry in self.log.read(0, self._next):
            if isinstance(entry.body, Head):
                heads.append((entry.seq, entry.body))
            elif (mark := mark_of(entry)) is not None:
                if mark.format != self.format_name:
                    raise self._refused(f"imported from another format, {mark.format}; import under an --id")
                self._ranges.append((mark.first, entry.seq))
                self._lines.add(mark.lines)
        if self._next and not self._ranges:
            raise self._refused("and was not imported; import under an --id")
        self._head = next((head for seq, head in reversed(heads) if is_in(seq, self._ranges)), Head())

    def _has(self, new: New) -> bool:
        if isinstance(new.body, Head):
            known, self._head = self._head, new.body
            return known == new.body
        fact = cast("Fact", new.body)
        for entry in self._known:
            is_imported = is_in(entry.seq, self._ranges)
            # what was made here has more than a file says of it: which request it answers, its usage
            says_the_same = not is_imported and key_of(cast("Fact", entry.body)) == key_of(fact)
            if entry.body == fact or says_the_same:
                self.earlier += 1
                self.shown_before += is_hidden(new.meta) and not is_hidden(entry.meta)
                return True
            if is_imported:
                why = f"its message {self.earlier} is not what {self.source} has there"
                raise self._refused(f"and {why}; use another --id")
        return False

    def _refused(self, why: str) -> InvalidSetting:
        return InvalidSetting(f"conversation {quote(self.log.name)} is in the store already, {why}")

    def _entry(self, new: New) -> Entry:
        seq, self._next = self._next, self._next + 1
        at = self._clock() if new.at is None else new.at
        body = cast("Body", new.body)
        tokens, name = self._counter.count_body(body), self._counter.name
        return Entry(seq=seq, at=at, body=body, tokens=tokens, counter=name if tokens else "", meta=new.meta)


def is_hidden(meta: Meta | None) -> bool:
    """True if an entry with this metadata is never sent, for example because the user took it back."""
    return meta is not None and not meta.include_in_context
