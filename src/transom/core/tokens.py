"""How big things are. One formula everywhere: each text is counted by itself, messages and requests add an overhead.

A message adds 4 tokens, a request 3, an image or file 1,000 (its base64 is never counted as text). Sums stay raw:
calibration multiplies only when they are compared with a limit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from msgspec import Struct

from transom.core.codec import plain
from transom.core.edit import Fold, Span, Trim
from transom.core.entry import Body
from transom.core.message import (
    Addressed,
    Assistant,
    Call,
    Fact,
    Head,
    Media,
    Raw,
    Reasoning,
    Text,
    ToolResult,
    own_text,
    parts_of,
    strings_in,
)
from transom.core.tool import is_neutral
from transom.texts import UNNAMED, gap_mark

MESSAGE_TOKENS = 4
REQUEST_TOKENS = 3
MEDIA_TOKENS = 1_000
MEDIA_BYTES = 1_000
"""The least size of an image or file: one given by URL or id is fetched by the provider."""

SENT_EXTRAS = ("refusal", "audio", "reasoning_details")
"""Fields of a message that have no class of their own, and whose text the model reads."""

MESSAGE_BYTES = 32
"""What a message costs on the wire beside its texts: braces, keys, role."""

TOOL_BYTES = 40
"""The most that a provider's format adds to a neutral tool."""


class TokenCounter(Protocol):
    """Counts the tokens of a text. Pure: the same text always gives the same number."""

    @property
    def name(self) -> str:
        """Which tokenizer this is. Counts are stored under this name; another name counts a log again."""
        ...

    def count(self, text: str) -> int:
        """The tokens of one text, 0 or more. A text may hold anything that a model or a tool wrote."""
        ...


class Size(Struct, frozen=True, gc=False, array_like=True):
    """Raw tokens, UTF-8 bytes, images and messages."""

    tokens: int = 0
    bytes: int = 0
    images: int = 0
    messages: int = 0

    def plus(self, other: Size) -> Size:
        a, b = self, other
        return Size(a.tokens + b.tokens, a.bytes + b.bytes, a.images + b.images, a.messages + b.messages)

    def minus(self, other: Size) -> Size:
        a, b = self, other
        return Size(a.tokens - b.tokens, a.bytes - b.bytes, a.images - b.images, a.messages - b.messages)

    def replaced(self, old: Size, new: Size) -> Size:
        """With `new` in the place of `old`."""
        a, b, c = self, new, old
        size, images = a.bytes + b.bytes - c.bytes, a.images + b.images - c.images
        return Size(a.tokens + b.tokens - c.tokens, size, images, a.messages + b.messages - c.messages)

    def __iter__(self) -> Iterator[int]:
        return iter((self.tokens, self.bytes, self.images, self.messages))


ZERO = Size()


def replace_surrogates(text: str) -> str:
    """The text as it is counted and sent: with lone surrogates replaced."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def text_bytes(text: str) -> int:
    """UTF-8 bytes of a text, a lone surrogate counted as its replacement."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def part_bytes(part: Addressed) -> int:
    """UTF-8 bytes of one addressed part, base64 included."""
    if isinstance(part, (Text, Reasoning)):
        return text_bytes(part.text)
    if isinstance(part, Call):
        return text_bytes(part.args)
    size = sum(text_bytes(text) for text in strings_in(part.raw))
    return max(size, MEDIA_BYTES) if isinstance(part, Media) else size


def trimmed_text(text: str, keep: Sequence[Span], note: str) -> str:
    """The spans of `text` in order; `note` fills the first gap, a short mark each later one."""
    if not keep:
        return note
    pieces, at, noted = list[str](), 0, False
    for start, end in (*keep, (len(text), len(text))):
        if start > at:
            pieces.append(gap_mark(pieces[-1]) if noted else note)
            noted = True
        pieces.append(text[start:end])
        at = end
    return "".join(pieces)


def apply_trim(part: Addressed, trim: Trim) -> Addressed | None:
    """The part as the trim shows it: shorter text, a placeholder text for media, None for dropped reasoning."""
    if isinstance(part, Text):
        return Text(trimmed_text(part.text, trim.keep, trim.note), part.extra)
    if isinstance(part, Call):
        return Call(part.id, part.name, trim.note, part.extra, part.legacy)
    return None if isinstance(part, Reasoning) else Text(trim.note)


class FormatCounter:
    """What texts, parts and messages cost in a dialect, given a tokenizer. This one counts for OpenAI chat.

    `name` is stored with every count: an entry with counts under another name is counted again. `dialect`: facts of
    this dialect are its own, all others are foreign. `request`: the cost of a request beside its messages. `place`: the
    most that the label of a foreign call costs.
    """

    request = REQUEST_TOKENS
    place = 0

    def __init__(self, counter: TokenCounter, dialect: str = "openai", name: str = "") -> None:
        variant = name or dialect
        self.name = counter.name if variant == "openai" else f"{counter.name}/{variant}"
        self.counter, self.count, self.dialect = counter, counter.count, dialect

    def count_body(self, body: Body, shown: Addressed | None = None) -> tuple[int, ...]:
        """The counts stored with an entry (see `Entry.tokens`); a trim needs the part it trims, in its `shown` form."""
        if isinstance(body, Fact):
            return (self.count_envelope(body), *map(self.count_part, parts_of(body)))
        if isinstance(body, Fold):
            return (MESSAGE_TOKENS + self.count(body.text),)
        if isinstance(body, Trim) and shown is not None:
            return (self.count_part(shown),)
        if isinstance(body, Head):
            return (sum(sum(self.count_body(message)) for message in body.messages) + self.count_tools(body.tools),)
        return ()

    def count_part(self, part: Addressed) -> int:
        """Tokens of one addressed part."""
        if isinstance(part, (Text, Reasoning)):
            return self.count(part.text)
        if isinstance(part, Call):
            return self.count(part.args)
        if isinstance(part, Media):
            return MEDIA_TOKENS
        return sum(map(self.count, strings_in(part.raw)))

    def count_envelope(self, fact: Fact) -> int:
        """What a fact costs beside its addressed parts: message overhead, ids and names, text of our own."""
        count, tokens = self.count, MESSAGE_TOKENS
        if isinstance(fact, Assistant):
            for call in fact.calls:
                tokens += count(call.id) + count(call.name or UNNAMED)
        elif isinstance(fact, ToolResult):
            tokens += count(fact.call)
        elif own := own_text(fact):
            tokens += count(own)
        if fact.extra:
            name = fact.extra.get("name")
            tokens += count(name) if isinstance(name, str) else 0
            for key in SENT_EXTRAS:
                tokens += sum(map(count, strings_in(fact.extra.get(key))))
        return tokens

    def count_tools(self, tools: Sequence[Raw]) -> int:
        """Tool schemas, each as compact JSON."""
        return sum(self.count(plain(tool).decode()) for tool in tools)


def head_size(head: Head, tokens: int) -> Size:
    """The size of a head whose tokens are known."""
    messages = len(head.messages)
    size = sum(fact_size(message, (0,)).bytes for message in head.messages)
    size += sum(len(plain(tool)) + (TOOL_BYTES if is_neutral(tool) else 0) for tool in head.tools)
    return Size(tokens, size, 0, messages)


def fact_size(fact: Fact, tokens: Sequence[int]) -> Size:
    """The size of an untrimmed fact from its stored counts. Unknown fields count too, since they are sent."""
    size, images = MESSAGE_BYTES + (len(plain(fact.extra)) if fact.extra else 0), 0
    for part in fact.parts:
        if isinstance(part, Text):
            size += text_bytes(part.text)
        else:
            size += part_bytes(part)
            images += isinstance(part, Media) and part.media == "image"
    if isinstance(fact, Assistant):
        for call in fact.calls:
            size += MESSAGE_BYTES + text_bytes(call.id) + text_bytes(call.name or UNNAMED) + text_bytes(call.args)
        for thought in fact.reasoning:
            size += text_bytes(thought.text)
    else:
        size += text_bytes(fact.call if isinstance(fact, ToolResult) else own_text(fact))
    return Size(sum(tokens), size, images, 1)
