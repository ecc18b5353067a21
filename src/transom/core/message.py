"""What happened: facts, made of parts. A fact never changes once it is in the log.

Everything a provider sent that has no field here is kept in `extra` and comes out again in the same dialect.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, cast

from msgspec import Struct, field

Raw = dict[str, Any]
Shape = Literal["text", "parts", "null", "absent"]
"""The form of the content on the wire: a string, a list of parts, null, or no such key."""

MediaKind = Literal["image", "file"]


class Text(Struct, frozen=True, gc=False, omit_defaults=True, tag_field="part", tag="text"):
    """A run of text. `extra` holds the wire part's other keys (such as a cache marker)."""

    text: str
    extra: Raw | None = None


class Media(Struct, frozen=True, gc=False, omit_defaults=True, tag_field="part", tag="media"):
    """An image, or a file of any other kind (document, audio): the wire's own part, untouched."""

    media: MediaKind
    raw: Raw


class Other(Struct, frozen=True, gc=False, omit_defaults=True, tag_field="part", tag="other"):
    """A part of a kind we do not know. Its strings are counted as text, its bytes are never touched."""

    raw: Raw


Part = Text | Media | Other


class Call(Struct, frozen=True, gc=False, omit_defaults=True):
    """A tool call as the model wrote it: `args` need not be JSON. `legacy`: a `function_call`, which has no id."""

    id: str
    name: str
    args: str
    extra: Raw | None = None
    legacy: bool = False


class Reasoning(Struct, frozen=True, gc=False, omit_defaults=True):
    """A reasoning text. `field`: its key on the wire. `bound`: signed for its exact prefix, invalid on another."""

    text: str
    field: str = "reasoning_content"
    bound: bool = False
    extra: Raw | None = None


class Usage(Struct, frozen=True, gc=False, omit_defaults=True):
    """What the provider says a call cost, in its own tokens.

    `prompt`: the whole input. Of it, `cached` was read from the prompt cache, and `cache_write` was written to it.
    `output`: the whole answer. Of it, `reasoning` was thinking.
    """

    prompt: int = 0
    cached: int = 0
    output: int = 0
    cache_write: int = 0
    reasoning: int = 0

    def plus(self, other: Usage | None) -> Usage:
        """The sum of both, field by field; None adds nothing."""
        if other is None:
            return self
        return Usage(**{name: getattr(self, name) + getattr(other, name) for name in self.__struct_fields__})


class Fact(Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag_field="kind"):
    """The root of all facts: content parts, their wire shape, and what else came with them.

    `shape`, `extra` and raw parts are in the format of `dialect`, and come out again only there. `separate`: it came as
    a message of its own where the dialect would join it to the one before.
    """

    parts: tuple[Part, ...] = ()
    shape: Shape = "text"
    extra: Raw | None = None
    dialect: str = "openai"
    separate: bool = field(default=False, name="apart")


class User(Fact, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag="user"):
    """What the user said."""


class Instruction(Fact, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag="instruction"):
    """A system or developer message: in a head, or in place in the middle of a conversation."""

    role: Literal["system", "developer"] = "system"


class Assistant(Fact, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag="assistant"):
    """One turn of the model. `answers` is the seq of the `Sent` it replies to.

    `order`: the order on the wire, if it is not reasoning, parts, calls: a letter each (r reasoning, p part, c call),
    and a bar where another message of the same turn begins.
    """

    calls: tuple[Call, ...] = ()
    reasoning: tuple[Reasoning, ...] = ()
    order: str = ""
    answers: int | None = None
    usage: Usage | None = None


class ToolResult(Fact, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag="result"):
    """The result of a call. A real one names its call by the provider's id, `call`; a synthetic one by `place`, the
    unit and the index of the call.

    `failed`: the tool reported an error.
    """

    call: str = ""
    failed: bool = False
    place: tuple[int, int] | None = None
    synthetic: bool = field(default=False, name="made")
    legacy: bool = False


class Note(Fact, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag="note"):
    """Announces state that changed, under its key: the newest note of a key is in force. A note without a key gives a
    late result, or is a required user turn."""

    key: str
    text: str
    refs: tuple[int, ...] = ()


class Recalled(Fact, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag="recalled"):
    """Old text brought back, with the entries it came from and `why`. A plan adds it if its policy recalls; a caller
    appends one of his own with `Conversation.append`."""

    text: str
    refs: tuple[int, ...] = ()
    why: str = ""


class Failure(Fact, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag="failure"):
    """A request that gave no reply, or none that was whole.

    `text` and `reasoning`: what had arrived. `shown`: what the model sees of it, if anything. `error`: what the
    provider said, or our own words. `model`: whose failure, "provider:model". Of a request that was too long, `limit`:
    the tokens that a request to this model may have from now on, as the provider counts; `used`: those of this one, if
    they are known.
    """

    failure: str
    text: str = ""
    shown: str = ""
    answers: int | None = None
    reasoning: str = ""
    error: str = ""
    model: str = ""
    limit: int = 0
    used: int = 0


class Handoff(Fact, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag="handoff"):
    """The result of another agent or run, as one text. A caller appends it, with `Conversation.append`."""

    text: str
    source: str = ""


class Head(Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag_field="kind", tag="head"):
    """What stands before the conversation: instructions, and the tools of the request.

    A tool is the dict that was given, in the format of any provider, or the `schema` of a `Tool`.
    """

    messages: tuple[Instruction, ...] = ()
    tools: tuple[Raw, ...] = ()


class Opaque(Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag_field="kind", tag="opaque"):
    """An entry of a kind that this version does not know. It is kept unchanged and not shown."""

    raw: Raw


Address = tuple[str, int]
"""Names one part of a fact: (kind, index), kind one of text, args, image, file, reasoning, other."""

Addressed = Text | Media | Other | Call | Reasoning


def addressed_parts(fact: Fact) -> Iterator[tuple[Address, Addressed]]:
    """Every part of a fact with its address, in one fixed order (counts are stored in it)."""
    seen = {"text": 0, "image": 0, "file": 0, "other": 0}
    for part in fact.parts:
        kind = "text" if isinstance(part, Text) else part.media if isinstance(part, Media) else "other"
        yield (kind, seen[kind]), part
        seen[kind] += 1
    if isinstance(fact, Assistant):
        yield from ((("args", i), call) for i, call in enumerate(fact.calls))
        yield from ((("reasoning", i), thought) for i, thought in enumerate(fact.reasoning))


def parts_of(fact: Fact) -> tuple[Addressed, ...]:
    """Every part of a fact in the order of `addressed_parts`."""
    return (*fact.parts, *fact.calls, *fact.reasoning) if isinstance(fact, Assistant) else fact.parts


def own_text(fact: Fact) -> str:
    """The text of a fact that we added (note, recalled, handoff, failure); empty for other facts."""
    if isinstance(fact, Failure):
        return fact.shown
    return fact.text if isinstance(fact, (Note, Recalled, Handoff)) else ""


def strings_in(raw: object) -> Iterator[str]:
    """The strings inside a part of unknown kind, its type label left out."""
    stack: list[object] = [raw]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            members = cast("dict[str, object]", item)
            stack.extend(v for k, v in reversed(members.items()) if k != "type")
        elif isinstance(item, (list, tuple)):
            stack.extend(reversed(cast("list[object]", item)))


def role_of(fact: Fact) -> str:
    """The name of a fact for people: its role on the wire, or its kind if we added it."""
    if isinstance(fact, Instruction):
        return fact.role
    return "tool" if isinstance(fact, ToolResult) else type(fact).__name__.lower()


def is_empty(fact: Fact) -> bool:
    """Whether it has neither content nor calls: then it stays in the log and is left out of the view."""
    for part in fact.parts:
        if not isinstance(part, Text) or part.text:
            return False
    if isinstance(fact, Assistant):
        if fact.calls or (fact.extra and any(fact.extra.get(k) for k in ("audio", "refusal"))):
            return False
    elif isinstance(fact, ToolResult):
        return False
    return not own_text(fact)
