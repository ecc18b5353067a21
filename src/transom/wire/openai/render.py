"""Renders facts as OpenAI chat messages: `message` gives back the same JSON that was read, `unit_messages` what is
sent.

What is sent is repaired where the API would refuse it. The repair of a slot depends on that slot alone, so that its
messages never change. What was valid comes out unchanged. Repairs share no code with `rules`, so that each tests the
other.
"""

from __future__ import annotations

from typing import cast

from msgspec.structs import replace

from transom import texts
from transom.core import message as m
from transom.core.message import Assistant, Call, Fact, Raw, Text, ToolResult, pieces_by_message
from transom.core.tokens import NEVER_SENT
from transom.core.unit import Unit
from transom.wire.arguments import sent_text
from transom.wire.fields import as_text, compact_json, deep_copy
from transom.wire.openai.parse import DIALECT_NAME, MEDIA_TYPES, THINKING, body_keys
from transom.wire.translate import safe_name, translate_fact, unique_calls, with_failed_mark


def unit_messages(unit: Unit, *, move_media: bool) -> list[Raw]:
    """The messages of a unit as they are sent. `move_media`: images and files of results stand in a user message behind
    all results of the turn (C11)."""
    head, *answers = [translate_fact(fact, DIALECT_NAME) for fact in unit.shown_facts()]
    if not isinstance(head, Assistant) or not head.calls:
        return [repair(message(head))]
    calls = unique_calls(unit, head)
    out = [repair(message(replace(head, calls=calls)))]
    moved: list[Raw] = []
    for fact, at in zip(answers, unit.answered_calls, strict=True):
        answer = _answer(fact, calls[at])
        out.append(repair(message(_without_media(answer, moved) if move_media else answer)))
    if moved:
        out.append({"role": "user", "content": [{"type": "text", "text": texts.MOVED_MEDIA}, *moved]})
    return out


def _without_media(fact: Fact, moved: list[Raw]) -> Fact:
    """A result with a text in place of each image and file. These are added to `moved`."""
    parts: list[m.Part] = []
    for part in fact.parts:
        if isinstance(part, m.Media):
            moved.append(deep_copy(part.raw))
            parts.append(Text(texts.moved_media(part.media, len(moved))))
        else:
            parts.append(part)
    return replace(fact, parts=tuple(parts)) if moved else fact


def _answer(fact: Fact, call: Call) -> Fact:
    """A result under its call's id. In the legacy form the name of the function is its label."""
    assert isinstance(fact, ToolResult)
    if call.legacy:
        return replace(fact, legacy=True, extra={**(fact.extra or {}), "name": call.name})
    return fact if fact.call == call.id else replace(fact, call=call.id)


def message(fact: Fact) -> Raw:
    """The message that a fact was read from (`message(parse(m)) == m`); for a fact that we added, a message with its
    text. `fact`: one of this dialect (`translate_fact` makes it that). A failed result has the mark "[failed]".

    The message shares nothing with the fact. It is not repaired.
    """
    role, fact = _role(fact), with_failed_mark(fact)
    if type(fact) in _OWN:
        return {"role": role, "content": m.own_text(fact)}
    out: Raw = {"role": role}
    if content := _pieces(fact):
        out["content"] = _content(fact, content)
    elif fact.shape not in {"null", "absent"}:
        out["content"] = [] if fact.shape == "parts" else ""
    elif fact.shape == "null":
        out["content"] = None
    if fact.extra:
        out.update(deep_copy(fact.extra))
    if isinstance(fact, ToolResult) and fact.call and not fact.legacy:
        out["tool_call_id"] = fact.call
    if isinstance(fact, Assistant):
        _add_turn(out, fact)
    return out


_OWN = frozenset({m.Note, m.Recalled, m.Handoff, m.Failure})
_ROLES: dict[type[Fact], str] = {Assistant: "assistant", ToolResult: "tool", m.Failure: "assistant"}


def _role(fact: Fact) -> str:
    """The role of a fact's message; facts that we added are the user's."""
    if isinstance(fact, m.Instruction):
        return fact.role
    if isinstance(fact, ToolResult) and fact.legacy:
        return "function"
    return _ROLES.get(type(fact), "user")  # words of our own are said by the user


def _pieces(fact: Fact) -> list[m.Part | m.Reasoning]:
    """The content of a fact in its order: parts, and reasoning that is among them (`THINKING`)."""
    if not isinstance(fact, Assistant) or not any(thought.field == THINKING for thought in fact.reasoning):
        return list(fact.parts)
    pieces = (piece for run in pieces_by_message(fact) for piece in run if not isinstance(piece, Call))
    return [piece for piece in pieces if not isinstance(piece, m.Reasoning) or piece.field == THINKING]


def _content(fact: Fact, pieces: list[m.Part | m.Reasoning]) -> str | list[Raw]:
    """The content of a message. A string stays a string if one string can hold it."""
    first = pieces[0]
    if fact.shape == "text" and len(pieces) < 2 and isinstance(first, Text) and not first.extra:
        return first.text
    return [_part(piece) for piece in pieces]


def _part(part: m.Part | m.Reasoning) -> Raw:
    """A content part as it was read."""
    if isinstance(part, Text):
        return {"type": "text", "text": part.text, **deep_copy(part.extra or {})}
    if isinstance(part, m.Reasoning):
        return {"type": THINKING, THINKING: [{"type": "text", "text": part.text}], **deep_copy(part.extra or {})}
    return deep_copy(part.raw)


def _add_turn(out: Raw, fact: Assistant) -> None:
    """Add reasoning and calls to a message, in place."""
    for thought in (each for each in fact.reasoning if each.field != THINKING):
        out[thought.field] = out.get(thought.field, "") + thought.text
    for call in fact.calls:
        if call.legacy:
            out["function_call"] = _filled(deep_copy(call.extra or {}), call, "arguments")
        else:
            out.setdefault("tool_calls", []).append(_call(call))


def _call(call: Call) -> Raw:
    """A call as JSON, with the fields that it was read with."""
    if call.extra is None:
        return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.args}}
    rest: Raw = deep_copy(call.extra)
    kind, field = body_keys(rest)
    rest[kind] = _filled(cast("Raw", rest.get(kind) or {}), call, field)
    return {**rest, "id": call.id} if call.id else rest


def _filled(rest: Raw, call: Call, field: str) -> Raw:
    """The body of a call: its other fields, name, and arguments, unless they were read as JSON and not trimmed."""
    if call.name:
        rest["name"] = call.name
    if call.args and (rest.get(field) is None or compact_json(rest[field]) != call.args):
        rest[field] = call.args
    return rest


# ---- repairs


def repair(message: Raw) -> Raw:
    """Repair a message as `message` makes it, in place, so that the API takes it, and return it. A valid message stays
    as it is."""
    role = message["role"]
    if not message.get("tool_calls"):  # E: "[] is too short - 'messages.1.tool_calls'"; null: "expected an array"
        message.pop("tool_calls", None)
    message.pop(NOTES, None)
    if role == "assistant":
        _drop_response_only(message)
        _repair_calls(message)
    if role == "function":
        message["name"] = safe_name(message.get("name") or "")
    elif name := message.get("name"):
        message["name"] = safe_name(name)
    else:  # E: null is "expected a string"
        message.pop("name", None)
    _repair_content(message)
    return message


def _repair_content(out: Raw) -> None:
    """Repair the content of a message, in place."""
    content, role = out.get("content"), out["role"]
    if content is None or content == []:
        if role != "assistant" or not _needs_no_content(out):
            out["content"] = ""
    elif isinstance(content, list):
        parts = [_repaired_part(part, role) for part in cast("list[Raw]", content)]
        # a function's content is a string: the legacy form knows no parts
        words = (part["text"] if part.get("type") == "text" else _left_out(part) for part in parts)
        out["content"] = "\n".join(words) if role == "function" else parts


NOTES = NEVER_SENT
"""A field of messages and calls that is kept and never sent: LiteLLM's notes, and what an import has noted."""

RESPONSE_ONLY = ("annotations", "parsed", NOTES, "images")
"""Fields of a message in responses, which are left out even if somebody copied them into a message: OpenAI's citations,
the SDK's `.parse()`, LiteLLM's notes, images that a model made (docs/why/response-fields.md)."""

_OF_CALLS = ("index", "parsed_arguments", NOTES)
"""Fields of a call in responses: its place in a stream, the SDK's `.parse()`, LiteLLM's notes."""


def _drop_response_only(message: Raw) -> None:
    """Remove fields from a message, in place, that only responses have."""
    for key in RESPONSE_ONLY:
        message.pop(key, None)
    audio = message.get("audio")
    if isinstance(audio, dict) and "id" in audio:  # a spoken answer is named by its id
        message["audio"] = {"id": audio["id"]}
    for call in cast("list[Raw]", message.get("tool_calls") or []):
        for body in (call, call.get("function") or {}, call.get("custom") or {}):
            for key in _OF_CALLS:
                body.pop(key, None)


def _needs_no_content(out: Raw) -> bool:
    """Whether a message of the assistant may have no content: it has calls, or names a spoken answer by its id."""
    audio = out.get("audio")
    spoken = isinstance(audio, dict) and bool(cast("Raw", audio).get("id"))
    return spoken or bool(out.get("tool_calls") or out.get("function_call"))


def _repaired_part(part: Raw, role: str) -> Raw:
    """A content part that this role may have; a placeholder for any other."""
    kind = part.get("type")
    if isinstance(kind, str) and (role != "tool" or kind in {"text", "image_url"}):
        return part
    if kind is None and isinstance(part.get("text"), str):
        return {**part, "type": "text"}
    return {"type": "text", "text": _left_out(part)}


def _left_out(part: Raw) -> str:
    """The placeholder for a part."""
    kind = part.get("type")
    return texts.left_out_marker(MEDIA_TYPES.get(kind, "part") if isinstance(kind, str) else "part")


def _repair_calls(out: Raw) -> None:
    """Repair the calls of a message, in place. A `function_call` that is empty, or beside `tool_calls`, is removed."""
    for call in cast("list[Raw]", out.get("tool_calls") or []):
        kind, field = body_keys(call)
        call["type"] = kind
        _repair_body(call[kind], field)
    legacy = out.get("function_call")
    if legacy is None:
        return
    if legacy.get("name") and not out.get("tool_calls"):
        _repair_body(legacy, "arguments")
    else:  # an empty one, or one beside tool_calls, which say it again
        del out["function_call"]


def _repair_body(body: Raw, field: str) -> None:
    """Repair name and arguments of a call, in place."""
    body["name"] = safe_name(body.get("name") or "")
    written = as_text(body.get(field))
    body[field] = written if field == "input" else sent_text(written)  # a custom tool takes free text
