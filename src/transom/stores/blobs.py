"""Large bodies are kept apart from the entries that hold them, once each, named by what they contain.

Splitting is on bytes: `"body":` cannot stand before the body, since only two numbers do; so joining is exact.
"""

from __future__ import annotations

import hashlib

from transom.core.codec import decode, encode, plain
from transom.core.entry import Entry
from transom.core.message import Opaque
from transom.errors import InvalidMessage

LIMIT = 64 * 1024
"""An encoded entry of more bytes than this keeps its body elsewhere."""

_BODY = b'"body":'


def split(entry: Entry) -> tuple[bytes, bytes | None]:
    """An encoded entry; if it is large, without its body, which comes second.

    Raises InvalidMessage for what is not JSON, or could not be read again: better refused now than found lost later.
    """
    try:
        line = encode(entry)
        decode(line)
    except (TypeError, ValueError) as problem:
        raise InvalidMessage(f"entry {entry.seq}", f"it cannot be stored: {problem}") from problem
    if len(line) <= LIMIT:
        return line, None
    start = line.index(_BODY) + len(_BODY)
    body = plain(entry.body.raw if isinstance(entry.body, Opaque) else entry.body)
    end = start + len(body)  # where the line is escaped in another way it is cut elsewhere, and joins all the same
    return line[:start] + line[end:], line[start:end]


def join(row: bytes, body: bytes) -> bytes:
    """The encoded entry again. Raises ValueError if the row has no place for a body."""
    start = row.index(_BODY) + len(_BODY)
    return row[:start] + body + row[start:]


def key(body: bytes) -> str:
    """The name of a body."""
    return hashlib.blake2b(body, digest_size=32).hexdigest()
