"""The parts of the oracle: what a fact holds, how a trim shows it, and how large it is. See `oracle.py`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, cast

import msgspec

from transom.core.codec import plain
from transom.core.edit import Trim
from transom.core.entry import Entry
from transom.core.message import (
    Address,
    Addressed,
    Assistant,
    Call,
    Fact,
    Failure,
    Handoff,
    Media,
    Note,
    Reasoning,
    Recalled,
    Text,
    ToolResult,
)
from transom.core.tokens import Size, TokenCounter


def total(sizes: Sequence[Size]) -> Size:
    """Add up sizes, number by number."""
    return Size(*(sum(column) for column in zip(*sizes, strict=True))) if sizes else Size(0, 0, 0, 0)


def is_empty(fact: Fact) -> bool:
    """Whether a fact has neither content nor calls."""
    if isinstance(fact, Assistant) and fact.calls:
        return False
    if own_text(fact):
        return False
    # undefined: speech and a refusal are content, though they are not in the content field
    if isinstance(fact, Assistant) and fact.extra and (fact.extra.get("audio") or fact.extra.get("refusal")):
        return False
    return not any(not isinstance(part, Text) or part.text for part in fact.parts)


def own_text(fact: Fact) -> str:
    """The text of a fact that Transom or its caller wrote; empty for others."""
    if isinstance(fact, Failure):
        return fact.shown
    return fact.text if isinstance(fact, (Note, Recalled, Handoff)) else ""


def is_json(text: str) -> bool:
    """Whether a text is valid JSON; NaN and Infinity are not."""

    def refuse(constant: str) -> None:
        raise ValueError(constant)

    try:
        json.loads(text, parse_constant=refuse)
    except ValueError:
        return False
    return True


# ---- parts and trims


def parts_of(fact: Fact) -> Iterator[tuple[Address, Addressed]]:
    """The parts of a fact with their addresses: first its content, each part numbered within its kind (text, image,
    file, other); then the arguments of its calls, then its reasoning."""
    kinds = ["text" if isinstance(part, Text) else getattr(part, "media", "other") for part in fact.parts]
    for at, part in enumerate(fact.parts):
        yield (kinds[at], kinds[:at].count(kinds[at])), part
    if isinstance(fact, Assistant):
        for index, call in enumerate(fact.calls):
            yield ("args", index), call
        for index, thought in enumerate(fact.reasoning):
            yield ("reasoning", index), thought


def trimmed(part: Addressed, trim: Trim) -> Text | Call | None:
    """A part as a trim shows it; None for reasoning."""
    if isinstance(part, Reasoning):
        return None
    if isinstance(part, Call):
        return msgspec.structs.replace(part, args=trim.note)
    if not isinstance(part, Text):
        return Text(trim.note)
    shown, at, noted = "", 0, False
    for start, stop in (*trim.keep, (len(part.text), len(part.text))):
        if start > at:  # the note is in the first gap; each later gap is an ellipsis on a line of its own
            ellipsis = "…\n" if shown.endswith("\n") else "\n…\n"
            shown, noted = shown + (ellipsis if noted else trim.note), True
        shown, at = shown + part.text[start:stop], stop
    return Text(shown, part.extra)


def effective_trim(trims: Sequence[Trim], part: Addressed) -> Trim | None:
    """The trim in effect of several on one part: the one with the fewest bytes, then by its note, then by its spans."""
    return min(trims, key=lambda trim: (part_size(trimmed(part, trim)), trim.note, trim.keep), default=None)


def shown_fact(entry: Entry, trims: Sequence[Trim], *, void: bool, refused: bool = False) -> Fact:
    """The fact of an entry with the trims in effect. `void`: without its bound reasoning. `refused`: without any."""
    fact = entry.body
    assert isinstance(fact, Fact)
    shown: list[tuple[str, Addressed]] = []
    for address, part in parts_of(fact):
        trim = effective_trim([one for one in trims if one.entry == entry.seq and tuple(one.part) == address], part)
        hidden = isinstance(part, Reasoning) and (refused or (void and part.bound))
        form = trimmed(part, trim) if trim is not None else None if hidden else part
        if form is not None:
            shown.append((address[0], form))
    changes: dict[str, Any] = {"parts": tuple(part for kind, part in shown if kind not in {"args", "reasoning"})}
    if isinstance(fact, Assistant):
        changes["calls"] = tuple(part for kind, part in shown if kind == "args")
        changes["reasoning"] = tuple(part for kind, part in shown if kind == "reasoning")
    return msgspec.structs.replace(fact, **changes)


# ---- sizes: the counting formula, over what is shown

PER_MESSAGE, PER_REQUEST, PER_MEDIA = 4, 3, 1_000
LEAST_MEDIA = 1_000  # bytes: media by URL or id is fetched by the provider
BYTES_PER_MESSAGE = BYTES_PER_CALL = 32  # undefined: braces, keys and role


def utf8(text: str) -> int:
    """The bytes of a text as it is sent."""
    return len(text.encode("utf-8", "replace"))


def strings(raw: object) -> Iterator[str]:
    """All strings in a part of unknown kind, except its type (undefined)."""
    if isinstance(raw, str):
        yield raw
    elif isinstance(raw, dict):
        for key, value in cast("dict[str, object]", raw).items():
            if key != "type":
                yield from strings(value)
    elif isinstance(raw, (list, tuple)):
        for value in cast("Sequence[object]", raw):
            yield from strings(value)


def texts_in(part: Addressed | None) -> list[str]:
    """The texts of a part that are sent."""
    if part is None:
        return []
    if isinstance(part, Call):
        return [part.args]
    return [part.text] if isinstance(part, (Text, Reasoning)) else list(strings(part.raw))


def part_size(part: Addressed | None) -> int:
    """The bytes that a part of a fact counts."""
    size = sum(utf8(text) for text in texts_in(part))
    return max(size, LEAST_MEDIA) if isinstance(part, Media) else size


def fact_sizes(fact: Fact, counter: TokenCounter) -> Size:
    """The tokens, bytes and images of a fact as one message."""
    texts: list[str] = []
    size, tokens, images = BYTES_PER_MESSAGE, PER_MESSAGE, 0
    for _, part in parts_of(fact):
        if isinstance(part, Media):
            tokens, size, images = tokens + PER_MEDIA, size + part_size(part), images + (part.media == "image")
        else:
            texts.extend(texts_in(part))
    if isinstance(fact, Assistant):
        for call in fact.calls:
            texts += [call.id, call.name]
            size += BYTES_PER_CALL
            tokens += 0 if call.name else counter.count("unnamed")  # undefined: what is sent in place of no name
    if isinstance(fact, ToolResult):
        texts.append(fact.call)
    texts.append(own_text(fact))
    if fact.extra:
        size += len(plain(fact.extra))
        name = fact.extra.get("name")
        tokens += counter.count(name) if isinstance(name, str) else 0
        # undefined: of the fields that Transom has no name for, those that the model reads
        read = [text for key in ("refusal", "audio", "reasoning_details") for text in strings(fact.extra.get(key))]
        tokens += sum(counter.count(text) for text in read)
    tokens += sum(counter.count(text) for text in texts if text)
    return Size(tokens, size + sum(utf8(text) for text in texts), images, 1)
