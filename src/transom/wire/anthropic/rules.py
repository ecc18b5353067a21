"""Which rules of the Messages API a request breaks. Written from the rules, not from the code that renders.

Each rule names its source: D the provider's documentation, E an error text seen in public, R a recorded exchange, K
general knowledge without a source. These are no violations: an id that comes again in a later turn (A5: R contradicts
D), the same role twice running (A7: they are merged), an assistant message first (A8: R), a system message after the
first (A9: refused by older models), empty content of a result or of the model (A10: D), a turn of nothing but what the
provider's own tools did, also as the last (A16, A12: R), the size of images (A17). What cannot be seen in a request is
not looked for: reasoning that was changed (A13), or that was signed for another prefix (A15). A12 is model-dependent,
but a violation: models that still take a prefill are the old ones.

A rule is A1 to A6, A9 to A12, A14, A17 to A19; or where those have no number: empty, message, role, content, call,
name, thinking, system, text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast

from transom.wire.anthropic.turns import of_turns
from transom.wire.dialect import Violation

_ID = re.compile(r"[a-zA-Z0-9_-]+")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_MOST_IMAGES, _MOST_MARKS = 100, 4

Finding = tuple[str, str]
Json = dict[str, Any]


def violations(request: object) -> list[Violation]:
    """Everything in a request that the API would refuse, in the order of its messages; none for a valid one.

    Total: any JSON has an answer.
    """
    fields = _json(request)
    messages = _list(fields.get("messages"))
    if not messages:  # D: `messages: at least one message is required`
        return [Violation("empty", -1, "no messages")]
    found = [Violation(rule, -1, why) for rule, why in _of_request(fields, messages)]
    for index, message in enumerate(messages):
        found.extend(Violation(rule, index, why) for rule, why in _of_message(index, message))
    found.extend(of_turns([_json(message) for message in messages], _json(fields.get("thinking"))))
    return sorted(found, key=lambda violation: violation.index)


def _json(value: object) -> Json:
    return cast("Json", value) if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


# ---- the request as a whole


def _of_request(fields: Json, messages: list[Any]) -> Iterator[Finding]:
    system: object = fields.get("system")
    if isinstance(system, list):
        for at, block in enumerate(_list(fields.get("system"))):
            if _json(block).get("type") != "text":  # D: text blocks
                yield "system", f"system[{at}] is no text block"
            elif _is_blank(_json(block).get("text")):  # A10 (E: `text content blocks must be non-empty`)
                yield "A10", f"system[{at}] is blank"
    elif isinstance(system, str):
        if _is_blank(system):
            yield "A10", "system is blank"
    elif system is not None:
        yield "system", "system is neither a string nor a list of blocks"
    for at, tool in enumerate(_list(fields.get("tools"))):
        name = _json(tool).get("name")
        if name is not None and not _is_name(name):  # K; an MCP toolset has no name
            yield "name", f"tools[{at}].name {name!r}"
    blocks = [block for message in messages for block in _blocks_in(_json(message).get("content"))]
    images = sum(block.get("type") == "image" for block in blocks)
    if images > _MOST_IMAGES:  # A17 (E: frontman#1094)
        yield "A17", f"{images} images"
    everywhere = [*_blocks_in(fields.get("system")), *map(_json, _list(fields.get("tools"))), *blocks]
    marks = sum(block.get("cache_control") is not None for block in everywhere)
    if marks > _MOST_MARKS:  # A19 (P: promptcachelint CL007)
        yield "A19", f"{marks} blocks with cache_control"
    if _has_surrogate([fields.get("system"), messages]):  # a request is UTF-8, which has no lone surrogates
        yield "text", "a lone surrogate"


def _blocks_in(content: object) -> Iterator[Json]:
    """Blocks, and those in results."""
    for block in map(_json, _list(content)):
        yield block
        if block.get("type") == "tool_result":
            yield from map(_json, _list(block.get("content")))


# ---- one message by itself


def _of_message(index: int, message: object) -> Iterator[Finding]:
    if not isinstance(message, dict):
        yield "message", "not an object"
        return
    fields = _json(cast("object", message))
    role, content = fields.get("role"), fields.get("content")
    if role not in ("user", "assistant", "system"):  # D
        yield "role", f"no such role: {role!r}"
        return
    if role == "system" and index == 0:  # A9 (D: `Unexpected role "system"`)
        yield "A9", "a system message first"
    if isinstance(content, str):
        # A10 (E: home-assistant#175637, `text content blocks must be non-empty`; D: the model's may be empty)
        if _is_blank(content) and not (role == "assistant" and content == ""):
            yield "A10", "content is blank"
    elif isinstance(content, list):
        if not content and role != "assistant":  # A10 (E: `user messages must have non-empty content`)
            yield "A10", "content is empty"
        for at, block in enumerate(cast("list[object]", content)):
            yield from _of_block(role, f"content[{at}]", _json(block))
    else:  # D: required
        yield "content", "content is neither a string nor a list of blocks"


_ONLY = {"tool_use": "assistant", "thinking": "assistant", "redacted_thinking": "assistant", "tool_result": "user"}
"""D: who says blocks of these kinds."""


def _of_block(role: str, where: str, block: Json) -> Iterator[Finding]:
    kind = block.get("type")
    if not isinstance(kind, str):
        yield "content", f"{where} has no type"
    elif _ONLY.get(kind, role) != role:
        yield "content", f"{where} is {kind!r}"
    elif kind == "text":
        if not isinstance(block.get("text"), str):
            yield "content", f"{where} has no text"
        elif _is_blank(block["text"]):  # A10 (E: claude-code#59812, `must contain non-whitespace text`)
            yield "A10", f"{where} is blank"
    elif kind == "tool_use":
        yield from _of_call(where, block)
    elif kind == "tool_result":
        yield from _of_result(where, block)
    elif kind == "thinking":
        if not (isinstance(block.get("thinking"), str) and isinstance(block.get("signature"), str)):  # D: required
            yield "thinking", f"{where} has no signature or no text"
    elif kind == "redacted_thinking" and not isinstance(block.get("data"), str):  # D: required
        yield "thinking", f"{where} has no data"


def _of_call(where: str, block: Json) -> Iterator[Finding]:
    if not _is_id(block.get("id")):  # A6 (K: `String should match pattern '^[a-zA-Z0-9_-]+$'`)
        yield "A6", f"{where}.id {block.get('id')!r}"
    if not _is_name(block.get("name")):  # K
        yield "name", f"{where}.name {block.get('name')!r}"
    if not isinstance(block.get("input"), dict):  # D: an object
        yield "call", f"{where}.input is not an object"


def _of_result(where: str, block: Json) -> Iterator[Finding]:
    if not _is_id(block.get("tool_use_id")):
        yield "A6", f"{where}.tool_use_id {block.get('tool_use_id')!r}"
    if not isinstance(block.get("content"), (str, list, type(None))):  # D
        yield "content", f"{where}.content is neither a string nor a list of blocks"
    if block.get("is_error") is True and not _says_something(block.get("content")):  # A18 (E: Bedrock's wording)
        yield "A18", f"{where} is an error without content"
    for at, inner in enumerate(_list(block.get("content"))):
        if not isinstance(_json(inner).get("type"), str):
            yield "content", f"{where}.content[{at}] has no type"
        elif _json(inner)["type"] == "text" and not isinstance(_json(inner).get("text"), str):
            yield "content", f"{where}.content[{at}] has no text"


def _says_something(content: object) -> bool:
    if isinstance(content, str):
        return not _is_blank(content)
    return any(
        _json(block).get("type") != "text" or not _is_blank(_json(block).get("text")) for block in _list(content)
    )


def _is_blank(value: object) -> bool:
    return isinstance(value, str) and not value.strip()


def _is_id(value: object) -> bool:
    return isinstance(value, str) and _ID.fullmatch(value) is not None


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
