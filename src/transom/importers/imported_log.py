"""Writes the log of an imported conversation: makes, counts and appends its entries, without a view of the whole
log.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

from msgspec import Struct

from transom.clock import Clock
from transom.core.entry import Body, Entry, Meta
from transom.core.message import Fact
from transom.core.tokens import FormatCounter
from transom.errors import Conflict, InvalidSetting, quote
from transom.importers.source_text import SourceText, body_of, joined_text, source_of, split_text
from transom.stores import StoredLog

APPEND_BYTES = 1_000_000
"""Entries wait until their source texts have more characters than this, and are appended together: each append waits
for the disk.
"""


class New(Struct, frozen=True, kw_only=True):
    """Something to append.

    `body`: of the entry; `at`: when it happened, in seconds since the epoch (None: now); `meta`: where it belongs (its
    run, agent, …) and whether it is sent.
    """

    body: Body | Fact
    at: float | None = None
    meta: Meta | None = None


class Stored(Struct, frozen=True, kw_only=True):
    """A source text that a log has.

    `entry`: the entry that holds it; `source`: its pieces; `text`: the pieces joined; `entries`: the entries that were
    made from this text.
    """

    entry: Entry
    source: SourceText
    text: str
    entries: list[Entry]

    @property
    def facts(self) -> list[Entry]:
        """Those of `entries` that are facts."""
        return [entry for entry in self.entries if isinstance(entry.body, Fact)]


class ImportedLog:
    """Appends entries and source texts to the log of one conversation.

    No other process may append to that log meanwhile.
    """

    def __init__(self, log: StoredLog, *, format_name: str, counter: FormatCounter, clock: Clock) -> None:
        self.log, self.format_name = log, format_name
        self._counter, self._clock = counter, clock
        self._next = len(log)
        self._waiting: list[Entry] = []
        self._size = 0

    def add(
        self, new: Sequence[New], text: str | None, *, whole: bool = False, beside: dict[str, Any] | None = None
    ) -> None:
        """Add entries and the source text that they were made from; they are appended together, later or at once: see
        `flush`.

        `text` None: without a source text. `whole`: the text is that of the whole conversation; `beside`: what the
        file's index says of the conversation.
        """
        first = self._next
        entries = [self._entry(one) for one in new]
        if text is not None:
            source = SourceText(
                format=self.format_name, first=first, pieces=split_text(text, entries), whole=whole, beside=beside
            )
            entries.append(self._entry(New(body=body_of(source), at=entries[-1].at if entries else None)))
        self._waiting += entries
        self._size += len(text or "")
        if self._size > APPEND_BYTES:
            self.flush()

    def flush(self) -> None:
        """Append the entries that wait, in one append.

        Raises InvalidSetting if somebody else appended to the log meanwhile.
        """
        if not self._waiting:
            return
        waiting, self._waiting, self._size = self._waiting, [], 0
        try:
            self.log.append(waiting, waiting[0].seq)
        except Conflict as problem:
            name = quote(self.log.name)
            raise InvalidSetting(f"conversation {name}: {problem}; import it again when nobody writes it") from None

    def _entry(self, new: New) -> Entry:
        seq, self._next = self._next, self._next + 1
        at = self._clock() if new.at is None else new.at
        body = cast("Body", new.body)
        tokens, name = self._counter.count_body(body), self._counter.name
        return Entry(seq=seq, at=at, body=body, tokens=tokens, counter=name if tokens else "", meta=new.meta)


def stored_texts(log: StoredLog) -> Iterator[Stored]:
    """Yield the source texts of a log, in order, each with its entries.

    Raises InvalidMessage for one that cannot be read.
    """
    recent: dict[int, Entry] = {}
    for entry in log.read():
        source = source_of(entry)
        if source is None:
            recent[entry.seq] = entry
            continue
        made = [recent[seq] for seq in range(source.first, entry.seq) if seq in recent]
        text = joined_text(source, lambda seq: recent[seq] if seq in recent else log[seq])
        yield Stored(entry=entry, source=source, text=text, entries=made)
        recent.clear()
