"""Classifies a provider's error: does it say that the request is longer than the model's context window?

Every provider says so in its own words, and other errors sound alike: throttling, or an answer longer than the model
can write. `classify` tells them apart, finds the numbers in the text, and says what to do. The wordings are data: see
`error_patterns`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from math import inf
from typing import Any, Literal, cast

from msgspec import Struct

from transom.overflow import error_patterns

DEPTH = 16
"""Levels of nesting that are read. No provider's error is deeper."""
CHARACTERS = 4_000
"""Characters of an error's text that are read: some gateways quote the whole request."""

_ECHOES = {
    *("input", "inputs", "messages", "prompt", "contents", "request", "instructions", "tools", "output", "choices"),
    *("failed_generation", "request_id"),
}
"""Fields in which an error or an event of a stream quotes the conversation. They are not read: a user may have written
anything."""

_SMALLEST_WINDOW = 100
"""No model takes fewer tokens: a smaller limit is one of something else."""

_OTHER_TROUBLE = (401, 402, 404, 405, 408, 414, 431)
"""Status codes of other errors: keys, money, a wrong address, long headers. Whatever the text says, nobody has looked
at the length of the request."""


_CODE_IN_TEXT = re.compile(r"[a-z]+(?:_[a-z]+)+")
"""A word in snake case, which may be an error code inside a text."""


_NUMBER = re.compile(r"(?<![\w.\[-])\d{4,12}(?![\w.]\d)")
"""A number of four digits or more that stands alone: one of three may be a status."""


class Overflow(Struct, frozen=True):
    """A provider's statement that a request was too long, with the numbers that it gave, in tokens (None: not given).

    - `limit`: the maximum that the model takes.
    - `used`: the tokens of the input; of input and answer together if the text gives only their sum.
    - `output`: the length that was asked for as the longest answer, if the text says that it did not fit.
    - `measured_in`: "bytes" if the error says nothing of tokens, of a context or of the model: then a gateway, or the
      server before its model, has refused the body of the request. That says nothing about the model's window.
    - `fix`: "shrink_input", or "shrink_max_tokens" if the input fits and leaves some room for an answer.
    """

    limit: int | None
    used: int | None
    fix: Literal["shrink_input", "shrink_max_tokens"]
    output: int | None = None
    measured_in: Literal["tokens", "bytes"] = "tokens"


def classify(status: int | None, body: object) -> Overflow | None:
    """Read a provider's error; return an Overflow if it says that the request was too long, None if it is another
    error.

    `status`: the HTTP status; 200 for an error that came as an event of a stream, None if not known. `body`: the error
    or event as parsed JSON, text or bytes; of its texts the first 4,000 characters count. Does not raise, whatever
    `body` is.
    """
    if status in _OTHER_TROUBLE:
        return None
    parsed = _parsed(body)
    leaves = list(_leaves(parsed, DEPTH, is_error=not (status == 200 and isinstance(parsed, (dict, list)))))
    words = " ".join(value for _, value in leaves if isinstance(value, str) and not value.strip().isdigit())
    text = _plain(words.lower()[:CHARACTERS], status)
    found = {} if re.search(error_patterns.NO_TOKENS, text) else _numbers_in(text)
    coded = any(_is_code(_snake(value)) for _, value in leaves) or any(map(_is_code, _CODE_IN_TEXT.findall(text)))
    fields = _fields(leaves)
    named = " ".join(_snake(key) for key, value in leaves if isinstance(value, int))
    says_so = coded or _is_too_long(status, text, named, found | fields)
    if not says_so:
        return None
    has_odd_code = any(_snake(value) in error_patterns.ODD_CODES for _, value in leaves)
    if not has_odd_code and _is_in_bytes(status, text, named):
        return Overflow(None, None, "shrink_input", measured_in="bytes")
    return _overflow(text, found, fields)


def _is_in_bytes(status: int | None, text: str, fields: str) -> bool:
    """Whether an error that says that the request is too long means its size in bytes. `fields`: the names of its
    fields with numbers."""
    said = f"{text} {fields}"
    if re.search(error_patterns.BYTES, text):
        return not re.search(rf"{error_patterns.TOKENS}|context|\bwindow\b", said)
    is_about_the_body = status == 413 or re.search(error_patterns.BODY, text) is not None
    return is_about_the_body and not re.search(error_patterns.MODEL_WORDS, said)


def _fields(leaves: list[tuple[str, str | int]]) -> dict[str, int]:
    """The limit and the input that an error has in fields of their own, under "limit" and "input"."""
    numbers = [(_snake(key), value) for key, value in leaves if isinstance(value, int)]
    kinds = {"limit": error_patterns.LIMIT_FIELD, "input": error_patterns.INPUT_FIELD}
    return {kind: value for kind, rule in kinds.items() for key, value in reversed(numbers) if re.fullmatch(rule, key)}


def _parsed(body: object) -> object:
    """The JSON object in a text or in bytes; a list of the object and the texts around it, if there are any. Without
    such an object, the text (bytes are decoded). Any other value is returned as it is."""
    if isinstance(body, (bytes, bytearray)):
        body = bytes(body[: CHARACTERS * 40]).decode("utf-8", "replace")
    if not isinstance(body, str) or (start := body.find("{")) < 0:
        return body
    try:
        value, end = json.JSONDecoder().raw_decode(body, start)
    except (ValueError, RecursionError):
        return body
    around = [text for text in (body[:start], body[end:]) if text.strip(" []\n")]
    return [value, *around] if around else value


def _leaves(value: object, depth: int, *, is_error: bool, key: str = "") -> Iterator[tuple[str, str | int]]:
    """The texts and numbers of an error, each with its key. `is_error`: everything in the value belongs to it; if
    false, only error events and finish reasons are read."""
    if depth == 0:
        return
    if isinstance(value, dict):
        fields = cast("dict[object, Any]", value)
        is_error = is_error or "error" in (fields.get("type"), fields.get("object"))
        for name, item in fields.items():
            if isinstance(name, str) and name not in _ECHOES:
                yield from _leaves(item, depth - 1, is_error=is_error or _is_error_field(name, item), key=name)
            elif name == "choices" and isinstance(item, list):
                yield from _reasons(cast("list[object]", item))
    elif isinstance(value, (list, tuple)):
        for item in cast("list[object]", value):
            yield from _leaves(item, depth - 1, is_error=is_error, key=key)
    elif isinstance(value, str) and (is_error or key.endswith("reason")):
        inner = _parsed(value) if depth > 1 else value
        if inner is value:
            yield key, value
        elif isinstance(inner, list):
            parsed, *around = cast("list[object]", inner)
            yield from _leaves(parsed, depth - 1, is_error=is_error, key=key)
            yield from ((key, text) for text in around if isinstance(text, str))
        else:
            yield from _leaves(inner, depth - 1, is_error=is_error, key=key)
    elif is_error and isinstance(value, int) and not isinstance(value, bool):
        yield key, value


def _is_error_field(name: str, value: object) -> bool:
    """Whether a field of an event is its error: a text, or an object with a code, type or status."""
    if name != "error" or not isinstance(value, dict):
        return name == "error"
    return any(cast("dict[str, Any]", value).get(key) is not None for key in ("code", "type", "status"))


def _reasons(choices: list[object]) -> Iterator[tuple[str, str]]:
    """The finish reasons of the choices of a chat completion, each with the key "finish_reason"."""
    for choice in choices:
        reason = cast("dict[str, Any]", choice).get("finish_reason") if isinstance(choice, dict) else None
        if isinstance(reason, str):
            yield "finish_reason", reason


def _snake(value: str | int) -> str:
    """A code in snake case: the same for ContextLengthExceeded, CONTEXT_LENGTH_EXCEEDED and context-length-exceeded."""
    if isinstance(value, int):
        return str(value) if abs(value) < 10**9 else ""
    words = value if value.isupper() else re.sub(r"(?<=[a-z])(?=[A-Z])", "_", value)
    return words.lower().replace("-", "_")


def _is_code(word: str) -> bool:
    """Whether a word in snake case is a code that says that an input is too long."""
    return word in error_patterns.ODD_CODES or re.fullmatch(error_patterns.CODE, word) is not None


def _is_too_long(status: int | None, text: str, fields: str, found: dict[str, int]) -> bool:
    """Whether an error says that the request is too long: by its numbers (`found`, by what they count), by a known
    phrase, or by status 413. False for look-alikes, and for errors about the answer. `fields`: the names of its fields
    with numbers."""
    said = f"{text} {fields}"
    if any(re.search(rule, said) for rule in error_patterns.OTHER_MATTERS):
        return False
    mentions_input = re.search(error_patterns.INPUT_WORDS, said) is not None
    if not mentions_input and re.search(error_patterns.ANSWER, text):
        return False
    if (
        mentions_input
        and re.search(error_patterns.UNIT, said)
        and found.get("input", 0) > found.get("limit", inf) >= _SMALLEST_WINDOW
    ):
        return True
    return status == 413 or any(re.search(rule, text) for rule in error_patterns.PHRASES)


def _overflow(text: str, found: dict[str, int], fields: dict[str, int]) -> Overflow:
    """The Overflow with the numbers of the text and of the error's other fields. A number in a field of its own counts
    more."""
    limit = fields.get("limit", found.get("limit"))
    limit = None if limit is not None and limit < _SMALLEST_WINDOW else limit
    used = fields.get("input", found.get("input"))
    output = found.get("output") or None
    if limit is None or used is None:
        answer_is_too_long = bool(re.search(error_patterns.INPUT_AND_ANSWER, text))
    else:
        asked = output or re.search(error_patterns.ANSWER, text)
        answer_is_too_long = used < limit and bool(asked)
    return Overflow(limit, used, "shrink_max_tokens" if answer_is_too_long else "shrink_input", output)


def _plain(text: str, status: int | None) -> str:
    """The text with single blanks and numbers as plain digits (128k, 1.2m and 128,000), without numbers that say
    nothing of a size: in tags, scripts and styles of HTML, the status, and the excess ("by 512 tokens", "which is 512
    tokens over")."""
    text = re.sub(r"(?s)<(script|style)\b.*?(?:</\1|$)", "<", text)
    text = re.sub(r"<[/!]?[a-z][^<>]{0,200}>", " ", text)
    text = re.sub(rf"(?<![\d,.]){status}(?![\d,.])", " ", text) if status is not None and status != 200 else text
    text = re.sub(r"(?<=\d)[,_](?=\d{3}(?!\d))", "", " ".join(text.split()))
    text = re.sub(r"(?<![\w.-])(\d{1,4}(?:\.\d{1,3})?)([km])\b(?!-)", _in_digits, text)
    return re.sub(error_patterns.EXCESS, "", text)


def _in_digits(short: re.Match[str]) -> str:
    """A number such as 128k or 1.2m in digits."""
    return str(round(float(short[1]) * (1_000 if short[2] == "k" else 1_000_000)))


def _numbers_in(text: str) -> dict[str, int]:
    """The numbers in the text, by name: "limit", "input", "output". If patterns name neither an output nor an input
    above the limit, the larger one of exactly two different numbers is the input and the other one the limit, provided
    that the text mentions the input and the unit of its sizes."""
    found = _named_numbers(text)
    if "output" in found or found.get("input", 0) > found.get("limit", inf):
        return found
    numbers = {int(number) for number in _NUMBER.findall(text)}
    if len(numbers) == 2 and re.search(error_patterns.UNIT, text) and re.search(error_patterns.INPUT_WORDS, text):
        return {"limit": min(numbers), "input": max(numbers)}
    return found


def _named_numbers(text: str) -> dict[str, int]:
    """The numbers that a pattern names."""
    matches = (match for pattern in error_patterns.BOTH_SIDES if (match := re.search(pattern, text)))
    found = next(map(_named, matches), dict[str, int]())
    if "limit" not in found:
        found |= _first(error_patterns.LIMITS, text, found)
    return found if "input" in found else found | _first(error_patterns.INPUTS, text, found)


def _first(patterns: tuple[str, ...], text: str, known: dict[str, int]) -> dict[str, int]:
    """The first number that these patterns find and that is not among the `known` ones, by name; or nothing."""
    matches = (_named(match) for pattern in patterns for match in re.finditer(pattern, text))
    new = (found for found in matches if not set(found.values()) & set(known.values()))
    return next(new, dict[str, int]())


def _named(match: re.Match[str]) -> dict[str, int]:
    """The numbers of a match, by name."""
    return {name: int(value) for name, value in match.groupdict().items()}
