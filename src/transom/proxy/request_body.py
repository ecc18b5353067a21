"""Reads the body of a request, unpacks it, and refuses one that is too large."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Mapping

import zstandard

from transom.errors import TransomError

_ZSTD_STEP = 1_024
"""How many packed bytes are unpacked at once: 4 bytes can become 128 KiB, so a step can become 32 MiB."""


class RequestRefused(TransomError):
    """Raised for a request that the proxy refuses. `status`: the HTTP status of the answer that the client gets. The
    text of the error is the message in that answer."""

    def __init__(self, status: int, message: str) -> None:
        self.status = status
        super().__init__(message)


async def read_body(chunks: AsyncIterator[bytes], headers: Mapping[str, str], limit: int) -> bytes:
    """Read the whole body of a request from its chunks, and return it unpacked as its header `content-encoding` says.

    `headers`: must find a name in lower case, however the client wrote it. Without `content-encoding` the body is
    returned as it came; an empty body stays empty. Raises RequestRefused: 413 for more than `limit` bytes, packed or
    not; 415 for another encoding than gzip, deflate or zstd, or for several; 400 for a body that cannot be unpacked, is
    cut off, or goes on behind its end.
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
    if kind in {"", "identity"} or not packed:
        return packed
    if kind not in {"gzip", "deflate", "zstd"}:
        raise RequestRefused(415, f"content-encoding {kind[:40]!r}: only gzip, deflate and zstd are known")
    try:
        out, is_whole = _unzstd(packed, limit) if kind == "zstd" else _inflated(packed, limit)
    except (zlib.error, zstandard.ZstdError) as wrong:
        raise RequestRefused(400, f"the body is no {kind}: {wrong}") from None
    if len(out) > limit:
        raise _too_large(limit)
    if not is_whole:  # what was unpacked is only a part of the request
        raise RequestRefused(400, f"the body is no {kind}: it is cut off, or goes on behind its end")
    return out


def _inflated(packed: bytes, limit: int) -> tuple[bytes, bool]:
    """The unpacked bytes, at most one more than `limit`, and whether they are the whole of `packed`."""
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32)  # finds out whether it is gzip or zlib
    out = unpacker.decompress(packed, limit + 1)
    return out, unpacker.eof and not unpacker.unused_data


def _unzstd(packed: bytes, limit: int) -> tuple[bytes, bool]:
    """The unpacked bytes, until there are more than `limit`, and whether they are the whole of `packed`."""
    unpacker, out, at = zstandard.ZstdDecompressor().decompressobj(), bytearray(), 0
    while at < len(packed) and len(out) <= limit and not unpacker.eof:
        out += unpacker.decompress(packed[at : at + _ZSTD_STEP])
        at += _ZSTD_STEP
    return bytes(out), unpacker.eof and at >= len(packed) and not unpacker.unused_data


def _too_large(limit: int) -> RequestRefused:
    return RequestRefused(413, f"the body is larger than {limit:,} bytes (--max-body)")
