"""Entries as bytes, with large bodies apart: a body of more than 64 KiB is stored once, under the hash of its content.

The split is made on bytes. Before the body an entry has only two numbers, so the first `"body":` is the body's own key,
and joining restores the exact bytes.
"""

from __future__ import annotations

import hashlib

from transom.core.codec import decode, encode, plain
from transom.core.entry import Entry
from transom.core.message import Opaque
from transom.errors import InvalidMessage

LIMIT = 64 * 1024
"""The body of an entry is stored apart if the encoded entry has more bytes than this."""

_BODY = b'"body":'


def encode_entry(entry: Entry) -> bytes:
    """The entry as one line of JSON, without the line end.

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
    """The encoded entry; if it is large, without its body, which comes second. Raises InvalidMessage."""
    line = encode_entry(entry)
    if len(line) <= LIMIT:
        return line, None
    start = line.index(_BODY) + len(_BODY)
    body = plain(entry.body.raw if isinstance(entry.body, Opaque) else entry.body)
    end = start + len(
        body
    )  # with other escapes in the line this is another place; joining restores the line all the same
    return line[:start] + line[end:], line[start:end]


def join_entry(row: bytes, body: bytes) -> bytes:
    """The encoded entry, from the parts that `split_entry` gave. Raises ValueError if the row has no body's place."""
    start = row.index(_BODY) + len(_BODY)
    return row[:start] + body + row[start:]


def body_key(body: bytes) -> str:
    """The key of a body: the hash of its content."""
    return hashlib.blake2b(body, digest_size=32).hexdigest()
