"""Checks which rules of the Responses API a request breaks. Written from the rules, not from the code that renders.

Each rule names its source: D the provider's documentation, E an error text seen in public, R a recorded exchange. These
are not violations: anything between a call and its output (R3, R), an id that comes again once its call has a result
(R), a type of part that we do not know in a user message. Two rules cannot be checked,
because they need the response that an item came in: missing reasoning (R6), and content encrypted for another
organisation (R8).

A `Violation.rule` is R1, R2, R4 (DeepSeek's, only on request), R5, R7 or R9; or, where a rule has no number: empty,
item, role, content, call, name, id, text, approval.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import chain, pairwise
from types import NoneType

from transom.core.message import Raw
from transom.wire import violations as v
from transom.wire.dialect import Violation
from transom.wire.fields import as_dict, dicts, text

_NAME = {"name": v.Must("name", re.compile(r"[a-zA-Z0-9_-]{1,64}"))}  # E, as C7 of the chat API
_LABEL = {"call_id": v.Must("call", v.NON_EMPTY)}
_OUTPUT = {**_LABEL, "output": v.Must("content", (str, list))}
_ITEMS = {
    "message": {"content": v.Must("content", (str, list))},
    "function_call": {**_LABEL, **_NAME, "arguments": v.Must("call", str)},
    "custom_tool_call": {**_LABEL, **_NAME, "input": v.Must("call", str)},
    "function_call_output": _OUTPUT,
    "custom_tool_call_output": _OUTPUT,
    "computer_call_output": {**_LABEL, "output": v.Must("content", dict)},
    "shell_call_output": {**_LABEL, "output": v.Must("content", list)},
    "local_shell_call_output": {"output": v.Must("content", str)},
    "reasoning": {"summary": v.Must("item", list)},
    "compaction": {"encrypted_content": v.Must("R9", str)},  # R9 (R: accepted with it)
}
"""D: what items of these kinds must hold."""
_PARTS = {"input_text": v.TEXT, "output_text": v.TEXT, "refusal": {"refusal": v.Must("content", str)}}
_KINDS = {
    # E: rust-genai#119, "Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'."
    "assistant": ("output_text", "refusal"),
    "output": ("input_text", "input_image", "input_file"),  # D
}
"""The only kinds of parts that a message of the model, and an output, may have."""
_OF_CHAT = ("text", "image_url", "file")  # E: "Invalid value: 'text'. Supported values are…"
_ANSWERS = {"function_call_output": "function_call", "custom_tool_call_output": "custom_tool_call"}
_BUILT_IN = {
    "tool_search_output": "tool_search_call",
    "computer_call_output": "computer_call",
    "local_shell_call_output": "local_shell_call",
    "shell_call_output": "shell_call",
    "apply_patch_call_output": "apply_patch_call",
}
"""D: outputs of built-in tools, which the client sends where its own machine ran the tool."""
_ANSWERED = {**_ANSWERS, **_BUILT_IN}
_CALLS = frozenset(_ANSWERS.values())
_PAIRED = frozenset({*_ANSWERED, *_ANSWERED.values()})


def violations(request: object, *, strict: bool = False) -> list[Violation]:
    """The violations that a request itself shows, in the order of its items; empty for a valid one. R6 and R8 are not
    checked: they need the response. Any JSON value may be given.

    `strict`: check R4 too, which only DeepSeek's API has.
    """
    fields = as_dict(request)
    given = fields.get("input")
    items = dicts(given)
    elsewhere = any(fields.get(key) for key in ("previous_response_id", "conversation", "prompt"))
    unseen = elsewhere or any(_kind(item) == "item_reference" for item in items)
    each = map(_of_item, items) if items else [v.lone_surrogates(given)]
    pairs = _of_pairs(items, unseen=unseen, strict=strict)
    more = chain(_of_neighbours(items), _of_approvals(items, unseen=unseen), _of_compactions(items))
    return v.collect_violations(_of_request(fields, elsewhere=elsewhere), each, pairs, more)


def _kind(item: Raw) -> str:
    """The type of an item; "message" if it has only a role."""
    return "message" if item.get("type") is None and "role" in item else text(item, "type")


def _of_request(fields: Raw, *, elsewhere: bool) -> Iterator[v.Finding]:
    """Findings in the request as a whole. `elsewhere`: it continues a stored conversation or prompt."""
    for at, tool in enumerate(dicts(fields.get("tools"))):
        if tool.get("type") in ("function", "custom"):
            yield from v.wrong_fields(f"tools[{at}]", tool, _NAME)  # E: as for calls
    yield from v.wrong_fields("", fields, {"instructions": v.Must("content", (str, list, NoneType))})  # D
    yield from v.lone_surrogates(fields.get("instructions"))
    yield from v.wrong_fields("", fields, {"input": v.Must("item", (str, list, NoneType))})
    if not fields.get("input") and not elsewhere:  # D: something must be asked
        yield "empty", "no input"


# ---- one item by itself


def _of_item(fields: Raw) -> Iterator[v.Finding]:
    """Findings in one item by itself."""
    kind, role = _kind(fields), fields.get("role")
    if not kind:
        yield "item", "neither a message nor an item with a type"
    elif kind == "message" and role not in ("user", "assistant", "system", "developer"):  # D
        yield "role", f"no such role: {v.short_repr(role)}"
    else:
        yield from v.wrong_fields("", fields, _ITEMS.get(kind, {}))
    if kind == "function_call":  # E: as C12 of the chat API
        yield from (("call", why) for why in v.wrong_object_text("arguments", fields.get("arguments")))
    yield from v.lone_surrogates(fields)
    # R7 (E: ungate#26, "Invalid 'input[149].call_id': string too long"; R: 64 is accepted)
    if kind in _PAIRED and (length := len(text(fields, "call_id"))) > 64:
        yield "R7", f"a call_id of {length} characters"
    key = "output" if kind in _ANSWERS else "content"
    for at, part in enumerate(dicts(fields.get(key)) if kind == "message" or kind in _ANSWERS else ()):
        yield from _of_part(f"{key}[{at}]", part, _KINDS.get(text(fields, "role") if kind == "message" else key))


def _of_part(where: str, part: Raw, kinds: Collection[str] | None) -> Iterator[v.Finding]:
    """Findings in one content part. `kinds`: the only types that it may have; None: any but the chat API's."""
    kind = part.get("type")
    if isinstance(kind, str) and (kind in _OF_CHAT if kinds is None else kind not in kinds):
        yield "content", f"{where} is {kind!r}"
    yield from v.wrong_fields(where, part, _PARTS.get(text(part, "type"), v.TYPED))


# ---- items together


def _of_pairs(items: list[Raw], *, unseen: bool, strict: bool) -> Iterator[Violation]:
    """Violations between calls and outputs, which are paired by call_id: a call without an output, an output without
    its call or of another kind, a second call with the id of a waiting one. `unseen`: a part of the context is not in
    the request, so an output may come without its call. `strict`: nothing else may stand between a call and its output
    (R4)."""
    waiting: dict[str, int] = {}
    apart, built_in, shells = set[int](), set[str](), dict[str, str]()
    for index, item in enumerate(items):
        kind, label = _kind(item), item.get("call_id")
        if kind == "local_shell_call_output" and not isinstance(label, str):
            label = shells.get(text(item, "id"), item.get("id"))
        if kind == "local_shell_call" and isinstance(label, str):
            shells[text(item, "id")] = label
        if strict and not (kind in _PAIRED and isinstance(label, str)):
            # R4 (R: DeepSeek refused calls with text between them, "No tool output found for tool call call-a.")
            behind = {*waiting.values()} - apart
            yield from (Violation("R4", at, f"item {index} stands between this call and its output") for at in behind)
            apart |= behind
        if not isinstance(label, str):
            continue
        if kind in _CALLS or _waits(item):
            if label in waiting:  # R1: one output cannot answer both
                yield Violation("R1", index, f"a second call {label!r} before the first is answered")
            waiting[label] = index
        elif label in waiting and kind in _ANSWERED:
            answered = _kind(items[waiting.pop(label)])
            searched = (kind, answered) == ("function_call_output", "tool_search_call")  # R: accepted
            if answered != _ANSWERED[kind] and not searched:  # D: each kind of call has its own
                yield Violation("R2", index, f"a {kind} for a {answered}")
        elif kind not in _ANSWERED or (kind == "tool_search_output" and item.get("execution") != "client"):
            built_in.add(label)
        elif not unseen and label not in built_in:
            # R2 (E: continue#10092, "No tool call found for function call output with call_id call_…")
            yield Violation("R2", index, f"no call {label!r} waits for this output")
    for label, index in waiting.items():
        # R1 (E: trae-agent#245, "No tool output found for function call call_…"; R: none of 304 accepted)
        yield Violation("R1", index, f"no output for {label!r}")


def _of_approvals(items: list[Raw], *, unseen: bool) -> Iterator[Violation]:
    """Violations between requests for an approval and their answers (E: openai-openapi#470)."""
    asked, answered = set[str](), set[str]()
    for index, item in enumerate(items):
        if _kind(item) == "mcp_approval_request":
            asked.add(text(item, "id"))
        elif _kind(item) == "mcp_approval_response":
            label = text(item, "approval_request_id")
            if label not in asked and not unseen:
                yield Violation("approval", index, f"no request {label!r} before this answer")
            elif label in answered:
                yield Violation("approval", index, f"a second answer to {label!r}")
            answered.add(label)


def _of_compactions(items: list[Raw]) -> Iterator[Violation]:
    """Violations of R9 beside a compaction: a message of the model that has its id, without any reasoning before it
    (E: openai-agents-python#2727, "Item 'msg_…' was provided without its required 'reasoning' item")."""
    newest = max((index for index, item in enumerate(items) if _kind(item) == "compaction"), default=0)
    for index, item in enumerate(items[:newest]):
        if _kind(item) == "reasoning":
            return
        if _kind(item) == "message" and item.get("role") == "assistant" and text(item, "id"):
            yield Violation("R9", index, f"{text(item, 'id')!r} has an id, and its reasoning went into the compaction")


def _waits(item: Raw) -> bool:
    """Whether an item is a call of a built-in tool that the client must answer (D)."""
    kind = _kind(item)
    if kind == "tool_search_call":
        return item.get("execution") == "client"
    local = as_dict(item.get("environment")).get("type") == "local"
    return kind in _BUILT_IN.values() and (kind != "shell_call" or item.get("environment") is None or local)


def _of_neighbours(items: list[Raw]) -> Iterator[Violation]:
    """Violations between neighbours: reasoning without what it produced (R5), an id twice."""
    seen = set[str]()
    for index, (item, after) in enumerate(pairwise([*items, {}])):
        others = _kind(after) in {"", "additional_tools", "configuration_update", *_ANSWERS}
        if _kind(item) == "reasoning" and (others or (_kind(after) == "message" and after.get("role") != "assistant")):
            # R5 (R: "Item 'rs_…' of type 'reasoning' was provided without its required following item.")
            yield Violation("R5", index, "a reasoning without what it produced")
        if _kind(item) == "local_shell_call_output":  # its id names its call
            continue
        if (label := text(item, "id")) and label in seen:
            # E: vercel/ai#7883, "Duplicate item found with id rs_…. Remove duplicate items from your input and try …"
            yield Violation("id", index, f"a second item {label!r}")
        seen.add(label)
