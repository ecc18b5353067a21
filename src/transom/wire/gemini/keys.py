"""The keys of Gemini's parts. Each has two spellings, camel and snake case; the API takes both."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from transom.core.message import Raw

DIALECT_NAME = "gemini"


@cache
def snake(key: str) -> str:
    """A key of the API in snake case: `mime_type` for `mimeType`."""
    return re.sub("[A-Z]", lambda found: f"_{found[0].lower()}", key)


def either(fields: Raw, key: str) -> Any:
    """The value that an object has under `key`, which is in camel case; if that is missing, empty, 0 or false, the
    value under the same key in snake case; None if there is none."""
    return fields.get(key) or fields.get(snake(key))


def _both(*keys: str) -> tuple[str, ...]:
    """Each key in camel case and in snake case."""
    return tuple(each for key in keys for each in (key, snake(key)))


CALL, RESPONSE, SIGNATURE = _both("functionCall"), _both("functionResponse"), _both("thoughtSignature")
FILES = _both("inlineData", "fileData")
CODE, CODE_RESULT = _both("executableCode"), _both("codeExecutionResult")
TOOL_CALL, TOOL_RESULT = _both("toolCall"), _both("toolResponse")

_BESIDE = {"thought", *SIGNATURE, *_both("videoMetadata", "partMetadata", "mediaResolution")}
"""Keys that a part may have beside its data."""

_KINDS = ("text", *CALL, *RESPONSE, *FILES, *CODE, *CODE_RESULT, *TOOL_CALL, *TOOL_RESULT)
"""Keys for the data of a part. A valid part has exactly one of them."""

UNDER = "under"
"""In the `extra` of a text, the only key of the response object that held it. Null: the text is the whole response, as
JSON."""


def kinds_of(raw: Raw) -> list[str]:
    """The keys of a part that hold data: exactly one in a valid part. A key that we do not know counts if it holds an
    object."""
    known = [key for key in _KINDS if raw.get(key) is not None]
    return known or [key for key, value in raw.items() if isinstance(value, dict) and key not in _BESIDE]


def key_of_part(raw: Raw, keys: tuple[str, ...]) -> str | None:
    """The first of these keys under which a part has a value that is not null; None if it has none."""
    return next((key for key in keys if raw.get(key) is not None), None)
