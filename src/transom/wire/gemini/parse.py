"""Reads Gemini's contents and replies as facts: a turn of the model, a message of the user, and one result for each
function response.

Input is copied, so that later changes by the caller do not reach the log. A part with several kinds of data, which the
API refuses, is read as several parts. A part without data is read as an empty text: a signature comes so when there is
nothing else to carry it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, cast

from msgspec.structs import replace

from transom.core import message as m
from transom.core.message import Assistant, Call, Part, Raw, Text, ToolResult, continued, turn_of
from transom.errors import InvalidMessage
from transom.wire.arguments import storable
from transom.wire.dialect import Placed
from transom.wire.fields import (
    as_dict,
    as_list,
    as_text,
    compact_json,
    json_copy,
    kind_of,
    require_dialect,
    require_object,
    require_own_parts,
    take_text,
    text,
)
from transom.wire.gemini import keys
from transom.wire.replies import UsageFields, dumped, require_reply, stop_reason_of, with_usage


def parse(contents: list[object], where: str) -> list[Placed]:
    """The facts in a list of contents, each with the index of its content. `contents`: dicts; an object of the SDK must
    have gone through `plain`. `where`: empty, or what errors say in front of "content 3", with its comma ("fork, ").

    Contents of the model that follow its own open calls belong to the same turn. A response gets the id of the open
    call that it answers. Raises InvalidMessage for a content that is not in Gemini's format.
    """
    out: list[Placed] = []
    calls, before = list[Call](), ""  # those that no response has come to yet; who spoke last
    for at, item in enumerate(contents):
        here = f"{where}content {at}"
        for fields, role in _by_speaker(*_opened(item, here), calls):
            last = out[-1][1] if out else None
            if role == "user":
                facts = _user_facts(fields, calls, here)
                if isinstance(facts[0], ToolResult) and isinstance(last, ToolResult):
                    facts[0] = replace(facts[0], separate=True)
                out.extend((at, fact) for fact in facts)
            else:
                said, goes_on = _turn(fields, here), before == "model"
                if goes_on and isinstance(last, Assistant) and last.calls:
                    out[-1], calls = (out[-1][0], continued(last, said)), [*calls, *said.calls]
                else:
                    out.append((at, replace(said, separate=goes_on)))
                    calls = list(said.calls)
            before = role
    return out


def turn(value: object, where: str) -> Assistant:
    """The turn in one content of the model, a dict; its role may be missing. `where`: how errors name the content.
    Raises InvalidMessage if it is the user's, or not in Gemini's format."""
    fields, _ = _opened(value, where)
    if fields.get("role") == "user":
        raise InvalidMessage(where, "role must be model, not 'user'")
    return _turn(fields, where)


def instruction(value: object, where: str) -> m.Instruction:
    """A system instruction: a text, or a content with any role. Raises InvalidMessage for anything else."""
    if isinstance(value, str):
        return m.Instruction(parts=(Text(value),), dialect=keys.DIALECT_NAME)
    if not isinstance(value, dict):
        raise InvalidMessage(where, f"must be a text or an object with parts, not {kind_of(value)}")
    fields = json_copy(cast("dict[object, object]", value), where)
    return m.Instruction(parts=_parts(fields, where), shape="parts", extra=fields or None, dialect=keys.DIALECT_NAME)


def content(value: object, where: str) -> tuple[Part, ...]:
    """Read the content of a user message or a tool result as parts. `value`: a text, a list of parts, or None for no
    parts. Raises InvalidMessage for any other value, and for calls and responses among the parts."""
    if isinstance(value, str):
        return (Text(value),)
    listed = list(_single(json_copy({"parts": value}, where)["parts"], where, "content"))
    for raw, path in listed:
        if keys.key_of_part(raw, (*keys.CALL, *keys.RESPONSE)):
            raise InvalidMessage(where, f"{path} is a part of its own kind: hand over what it holds")
    return tuple(_part(raw, where, path) for raw, path in listed)


def response_parts(value: object, where: str) -> tuple[Part, ...]:
    """The parts of a function's response.

    An object with one text under its only key, such as `{"result": "ok"}`, gives this text; any other object its JSON
    as a text; a text or a list of parts gives its parts, None gives none. Raises InvalidMessage for any other value,
    and for calls and responses among the parts.
    """
    if not isinstance(value, dict):
        return content(value, where)
    return _answer(json_copy(cast("dict[object, object]", value), where), where, "response")


# ---- contents


def _opened(value: object, where: str) -> tuple[Raw, str]:
    """A copy of a content's fields, and its role: "model" or "user". A content without a role is the user's.
    (`function` was once the role of responses.)"""
    fields = require_dialect(json_copy(require_object(value, where, "a content"), where), where, keys.DIALECT_NAME)
    require_own_parts(fields.get("parts"), where, keys.DIALECT_NAME)
    role = fields.get("role")
    if role not in (None, "model", "user", "function"):
        shown = f"{role[:40]!r}" if isinstance(role, str) else kind_of(role)
        raise InvalidMessage(where, f"role must be user or model, not {shown}")
    if role == "function":
        fields["role"] = "user"
    return fields, "model" if role == "model" else "user"


def _by_speaker(fields: Raw, role: str, calls: Sequence[Call]) -> Iterator[tuple[Raw, str]]:
    """The content, with its role. Responses in a content of the model are contents of the user, in their place.

    Some agents of Google record the whole of a tool's run as one content of the model. A response is left where it is
    if it has no call to answer, neither an earlier one (`calls`) nor in its own content: it would be in no window.
    """
    parts = fields.get("parts")
    listed = cast("list[object]", parts) if isinstance(parts, list) else []
    answered = [isinstance(part, dict) and bool(keys.key_of_part(cast("Raw", part), keys.RESPONSE)) for part in listed]
    asked = calls or any(isinstance(part, dict) and keys.key_of_part(cast("Raw", part), keys.CALL) for part in listed)
    if role != "model" or not any(answered) or not asked:
        yield fields, role
        return
    for is_answer, run in groupby(zip(listed, answered, strict=True), key=itemgetter(1)):
        said = [part for part, _ in run]
        yield ({"role": "user", "parts": said}, "user") if is_answer else ({**fields, "parts": said}, "model")


def _turn(fields: Raw, where: str) -> Assistant:
    """The turn in the fields of one content."""
    items = [_item(raw, where, path) for raw, path in _single(fields.get("parts"), where, "parts")]
    return turn_of(items, shape="parts", dialect=keys.DIALECT_NAME)


def _user_facts(fields: Raw, calls: list[Call], where: str) -> list[m.Fact]:
    """The facts in a content of the user: results, each of which takes its call out of `calls`, then the message."""
    listed = list(_single(fields.pop("parts", None), where, "parts"))
    facts: list[m.Fact] = [
        _result(raw, calls, where, path) for raw, path in listed if keys.key_of_part(raw, keys.RESPONSE)
    ]
    parts = tuple(_part(raw, where, path) for raw, path in listed if not keys.key_of_part(raw, keys.RESPONSE))
    if parts or not facts:
        extra = None if facts or fields == {"role": "user"} else fields
        facts.append(m.User(parts=parts, shape="parts", extra=extra, dialect=keys.DIALECT_NAME))
    return facts


# ---- parts


def _parts(fields: Raw, where: str, path: str = "parts") -> tuple[Part, ...]:
    """The parts taken out of an object's fields."""
    return tuple(_part(raw, where, at) for raw, at in _single(fields.pop("parts", None), where, path))


def _single(items: object, where: str, path: str) -> Iterator[tuple[Raw, str]]:
    """The parts in a list, with their paths: those with several kinds of data split, those without any left out."""
    if items is None:
        return
    if not isinstance(items, list):
        raise InvalidMessage(where, f"{path} must be a list of parts, not {kind_of(items)}")
    for at, item in enumerate(cast("list[object]", items)):
        raw, here = require_object(item, where, f"{path}[{at}]"), f"{path}[{at}]"
        if any(value is not None for value in raw.values()):
            others = keys.kinds_of(raw)[1:]
            yield ({key: value for key, value in raw.items() if key not in others} if others else raw), here
            yield from (({key: raw[key]}, here) for key in others)


def _part(raw: Raw, where: str, path: str) -> Part:
    """A content part."""
    kind = next(iter(keys.kinds_of(raw)), "text")
    if kind == "text":
        if not isinstance(raw.get("text"), (str, type(None))):
            raise InvalidMessage(where, f"{path}.text must be a string, not {kind_of(raw['text'])}")
        return Text(raw.get("text") or "", {key: value for key, value in raw.items() if key != "text"} or None)
    body = require_object(raw[kind], where, f"{path}.{kind}")
    if kind in keys.FILES:
        mime = keys.either(body, "mimeType")
        return m.Media("image" if isinstance(mime, str) and mime.startswith("image/") else "file", raw)
    # a call by the user, a response by the model: words about one
    return Text(compact_json(raw)) if kind in (*keys.CALL, *keys.RESPONSE) else m.Other(raw)


def _item(raw: Raw, where: str, path: str) -> m.Addressed:
    """A part of a turn: a call, a thought, or a content part."""
    if raw.get("thought") is True and isinstance(raw.get("text"), str):
        rest = {key: value for key, value in raw.items() if key not in {"thought", "text"}}
        return m.Reasoning(raw["text"], "thought", extra=rest or None)
    key = keys.key_of_part(raw, keys.CALL)
    if key is None:
        return _part(raw, where, path)
    body, label, name = _named(raw, key, where, path)
    args: object = body.get("args")
    if args is not None:
        del body["args"]
    if not (isinstance(args, str) and where == _REPLY):  # a text: see `_storable_part`
        args = "" if args is None else compact_json(require_object(args, where, f"{path}.{key}.args"))
    return Call(label, name, args, None if raw == {keys.CALL[0]: {}} else raw)


def _named(raw: Raw, key: str, where: str, path: str) -> tuple[Raw, str, str]:
    """The object of a call or a response, with its id and name taken out."""
    body, path = require_object(raw[key], where, f"{path}.{key}"), f"{path}.{key}."
    return body, take_text(body, "id", where, path), take_text(body, "name", where, path)


def _result(raw: Raw, calls: list[Call], where: str, path: str) -> ToolResult:
    """A function's response, as the result of the open call in `calls` that it belongs to."""
    key = keys.key_of_part(raw, keys.RESPONSE) or keys.RESPONSE[0]
    body, label, name = _named(raw, key, where, path)
    path = f"{path}.{key}"
    parts = _answer(body.pop("response", None), where, f"{path}.response")
    parts += _parts(body, where, f"{path}.parts") if body.get("parts") else ()
    extra: Raw = {} if raw == {keys.RESPONSE[0]: {}} else raw
    extra |= {"name": name} if name else {}
    # by its id; where one of the two has none, by its name
    met = (call for call in calls if (call.id == label if call.id and label else call.name == name))
    if (call := next(met, None)) is not None:
        calls.remove(call)
        label = call.id
    return tool_result(parts, label, extra=extra or None, shape="parts")


def tool_result(parts: tuple[Part, ...], label: str, **rest: Any) -> ToolResult:
    """A tool result with these parts, for the call with the id `label`. `parts`: those of `response_parts`, which notes
    in a text's `extra` the key that held it. The result is a failed one if the first part is a text from the key
    `error`. `rest`: other fields of the result."""
    failed = bool(parts) and isinstance(parts[0], Text) and parts[0].extra == {keys.UNDER: "error"}
    return ToolResult(parts=parts, call=label, failed=failed, dialect=keys.DIALECT_NAME, **rest)


def _answer(value: object, where: str, path: str) -> tuple[Part, ...]:
    """What a function responded, as text parts: the text under its only key, or the whole object as JSON."""
    if value is None:
        return ()
    held = require_object(value, where, path)
    key, text = next(iter(held.items())) if len(held) == 1 else (None, None)
    if isinstance(text, str):
        return (Text(text, None if key == "output" else {keys.UNDER: key}),)
    return (Text(compact_json(held), {keys.UNDER: None}),)


# ---- replies

_NEEDED = "a response or a content"
_THOUGHTS = "thoughtsTokenCount|thoughts_token_count"
USAGE = UsageFields(
    prompt="promptTokenCount|prompt_token_count",
    cached="cachedContentTokenCount|cached_content_token_count",
    output=f"candidatesTokenCount|candidates_token_count {_THOUGHTS}",
    reasoning=_THOUGHTS,
    of_reply=("usageMetadata", "usage_metadata"),
)


_REPLY = "reply"
"""How errors name a reply. Only in a reply a call may have a text in place of its arguments."""


def parse_response(reply: object) -> Assistant:
    """The turn in a reply, with its usage if that came. `reply`: a response, of which the first candidate counts, or a
    content of the model, as an object or a dict.

    A reply that reached a limit or was refused loses the calls of the provider's own tools that have no result: such a
    call never ran. Raises InvalidMessage for an error, a blocked request, a reply without content, and a content that
    is not the model's.
    """
    response = require_reply(plain(reply), _NEEDED)
    found = as_list(response.get("candidates"))
    if not found and "parts" in response:
        return turn(_with_storable_args(response), _REPLY)
    if not found:
        why = keys.either(as_dict(keys.either(response, "promptFeedback")), "blockReason")
        needed = "a response with candidates or a content with parts is needed"
        raise InvalidMessage("reply", f"the request was blocked: {why!s:.100}" if why else needed)
    candidate = require_reply(found[0], _NEEDED)
    if (content := candidate.get("content")) is None:
        reason = keys.either(candidate, "finishReason") or "it gives no reason"
        raise InvalidMessage("reply", f"the model said nothing: {reason!s:.100}")
    usage = keys.either(response, "usageMetadata")
    said = _with_storable_args(require_reply(content, _NEEDED))
    if stop_reason_of(response) in ("length", "filter"):
        said = {**said, "parts": without_unanswered_calls(as_list(said.get("parts")))}
    return with_usage(turn(said, _REPLY), usage, USAGE)


def plain(value: object) -> object:
    """An object of a client library as a dict without nulls, with the API's keys in camel case and bytes as base64; any
    other value as it is."""
    return dumped(value, {"args", "response"}, mode="json", by_alias=True, exclude_none=True)


def _with_storable_args(content: Raw) -> Raw:
    """The content with the arguments of each call as a log can store them, so that the reply stays readable."""
    parts = content.get("parts")
    if not isinstance(parts, list):
        return content
    return {**content, "parts": [_storable_part(each) for each in cast("list[object]", parts)]}


def _storable_part(part: object) -> object:
    fields = as_dict(part)
    key = keys.key_of_part(fields, keys.CALL)
    if key is None or "args" not in as_dict(fields[key]):
        return part
    args = storable(fields[key]["args"])
    if args is not None and not isinstance(cast("Any", args), dict):
        args = as_text(args)  # no object, or none that a log can hold: the call fails with it
    return {**fields, key: {**as_dict(fields[key]), "args": args}}


def without_unanswered_calls(parts: list[Any]) -> list[Any]:
    """The parts of a content that ended too early, without calls of the provider's own tools that have no result."""
    results = [each for each in map(as_dict, parts) if keys.key_of_part(each, keys.TOOL_RESULT)]
    answered = {_id_under(each, keys.TOOL_RESULT) for each in results}
    out = list[Any]()
    for at, part in enumerate(parts):
        fields = as_dict(part)
        if keys.key_of_part(fields, keys.CODE):
            is_unanswered = not _begins_with_result(parts[at + 1 :])
        else:
            is_unanswered = (
                bool(keys.key_of_part(fields, keys.TOOL_CALL)) and _id_under(fields, keys.TOOL_CALL) not in answered
            )
        if not is_unanswered:
            out.append(part)
    return out


def _begins_with_result(parts: list[Any]) -> bool:
    """Whether a result of code comes before the next code. Neither has an id, and a text may stand between the two."""
    for fields in map(as_dict, parts):
        if keys.key_of_part(fields, keys.CODE_RESULT):
            return True
        if keys.key_of_part(fields, keys.CODE):
            return False
    return False


def _id_under(part: Raw, names: tuple[str, ...]) -> str:
    """The id in the data that a part has under one of these names; empty if there is none."""
    return text(as_dict(part.get(keys.key_of_part(part, names) or "")), "id")
