"""Reads the body of a request, unpacks it, and refuses one that is too large."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Mapping

import zstandard

from transom.errors import TransomError


class RequestRefused(TransomError):
    """Raised for a request that the proxy refuses. `status`: the HTTP status of its answer."""

    def __init__(self, status: int, message: str) -> None:
        self.status = status
        super().__init__(message)


async def read_body(chunks: AsyncIterator[bytes], headers: Mapping[str, str], limit: int) -> bytes:
    """Read the whole body of a request from its chunks, and return it unpacked as its header `content-encoding` says.

    Raises RequestRefused: 413 for more than `limit` bytes, packed or not; 415 for another encoding than gzip, deflate
    or zstd; 400 for a body that cannot be unpacked.
    """
    parts: list[bytes] = []
    size, declared = 0, headers.get("content-length", "")
    if declared.isdigit() and int(declared) > limit:
        raise _too_large(limit)
    async for chunk in chunks:
        size += len(chunk)
        if size > limit:
            raise _too_large(limit)
        parts.append(chunk)
    packed = b"".join(parts)
    kind = headers.get("content-encoding", "").strip().lower()
    if kind in {"", "identity"}:
        return packed
    if kind not in {"gzip", "deflate", "zstd"}:
        raise RequestRefused(415, f"content-encoding {kind[:40]!r}: only gzip, deflate and zstd are known")
    try:
        out = _unzstd(packed, limit) if kind == "zstd" else _inflated(packed, limit)
    except (zlib.error, zstandard.ZstdError) as wrong:
        raise RequestRefused(400, f"the body is no {kind}: {wrong}") from None
    if len(out) > limit:
        raise _too_large(limit)
    return out


def _inflated(packed: bytes, limit: int) -> bytes:
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32)  # finds out whether it is gzip or zlib
    return unpacker.decompress(packed, limit + 1)


def _unzstd(packed: bytes, limit: int) -> bytes:
    with zstandard.ZstdDecompressor().stream_reader(packed) as reader:
        return reader.read(limit + 1)


def _too_large(limit: int) -> RequestRefused:
    return RequestRefused(413, f"the body is larger than {limit:,} bytes (--max-body)")
