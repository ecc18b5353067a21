"""The bytes of a JSON Lines store: the lines of a log, which of them count, and the file of a snapshot. Pure.

    {"transom":"log","version":1,"number":3,"name":"trip"}
    {"crc":"1a2b3c4d","left":1,"entry":{"seq":0,…}}
    {"crc":"5e6f7a8b","left":0,"blob":"…","entry":{"seq":1,…}}

The first line is the header. `left` is the number of lines of the same append that follow. An append counts once its
line with `left` 0 is whole, so the entries of one append come or go together. The checksum covers everything after it.

A crash leaves the beginning of an append at the end of the file, or blocks that the file system never filled (zeros,
which JSON does not contain). That may be cut off. Everything else that is wrong is damage, and is never repaired
silently.
"""

from __future__ import annotations

import json
import re
import zlib
from array import array
from collections.abc import Iterable
from typing import NamedTuple

import msgspec
from msgspec import Struct

VERSION = 1
_HEADER = b'{"transom":"log",'
_BLOB = re.compile(rb'"blob":"([0-9a-f]{64})"')
_LINE = re.compile(
    rb'\{"crc":"([0-9a-f]{8})",("left":([0-9]+),(?:"blob":"([0-9a-f]{64})",)?"entry":(.*)\})\n', re.DOTALL
)
_SNAPSHOT = b"transom snapshot 1\n"
_CRC, _AT = 4, 8
SNAPSHOT_HEAD = len(_SNAPSHOT) + _CRC + _AT
"""The number of bytes in front of the snapshot in its file: mark, checksum, number of entries."""


class _Header(Struct):
    version: int
    number: int
    name: str


class LogLine(NamedTuple):
    """One line of a log's file.

    `left`: how many more lines of the same append follow; `blob`: the key of the body, if that is stored apart; `row`:
    the encoded entry, without that body.
    """

    left: int
    blob: str | None
    row: bytes


def encode_line(line: LogLine) -> bytes:
    """Encode a line for the file, with its checksum and line end."""
    blob = b"" if line.blob is None else b'"blob":"%s",' % line.blob.encode()
    content = b'"left":%d,%s"entry":%s}' % (line.left, blob, line.row)
    return b'{"crc":"%08x",%s\n' % (zlib.crc32(content), content)


def parse_line(raw: bytes) -> LogLine:
    """Decode a line of the file. Raises ValueError if it has another form or its checksum is wrong."""
    if (found := _LINE.fullmatch(raw)) is None:
        raise ValueError("it is not a line of this format")
    crc, content, left, blob, row = found.groups()
    if int(crc, 16) != zlib.crc32(content):
        raise ValueError("its checksum is wrong")
    return LogLine(int(left), None if blob is None else blob.decode(), row)


def encode_header(name: str, number: int) -> bytes:
    """Encode the first line of a file: the conversation's name, and its number, which no other log of the folder
    has.
    """
    text = json.dumps({"transom": "log", "version": VERSION, "number": number, "name": name}, separators=(",", ":"))
    return text.encode("ascii") + b"\n"


def parse_header(raw: bytes) -> tuple[str, int] | None:
    """Return the name and the number in a file's first line; None if the line was never finished.

    Raises ValueError if the line is not a log's header, or was written by a newer version.
    """
    if not raw.endswith(b"\n") and (raw.startswith(_HEADER) or _HEADER.startswith(raw) or not raw.strip(b"\0")):
        return None
    if not raw.startswith(_HEADER):
        raise ValueError("this is not a log of ours")
    found = msgspec.convert(json.loads(raw), _Header)
    if found.version > VERSION:
        raise ValueError(f"a newer Transom wrote this (format {found.version}, this one reads {VERSION})")
    return found.name, found.number


def blob_keys(lines: Iterable[bytes]) -> set[str]:
    """Collect the keys of all bodies that these lines name, also damaged lines and those of an unfinished append."""
    return {found.decode() for raw in lines for found in _BLOB.findall(raw)}


class DamagedLine(ValueError):
    """Something wrong in a file that is not its unfinished end.

    `entries`: how many entries before it are whole; `end`: the byte behind the last of them.
    """

    def __init__(self, at: int, why: object, entries: int, end: int) -> None:
        super().__init__(f"the line at byte {at:,} is damaged: {why}")
        self.entries, self.end = entries, end


class Scan(NamedTuple):
    """What `scan` found.

    `starts`: the byte at which each line of a whole append starts; `end`: the byte behind the last whole append;
    `tail`: how many bytes follow it, of an unfinished append.
    """

    starts: array[int]
    end: int
    tail: int


def scan(lines: Iterable[bytes], at: int, seq: int) -> Scan:
    """Find the whole appends in these lines.

    `at`: the byte at which the first line starts; `seq`: the entry it should hold. Raises DamagedLine for anything
    wrong that is not the unfinished end of the file.
    """
    starts, batch = array("q"), array("q")
    end = pos = at
    left, bad = 0, None
    for raw in lines:
        try:
            line = parse_line(raw)
        except ValueError as problem:
            bad = bad or (pos, problem, raw)
        else:
            if bad is not None and line.left == 0:
                raise DamagedLine(*bad[:2], seq + len(starts), end)
            if bad is None:
                expected = seq + len(starts) + len(batch)
                if (left and line.left != left - 1) or not line.row.startswith(b'{"seq":%d,' % expected):
                    raise DamagedLine(pos, f"entry {expected} should stand here", seq + len(starts), end)
                batch.append(pos)
                left = line.left
        pos += len(raw)
        if batch and left == 0:
            starts.extend(batch)
            batch, end = array("q"), pos
    if bad is not None and bad[2].endswith(b"\n") and b"\0" not in bad[2]:
        # a whole line, but a wrong one: no crash writes that
        raise DamagedLine(*bad[:2], seq + len(starts), end)
    return Scan(starts, end, pos - end)


def encode_snapshot(at: int, snapshot: bytes) -> bytes:
    """Encode the file of a snapshot of the first `at` entries: a mark, a checksum, `at`, the snapshot."""
    content = at.to_bytes(_AT, "big") + snapshot
    return _SNAPSHOT + zlib.crc32(content).to_bytes(_CRC, "big") + content


def parse_snapshot(data: bytes) -> tuple[int, bytes] | None:
    """Decode a snapshot's file to `(at, snapshot)`, the number of entries and the snapshot; None if the file is
    damaged.
    """
    if data.startswith(_SNAPSHOT):
        content = data[len(_SNAPSHOT) + _CRC :]
        if data[len(_SNAPSHOT) : -len(content)] != zlib.crc32(content).to_bytes(_CRC, "big"):
            return None
    else:  # the first format: no mark, no checksum
        content = data
    return (int.from_bytes(content[:_AT], "big"), content[_AT:]) if len(content) > _AT else None


def snapshot_at(head: bytes) -> int:
    """Return how many entries a snapshot covers. `head`: the first SNAPSHOT_HEAD bytes of its file.

    The checksum is not compared. Returns 0 for a file of the first format, which has no checksum, and for one that is
    too short.
    """
    if len(head) < SNAPSHOT_HEAD or not head.startswith(_SNAPSHOT):
        return 0
    return int.from_bytes(head[-_AT:], "big")
