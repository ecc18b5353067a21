"""How entries stand in a JSON Lines file, and which of its bytes count. Pure.

    {"transom":"log","version":1,"number":3,"name":"trip"}
    {"crc":"1a2b3c4d","left":1,"entry":{"seq":0,…}}
    {"crc":"5e6f7a8b","left":0,"blob":"…","entry":{"seq":1,…}}

`left` counts the lines of the same append that follow: an append stands once its line with 0 is whole, so several
entries come or go together. The checksum covers all that follows it. What a crash leaves is the beginning of an
append at the end of the file, or blocks the file system never filled (zeros, which JSON never holds): that may be
cut. Anything else that is wrong is damage, and nobody's to repair silently.
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


class _Header(Struct):
    version: int
    number: int
    name: str


class Line(NamedTuple):
    """One entry as it stands: lines of its append that follow, the key of a body kept elsewhere, its bytes."""

    left: int
    blob: str | None
    row: bytes


def frame(line: Line) -> bytes:
    """The line as it stands in the file."""
    blob = b"" if line.blob is None else b'"blob":"%s",' % line.blob.encode()
    content = b'"left":%d,%s"entry":%s}' % (line.left, blob, line.row)
    return b'{"crc":"%08x",%s\n' % (zlib.crc32(content), content)


def parse(raw: bytes) -> Line:
    """What a line holds. Raises ValueError if it is not whole."""
    if (found := _LINE.fullmatch(raw)) is None:
        raise ValueError("it is not a line of this format")
    crc, content, left, blob, row = found.groups()
    if int(crc, 16) != zlib.crc32(content):
        raise ValueError("its checksum is wrong")
    return Line(int(left), None if blob is None else blob.decode(), row)


def header(name: str, number: int) -> bytes:
    """The first line: the conversation's true name, and the how-manyeth of its folder it is."""
    text = json.dumps({"transom": "log", "version": VERSION, "number": number, "name": name}, separators=(",", ":"))
    return text.encode("ascii") + b"\n"


def parse_header(raw: bytes) -> tuple[str, int] | None:
    """Name and number; None if the line was never finished. Raises ValueError if it is not ours."""
    if not raw.endswith(b"\n") and (raw.startswith(_HEADER) or _HEADER.startswith(raw) or not raw.strip(b"\0")):
        return None
    if not raw.startswith(_HEADER):
        raise ValueError("this is not a log of ours")
    found = msgspec.convert(json.loads(raw), _Header)
    if found.version > VERSION:
        raise ValueError(f"a newer Transom wrote this (format {found.version}, this one reads {VERSION})")
    return found.name, found.number


def held(lines: Iterable[bytes]) -> set[str]:
    """The keys of all bodies these lines point at, or may: lines that are damaged count, or that no append finished."""
    return {found.decode() for raw in lines for found in _BLOB.findall(raw)}


class Scan(NamedTuple):
    """Where the lines of whole appends start, where the last one ends, and how many bytes follow that do not count."""

    starts: array[int]
    end: int
    tail: int


def scan(lines: Iterable[bytes], at: int, seq: int) -> Scan:
    """What counts of the lines that stand from byte `at` on, entry `seq` first. Raises ValueError for damage."""
    starts, batch = array("q"), array("q")
    end = pos = at
    left, bad = 0, None
    for raw in lines:
        try:
            line = parse(raw)
        except ValueError as problem:
            bad = bad or (pos, problem, raw)
        else:
            if bad is not None and line.left == 0:
                raise _damage(*bad[:2])
            if bad is None:
                expected = seq + len(starts) + len(batch)
                if (left and line.left != left - 1) or not line.row.startswith(b'{"seq":%d,' % expected):
                    raise _damage(pos, f"entry {expected} should stand here")
                batch.append(pos)
                left = line.left
        pos += len(raw)
        if batch and left == 0:
            starts.extend(batch)
            batch, end = array("q"), pos
    if bad is not None and bad[2].endswith(b"\n") and b"\0" not in bad[2]:
        raise _damage(*bad[:2])  # a whole line, but a wrong one: no crash writes that
    return Scan(starts, end, pos - end)


def _damage(at: int, why: object) -> ValueError:
    return ValueError(f"the line at byte {at:,} is damaged: {why}")
