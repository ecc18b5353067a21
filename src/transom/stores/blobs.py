"""Encodes entries as bytes, and splits large ones: a store keeps the body of an entry of more than 64 KiB apart, under
the hash of its content.

The split is made on bytes. In front of its body an entry has only two numbers, so the first `"body":` in the line is
the key of the body, and joining restores the exact bytes.

`RowLog` is the base class of logs that keep such lines in the rows of a table, and the bodies in another one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

from transom.core.codec import decode, encode, plain
from transom.core.entry import Entry
from transom.core.message import Opaque
from transom.errors import InvalidMessage, StoreDamaged

SPLIT_ABOVE = 64 * 1024
"""Bytes of an encoded entry above which its body is stored apart."""

_BODY = b'"body":'


def encode_entry(entry: Entry) -> bytes:
    """Encode an entry as one line of JSON, without the line end.

    Raises InvalidMessage for content that is not JSON or could not be decoded again: an error now is better than an
    entry that nobody can read later.
    """
    try:
        line = encode(entry)
        decode(line)
    except (TypeError, ValueError) as problem:
        raise InvalidMessage(f"entry {entry.seq}", f"it cannot be stored: {problem}") from problem
    return line


def split_entry(entry: Entry) -> tuple[bytes, bytes | None]:
    """Encode an entry and return `(line, None)`; if the line has more than SPLIT_ABOVE bytes (64 KiB), return `(line
    without its body, body)`. That line is no JSON: nothing follows its `"body":`. `join_entry` puts the two together
    again.

    Raises InvalidMessage as `encode_entry` does.
    """
    line = encode_entry(entry)
    if len(line) <= SPLIT_ABOVE:
        return line, None
    start = line.index(_BODY) + len(_BODY)
    body = plain(entry.body.raw if isinstance(entry.body, Opaque) else entry.body)
    # the line may have other escapes, so that this is another place: joining restores the line all the same
    end = start + len(body)
    return line[:start] + line[end:], line[start:end]


def join_entry(row: bytes, body: bytes) -> bytes:
    """Put a body back into the line that `split_entry` took it out of.

    Raises ValueError if the line has no `"body":`.
    """
    start = row.index(_BODY) + len(_BODY)
    return row[:start] + body + row[start:]


def body_key(body: bytes) -> str:
    """Return the key under which a body is stored: the BLAKE2b hash of its content, in 64 hex digits."""
    return hashlib.blake2b(body, digest_size=32).hexdigest()


class RowLog:
    """The base class of a log whose entries are rows of a table. A row begins with the seq, the encoded line, and the
    key of the body if that is stored apart, else None. A subclass fetches the rows and the bodies."""

    repaired = ""
    _n = 0
    """The number of entries that this handle knows."""

    def __len__(self) -> int:
        return self._n

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Entry]:
        end = self._n if stop is None else min(stop, self._n)
        while start < end:
            for row in self._rows(start, end) or [None]:
                yield self._entry(start, row)
                start += 1

    def _rows(self, start: int, stop: int) -> Sequence[Any]:
        """Fetch the next rows of these entries, at least one if there are any."""
        raise NotImplementedError

    def _body(self, key: Any) -> bytes | None:
        """Fetch the body with this key; None if there is none."""
        raise NotImplementedError

    def _damaged(self, seq: int, why: object) -> StoreDamaged:
        """Make the error for a damaged entry. Raises UnknownLog if the conversation was forgotten meanwhile."""
        raise NotImplementedError

    def _check(self, row: Any) -> None:
        """Raise ValueError if the row is not what was stored, where the store can know it."""

    def _entry(self, seq: int, row: Any) -> Entry:
        """Decode the row of entry `seq`; None in place of a row: it is missing. Raises StoreDamaged."""
        if row is None or row[0] != seq:
            raise self._damaged(seq, "it is missing")
        try:
            self._check(row)
            entry = decode(row[1] if row[2] is None else join_entry(row[1], self._intact_body(seq, row[2])))
        except (ValueError, TypeError) as problem:
            raise self._damaged(seq, problem) from problem
        if entry.seq != seq:
            raise self._damaged(seq, f"it says it is entry {entry.seq}")
        return entry

    def _intact_body(self, seq: int, key: str | bytes) -> bytes:
        if (body := self._body(key)) is None:
            raise self._damaged(seq, "its body is missing")
        if body_key(body) != (key if isinstance(key, str) else key.hex()):
            raise self._damaged(seq, "its body is not what was stored")
        return body
