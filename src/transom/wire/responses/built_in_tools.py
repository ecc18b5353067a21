"""Reads and renders calls of built-in tools that the client answers, with their outputs: local shell, patches,
computer, tool search.

Such a call is a `Call` whose `extra` is its whole item; its arguments are the JSON of what the tool is given. An output
is a `ToolResult` whose `extra` is its item, with null in place of each text, screenshot or list of tools: these are its
parts. Both come out as they came in. Where a trim put a text in place of a part that is not a text, the item keeps its
form, and the text follows in a message.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, cast

from transom import texts
from transom.core import message as m
from transom.core.message import Call, Part, Raw, Text
from transom.wire.fields import compact_json, deep_copy
from transom.wire.translate import with_failed_mark

BUILT_IN_CALLS = {
    "tool_search_call": "tool_search_output",
    "computer_call": "computer_call_output",
    "local_shell_call": "local_shell_call_output",
    "shell_call": "shell_call_output",
    "apply_patch_call": "apply_patch_call_output",
}
"""The type of the output for each type of call."""
BUILT_IN_OUTPUTS = frozenset(BUILT_IN_CALLS.values())

_PAYLOADS = {
    "tool_search_call": ("arguments",),
    "computer_call": ("action", "actions"),
    "apply_patch_call": ("operation",),
}
"""The key of what the tool is given, for calls that do not have it under `action`."""

_STREAMS = ("stdout", "stderr")

SCREENSHOT: Raw = {
    "type": "computer_screenshot",
    "image_url": "data:image/png;base64,"
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==",
}
"""An image of one pixel for a missing screenshot: the output of a computer cannot be a text."""

STAND_IN = 16
"""The maximum number of tokens of the fields of an output of ours, and of the message that its text may need."""

SCREENSHOT_TOKENS = 280
"""The maximum number of tokens of one pixel: 255 on GPT-4o, less on other models."""


# ---- whose they are


def is_clients(item: Raw) -> bool:
    """Whether an item is a call of a built-in tool that the client runs, so that the client must send an output for
    it."""
    kind, label = item.get("type"), item.get("call_id")
    if kind not in BUILT_IN_CALLS or not isinstance(label, str):
        return False
    if kind == "tool_search_call":
        return item.get("execution") == "client"
    environment: object = item.get("environment")
    local = isinstance(environment, dict) and cast("Raw", environment).get("type") == "local"
    return kind != "shell_call" or environment is None or local


def client_outputs(items: Iterable[Raw]) -> dict[int, str]:
    """The outputs that the client has made: index of the item, and id of its call.

    The output of a local shell may name its call by `id`, which is the call's `call_id` or, in some clients, its `id`.
    """
    clients, names, out = dict[str, bool](), dict[str, str](), dict[int, str]()
    for at, item in enumerate(items):
        kind, label, own = item.get("type"), item.get("call_id"), item.get("id")
        if kind in BUILT_IN_CALLS and isinstance(label, str):
            clients[label] = is_clients(item)
            if kind == "local_shell_call" and isinstance(own, str):
                names.setdefault(own, label)
        elif kind in BUILT_IN_OUTPUTS:
            if kind == "local_shell_call_output" and not isinstance(label, str):
                label = names.get(own, own) if isinstance(own, str) else None
            default = kind != "tool_search_output" or item.get("execution") == "client"
            if isinstance(label, str) and clients.get(label, default):
                out[at] = label
    return out


# ---- items to facts


def read_call(item: Raw) -> Call:
    """The call in an item of a built-in tool: named after its type, with the JSON of what the tool is given as
    arguments. `item`: one for which `is_clients` is true. The call holds it as `extra`, not a copy."""
    kind: str = item["type"]
    return Call(item["call_id"], kind.removesuffix("_call"), _arguments(item), item)


def _payload_key(item: Raw) -> str:
    """The key of what the tool is given."""
    keys = _PAYLOADS.get(item["type"], ("action",))
    return next((key for key in keys if key in item), keys[0])


def _arguments(item: Raw) -> str:
    """What the tool is given, as JSON."""
    return compact_json(item.get(_payload_key(item)))


def read_output(item: Raw, call: str, dialect: str) -> m.ToolResult:
    """The result in an output item, one of `client_outputs`. `call`: the id of its call. The texts, screenshots and
    tools are moved out of `item`, in place, and nulls are left there; the result holds `item` as `extra`."""
    kind, parts = item["type"], list[Part]()
    for holder, key in _places(item):
        value: Any = holder[key]
        if isinstance(value, str):
            parts.append(Text(value))
        elif kind == "computer_call_output":
            parts.append(m.Media("image", value))
        else:
            parts.append(m.Other({"type": kind, key: value}))
        holder[key] = None
    failed = kind == "apply_patch_call_output" and item.get("status") == "failed"
    return m.ToolResult(parts=tuple(parts), shape="parts", call=call, failed=failed, extra=item, dialect=dialect)


def _places(item: Raw, *, taken: bool = False) -> Iterator[tuple[Raw, str]]:
    """Where an output holds what the tool gave, as dict and key. `taken`: where it was taken out and null is left."""
    kind, output = item["type"], item.get("output")
    holders: list[Raw] = [item]
    if kind == "shell_call_output":
        chunks = cast("list[object]", output) if isinstance(output, list) else []
        holders = [cast("Raw", chunk) for chunk in chunks if isinstance(chunk, dict)]
    keys = {"shell_call_output": _STREAMS, "tool_search_output": ("tools",)}.get(kind, ("output",))
    wanted = {"computer_call_output": dict, "tool_search_output": list}.get(kind, str)
    for holder in holders:
        for key in keys:
            if key in holder and (holder[key] is None if taken else isinstance(holder[key], wanted) and holder[key]):
                yield holder, key


# ---- facts to items


def is_built_in(call: Call) -> bool:
    """Whether a call is one of a built-in tool."""
    return (call.extra or {}).get("type") in BUILT_IN_CALLS


def call_item(call: Call) -> Raw:
    """The item of a call of a built-in tool (`is_built_in`), as a new dict. Arguments that a trim has changed are put
    where the item has room for a text. Where it has none, a tool search loses its arguments; a click and the like,
    which are short, stay."""
    item = deep_copy(call.extra)
    if item["call_id"] != call.id:
        item["call_id"] = call.id
    if call.args == _arguments(item):
        return item
    kind, key = item["type"], _payload_key(item)
    given: Raw = item[key] if isinstance(item.get(key), dict) else {}
    if kind == "shell_call":
        item[key] = {**given, "commands": [call.args]}
    elif kind == "local_shell_call":
        item[key] = {"type": "exec", "env": {}, **given, "command": [call.args]}
    elif kind == "tool_search_call":
        item[key] = {}
    elif kind == "apply_patch_call" and given.get("type") != "delete_file":
        item[key] = {"type": "update_file", "path": "", **given, "diff": call.args}
    elif isinstance(given.get("text"), str):
        item[key] = {**given, "text": call.args}
    return item


def output_items(fact: m.ToolResult, call: Call) -> list[Raw]:
    """The output item for the result of a call of a built-in tool (`is_built_in`), and behind it a message of the user
    with the text that does not fit into the item, if any. For a tool search whose result came in another form, it is
    the output of a function."""
    kind = BUILT_IN_CALLS[(call.extra or {})["type"]]
    own = (fact.extra or {}).get("type") == kind
    if kind == "tool_search_output" and not own:  # R: such an output was accepted
        words = "\n".join(map(_words, with_failed_mark(fact).parts))
        return [{"type": "function_call_output", "call_id": call.id, "output": words}]
    item, rest = _own_output(fact) if own else _new_output(fact, kind)
    key = "id" if kind == "local_shell_call_output" and not isinstance(item.get("call_id"), str) else "call_id"
    if not (key == "id" and isinstance(item.get("id"), str) and item["id"] == (call.extra or {}).get("id")):
        item[key] = call.id
    return [item, {"role": "user", "content": rest}] if rest else [item]


def _own_output(fact: m.ToolResult) -> tuple[Raw, str]:
    """The item that a result came in, and the text that does not fit into it."""
    item, rest = deep_copy(fact.extra), list[str]()
    for (holder, key), part in zip(list(_places(item, taken=True)), fact.parts, strict=False):
        if item["type"] in ("computer_call_output", "tool_search_output") and isinstance(part, Text):
            holder[key] = deep_copy(SCREENSHOT) if key == "output" else []
            rest.append(part.text)
        elif isinstance(part, Text):
            holder[key] = part.text
        else:
            holder[key] = deep_copy(part.raw if isinstance(part, m.Media) else part.raw[key])
    return item, "\n".join(rest)


def _new_output(fact: m.ToolResult, kind: str) -> tuple[Raw, str]:
    """An output item of this type for a result that came in another form, and the text that does not fit into it."""
    has_status = kind in ("shell_call_output", "apply_patch_call_output")
    parts = fact.parts if has_status else with_failed_mark(fact).parts
    words = "\n".join(map(_words, parts))
    if kind == "computer_call_output":
        shots = [shot for part in parts if (shot := _screenshot(part))]
        said = "\n".join(part.text for part in parts if isinstance(part, Text))
        return {"type": kind, "output": shots[0] if shots else deep_copy(SCREENSHOT)}, said if shots else words
    if kind == "shell_call_output":
        outcome = {"type": "exit", "exit_code": int(fact.failed or fact.synthetic)}
        return {"type": kind, "output": [{"stdout": words, "stderr": "", "outcome": outcome}]}, ""
    if kind == "apply_patch_call_output":
        status = "failed" if fact.failed or fact.synthetic else "completed"
        return {"type": kind, "status": status, "output": words}, ""
    return {"type": kind, "output": words}, ""


def _screenshot(part: Part) -> Raw | None:
    """The screenshot in an image part; None for any other part."""
    if not isinstance(part, m.Media) or part.media != "image":
        return None
    known = {key: part.raw[key] for key in ("image_url", "file_id") if isinstance(part.raw.get(key), str)}
    return {"type": "computer_screenshot", **known} if known else None


def _words(part: Part) -> str:
    """The text of a part, or a placeholder."""
    if isinstance(part, Text):
        return part.text
    return texts.left_out_marker(part.media if isinstance(part, m.Media) else "part")
