"""What reading, saying and counting must agree on."""

from __future__ import annotations

import re

from transom.core import texts

NAME = "anthropic"

MESSAGE = "(message)"
"""Where the `extra` of a result keeps unknown keys of the message it came in; its own stand beside it."""

MESSAGES = "(messages)"
"""Where the `extra` of a turn that came as several messages keeps how many blocks each had; null: it was a string."""

SIGNED = {"thinking": "thinking", "redacted_thinking": "data"}
"""The kinds of reasoning, and the key that holds what is counted of each."""

EMPTY = texts.left_out("text")
"""Where the API wants words and there are none."""

_LABEL = re.compile(r"[a-zA-Z0-9_-]+")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")


def is_label(label: str) -> bool:
    """Whether the API takes it as a call's id."""
    return _LABEL.fullmatch(label) is not None


def is_name(name: str) -> bool:
    """Whether the API takes it as a tool's name."""
    return _NAME.fullmatch(name) is not None


def is_blank(text: str) -> bool:
    """Whether the API takes it for no text: empty, or nothing but white space."""
    return not text.strip()
