"""Counts the tokens of files: pages and seconds, read from the data, by each provider's published rate.

Some rules need facts that a request does not show. Then an estimate from the size stands in: 25 KB a page for a PDF
whose pages cannot be counted, a low bitrate for sound or film without a duration in its header. A file that is given by
URL or id counts a fixed number. Real usage later calibrates these estimates. Images are counted in
`dialect_counter.py` (`DialectCounter.count_part`) and by each dialect's `image`.
"""

from __future__ import annotations

import re
import struct
import zlib
from base64 import b64decode
from collections.abc import Iterator
from math import ceil

from msgspec import Struct

from transom.core.message import Media
from transom.wire.fields import as_dict
from transom.wire.media import asset_of

NAMED_FILE = 4_000
"""Tokens of a file that is given by URL or id, so that its size is not known. See docs/why/media-tokens.md."""

LOW_DETAIL = 100
"""Tokens of an image for OpenAI with `detail: low`: 85 with most models, 70 with some. Small models that count patches
take up to 630."""

_PAGE_BYTES = 25_000
_SOUND_BYTES = 4_000
_FILM_BYTES = 60_000
"""The minimum number of bytes of a page, and of a second of sound and of film (32 and 480 kbit/s)."""
_INFLATED = 1 << 24
"""The maximum number of bytes of a PDF's compressed objects that are read."""
_STREAM = 1 << 20
"""The maximum number of bytes that are read of one of their streams."""

_PAGE = re.compile(rb"/Type\s*/Page(?![a-zA-Z])")
_COUNT = re.compile(rb"/Count\s+(\d{1,6})(?!\d)")
_PACKED = re.compile(rb"/ObjStm\b[^\0]{0,400}?stream\r?\n")


class Rates(Struct, frozen=True):
    """The tokens of a page of a PDF, of a second of sound and of a second of film."""

    page: int
    sound: int
    film: int


OPENAI = Rates(page=1_500, sound=10, film=290)
"""A page counts its text and an image of it (at most 765 tokens in four tiles); sound has one token for each 100 ms.
Only compatible servers take film: it has Gemini's rate."""
ANTHROPIC = Rates(page=3_000, sound=32, film=290)
"""1,500 to 3,000 tokens for a page. The API takes neither sound nor film."""
GEMINI = Rates(page=560, sound=32, film=290)
"""A page is 258 tokens, 560 with Gemini 3; a second of film is a frame of 258 and 32 for its sound."""


def file_tokens(media: Media, rates: Rates) -> int:
    """The tokens of a file at these rates; `NAMED_FILE` for one whose data is not in the part (given by URL or id). A
    text counts one token for two bytes. A media type that is neither sound, film nor text counts as pages. The time
    that this takes grows with the size of the file."""
    asset = asset_of(media)
    if asset is None or not asset.data:
        return NAMED_FILE
    data, mime = _decoded(asset.data), asset.mime
    if mime.startswith("audio/"):
        return ceil(_seconds(data, _SOUND_BYTES) * rates.sound)
    if mime.startswith("video/"):
        return ceil(_seconds(data, _FILM_BYTES) * rates.film)
    if mime.startswith("text/"):
        return len(data) // 2  # an encoding of words; few texts have less than two bytes a token
    return pages(data) * rates.page


def has_unknown_tokens(media: Media) -> bool:
    """Whether a file may have any number of tokens, because only a URL or an id of the provider names it. False for
    images, whose tokens have a bound, and for Anthropic's documents that hold their text openly."""
    if media.media != "file" or as_dict(media.raw.get("source")).get("type") in ("text", "content"):
        return False
    asset = asset_of(media)
    return asset is None or not asset.data


def is_low_detail(media: Media) -> bool:
    """Whether OpenAI shows the model only a small version of this image (`detail: low`)."""
    return "low" in (media.raw.get("detail"), as_dict(media.raw.get("image_url")).get("detail"))


def pages(data: bytes) -> int:
    """The pages of a PDF: the number of its page objects, or the count in its page tree if that is higher. For a PDF in
    which no page is found, and for any other data, an estimate from the size; at least 1."""
    if not data.startswith(b"%PDF"):
        return max(1, ceil(len(data) / _PAGE_BYTES))
    objects, stated = _pages_in(data)
    left = _INFLATED
    for inflated in _packed_objects(data):
        more, count = _pages_in(inflated)
        objects, stated = objects + more, max(stated, count)
        left -= len(inflated)
        if left <= 0:
            break
    return max(objects, stated) or max(1, ceil(len(data) / _PAGE_BYTES))


def _packed_objects(data: bytes) -> Iterator[bytes]:
    """The compressed objects of a PDF, decompressed, one stream at a time."""
    end = 0
    while (packed := _PACKED.search(data, end)) is not None:
        end = data.find(b"endstream", packed.end())
        if end < 0:
            return
        try:
            yield zlib.decompressobj().decompress(data[packed.end() : end], _STREAM)
        except zlib.error:
            continue


def _pages_in(data: bytes) -> tuple[int, int]:
    """How many page objects the bytes of a PDF have, and the largest number that a page tree states (0: none does)."""
    counts = [int(each) for each in _COUNT.findall(data)] if b"/Pages" in data else []
    return sum(1 for _ in _PAGE.finditer(data)), max((each for each in counts if each <= 100_000), default=0)


def _seconds(data: bytes, least: int) -> float:
    """The seconds that a sound or a film plays. `least`: the bytes of a second, if the header has no duration."""
    if data.startswith(b"RIFF") and len(data) >= 44 and (rate := struct.unpack_from("<I", data, 28)[0]):
        return len(data) / rate
    at = data.find(b"mvhd")  # MP4, M4A, MOV
    if at >= 0 and len(data) >= at + 36:
        large = data[at + 4] == 1
        scale, length = struct.unpack_from(">IQ", data, at + 24) if large else struct.unpack_from(">II", data, at + 16)
        if scale and 0 < length / scale < 1_000_000:
            return length / scale
    return len(data) / least


def _decoded(data: str) -> bytes:
    """The bytes of base64 text; none if it is not valid."""
    try:
        return b64decode(data + "=" * (-len(data) % 4))
    except ValueError:
        return b""
