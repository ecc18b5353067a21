"""What files cost: pages and seconds by each provider's published rate, and the margin where they are unknown."""

from __future__ import annotations

import struct
import zlib
from base64 import b64encode

import pytest

from transom.core.message import Media
from transom.testing import WordCounter
from transom.wire.dialects import dialect_named
from transom.wire.media_tokens import LOW_DETAIL, NAMED_FILE, has_unknown_tokens, pages


def pdf(count: int, *, packed: bool = False) -> bytes:
    """A PDF with so many pages, its objects in the clear or packed into a stream."""
    objects = b"<< /Type /Pages /Count %d >>\n" % count + b"<< /Type /Page /Parent 1 0 R >>\n" * count
    if packed:
        squeezed = zlib.compress(objects)
        return (
            b"%%PDF-1.5\n1 0 obj << /Type /ObjStm /Length %d >>\nstream\r\n" % len(squeezed) + squeezed + b"\nendstream"
        )
    return b"%PDF-1.4\n" + objects + b"%%EOF"


def compressed_streams(count: int) -> bytes:
    """A PDF with so many compressed object streams, each a page."""
    page = zlib.compress(b"<< /Type /Page /Parent 1 0 R >>")
    stream = b"1 0 obj << /Type /ObjStm /Length %d >>\nstream\r\n" % len(page) + page + b"\nendstream " + bytes(2_000)
    return b"%PDF-1.5\n" + stream * count


def wav(seconds: int, rate: int = 8_000) -> bytes:
    head = (
        b"RIFF"
        + struct.pack("<I", 36 + seconds * rate)
        + b"WAVEfmt "
        + struct.pack("<IHHIIHH", 16, 1, 1, rate, rate, 1, 8)
    )
    return head + b"data" + struct.pack("<I", seconds * rate) + bytes(seconds * rate - 44)


def mp4(seconds: int) -> bytes:
    return (
        b"\0\0\0\x18ftypisom"
        + bytes(12)
        + b"moov\0\0\0\x6cmvhd"
        + struct.pack(">IIIII", 0, 0, 0, 1_000, seconds * 1_000)
        + bytes(80)
    )


def part(dialect: str, data: bytes, mime: str) -> dict:
    """A file as a dialect says it."""
    text = b64encode(data).decode()
    if dialect == "anthropic":
        return {"type": "document", "source": {"type": "base64", "media_type": mime, "data": text}}
    if dialect == "gemini":
        return {"inlineData": {"mimeType": mime, "data": text}}
    url = f"data:{mime};base64,{text}"
    if dialect == "responses":
        return {"type": "input_file", "filename": "x.pdf", "file_data": url}
    return {"type": "file", "file": {"filename": "x.pdf", "file_data": url}}


def cost(dialect: str, raw: dict, kind="file") -> int:
    return dialect_named(dialect).format_counter(WordCounter()).count_part(Media(kind, raw))


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("count", [1, 7, 120])
def test_pages_are_counted(count, packed):
    assert pages(pdf(count, packed=packed)) == count


def test_pages_in_several_compressed_streams_are_added():
    assert pages(compressed_streams(30)) == 30


def test_a_pdf_that_cannot_be_read_has_a_margin():
    assert pages(b"%PDF-1.7" + bytes(100_000)) == 5
    assert pages(b"%PDF-1.7 /Type /ObjStm stream\nnot packed at all") == 1


@pytest.mark.parametrize(
    ("dialect", "page"),
    [("openai", 1_500), ("mistral", 1_500), ("responses", 1_500), ("anthropic", 3_000), ("gemini", 560)],
)
def test_a_pdf_costs_its_pages(dialect, page):
    assert cost(dialect, part(dialect, pdf(7), "application/pdf")) == 7 * page
    assert cost(dialect, part("openai", pdf(7), "application/pdf")) == 7 * page  # one that came in another dialect


@pytest.mark.parametrize("dialect", ["openai", "gemini"])
def test_sound_costs_its_seconds(dialect):
    rate = {"openai": 10, "gemini": 32}[dialect]
    raw = part(dialect, wav(90), "audio/wav")
    if dialect == "openai":
        raw = {"type": "input_audio", "input_audio": {"data": b64encode(wav(90)).decode(), "format": "wav"}}
    assert cost(dialect, raw) == 90 * rate
    assert cost("gemini", part("gemini", bytes(40_000), "audio/mp3")) == 10 * 32  # no duration in it: a low bitrate


def test_film_costs_its_seconds():
    assert cost("gemini", part("gemini", mp4(30), "video/mp4")) == 30 * 290
    assert cost("gemini", part("gemini", bytes(120_000), "video/webm")) == 2 * 290


@pytest.mark.parametrize(
    ("dialect", "raw"),
    [
        ("gemini", {"fileData": {"mimeType": "video/mp4", "fileUri": "gs://x/y.mp4"}}),
        ("gemini", {"fileData": {"mimeType": "audio/mp3", "fileUri": "gs://x/y.mp3"}}),
        ("openai", {"type": "file", "file": {"file_id": "file-1"}}),
        ("responses", {"type": "input_file", "file_id": "file-1"}),
        ("responses", {"type": "input_file", "file_url": "https://x/y.pdf"}),
        ("anthropic", {"type": "document", "source": {"type": "file", "file_id": "file-1"}}),
        ("anthropic", {"type": "document", "source": {"type": "url", "url": "https://x/y.pdf"}}),
    ],
)
def test_a_file_that_is_elsewhere_counts_a_flat_figure(dialect, raw):
    assert cost(dialect, raw) == NAMED_FILE == 4_000
    assert has_unknown_tokens(Media("file", raw))


@pytest.mark.parametrize(
    ("kind", "raw"),
    [
        ("file", part("openai", pdf(3), "application/pdf")),
        ("file", part("gemini", pdf(3), "application/pdf")),
        ("file", part("anthropic", pdf(3), "application/pdf")),
        ("file", {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "Hello"}}),
        ("file", {"type": "document", "source": {"type": "content", "content": "Hello"}}),
        ("image", {"type": "image", "source": {"type": "url", "url": "https://x/y.png"}}),
    ],
)
def test_the_tokens_of_images_and_of_files_with_their_data_have_a_bound(kind, raw):
    assert not has_unknown_tokens(Media(kind, raw))


@pytest.mark.parametrize(
    ("dialect", "raw"),
    [
        ("openai", {"type": "image_url", "image_url": {"url": "https://x/y.png", "detail": "low"}}),
        ("responses", {"type": "input_image", "image_url": "https://x/y.png", "detail": "low"}),
    ],
)
def test_a_small_version_of_an_image(dialect, raw):
    assert cost(dialect, raw, "image") == LOW_DETAIL
    assert cost("anthropic", raw, "image") == 1_000  # it has no such setting
