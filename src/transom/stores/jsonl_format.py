"""The bytes of a JSON Lines store: the lines of a log, and which of them count. Pure.

    {"transom":"log","version":1,"id":"5f0c…","created":1764194031.25,"name":"trip"}
    {"crc":"1a2b3c4d","left":1,"entry":{"seq":0,…}}
    {"crc":"5e6f7a8b","left":0,"entry":{"seq":1,…}}

The first line is the header. `left` is the number of lines of the same append that follow. An append counts once its
line with `left` 0 is whole, so the entries of one append come or go together. The checksum covers everything after it.

A crash leaves the beginning of an append at the end of the file, or blocks that the file system never filled (zeros,
which JSON does not contain). That may be cut off. Everything else that is wrong is damage, and is never repaired
silently.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from array import array
from collections.abc import Iterable
from typing import NamedTuple

import msgspec
from msgspec import Struct

VERSION = 1
_HEADER = b'{"transom":"log",'
_LINE = re.compile(rb'\{"crc":"([0-9a-f]{8})",("left":([0-9]+),"entry":(.*)\})\n', re.DOTALL)


class Header(Struct, frozen=True):
    """The first line of a log's file. `id`: no other log has it; `created`: when, in seconds since 1970."""

    version: int
    id: str
    created: float
    name: str

    @classmethod
    def new(cls, name: str, at: float) -> Header:
        """Make the header of a new log, with a new id. `at`: when it is created, in seconds since 1970."""
        return cls(VERSION, os.urandom(8).hex(), at, name)


def encode_line(left: int, row: bytes) -> bytes:
    """Encode a line for the file, with its checksum and line end. `left`: how many more lines of the same append
    follow; `row`: the encoded entry."""
    content = b'"left":%d,"entry":%s}' % (left, row)
    return b'{"crc":"%08x",%s\n' % (zlib.crc32(content), content)


def parse_line(raw: bytes) -> tuple[int, bytes]:
    """Decode a line of an entry, given with its line end, to the arguments of `encode_line`. Raises ValueError if it is
    not in that form (the header of a file is not), or if its checksum is wrong."""
    if (found := _LINE.fullmatch(raw)) is None:
        raise ValueError("it is not a line of this format")
    crc, content, left, row = found.groups()
    if int(crc, 16) != zlib.crc32(content):
        raise ValueError("its checksum is wrong")
    return int(left), row


def encode_header(header: Header) -> bytes:
    """Encode the first line of a file."""
    text = json.dumps({"transom": "log"} | msgspec.to_builtins(header), separators=(",", ":"))
    return text.encode("ascii") + b"\n"


def parse_header(raw: bytes) -> Header | None:
    """Decode a file's first line; None if the line was never finished.

    Raises ValueError if the line is not a log's header, or was written by a newer version.
    """
    if not raw.endswith(b"\n") and (raw.startswith(_HEADER) or _HEADER.startswith(raw) or not raw.strip(b"\0")):
        return None
    if not raw.startswith(_HEADER):
        raise ValueError("this is not a log of ours")
    found = json.loads(raw)
    if isinstance(version := found.get("version"), int) and version > VERSION:
        raise ValueError(f"a newer Transom wrote this (format {version}, this one reads {VERSION})")
    return msgspec.convert(found, Header)


class DamagedLine(ValueError):
    """Raised if something is wrong in a file of a log, and not only its unfinished end.

    `at`: the byte at which the damaged line begins; `why`: what is wrong with it. Only the text of the error has these
    two. `entries`: how many entries of the whole file, up to the last whole append before the damage, can be read;
    `end`: the byte behind the last of them.
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
    """Find the whole appends in these lines, which are the rest of a file.

    `lines`: with their line ends. `at`: the byte at which the first of them starts; `seq`: the number of the entry that
    the first of them should hold. Raises DamagedLine for anything wrong that is not the unfinished end of the file.
    """
    starts, batch = array("q"), array("q")
    end = pos = at
    left, bad = 0, None
    for raw in lines:
        try:
            more, row = parse_line(raw)
        except ValueError as problem:
            bad = bad or (pos, problem, raw)
        else:
            if bad is not None and more == 0:
                raise DamagedLine(*bad[:2], seq + len(starts), end)
            if bad is None:
                expected = seq + len(starts) + len(batch)
                if (left and more != left - 1) or not row.startswith(b'{"seq":%d,' % expected):
                    raise DamagedLine(pos, f"entry {expected} should stand here", seq + len(starts), end)
                batch.append(pos)
                left = more
        pos += len(raw)
        if batch and left == 0:
            starts.extend(batch)
            batch, end = array("q"), pos
    if bad is not None and bad[2].endswith(b"\n") and b"\0" not in bad[2]:
        # a whole line, but a wrong one: no crash writes that
        raise DamagedLine(*bad[:2], seq + len(starts), end)
    return Scan(starts, end, pos - end)
