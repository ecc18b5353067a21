"""What nearly every message is, read and said in one step.

Any other message is for `parse`, which gives the same fact for each of these, and says what is wrong with the rest; any
other fact is for `render` and `mend`, which give the same message for each of these.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast

from msgspec import Meta, Struct, ValidationError, convert

from transom.core.message import Assistant, Call, Fact, Raw, Text, ToolResult, User
from transom.core.unit import Unit
from transom.wire.translate import safe_name
from transom.wire.turns import sendable

_Filled = Annotated[str, Meta(min_length=1)]
_own = str.__str__
"""The text alone of what may be an enum, or another kind of str."""


class _User(Struct, forbid_unknown_fields=True, gc=False, tag_field="role", tag="user"):
    content: str

    def fact(self) -> Fact:
        return User(parts=(Text(_own(self.content)),))


class _Result(Struct, forbid_unknown_fields=True, gc=False, tag_field="role", tag="tool"):
    tool_call_id: _Filled
    content: str

    def fact(self) -> Fact:
        return ToolResult(parts=(Text(_own(self.content)),), call=_own(self.tool_call_id))


class _Function(Struct, forbid_unknown_fields=True, gc=False):
    name: _Filled
    arguments: _Filled


class _Call(Struct, forbid_unknown_fields=True, gc=False):
    id: _Filled
    type: Literal["function"]
    function: _Function


class _Turn(Struct, forbid_unknown_fields=True, gc=False, tag_field="role", tag="assistant"):
    content: str | None
    tool_calls: Annotated[tuple[_Call, ...], Meta(min_length=1)] = ()

    def fact(self) -> Fact:
        calls = tuple([Call(_own(c.id), _own(c.function.name), _own(c.function.arguments)) for c in self.tool_calls])
        if self.content is None:
            return Assistant(shape="null", calls=calls)
        return Assistant(parts=(Text(_own(self.content)),), calls=calls)


_SHAPES: dict[object, Any] = {"user": _User, "tool": _Result, "assistant": _Turn}


def regular(message: object) -> Fact | None:
    """The fact that a message is, if that is quite regular. Its shape is checked and taken apart outside of Python."""
    if type(message) is not dict:
        return None
    fields = cast("Raw", message)
    try:
        return convert(fields, _SHAPES[fields["role"]]).fact() if _is_json(fields.get("tool_calls", [])) else None
    except (KeyError, TypeError, ValidationError, UnicodeError):
        return None


def _is_json(calls: list[Any]) -> bool:
    """Whether these are a list and objects where such are wanted: `convert` takes more for them than JSON has."""
    if type(calls) is not list:
        return False
    for call in calls:  # noqa: SIM110 - `all` of a generator takes twice as long
        if type(call) is not dict or type(cast("Raw", call).get("function")) is not dict:
            return False
    return True


def regular_messages(unit: Unit) -> list[Raw] | None:
    """What a unit shows, as it may leave, if all of it is quite regular, and each answer has the id of its call."""
    facts = unit.shown_facts()
    head = facts[0]
    calls = head.calls if type(head) is Assistant else ()
    out: list[Raw] = []
    plain = True
    for fact in facts:
        if (message := _said(fact)) is None:
            return None
        plain = plain and message["content"].isascii()
        out.append(message)
    for call in calls:
        plain = plain and call.args.isascii()
    if len(calls) > 1 and len({call.id for call in calls}) < len(calls):
        return None
    for message, at in zip(out[1:], unit.answered_calls, strict=True):
        if message.get("tool_call_id") != calls[at].id:
            return None
    return out if plain else sendable(out)


def _said(fact: Fact) -> Raw | None:
    """The message of a fact: one plain text, and nothing that must be mended."""
    part = fact.parts[0] if len(fact.parts) == 1 else None
    if type(part) is not Text or part.extra or fact.extra or fact.dialect or fact.shape != "text":
        return None
    if type(fact) is ToolResult and not fact.legacy:
        return {"role": "tool", "content": part.text, "tool_call_id": fact.call}
    if type(fact) is Assistant and not fact.reasoning:
        calls = [_called(call) for call in fact.calls]
        if not calls:
            return {"role": "assistant", "content": part.text}
        return {"role": "assistant", "content": part.text, "tool_calls": calls} if None not in calls else None
    return {"role": "user", "content": part.text} if type(fact) is User else None


def _called(call: Call) -> Raw | None:
    if call.extra is not None or call.legacy or safe_name(call.name) != call.name:
        return None
    if not call.id or not call.id.isascii():
        return None
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.args}}
