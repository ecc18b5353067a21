"""What an image costs in each family, by its size in pixels; and what no header may make it cost."""

from __future__ import annotations

import struct
import zlib
from base64 import b64encode

import pytest

from transom.core.message import Media
from transom.testing import WordCounter
from transom.wire.dialects import dialect_named
from transom.wire.media import pixels


def png(width: int, height: int) -> str:
    """A picture's header."""
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunk = b"IHDR" + head
    return b64encode(
        b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + chunk + struct.pack(">I", zlib.crc32(chunk))
    ).decode()


def media(data: str, dialect: str = "anthropic") -> Media:
    if dialect == "gemini":
        return Media("image", {"inlineData": {"mimeType": "image/png", "data": data}})
    return Media("image", {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}})


@pytest.mark.parametrize("dialect", ["anthropic", "gemini"])
def test_its_size_is_read_from_its_header(dialect):
    assert pixels(media(png(640, 480), dialect)) == (640, 480)
    assert pixels(
        Media("image", {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{png(3, 4)}"}})
    ) == (3, 4)


@pytest.mark.parametrize("data", ["", "AAAA", "!!", "iVBORw0KGgo", b64encode(b"<svg width='9'/>").decode(), png(0, 9)])
def test_what_is_no_picture_has_no_size(data):
    assert pixels(media(data)) is None


@pytest.mark.parametrize(
    ("dialect", "size", "tokens"),
    [
        ("openai", (4_000, 4_000), 1_000),
        ("anthropic", (100, 100), 1_000),
        ("anthropic", (1_000, 1_000), 1_334),
        ("anthropic", (8_000, 8_000), 1_600),
        ("gemini", (768, 768), 1_000),
        ("gemini", (3_000, 1_500), 2_064),
        ("gemini", (2**31 - 1, 2**31 - 1), 16 * 258),
    ],
)
def test_what_it_costs(dialect, size, tokens):
    assert dialect_named(dialect).format_counter(WordCounter()).count_part(media(png(*size), dialect)) == tokens
