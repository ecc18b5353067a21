"""Names and labels as APIs take them."""

from __future__ import annotations

import re
from functools import lru_cache

from transom.core import texts

_REFUSED = re.compile(r"[^a-zA-Z0-9_-]")


@lru_cache(maxsize=1024)
def safe_name(name: str) -> str:
    """A name of at most 64 letters, digits, _ and -, the same for the same name."""
    return _REFUSED.sub("_", name)[:64] or texts.UNNAMED


def place_label(key: int, index: int) -> str:
    """A call named by its place: where the id it came with is another dialect's. Unique in a log, at most 40 long."""
    return f"call_{key}_{index}"


PLACE_LABEL = place_label(999_999_999, 99)
"""The longest there is: what is counted for one before its place is known."""
