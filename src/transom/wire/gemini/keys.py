"""The words of Gemini's parts. Each comes in two spellings: the API takes both, and says what it was told."""

from __future__ import annotations

import re

from transom.core.message import Raw

NAME = "gemini"


def _both(*names: str) -> tuple[str, ...]:
    return tuple(each for name in names for each in (name, re.sub("[A-Z]", lambda found: f"_{found[0].lower()}", name)))


CALL, RESPONSE, SIGNATURE = _both("functionCall"), _both("functionResponse"), _both("thoughtSignature")
FILES = _both("inlineData", "fileData")

_BESIDE = {"thought", *SIGNATURE, *_both("videoMetadata", "partMetadata", "mediaResolution")}
"""What stands beside what a part is."""

_KINDS = ("text", *CALL, *RESPONSE, *FILES, *_both("executableCode", "codeExecutionResult", "toolCall", "toolResponse"))
"""What a part can be: just one of them."""

UNDER = "under"
"""In the `extra` of a text: the one key of the response that held it. Null: it is the response, as JSON."""


def kinds_of(raw: Raw) -> list[str]:
    """The kinds of data in a part: just one, in a part that the API takes. A kind we do not know is an object."""
    known = [key for key in _KINDS if raw.get(key) is not None]
    return known or [key for key, value in raw.items() if isinstance(value, dict) and key not in _BESIDE]


def spelt(raw: Raw, keys: tuple[str, ...]) -> str | None:
    """Which of these keys a part has, if any."""
    return next((key for key in keys if raw.get(key) is not None), None)
