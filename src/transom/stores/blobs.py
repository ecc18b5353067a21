"""Encodes entries as bytes, and splits large ones: a store keeps the body of an entry of more than 64 KiB apart, under
the hash of its content.

The split is made on bytes. In front of its body an entry has only two numbers, so the first `"body":` in the line is
the key of the body, and joining restores the exact bytes.
"""

from __future__ import annotations

import hashlib

from transom.core.codec import decode, encode, plain
from transom.core.entry import Entry
from transom.core.message import Opaque
from transom.errors import InvalidMessage

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
    """Encode an entry and return `(line, None)`; if the line has more than SPLIT_ABOVE bytes, `(line without its body,
    body)`.

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
