"""Which rules of the Chat Completions API a request breaks. Written from the rules, not from the code that renders.

Each rule names its source: D the provider's documentation, E an error text seen in public, R a recorded exchange.
These are no violations: an id above 40 characters (C6: refused at times, accepted at others), any order of parallel
answers (C5), any first or last role and the same role twice running (C9), a role that one model refuses (C10), an id
that comes again in a later turn (C13), a kind of part that one model refuses in a user message.

A rule is C1, C2, C3, C4, C7, C8, C11 or C12; or where those have no number: empty, message, role, content, call,
legacy, text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, cast

from transom.wire.dialect import Violation

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})


Finding = tuple[str, str]
Json = dict[str, Any]


def violations(messages: Sequence[object], tools: Sequence[object] | None = None) -> list[Violation]:
    """Everything in a request that the API would refuse, in the order of its messages; none for a valid one."""
    if not messages:  # D: `messages` has at least one item
        return [Violation("empty", -1, "no messages")]
    found = [Violation(rule, -1, why) for rule, why in _of_tools(tools or ())]
    for index, message in enumerate(messages):
        found.extend(Violation(rule, index, why) for rule, why in _of_message(message))
    found.extend(_of_pairs([_json(message) for message in messages]))
    return sorted(found, key=lambda violation: violation.index)


def _json(value: object) -> Json:
    return cast("Json", value) if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


# ---- one message by itself


def _of_message(message: object) -> Iterator[Finding]:
    if not isinstance(message, dict):
        yield "message", "not an object"
        return
    fields = _json(cast("object", message))
    role = fields.get("role")
    if not isinstance(role, str) or role not in _ROLES:  # D; R: `Unsupported value: 'messages[0].role'`
        yield "role", f"no such role: {role!r}"
        return
    if _has_surrogate(fields):  # a request is UTF-8, which has no lone surrogates
        yield "text", "a lone surrogate"
    name = fields.get("name")
    # C7 (E: extended_openai_conversation#251, `Invalid 'messages[1].name'`); R: null is accepted
    if (name is not None or role == "function") and not _is_name(name):
        yield "C7", f"name {name!r}"
    yield from _of_content(role, fields)
    if role == "assistant":
        yield from _of_calls(fields)


def _of_content(role: str, fields: Json) -> Iterator[Finding]:
    content = fields.get("content")
    if content is None or content == []:
        # C8 (D: "required unless tool_calls or function_call is specified"; an audio id stands for content too).
        # R: Mistral accepts [] beside tool_calls. D: a function's content may be null.
        spoken = bool(_json(fields.get("audio")).get("id"))
        if role == "assistant" and not (fields.get("tool_calls") or fields.get("function_call") or spoken):
            yield "C8", "neither content nor calls"
        elif role in {"system", "developer", "user", "tool"} or (role == "function" and content == []):
            yield "content", "no content"
    elif isinstance(content, list) and role != "function":  # D: a function's content is a string or null
        for at, part in enumerate(cast("list[object]", content)):
            yield from _of_part(role, at, part)
    elif not isinstance(content, str):
        yield "content", "content is neither a string nor a list of parts"


def _of_part(role: str, at: int, part: object) -> Iterator[Finding]:
    kind = _json(part).get("type")
    if not isinstance(kind, str):
        yield "content", f"content[{at}] has no type"
    elif kind == "text" and not isinstance(_json(part).get("text"), str):
        yield "content", f"content[{at}] has no text"
    # C11 (D for tool messages; the text `Content blocks are expected to be either text or image_url type` is R)
    elif role == "tool" and kind not in {"text", "image_url"}:
        yield "C11", f"content[{at}] is {kind!r}"


def _of_calls(fields: Json) -> Iterator[Finding]:
    calls: object = fields.get("tool_calls")
    if calls is not None and not isinstance(calls, list):
        yield "call", "tool_calls is not a list"
    for at, call in enumerate(_list(fields.get("tool_calls"))):
        yield from _of_call(at, _json(call))
    legacy = fields.get("function_call")
    if legacy is not None:
        yield from _of_function("function_call", legacy)


def _of_call(at: int, call: Json) -> Iterator[Finding]:
    label, kind = call.get("id"), call.get("type")
    if not isinstance(label, str) or not label:  # D: required
        yield "call", f"tool_calls[{at}] has no id"
    if kind == "custom":
        body = _json(call.get("custom"))
        if not _is_name(body.get("name")):
            yield "C7", f"tool_calls[{at}].custom.name {body.get('name')!r}"
        if not isinstance(body.get("input"), str):
            yield "call", f"tool_calls[{at}].custom.input is not a string"
    elif kind == "function":
        yield from _of_function(f"tool_calls[{at}].function", call.get("function"))
    else:  # D: "function" or "custom"
        yield "call", f"tool_calls[{at}].type is {kind!r}"


def _of_function(where: str, function: object) -> Iterator[Finding]:
    body = _json(function)
    if not _is_name(body.get("name")):  # C7 (E: mcp-use#90, `messages[i].tool_calls[j].function.name`)
        yield "C7", f"{where}.name {body.get('name')!r}"
    if not isinstance(body.get("arguments"), str):  # C12 (D: a string; it need not be JSON)
        yield "C12", f"{where}.arguments is not a string"


def _of_tools(tools: Sequence[object]) -> Iterator[Finding]:
    for at, tool in enumerate(tools):
        function = _json(tool).get("function")  # R: a provider's own tools have none; Mistral's have no type
        if function is not None and not _is_name(_json(function).get("name")):
            yield "C7", f"tools[{at}].function.name {_json(function).get('name')!r}"  # E: as for messages


def _is_name(value: object) -> bool:
    return isinstance(value, str) and _NAME.fullmatch(value) is not None


def _has_surrogate(value: object) -> bool:
    stack: list[object] = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            if not item.isascii() and any("\ud800" <= char <= "\udfff" for char in item):
                return True
        elif isinstance(item, dict):
            members = cast("Json", item)
            stack.extend(members)
            stack.extend(members.values())
        elif isinstance(item, list):
            stack.extend(cast("list[object]", item))
    return False


# ---- messages together


def _of_pairs(messages: list[Json]) -> Iterator[Violation]:
    """Calls and answers. `at` is the assistant message whose calls may be answered now, `waiting` those that are not.

    Any other role closes it.
    """
    at, called, waiting = -1, frozenset[str](), set[str]()
    legacy = False
    for index, fields in enumerate(messages):
        role = fields.get("role")
        if role == "tool":
            yield from _of_answer(index, fields.get("tool_call_id"), called, waiting)
        else:
            # C1 (D; E: warp#14129, "An assistant message with 'tool_calls' must be followed by tool messages")
            yield from _unanswered(at, waiting)
            labels = _labels(fields) if role == "assistant" else []
            at, called, waiting = index, frozenset(labels), set(labels)
            if len(called) < len(labels):  # C4 (D: "Duplicate value for 'tool_call_id'"): one of them has no answer
                yield Violation("C4", index, "two calls share an id")
        if role == "function" and not legacy:  # D: the answer to the `function_call` before it
            yield Violation("legacy", index, "a function message without a function_call before it")
        legacy = role == "assistant" and isinstance(fields.get("function_call"), dict)
    yield from _unanswered(at, waiting)


def _labels(fields: Json) -> list[str]:
    labels = [_json(call).get("id") for call in _list(fields.get("tool_calls"))]
    return [label for label in labels if isinstance(label, str)]


def _of_answer(index: int, label: object, called: frozenset[str], waiting: set[str]) -> Iterator[Violation]:
    if not called:  # C2 (D: "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'")
        yield Violation("C2", index, "a tool message without calls before it")
    elif not isinstance(label, str) or label not in called:
        # C3 (D: "'tool_call_id' of '…' not found in 'tool_calls' of previous message")
        yield Violation("C3", index, f"no call {label!r} in the assistant message before it")
    elif label not in waiting:  # C4 (D: "Duplicate value for 'tool_call_id' of '…'")
        yield Violation("C4", index, f"a second answer to {label!r}")
    else:
        waiting.discard(label)


def _unanswered(at: int, waiting: set[str]) -> Iterator[Violation]:
    if waiting:
        yield Violation("C1", at, f"no answer to {', '.join(sorted(waiting))}")
