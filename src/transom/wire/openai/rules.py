"""Checks which rules of the Chat Completions API a request breaks. Written from the rules, not from the code that
renders.

Each rule names its source: D the provider's documentation, E an error text seen in public, R a recorded exchange. These
are not violations: an id above 40 characters (C6: refused at times, accepted at others), any order of the results of
parallel calls (C5), any first or last role and the same role twice in a row (C9), a role that one model refuses (C10),
an id that comes again in a later turn (C13), a type of part that one model refuses in a user message.

A `Violation.rule` is C1, C2, C3, C4, C7, C8, C11 or C12; or, where a rule has no number: empty, message, role, content,
call, legacy, text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from types import NoneType

from transom.core.message import Raw
from transom.wire import violations as v
from transom.wire.dialect import Violation
from transom.wire.fields import as_dict, dicts

_ROLES = ("system", "developer", "user", "assistant", "tool", "function")
"""D; R: `Unsupported value: 'messages[0].role'`."""
_NAMED = {"name": v.Must("C7", re.compile(r"[a-zA-Z0-9_-]{1,64}"))}
"""C7 (E: extended_openai_conversation#251, `Invalid 'messages[1].name'`; mcp-use#90 for calls and tools)."""
_FUNCTION = {**_NAMED, "arguments": v.Must("C12", str)}  # C12 (D: a string)
_CALLED = {"function": _FUNCTION, "custom": {**_NAMED, "input": v.Must("call", str)}}
_LABELLED = {"id": v.Must("call", v.NON_EMPTY)}
_CALLS = {"tool_calls": v.Must("call", (list, NoneType))}
_CONTENT = {"content": v.Must("content", (str, list))}
_CONTENT_OF_FUNCTION = {"content": v.Must("content", str)}  # D: or null


def violations(
    messages: Sequence[object], tools: Sequence[object] | None = None, *, media_in_results: bool = False
) -> list[Violation]:
    """Every rule that messages and tools break: first those of the request as a whole, then in the order of the
    messages. Empty for a valid request.

    `tools`: as they are sent; None: none. `media_in_results`: the server takes images in tool messages.
    """
    if not messages:  # D: `messages` has at least one item
        return [Violation("empty", -1, "no messages")]
    return v.collect_violations(
        _of_tools(tools),
        (_of_message(message, media_in_results=media_in_results) for message in messages),
        _of_pairs([as_dict(each) for each in messages]),
    )


def _of_tools(tools: object) -> Iterator[v.Finding]:
    """Findings in the tools."""
    for at, tool in enumerate(dicts(tools)):
        if tool.get("function") is not None:  # R: a provider's own tools have none; Mistral's have no type
            yield from v.wrong_fields(f"tools[{at}].function", tool["function"], _NAMED)


def _of_message(message: object, *, media_in_results: bool) -> Iterator[v.Finding]:
    """Findings in one message by itself."""
    fields = as_dict(message)
    role = fields.get("role")
    if not isinstance(message, dict):
        yield "message", "not an object"
    elif role not in _ROLES:
        yield "role", f"no such role: {v.short_repr(role)}"
    else:
        yield from v.lone_surrogates(fields)
        if role == "function" or fields.get("name") is not None:  # R: null is accepted
            yield from v.wrong_fields("", fields, _NAMED)
        yield from _of_content(role, fields, in_result={"text", "image_url"} if media_in_results else {"text"})
        if role == "assistant":
            yield from _of_calls(fields)


def _of_content(role: str, fields: Raw, *, in_result: set[str]) -> Iterator[v.Finding]:
    """Findings in the content of a message. `in_result`: the types of parts that a tool message may have."""
    content = fields.get("content")
    if content is None or content == []:
        # C8 (D: "required unless tool_calls or function_call is specified"; an audio id stands for content too).
        # R: Mistral accepts [] beside tool_calls. D: a function's content may be null.
        if role == "assistant":
            if not (fields.get("tool_calls") or fields.get("function_call") or as_dict(fields.get("audio")).get("id")):
                yield "C8", "neither content nor calls"
        elif role != "function" or content == []:
            yield "content", "no content"
    else:
        yield from v.wrong_fields("", fields, _CONTENT_OF_FUNCTION if role == "function" else _CONTENT)
    for at, part in enumerate(dicts(content) if role != "function" else ()):
        kind, where = part.get("type"), f"content[{at}]"
        yield from v.wrong_fields(where, part, v.TEXT if kind == "text" else v.TYPED)
        # C11 (D for tool messages; E: "Image URLs are only allowed for messages with role 'user'"; newer models ignore
        # such an image)
        if role == "tool" and isinstance(kind, str) and kind not in in_result:
            yield "C11", f"{where} is {v.short_repr(kind)}"


def _of_calls(fields: Raw) -> Iterator[v.Finding]:
    """Findings in the calls of one message."""
    yield from v.wrong_fields("", fields, _CALLS)
    for at, call in enumerate(dicts(fields.get("tool_calls"))):
        kind, where = call.get("type"), f"tool_calls[{at}]"
        yield from v.wrong_fields(where, call, _LABELLED)
        if kind in ("function", "custom"):  # D
            yield from v.wrong_fields(f"{where}.{kind}", call.get(kind), _CALLED[kind])
            # C12 (E: llama.cpp, `Failed to parse tool call arguments as JSON`; R: none accepted is anything else)
            arguments = as_dict(call.get("function")).get("arguments")
            yield from (("C12", why) for why in v.wrong_object_text(f"{where}.function.arguments", arguments))
        else:
            yield "call", f"{where}.type is {v.short_repr(kind)}"
    if fields.get("function_call") is not None:
        yield from v.wrong_fields("function_call", fields["function_call"], _FUNCTION)


def _of_pairs(messages: list[Raw]) -> Iterator[Violation]:
    """Violations between calls and results: the tool messages directly behind an assistant message answer it."""
    # `at`: the message whose calls may be answered now; `waiting`: those of its calls that have no result yet
    at, called, waiting, legacy = -1, set[str](), set[str](), False
    for index, fields in enumerate([*messages, {}]):
        role, label = fields.get("role"), fields.get("tool_call_id")
        if role != "tool":
            if waiting:
                # C1 (D; E: warp#14129, "An assistant message with 'tool_calls' must be followed by tool messages")
                yield Violation("C1", at, f"no answer to {', '.join(sorted(waiting))}")
            calls = dicts(fields.get("tool_calls")) if role == "assistant" else []
            labels = [call["id"] for call in calls if isinstance(call.get("id"), str)]
            at, called, waiting = index, set(labels), set(labels)
            if len(called) < len(labels):  # C4 (D: "Duplicate value for 'tool_call_id'"): one of them has no answer
                yield Violation("C4", index, "two calls share an id")
        # C2 (D: "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'")
        elif not called:
            yield Violation("C2", index, "a tool message without calls before it")
        # C3 (D: "'tool_call_id' of '…' not found in 'tool_calls' of previous message")
        elif not isinstance(label, str) or label not in called:
            yield Violation("C3", index, f"no call {v.short_repr(label)} in the assistant message before it")
        elif label in waiting:
            waiting.discard(label)
        else:  # C4 (D: "Duplicate value for 'tool_call_id' of '…'")
            yield Violation("C4", index, f"a second answer to {v.short_repr(label)}")
        if role == "function" and not legacy:  # D: the answer to the `function_call` before it
            yield Violation("legacy", index, "a function message without a function_call before it")
        legacy = role == "assistant" and isinstance(fields.get("function_call"), dict)
