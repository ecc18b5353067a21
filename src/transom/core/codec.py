"""Turns entries into lines of JSON and back. Every later version can read these lines.

Three things that JSON libraries drop or refuse must survive: lone surrogates, integers of any size, and entries of
kinds that a later version wrote. msgspec reads and writes nearly all lines. A line that it refuses is left to the
slower standard library.
"""

from __future__ import annotations

import json
from typing import Any, cast

import msgspec

from transom.core.entry import Body, Entry
from transom.core.message import Opaque

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Entry)
_KINDS = frozenset(cast("str", kind.__struct_config__.tag) for kind in Body.__args__)  # type: ignore[attr-defined]


def encode(entry: Entry) -> bytes:
    """An entry as one line of JSON in UTF-8, without the line end. The body of an `Opaque` is written as it was read.
    Raises TypeError as `plain` does."""
    if isinstance(entry.body, Opaque):
        return plain({**msgspec.to_builtins(entry), "body": entry.body.raw})
    return plain(entry)


def plain(value: object) -> bytes:
    """A struct, dict or other value as compact JSON in UTF-8. If it holds a lone surrogate, every character that is not
    ASCII is written as an escape.

    What JSON does not have is written as msgspec writes it: dates and bytes as texts, sets as lists, NaN and infinity
    as null, whole numbers of any size in full. Raises TypeError for objects that msgspec cannot write.
    """
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        return json.dumps(msgspec.to_builtins(value), separators=(",", ":")).encode("ascii")


def decode(line: bytes) -> Entry:
    """The entry that a line of JSON holds. A body of an unknown kind becomes `Opaque`; unknown fields are dropped.
    Raises ValueError if the line is not an entry."""
    try:
        return _decoder.decode(line)
    except (msgspec.MsgspecError, UnicodeError):
        pass  # left to the standard library
    try:
        raw: Any = json.loads(line)
        if raw["body"]["kind"] not in _KINDS:
            raw["body"] = {"kind": "opaque", "raw": raw["body"]}
        return msgspec.convert(raw, Entry)
    except (msgspec.MsgspecError, KeyError, TypeError, UnicodeError, RecursionError) as problem:
        raise ValueError(f"not an entry: {problem}") from problem
