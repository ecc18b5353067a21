"""What happened: facts, made of parts. A fact never changes once it is in the log. Also `Head` and `Opaque`, which are
no facts.

Fields that a provider sent and that have no place here are kept in `extra`. They are sent again in the same dialect
only.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, Literal, cast

from msgspec import Struct
from msgspec.structs import replace

__all__ = [
    "REASONING_REFUSED",
    "Assistant",
    "Call",
    "Fact",
    "Failure",
    "Handoff",
    "Head",
    "Instruction",
    "Media",
    "Note",
    "Opaque",
    "Other",
    "Raw",
    "Reasoning",
    "Recalled",
    "Text",
    "ToolResult",
    "Usage",
    "User",
    "own_text",
    "parts_of",
]

Raw = dict[str, Any]
"""A JSON object in the format in which it was given."""
Shape = Literal["text", "parts", "null", "absent"]
"""The form of a message's content in the provider's format: a string, a list of parts, null, or no such key."""

MediaKind = Literal["image", "file"]


class Text(Struct, frozen=True, gc=False, omit_defaults=True, tag_field="part", tag="text"):
    """A run of text. `text`: its words. `extra` holds the other keys of the provider's part, such as a cache marker."""

    text: str
    extra: Raw | None = None


class Media(Struct, frozen=True, gc=False, omit_defaults=True, tag_field="part", tag="media"):
    """An image, or a file of any other kind (document, audio). `media`: "image" or "file".

    `raw` is the provider's own part, unchanged.
    """

    media: MediaKind
    raw: Raw


class Other(Struct, frozen=True, gc=False, omit_defaults=True, tag_field="part", tag="other"):
    """A part that is neither text nor an image or file, for example of the provider's own tools, or of a kind that we
    do not know. It is kept unchanged (`raw`), and its strings are counted as text.

    `compaction`: true for a part of the provider's own compaction. In windows of its dialect, the compaction stands for
    everything before its turn, and no edit changes it.
    """

    raw: Raw
    compaction: bool = False


Part = Text | Media | Other


class Call(Struct, frozen=True, gc=False, omit_defaults=True):
    """A tool call, as the model wrote it.

    `id`: the provider's id; empty if it gave none. `name`: the tool. `args`: the arguments as text, which need not be
    JSON. `extra`: the other keys of the call. `legacy`: true for an OpenAI `function_call`, which has no id.
    """

    id: str
    name: str
    args: str
    extra: Raw | None = None
    legacy: bool = False


class Reasoning(Struct, frozen=True, gc=False, omit_defaults=True):
    """A text of the model's reasoning.

    `text`: its words. `extra`: the other keys of its part. `field`: its key in the provider's format. `bound`: signed
    for the exact prefix that it was made on (system prompt, tools, and everything before it). On another prefix a
    provider refuses or drops it, so no window shows it there.
    """

    text: str
    field: str = "reasoning_content"
    bound: bool = False
    extra: Raw | None = None


class Usage(Struct, frozen=True, gc=False, omit_defaults=True):
    """The tokens that the provider reports for one request and its reply, as the provider counts them; 0 for what it
    does not report.

    `prompt`: the whole input; of it, `cached` was read from the prompt cache, and `cache_write` was written to it. (A
    few servers report `cached` beside `prompt`: see `calibration.whole_prompt`.) `output`: the whole answer; of it,
    `reasoning` was thinking.
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

    def times(self, factor: int) -> Usage:
        """A copy with each number multiplied by a factor."""
        return Usage(**{name: factor * getattr(self, name) for name in self.__struct_fields__})


class Fact(Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag_field="kind"):
    """The base class of all facts: what happened, as content parts. (Notes, recalled texts, handoffs and failures have
    no parts, but a text of their own.)

    - `parts`: the content. `shape`: the form of the content in the provider's format: a string ("text"), a list of
      parts ("parts"), null, or no such key ("absent").
    - `extra`: the message's other fields.
    - `dialect`: the format of `shape`, `extra` and raw parts. They are sent again in this dialect only; for another one
      the fact is translated (`wire/translate.py`).
    - `separate`: true if the fact came as a message of its own although the dialect would join it to the one before.
    """

    parts: tuple[Part, ...] = ()
    shape: Shape = "text"
    extra: Raw | None = None
    dialect: str = "openai"
    separate: bool = False


class User(Fact, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag="user"):
    """A message of the user."""


class Instruction(Fact, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag="instruction"):
    """A system or developer message: part of a head, or a message in the middle of a conversation. `role`: "system" or
    "developer"."""

    role: Literal["system", "developer"] = "system"


class Assistant(Fact, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag="assistant"):
    """One turn of the model: content, tool calls (`calls`) and reasoning (`reasoning`).

    - `answers`: the seq of the `Sent` that it replies to; None if it came without a request of ours.
    - `usage`: what the provider reported for the request; None if nothing.
    - `input_transformations`: what the provider says that it changed in the request, as it said it: for example that it
      dropped reasoning, because the prefix had changed (OpenAI's Responses).
    - `order`: the order of its content in the provider's format, as letters (r reasoning, p part, c call), with a bar
      where another message of the same turn begins. Empty if the order is reasoning, parts, calls.
    - `pending_calls`: the ids of calls of the provider's own tools whose results come in a later turn. In OpenAI's
      Responses, of its requests for an approval that a later turn answers.
    - `continued_calls`: the ids of such calls of earlier turns that this turn goes on with: it has their results, or
      their code has made the calls of this turn. In OpenAI's Responses, of the requests for an approval that it
      answers.
    - `container`: the id of the provider's container in which such code runs; empty if there is none.
    """

    calls: tuple[Call, ...] = ()
    reasoning: tuple[Reasoning, ...] = ()
    order: str = ""
    answers: int | None = None
    usage: Usage | None = None
    input_transformations: tuple[Raw, ...] = ()
    pending_calls: tuple[str, ...] = ()
    continued_calls: tuple[str, ...] = ()
    container: str = ""

    @property
    def is_compaction(self) -> bool:
        """Whether the turn holds the provider's own compaction: windows of its dialect do not show what precedes it."""
        return any(isinstance(part, Other) and part.compaction for part in self.parts)


class ToolResult(Fact, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag="result"):
    """The result of a tool call: a real one, or a synthetic one, which we write for a call whose result did not come.

    - `call`: the provider's id of the call; empty if the result came without one.
    - `place`: the call itself: the key of the turn's unit, and the index of the call in the turn. Every synthetic
      result has one, and every result of a run or of an approval. None: the call is found by its id or name.
    - `synthetic`: true if we wrote it. `failed`: true if the tool reported an error, or a person rejected the call.
    - `legacy`: true for the result of a call that has no id (OpenAI's `function_call`).
    """

    call: str = ""
    failed: bool = False
    place: tuple[int, int] | None = None
    synthetic: bool = False
    legacy: bool = False


class Note(Fact, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag="note"):
    """A text that we add (`text`). With a `key` it announces state: the newest note of a key is the one that holds.
    With an empty `key` it gives late results, or it is a user turn that the provider requires.

    `refs`: the seqs of the late results that it gives.
    """

    key: str
    text: str
    refs: tuple[int, ...] = ()


class Recalled(Fact, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag="recalled"):
    """Text that is brought back at the end of the window (`text`): quotes of old entries, or files as they are now. A
    plan adds one if its policy recalls; a caller may add one with `Conversation.append`.

    `refs`: the seqs of the entries that are quoted, or whose calls named the files. `why`: the reason, for people.
    """

    text: str
    refs: tuple[int, ...] = ()
    why: str = ""


REASONING_REFUSED = "reasoning_refused"
"""The `Failure.failure` of a request that a provider refused because of reasoning in it. From then on no window shows
the reasoning that stood before the newest user message. If none stood before it, no window shows any reasoning that was
in the log."""


class Failure(Fact, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag="failure"):
    """Records a request that gave no reply, or only a part of one.

    - `failure`: its kind, for example "interrupted" or `REASONING_REFUSED`.
    - `error`: the message of the provider, or ours.
    - `text`, `reasoning`: what had arrived of the reply. `shown`: what windows show of the failure; empty if nothing.
    - `answers`: the seq of the request's `Sent`; None if there is none. `model`: the model that failed, as
      "provider:model".
    - `usage`: the tokens that the provider reported for the request, although no usable reply came; None if nothing.
    - `limit`: for a request that was too long, the tokens that a request to this model may have from now on, as the
      provider counts. `used`: the tokens of this request, as the provider counts. `stated`: the limit that the provider
      stated. Each is 0 if it is not known, for a request whose bytes were too many, and for other failures. `limit`
      and `used` are 0 too for a request with a file that only a URL or an id names: nobody knows its tokens.
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
    usage: Usage | None = None
    stated: int = 0


class Handoff(Fact, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag="handoff"):
    """The result of another agent or run, as one text (`text`). A caller adds it with `Conversation.append`. `source`:
    who made it."""

    text: str
    source: str = ""


class Head(Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag_field="kind", tag="head"):
    """What precedes the conversation: the instructions, and the tools of the request.

    A tool is a dict, as it was given: in any provider's format, or the `schema` of a `Tool`.
    """

    messages: tuple[Instruction, ...] = ()
    """The instructions: system and developer messages."""
    tools: tuple[Raw, ...] = ()
    """The schemas of the tools."""


class Opaque(Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag_field="kind", tag="opaque"):
    """The body of an entry whose kind the core does not know: one of a newer version, or the mark of an import. It is
    kept unchanged (`raw`) and not shown."""

    raw: Raw


Address = tuple[str, int]
"""Names one part of a fact by kind and index. The kinds: text, args, image, file, reasoning, other. The index counts
within a kind."""

Addressed = Text | Media | Other | Call | Reasoning
"""Everything that has an address: the content parts, the calls (as `args`) and the reasoning."""


def part_kind(part: Part) -> str:
    """The kind of a content part in an address: text, image, file or other."""
    if isinstance(part, Text):
        return "text"
    return part.media if isinstance(part, Media) else "other"


def addressed_parts(fact: Fact) -> Iterator[tuple[Address, Addressed]]:
    """Yield every part of a fact with its address, in a fixed order: content, calls, reasoning. The index in an address
    counts the parts of its kind. A fact that has no parts, such as a note, yields nothing.

    `Entry.tokens` has the counts of the parts in this order, behind the count of the envelope.
    """
    seen = {"text": 0, "image": 0, "file": 0, "other": 0}
    for part in fact.parts:
        kind = part_kind(part)
        yield (kind, seen[kind]), part
        seen[kind] += 1
    if isinstance(fact, Assistant):
        yield from ((("args", i), call) for i, call in enumerate(fact.calls))
        yield from ((("reasoning", i), thought) for i, thought in enumerate(fact.reasoning))


def parts_of(fact: Fact) -> tuple[Addressed, ...]:
    """Every part of a fact, without addresses, in the order of `addressed_parts`: its content, then for a turn of the
    model its calls and its reasoning."""
    return (*fact.parts, *fact.calls, *fact.reasoning) if isinstance(fact, Assistant) else fact.parts


def own_text(fact: Fact) -> str:
    """The text that a fact holds beside its parts: that of a note, recalled text or handoff, and what is shown of a
    failure. Empty for other facts."""
    if isinstance(fact, Failure):
        return fact.shown
    return fact.text if isinstance(fact, (Note, Recalled, Handoff)) else ""


def strings_in(raw: object, *, without: Collection[str] = ("type",)) -> Iterator[str]:
    """All strings that are values in a JSON value of unknown form, in order. Keys are left out, and everything under
    the keys `without`."""
    stack: list[object] = [raw]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            members = cast("dict[str, object]", item)
            stack.extend(v for k, v in reversed(members.items()) if k not in without)
        elif isinstance(item, (list, tuple)):
            stack.extend(reversed(cast("list[object]", item)))


def role_of(body: object) -> str:
    """What people call the body of an entry: of a fact its role (user, assistant, tool, system or developer). A fact
    that has no role in an API, and any other body, has the name of its class in lower case: "note", "fold"."""
    if isinstance(body, Instruction):
        return body.role
    return "tool" if isinstance(body, ToolResult) else type(body).__name__.lower()


def said_in(turn: Assistant) -> str:
    """What the model said in a turn, as one text: its text parts, with nothing between them, and then a refusal, which
    OpenAI's chat API has beside the content."""
    refusal: object = turn.extra.get("refusal") if turn.extra else None
    said = "".join(part.text for part in turn.parts if isinstance(part, Text))
    return said + refusal if isinstance(refusal, str) else said


def is_empty(fact: Fact) -> bool:
    """Whether a fact has nothing that a window could show: no content part except empty texts, no calls, and no text of
    its own (see `own_text`). Reasoning alone does not count. A tool result is never empty, nor is a turn of the model
    with a refusal or audio in `extra`.

    An empty fact stays in the log, and no window contains it.
    """
    for part in fact.parts:
        if not isinstance(part, Text) or part.text:
            return False
    if isinstance(fact, Assistant):
        if fact.calls or (fact.extra and any(fact.extra.get(k) for k in ("audio", "refusal"))):
            return False
    elif isinstance(fact, ToolResult):
        return False
    return not own_text(fact)


# ---- a turn of the model, made from its pieces and taken apart again, in the same way for all dialects


def turn_of(items: Sequence[Addressed], **rest: Any) -> Assistant:
    """Make a turn of content parts, calls and reasoning, given in the order in which they came.

    `Assistant.order` keeps that order, a letter for each; it is empty for the usual one: reasoning, content, calls.
    `rest`: the other fields of the turn.
    """
    order = "".join("r" if isinstance(i, Reasoning) else "c" if isinstance(i, Call) else "p" for i in items)
    return Assistant(
        parts=tuple(i for i in items if not isinstance(i, (Reasoning, Call))),
        calls=tuple(i for i in items if isinstance(i, Call)),
        reasoning=tuple(i for i in items if isinstance(i, Reasoning)),
        order="" if order == "".join(sorted(order, key="rpc".index)) else order,
        **rest,
    )


def with_pending_calls(turn: Assistant, made: Iterable[str], closed: Iterable[str], used: Iterable[str]) -> Assistant:
    """The turn with the calls of the provider's own tools that reach into other turns; the same object if there are
    none. `pending_calls`, which wait for a later turn: the `made` and `used` ones that are not closed.
    `continued_calls`, which an earlier turn made: the `closed` and `used` ones that this turn did not make.

    `made`: the ids of the calls that the turn makes. `closed`: the ids of those whose result it has. `used`: the ids of
    those whose code has made a call of a client's tool in this turn. Empty ids do not count.
    """
    made, closed, used = dict.fromkeys(made), dict.fromkeys(closed), dict.fromkeys(used)
    pending = tuple(label for label in {**made, **used} if label and label not in closed)
    continued = tuple(label for label in {**closed, **used} if label and label not in made)
    return replace(turn, pending_calls=pending, continued_calls=continued) if pending or continued else turn


def continued(turn: Assistant, more: Assistant) -> Assistant:
    """One turn of two: `turn`, and `more`, with which it goes on in another message. Its content, calls and reasoning
    are those of both. A bar in `order` says where `more` begins, and the shape is "parts". All other fields are those
    of `turn`; those of `more`, such as `usage` and `extra`, are lost."""
    return replace(
        turn,
        parts=turn.parts + more.parts,
        calls=turn.calls + more.calls,
        reasoning=turn.reasoning + more.reasoning,
        order=f"{_letters(turn)}|{_letters(more)}",
        shape="parts",
    )


def _letters(turn: Assistant) -> str:
    """The order of a turn's pieces as letters: r reasoning, p part, c call."""
    return turn.order or "r" * len(turn.reasoning) + "p" * len(turn.parts) + "c" * len(turn.calls)


def pieces_by_message(turn: Assistant) -> list[list[Addressed]]:
    """The pieces of a turn in their order, in one list for each message that it came in."""
    groups: dict[str, Iterator[Addressed]] = {"r": iter(turn.reasoning), "p": iter(turn.parts), "c": iter(turn.calls)}
    return [[next(groups[letter]) for letter in letters] for letters in _letters(turn).split("|")]
