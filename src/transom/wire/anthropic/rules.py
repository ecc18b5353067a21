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
from types import NoneType

from transom.wire import judging
from transom.wire.anthropic.turns import of_turns
from transom.wire.dialect import Violation
from transom.wire.judging import Finding, Json, Must, as_dict, as_list, dicts, judged, shape, shown, text, unsayable

_ID = Must("A6", re.compile(r"[a-zA-Z0-9_-]+"))  # A6 (K: `String should match pattern '^[a-zA-Z0-9_-]+$'`)
_NAME = Must("name", re.compile(r"[a-zA-Z0-9_-]{1,128}"))  # K
_BLOCKS = {
    "text": judging.TEXT,
    "tool_use": {"id": _ID, "name": _NAME, "input": Must("call", dict)},
    "tool_result": {"tool_use_id": _ID, "content": Must("content", (str, list, NoneType))},
    "thinking": {"thinking": Must("thinking", str), "signature": Must("thinking", str)},
    "redacted_thinking": {"data": Must("thinking", str, "has no data")},
}
"""D: what blocks of these kinds must hold."""
_BY = {"tool_use": "assistant", "thinking": "assistant", "redacted_thinking": "assistant", "tool_result": "user"}
"""D: who says blocks of these kinds."""
_SYSTEM = {"system": Must("system", (str, list, NoneType))}
_CONTENT = {"content": Must("content", (str, list), "content is neither a string nor a list of blocks")}
_MOST_IMAGES, _MOST_MARKS = 100, 4


def violations(request: object) -> list[Violation]:
    """Everything in a request that the API would refuse, in the order of its messages; none for a valid one.

    Total: any JSON has an answer.
    """
    fields = as_dict(request)
    messages = as_list(fields.get("messages"))
    if not messages:  # D: `messages: at least one message is required`
        return [Violation("empty", -1, "no messages")]
    each = [_of_message(index, message) for index, message in enumerate(messages)]
    return judged(_of_request(fields), each, of_turns(dicts(messages), as_dict(fields.get("thinking"))))


def _of_request(fields: Json) -> Iterator[Finding]:
    system, tools, messages = fields.get("system"), dicts(fields.get("tools")), dicts(fields["messages"])
    yield from shape("", fields, _SYSTEM)
    if _is_blank(system):
        yield "A10", "system is blank"
    for at, block in enumerate(dicts(system)):
        if block.get("type") == "text":
            yield from _of_block("user", f"system[{at}]", block)
        else:  # D: text blocks
            yield "system", f"system[{at}] is no text block"
    for at, tool in enumerate(tools):
        if tool.get("name") is not None:  # an MCP toolset has no name
            yield from shape(f"tools[{at}]", tool, {"name": _NAME})
    blocks = [block for message in messages for block in _blocks_in(message)]
    if (images := sum(block.get("type") == "image" for block in blocks)) > _MOST_IMAGES:  # A17 (E: frontman#1094)
        yield "A17", f"{images} images"
    marks = sum(block.get("cache_control") is not None for block in [*dicts(system), *tools, *blocks])
    if marks > _MOST_MARKS:  # A19 (P: promptcachelint CL007)
        yield "A19", f"{marks} blocks with cache_control"
    yield from unsayable([system, fields["messages"]])


def _blocks_in(message: Json) -> Iterator[Json]:
    """Blocks, and those in results."""
    for block in dicts(message.get("content")):
        yield block
        if block.get("type") == "tool_result":
            yield from dicts(block.get("content"))


def _of_message(index: int, message: object) -> Iterator[Finding]:
    fields = as_dict(message)
    role, content = fields.get("role"), fields.get("content")
    if not isinstance(message, dict):
        yield "message", "not an object"
    elif role not in ("user", "assistant", "system"):  # D
        yield "role", f"no such role: {shown(role)}"
    else:
        if role == "system" and index == 0:  # A9 (D: `Unexpected role "system"`)
            yield "A9", "a system message first"
        yield from shape("", fields, _CONTENT)
        if content == [] and role != "assistant":  # A10 (E: `user messages must have non-empty content`)
            yield "A10", "content is empty"
        # A10 (E: home-assistant#175637, `text content blocks must be non-empty`; D: the model's may be empty)
        if _is_blank(content) and (content or role != "assistant"):
            yield "A10", "content is blank"
        for at, block in enumerate(dicts(content)):
            yield from _of_block(role, f"content[{at}]", block)


def _of_block(role: str, where: str, block: Json) -> Iterator[Finding]:
    kind = text(block, "type")
    if _BY.get(kind, role) != role:
        yield "content", f"{where} is {kind!r}"
    else:
        yield from shape(where, block, _BLOCKS.get(kind, judging.TYPED))
    if kind == "text" and _is_blank(block.get("text")):  # A10 (E: claude-code#59812, `must contain non-whitespace …`)
        yield "A10", f"{where} is blank"
    if kind == "tool_result" and role == "user":
        inner = [(each, each.get("type") == "text") for each in dicts(block.get("content"))]
        for at, (each, is_text) in enumerate(inner):
            yield from shape(f"{where}.content[{at}]", each, judging.TEXT if is_text else judging.TYPED)
        said = [text(block, "content"), *(text(each, "text") if is_text else "x" for each, is_text in inner)]
        if block.get("is_error") is True and not any(words.strip() for words in said):  # A18 (E: Bedrock's wording)
            yield "A18", f"{where} is an error without content"


def _is_blank(value: object) -> bool:
    return isinstance(value, str) and not value.strip()
