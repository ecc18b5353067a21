"""Which rules of the Responses API a request breaks. Written from the rules, not from the code that renders.

Each rule names its source: D the provider's documentation, E an error text seen in public, R a recorded exchange.
These are no violations: anything between a call and its output (R3, R), an id that comes again once its call was
answered (R), a text of arguments that is no JSON, a kind of part that we do not know in a user message. What needs the
response that an item came in cannot be seen here: a missing reasoning (R6), another organisation's secrets (R8).

A rule is R1, R2, R4 (DeepSeek's, only if asked for), R5, R7 or R9; or where those have no number: empty, item, role,
content, call, name, id, text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast

from transom.wire.dialect import Violation

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_GIVEN = {"function_call": "arguments", "custom_tool_call": "input"}
_ANSWERS = {"function_call_output": "function_call", "custom_tool_call_output": "custom_tool_call"}

Finding = tuple[str, str]
Json = dict[str, Any]


def violations(request: object, *, strict: bool = False) -> list[Violation]:
    """Everything in a request that the API would refuse, in the order of its items; none for a valid one.

    `strict`: DeepSeek's API, which also has R4. Any JSON value may be given.
    """
    fields = _json(request)
    given: object = fields.get("input")
    elsewhere = any(fields.get(key) for key in ("previous_response_id", "conversation", "prompt"))
    found = [Violation("name", -1, why) for why in _of_tools(fields.get("tools"))]
    if not isinstance(fields.get("instructions"), (str, list, type(None))):  # D
        found.append(Violation("content", -1, "instructions are no text"))
    if _has_surrogate(fields.get("instructions")):
        found.append(Violation("text", -1, "a lone surrogate in the instructions"))
    if not given and not elsewhere:  # D: something must be asked
        found.append(Violation("empty", -1, "no input"))
    if isinstance(given, str):
        return [*found, Violation("text", 0, "a lone surrogate")] if _has_surrogate(given) else found
    if given is not None and not isinstance(given, list):
        return [*found, Violation("item", -1, "input is neither a string nor a list")]
    items = cast("list[object]", given or [])
    for index, item in enumerate(items):
        found.extend(Violation(rule, index, why) for rule, why in _of_item(item))
    listed = [_json(item) for item in items]
    found.extend(_of_pairs(listed, elsewhere=elsewhere or any(_kind(item) == "item_reference" for item in listed)))
    found.extend(_of_reasoning(listed))
    found.extend(_of_ids(listed))
    if strict:
        found.extend(_of_blocks(listed))
    return sorted(found, key=lambda violation: violation.index)


def _json(value: object) -> Json:
    return cast("Json", value) if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _kind(item: Json) -> str:
    kind = item.get("type")
    return kind if isinstance(kind, str) else "message" if kind is None and "role" in item else ""


# ---- one item by itself


def _of_item(item: object) -> Iterator[Finding]:
    fields = _json(item)
    kind = _kind(fields)
    if not kind:
        yield "item", "neither a message nor an item with a type"
        return
    if _has_surrogate(fields):  # a request is UTF-8, which has no lone surrogates
        yield "text", "a lone surrogate"
    if kind == "message":
        role = fields.get("role")
        if role in ("user", "assistant", "system", "developer"):  # D
            yield from _of_content("content", fields, role)
        else:
            yield "role", f"no such role: {role!r}"
    elif kind in _GIVEN:
        yield from _of_call(kind, fields)
    elif kind in _ANSWERS:
        yield from _of_label(fields)
        yield from _of_content("output", fields, "result")
    elif kind == "reasoning" and not isinstance(fields.get("summary"), list):  # D: required
        yield "item", "a reasoning without a summary"
    elif kind == "compaction" and not isinstance(fields.get("encrypted_content"), str):  # R9 (R: accepted with it)
        yield "R9", "a compaction without its content"


def _of_call(kind: str, fields: Json) -> Iterator[Finding]:
    yield from _of_label(fields)
    name = fields.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):  # E, as C7 of the chat API
        yield "name", f"name {name!r}"
    if not isinstance(fields.get(_GIVEN[kind]), str):  # D: a string; it need not be JSON
        yield "call", f"{_GIVEN[kind]} is not a string"


def _of_label(fields: Json) -> Iterator[Finding]:
    label = fields.get("call_id")
    if not isinstance(label, str) or not label:  # D: required
        yield "call", "no call_id"
    elif len(label) > 64:  # R7 (E: ungate#26, "Invalid 'input[149].call_id': string too long"; R: 64 is accepted)
        yield "R7", f"a call_id of {len(label)} characters"


def _of_content(key: str, fields: Json, role: str) -> Iterator[Finding]:
    content = fields.get(key)
    if isinstance(content, list):
        for at, part in enumerate(cast("list[object]", content)):
            if why := _of_part(_json(part), role):
                yield "content", f"{key}[{at}] {why}"
    elif not isinstance(content, str):  # D: required
        yield "content", f"{key} is neither a string nor a list of parts"


def _of_part(part: Json, role: str) -> str:
    kind = part.get("type")
    if not isinstance(kind, str):
        return "has no type"
    if role == "assistant" and kind not in {"output_text", "refusal"}:
        # E: rust-genai#119, "Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'."
        return f"is {kind!r} in a message of the model"
    if role == "result" and kind not in {"input_text", "input_image", "input_file"}:  # D
        return f"is {kind!r} in an output"
    if kind in {"text", "image_url", "file"}:  # E: the chat API's kinds, "Invalid value: 'text'. Supported values are…"
        return f"is {kind!r}, which is another API's"
    field = {"input_text": "text", "output_text": "text", "refusal": "refusal"}.get(kind)
    return f"has no {field}" if field is not None and not isinstance(part.get(field), str) else ""


def _of_tools(tools: object) -> Iterator[str]:
    for at, tool in enumerate(_list(tools)):
        fields = _json(tool)
        name = fields.get("name")
        if fields.get("type") in ("function", "custom") and not (isinstance(name, str) and _NAME.fullmatch(name)):
            yield f"tools[{at}].name {name!r}"  # E: as for calls


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


# ---- items together


def _of_pairs(items: list[Json], *, elsewhere: bool) -> Iterator[Violation]:
    """Calls and outputs, paired by call_id wherever they stand. `elsewhere`: not all of the context is in the input."""
    waiting: dict[str, int] = {}
    built_in: set[str] = set()
    for index, item in enumerate(items):
        kind, label = _kind(item), item.get("call_id")
        if not isinstance(label, str):
            continue
        if kind in _GIVEN:
            if label in waiting:  # R1: one output cannot answer both
                yield Violation("R1", index, f"a second call {label!r} before the first is answered")
            waiting[label] = index
        elif kind not in _ANSWERS:
            built_in.add(label)  # R: `tool_search_call` was answered so
        elif label in waiting:
            answered = _kind(items[waiting.pop(label)])
            if answered != _ANSWERS[kind]:  # D: each kind of call has its own
                yield Violation("R2", index, f"a {kind} for a {answered}")
        elif not elsewhere and label not in built_in:
            # R2 (E: continue#10092, "No tool call found for function call output with call_id call_…")
            yield Violation("R2", index, f"no call {label!r} waits for this output")
    for label, index in waiting.items():
        # R1 (E: trae-agent#245, "No tool output found for function call call_…"; R: none of 304 accepted)
        yield Violation("R1", index, f"no output for {label!r}")


def _of_reasoning(items: list[Json]) -> Iterator[Violation]:
    """R5 (R: "Item 'rs_…' of type 'reasoning' was provided without its required following item.")"""
    for index, item in enumerate(items):
        if _kind(item) == "reasoning":
            after = items[index + 1] if index + 1 < len(items) else {}
            others = {"", "additional_tools", *_ANSWERS}
            if _kind(after) in others or (_kind(after) == "message" and after.get("role") != "assistant"):
                yield Violation("R5", index, "a reasoning without what it produced")


def _of_ids(items: list[Json]) -> Iterator[Violation]:
    """E: vercel/ai#7883, "Duplicate item found with id rs_…. Remove duplicate items from your input and try again." """
    seen: set[str] = set()
    for index, item in enumerate(items):
        label = item.get("id")
        if isinstance(label, str) and label in seen:
            yield Violation("id", index, f"a second item {label!r}")
        elif isinstance(label, str):
            seen.add(label)


def _of_blocks(items: list[Json]) -> Iterator[Violation]:
    """R4 (R: DeepSeek refused calls with text between them, "No tool output found for tool call call-a.")"""
    waiting: dict[str, int] = {}
    for index, item in enumerate(items):
        kind, label = _kind(item), item.get("call_id")
        if kind in _GIVEN and isinstance(label, str):
            waiting[label] = index
        elif kind in _ANSWERS and isinstance(label, str):
            waiting.pop(label, None)
        else:
            for at in waiting.values():
                yield Violation("R4", at, f"item {index} stands between this call and its output")
            waiting.clear()
