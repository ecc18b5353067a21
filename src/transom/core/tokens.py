"""Counts sizes: tokens, bytes, images, messages.

Each text is counted by itself. A message adds 4 tokens, a request 3. An image or file counts as 1,000 tokens, unless
the counter of a dialect knows better; its base64 is never counted as text. Sizes are raw: they are calibrated only
where they are compared with a limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from typing import Protocol

from msgspec import Struct

from transom.core import message as m
from transom.core.codec import plain
from transom.core.edit import Fold, Trim
from transom.core.entry import Body
from transom.core.tool import is_neutral
from transom.texts import UNNAMED

MESSAGE_TOKENS = 4
"""Tokens that each message has beside its texts."""
REQUEST_TOKENS = 3
"""Tokens that each request has beside its messages."""
MEDIA_TOKENS = 1_000
"""The tokens of an image or file whose size is not known."""
MEDIA_BYTES = 1_000
"""The minimum number of bytes of an image or file: a URL or an id is short, but the provider fetches what it names."""

SENT_EXTRAS = ("refusal", "audio", "reasoning_details")
"""Keys of `Fact.extra` whose text is sent, and which the model reads."""

MESSAGE_BYTES = 32
"""The bytes of a message in a request beside its texts: braces, keys, role."""

TOOL_BYTES = 40
"""The maximum number of bytes that a provider's format adds to the `schema` of a Tool."""


class TokenCounter(Protocol):
    """Counts the tokens of a text. Pure: the same text always gives the same number."""

    @property
    def name(self) -> str:
        """The name of the tokenizer. Counts are stored with it; a log with counts of another name is counted again."""
        ...

    def count(self, text: str) -> int:
        """The tokens of one text, 0 or more. The text may hold anything that a model or a tool wrote: nothing, lone
        surrogates, the special tokens of a tokenizer. None of these may raise."""
        ...


class NoCounter:
    """Counts every text as 0 tokens: for a view of which nothing is read that depends on counts."""

    name = "uncounted"

    def count(self, text: str) -> int:  # noqa: ARG002 - the protocol of a counter
        return 0


class Size(Struct, frozen=True, gc=False, array_like=True):
    """A size: raw tokens, UTF-8 bytes, images and messages."""

    tokens: int = 0
    bytes: int = 0
    images: int = 0
    messages: int = 0

    def plus(self, other: Size) -> Size:
        """The sum, number by number."""
        a, b = self, other
        return Size(a.tokens + b.tokens, a.bytes + b.bytes, a.images + b.images, a.messages + b.messages)

    def minus(self, other: Size) -> Size:
        """The difference, number by number; it may be below 0."""
        a, b = self, other
        return Size(a.tokens - b.tokens, a.bytes - b.bytes, a.images - b.images, a.messages - b.messages)

    def replaced(self, old: Size, new: Size) -> Size:
        """This size after a part of it, of size `old`, was replaced by a part of size `new`."""
        a, b, c = self, new, old
        size, images = a.bytes + b.bytes - c.bytes, a.images + b.images - c.images
        return Size(a.tokens + b.tokens - c.tokens, size, images, a.messages + b.messages - c.messages)

    def __iter__(self) -> Iterator[int]:
        return iter((self.tokens, self.bytes, self.images, self.messages))


ZERO = Size()


def sum_sizes(sizes: Iterable[Size], start: Size = ZERO) -> Size:
    """The sum of sizes, number by number, added to `start`."""
    return reduce(Size.plus, sizes, start)


def replace_surrogates(text: str) -> str:
    """The text with a question mark for each lone surrogate, which UTF-8 cannot hold. Texts are counted and sent in
    this form."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def text_bytes(text: str) -> int:
    """The UTF-8 bytes of a text, lone surrogates replaced."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def part_bytes(part: m.Addressed) -> int:
    """The UTF-8 bytes of one part of a fact, base64 included: of a call only those of its arguments; of an image or
    file at least `MEDIA_BYTES`."""
    if isinstance(part, (m.Text, m.Reasoning)):
        return text_bytes(part.text)
    if isinstance(part, m.Call):
        return text_bytes(part.args)
    size = sum(text_bytes(text) for text in m.strings_in(part.raw))
    return max(size, MEDIA_BYTES) if isinstance(part, m.Media) else size


class FormatCounter:
    """Counts the tokens of facts as a dialect sends them, with a counter of text. This class counts for OpenAI Chat;
    other dialects have subclasses.

    - `name`: stored with every count. An entry whose counts have another name is counted again.
    - `counter`, `count`: the counter of text, and its method.
    - `dialect`: the name of the dialect. Facts of others are translated before they are sent.
    - `request`: the tokens of a request beside its messages.
    - `place`: the maximum number of tokens of the id that a call of another dialect gets.
    - `moves_media`: true if the images and files of a turn's results are sent in one more message behind them.
    - `user_first`: true if a user message is put before a turn of the model that would be the first message.
    """

    request = REQUEST_TOKENS
    place = 0
    moves_media = False
    user_first = False

    def __init__(self, counter: TokenCounter, dialect: str = "openai", name: str = "") -> None:
        variant = name or dialect
        self.name = counter.name if variant == "openai" else f"{counter.name}/{variant}"
        self.counter, self.count, self.dialect = counter, counter.count, dialect

    def count_body(self, body: Body, shown: m.Addressed | None = None) -> tuple[int, ...]:
        """The counts that are stored with an entry: see `Entry.tokens`. Empty for a body that has none.

        `shown`: for a trim, the part as the trim shows it; None if it drops reasoning.
        """
        if isinstance(body, m.Fact):
            return (self.count_envelope(body), *map(self.count_part, m.parts_of(body)))
        if isinstance(body, Fold):
            return (MESSAGE_TOKENS + self.count(body.text),)
        if isinstance(body, Trim) and shown is not None:
            return (self.count_part(shown),)
        if isinstance(body, m.Head):
            return (sum(sum(self.count_body(message)) for message in body.messages) + self.count_tools(body.tools),)
        return ()

    def count_part(self, part: m.Addressed) -> int:
        """The tokens of one part of a fact: of a call those of its arguments, of an image or file 1,000
        (`MEDIA_TOKENS`), of a part of another kind those of the strings in it. Dialects that know the size of images
        have counters that say more."""
        if isinstance(part, (m.Text, m.Reasoning)):
            return self.count(part.text)
        if isinstance(part, m.Call):
            return self.count(part.args)
        if isinstance(part, m.Media):
            return MEDIA_TOKENS
        return sum(map(self.count, m.strings_in(part.raw)))

    def count_envelope(self, fact: m.Fact) -> int:
        """The tokens of a fact without those of its parts (`count_part`): message overhead; ids and names of calls; the
        text of a fact that has no parts, such as a note; and the fields of `extra` that the model reads
        (`SENT_EXTRAS`)."""
        count, tokens = self.count, MESSAGE_TOKENS
        if isinstance(fact, m.Assistant):
            for call in fact.calls:
                tokens += count(call.id) + count(call.name or UNNAMED)
        elif isinstance(fact, m.ToolResult):
            tokens += count(fact.call)
        elif own := m.own_text(fact):
            tokens += count(own)
        if fact.extra:
            name = fact.extra.get("name")
            tokens += count(name) if isinstance(name, str) else 0
            for key in SENT_EXTRAS:
                tokens += sum(map(count, m.strings_in(fact.extra.get(key))))
        return tokens

    def messages(self, fact: m.Fact) -> int:  # noqa: ARG002 - here every fact is one message
        """The maximum number of messages (in some dialects: items) that a fact is sent as.

        For a turn of the model, this includes any extra messages that its results need; the one message of each result
        is not included.
        """
        return 1

    def count_tools(self, tools: Sequence[m.Raw]) -> int:
        """The tokens of tool schemas, each as compact JSON."""
        return sum(self.count(plain(tool).decode()) for tool in tools)


def head_size(head: m.Head, tokens: int) -> Size:
    """The size of a head. `tokens`: the number of tokens that were counted for it."""
    messages = len(head.messages)
    size = sum(fact_size(message, (0,)).bytes for message in head.messages)
    size += sum(len(plain(tool)) + (TOOL_BYTES if is_neutral(tool) else 0) for tool in head.tools)
    return Size(tokens, size, 0, messages)


NEVER_SENT = "provider_specific_fields"
"""The field of a message that clients and importers fill, and that no dialect sends."""


def fact_size(fact: m.Fact, tokens: Sequence[int]) -> Size:
    """The size of a fact without trims, as one message. `tokens`: its counts (`Entry.tokens`), which are added up. The
    bytes of `extra` count, because it is sent again in its dialect, except those of `NEVER_SENT`."""
    extra = {key: value for key, value in fact.extra.items() if key != NEVER_SENT} if fact.extra else None
    size, images = MESSAGE_BYTES + (len(plain(extra)) if extra else 0), 0
    for part in fact.parts:
        if isinstance(part, m.Text):
            size += text_bytes(part.text)
        else:
            size += part_bytes(part)
            images += isinstance(part, m.Media) and part.media == "image"
    if isinstance(fact, m.Assistant):
        for call in fact.calls:
            size += MESSAGE_BYTES + text_bytes(call.id) + text_bytes(call.name or UNNAMED) + text_bytes(call.args)
        for thought in fact.reasoning:
            size += text_bytes(thought.text)
    else:
        size += text_bytes(fact.call if isinstance(fact, m.ToolResult) else m.own_text(fact))
    return Size(sum(tokens), size, images, 1)
