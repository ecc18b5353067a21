"""Facts to OpenAI chat messages: `message` as they came, byte for byte the same JSON; `unit_messages` as they are sent.

What is sent is repaired where the API would refuse it, inside one slot and by what stands in it alone, so that a slot's
bytes never change. What was valid comes out unchanged.
"""

from __future__ import annotations

from typing import cast

from msgspec.structs import replace

from transom.core import message as m
from transom.core.message import Assistant, Call, Fact, Raw, Text, ToolResult
from transom.core.unit import Unit
from transom.wire.fields import compact_json
from transom.wire.openai.parse import NAME, body_keys
from transom.wire.openai.repair import repaired
from transom.wire.translate import translate_fact, unique_calls
from transom.wire.turns import copied


def unit_messages(unit: Unit) -> list[Raw]:
    """What a unit shows."""
    head, *answers = [translate_fact(fact, NAME) for fact in unit.shown_facts()]
    if not isinstance(head, Assistant) or not head.calls:
        return [repaired(message(head))]
    calls = unique_calls(unit, head)
    out = [repaired(message(replace(head, calls=calls)))]
    for fact, at in zip(answers, unit.answered_calls, strict=True):
        out.append(repaired(message(_answer(fact, calls[at]))))
    return out


def _answer(fact: Fact, call: Call) -> Fact:
    """A result under its call's label, or in the legacy form, where the function's name is the label."""
    assert isinstance(fact, ToolResult)
    if call.legacy:
        return replace(fact, legacy=True, extra={**(fact.extra or {}), "name": call.name})
    return fact if fact.call == call.id else replace(fact, call=call.id)


def message(fact: Fact) -> Raw:
    """The message a fact came from (`message(parse(m)) == m`), or for a fact of our own the one that says it.

    Nothing in it is shared with the fact.
    """
    role = _role(fact)
    if type(fact) in _OWN:
        return {"role": role, "content": m.own_text(fact)}
    out: Raw = {"role": role}
    if fact.parts or fact.shape not in {"null", "absent"}:
        out["content"] = _content(fact)
    elif fact.shape == "null":
        out["content"] = None
    if fact.extra:
        out.update(copied(fact.extra))
    if isinstance(fact, ToolResult) and fact.call and not fact.legacy:
        out["tool_call_id"] = fact.call
    if isinstance(fact, Assistant):
        _add_turn(out, fact)
    return out


_OWN = frozenset({m.Note, m.Recalled, m.Handoff, m.Failure})
_ROLES: dict[type[Fact], str] = {Assistant: "assistant", ToolResult: "tool", m.Failure: "assistant"}


def _role(fact: Fact) -> str:
    if isinstance(fact, m.Instruction):
        return fact.role
    if isinstance(fact, ToolResult) and fact.legacy:
        return "function"
    return _ROLES.get(type(fact), "user")  # words of our own are said by the user


def _content(fact: Fact) -> str | list[Raw]:
    """A string stays a string as long as one can hold it."""
    first = fact.parts[0] if fact.parts else Text("")
    if fact.shape == "text" and len(fact.parts) < 2 and isinstance(first, Text) and not first.extra:
        return first.text
    return [_part(part) for part in fact.parts]


def _part(part: m.Part) -> Raw:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text, **copied(part.extra or {})}
    return copied(part.raw)


def _add_turn(out: Raw, fact: Assistant) -> None:
    for thought in fact.reasoning:
        out[thought.field] = out.get(thought.field, "") + thought.text
    for call in fact.calls:
        if call.legacy:
            out["function_call"] = _filled(copied(call.extra or {}), call, "arguments")
        else:
            out.setdefault("tool_calls", []).append(_call(call))


def _call(call: Call) -> Raw:
    if call.extra is None:
        return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.args}}
    rest: Raw = copied(call.extra)
    kind, field = body_keys(rest)
    rest[kind] = _filled(cast("Raw", rest.get(kind) or {}), call, field)
    return {**rest, "id": call.id} if call.id else rest


def _filled(rest: Raw, call: Call, field: str) -> Raw:
    """The body of a call: what parsing left in place, with what it took out. Arguments that were no text are still
    there in `rest`, and come out so unless a trim has changed them."""
    if call.name:
        rest["name"] = call.name
    if call.args and (rest.get(field) is None or compact_json(rest[field]) != call.args):
        rest[field] = call.args
    return rest
