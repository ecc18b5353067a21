"""Repairs a message just before it is sent: it changes what the API would refuse, and nothing else.

A repair looks at one message alone, and always gives the same result. The rules are those of `rules`; the two share no
code, so that each tests the other.
"""

from __future__ import annotations

from typing import cast

from transom import texts
from transom.core.message import Raw
from transom.wire.arguments import sent_text
from transom.wire.fields import as_text
from transom.wire.openai.input_fields import drop_response_only
from transom.wire.openai.parse import MEDIA_TYPES, body_keys
from transom.wire.translate import safe_name


def repair(message: Raw) -> Raw:
    """Repair a message in place and return it. A valid message stays as it is."""
    role = message["role"]
    if not message.get("tool_calls"):  # E: "[] is too short - 'messages.1.tool_calls'"; null: "expected an array"
        message.pop("tool_calls", None)
    if role == "assistant":
        drop_response_only(message)
        _repair_calls(message)
    if role == "function":
        message["name"] = safe_name(message.get("name") or "")
    elif name := message.get("name"):
        message["name"] = safe_name(name)
    else:  # E: null is "expected a string"
        message.pop("name", None)
    _repair_content(message)
    return message


def _repair_content(out: Raw) -> None:
    """Repair the content of a message, in place."""
    content, role = out.get("content"), out["role"]
    if content is None or content == []:
        if role != "assistant" or not _needs_no_content(out):
            out["content"] = ""
    elif isinstance(content, list):
        parts = [_part(part, role) for part in cast("list[Raw]", content)]
        # a function's content is a string: the legacy form knows no parts
        out["content"] = "\n".join(_words(part) for part in parts) if role == "function" else parts


def _needs_no_content(out: Raw) -> bool:
    """Whether a message of the assistant may have no content: it has calls, or names a spoken answer by its id."""
    audio = out.get("audio")  # an answer once spoken is named by its id, without content
    spoken = isinstance(audio, dict) and bool(cast("Raw", audio).get("id"))
    return spoken or bool(out.get("tool_calls") or out.get("function_call"))


def _part(part: Raw, role: str) -> Raw:
    """A content part that this role may have; a placeholder for any other."""
    kind = part.get("type")
    if isinstance(kind, str) and (role != "tool" or kind in {"text", "image_url"}):
        return part
    if kind is None and isinstance(part.get("text"), str):
        return {**part, "type": "text"}
    return {"type": "text", "text": _left_out(part)}


def _words(part: Raw) -> str:
    """The text of a part, or a placeholder."""
    return part["text"] if part.get("type") == "text" else _left_out(part)


def _left_out(part: Raw) -> str:
    """The placeholder for a part."""
    kind = part.get("type")
    return texts.left_out_marker(MEDIA_TYPES.get(kind, "part") if isinstance(kind, str) else "part")


def _repair_calls(out: Raw) -> None:
    """Repair the calls of a message, in place. A `function_call` that is empty, or beside `tool_calls`, is removed."""
    for call in cast("list[Raw]", out.get("tool_calls") or []):
        kind, field = body_keys(call)
        call["type"] = kind
        _repair_body(call[kind], field)
    legacy = out.get("function_call")
    if legacy is None:
        return
    if legacy.get("name") and not out.get("tool_calls"):
        _repair_body(legacy, "arguments")
    else:  # an empty one, or one beside tool_calls, which say it again
        del out["function_call"]


def _repair_body(body: Raw, field: str) -> None:
    """Repair name and arguments of a call, in place."""
    body["name"] = safe_name(body.get("name") or "")
    written = as_text(body.get(field))
    body[field] = written if field == "input" else sent_text(written)  # a custom tool takes free text
