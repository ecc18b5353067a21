"""Translates the events of OpenHands to OpenAI Chat messages.

Version 0 has actions and observations (`{"action": "run", "args": …}`, `{"observation": "run", "content": …}`): what
the model called is in `tool_call_metadata`, and where that is missing the action counts as the call. Version 1 has
events with a `kind`, which hold the message, the call or the result itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from transom.core.message import Call, Media, Raw, Reasoning, Text
from transom.importers.formats.chat_builder import CallResult, ChatBuilder, Piece, arguments, result_text
from transom.importers.formats.shapes import MessageFormat, found
from transom.wire.chat_json import chat_media
from transom.wire.fields import as_dict, as_items, first_of, objects_in, text

_SILENT = frozenset({"change_agent_state", "recall", "null", "agent_state_changed", "loop_detection_pause"})
"""Actions and observations that are for the program."""

_FAILED = frozenset({"error", "user_rejected"})
"""Observations of calls that failed, or that the user did not allow."""

_SOURCES = frozenset({"user", "agent", "environment", "hook"})
_NOT_ARGUMENTS = frozenset({"thought", "is_confirmed", "confirmation_state", "hidden", "blocking", "security_risk"})
"""Keys under the `args` of an action that are no arguments of its call."""


def is_event(value: object) -> bool:
    """True if a value is an event of OpenHands."""
    fields = as_dict(value)
    if isinstance(fields.get("kind"), str) and text(fields, "source") in _SOURCES:
        return fields["kind"].endswith(("Event", "Observation", "Condensation"))
    old = isinstance(fields.get("action"), str) and "args" in fields
    seen = isinstance(fields.get("observation"), str) and "content" in fields
    return (old or seen) and ("source" in fields or "timestamp" in fields or "cause" in fields)


def to_chat(values: Iterable[object]) -> Iterator[Raw]:
    """Translate events of OpenHands to OpenAI Chat messages. The calls of one reply of the model become one message;
    events that are for the program are left out."""
    builder = ChatBuilder()
    held: list[Piece] = []
    reply = ""
    for role, pieces, answers in _turns(map(as_dict, values)):
        if held and not (role == "assistant" and answers and answers == reply):
            yield from builder.messages("assistant", held)
            held = []
        if role == "assistant":
            held += pieces if not held else [each for each in pieces if isinstance(each, Call)]
            reply = answers
        else:
            yield from builder.messages(role, pieces)
    yield from builder.messages("assistant", held)


def _turns(events: Iterable[Raw]) -> Iterator[tuple[str, list[Piece], str]]:
    """Yield the role, the pieces, and the id of the model's reply (empty if not known) of each event that says
    something."""
    for event in events:
        found_turn = _new(event) if "kind" in event else _old(event)
        if found_turn is not None:
            yield found_turn


def _old(event: Raw) -> tuple[str, list[Piece], str] | None:
    """Translate an event of version 0, as `_turns` yields it; None if it says nothing."""
    called = as_dict(event.get("tool_call_metadata"))
    if "observation" in event:
        seen = text(event, "observation")
        if seen in _SILENT:
            return None
        label = text(called, "tool_call_id") or _label(event.get("cause"))
        said = CallResult(label, text(called, "function_name"), text(event, "content"), seen in _FAILED)
        return ("tool", [said], "") if label or seen != "message" else ("user", [Text(said.text)], "")
    action, args = text(event, "action"), as_dict(event.get("args"))
    if action in _SILENT:
        return None
    if action == "system":
        return "system", [Text(text(args, "content"))], ""
    if action == "message" and not called:
        pieces: list[Piece] = [Text(text(args, "content")), *_images(args)]
        return ("user" if event.get("source") == "user" else "assistant"), pieces, ""
    response = as_dict(called.get("model_response"))
    message = as_dict(first_of(response.get("choices")).get("message"))
    thought = result_text(message.get("content")) or text(args, "thought")
    pieces = [Text(thought)] if thought else []
    reasoning = text(message, "reasoning_content")
    if reasoning:
        pieces.insert(0, Reasoning(reasoning))
    pieces.append(_called(event, called, message, action, args))
    return "assistant", pieces, text(response, "id")


def _called(event: Raw, called: Raw, message: Raw, action: str, args: Raw) -> Call:
    """Return the call of an action: the one in the model's reply, or if that is not there, one made of the action."""
    label = text(called, "tool_call_id")
    own = next((each for each in objects_in(message.get("tool_calls")) if label and each.get("id") == label), None)
    if own is not None:
        return Call(label, str(found(own, "function.name") or ""), arguments(found(own, "function.arguments")))
    given = {key: value for key, value in args.items() if key not in _NOT_ARGUMENTS}
    return Call(label or _label(event.get("id")), text(called, "function_name") or action, arguments(given))


def _label(number: Any) -> str:
    return f"event_{number}" if isinstance(number, int | str) and number != "" else ""


def _new(event: Raw) -> tuple[str, list[Piece], str] | None:
    """Translate an event of version 1, as `_turns` yields it; None if it says nothing."""
    kind = text(event, "kind")
    if kind == "SystemPromptEvent":
        texts = (_texts(event.get(key)) for key in ("system_prompt", "dynamic_context"))
        return "system", [piece for pieces in texts for piece in pieces], ""
    if kind == "MessageEvent":
        message = as_dict(event.get("llm_message"))
        role = "assistant" if event.get("source") == "agent" or message.get("role") == "assistant" else "user"
        pieces = [*_thoughts(message), *_texts(message.get("content")), *_texts(event.get("extended_content"))]
        return role, pieces, ""
    if kind == "ActionEvent":
        own = as_dict(event.get("tool_call"))
        name = found(own, ("name", "function.name")) or event.get("tool_name")
        given = found(own, ("arguments", "function.arguments"))
        call = Call(
            text(event, "tool_call_id"), str(name or ""), arguments(event.get("action") if given is None else given)
        )
        return "assistant", [*_thoughts(event), *_texts(event.get("thought")), call], text(event, "llm_response_id")
    if label := text(event, "tool_call_id"):
        seen = found(event, ("observation.content", "observation.output", "observation", "error", "rejection_reason"))
        parts = _texts(seen) or [Text(result_text(seen))]
        said = "\n".join(
            piece.text for piece in (*parts, *_texts(event.get("extended_content"))) if isinstance(piece, Text)
        )
        is_error = found(event, "observation.is_error") is True
        failed = is_error or bool(event.get("error") or event.get("rejection_reason"))
        return "tool", [CallResult(label, text(event, "tool_name"), said, failed)], ""
    if summary := text(event, "summary"):
        return "user", [Text(summary)], ""
    return None


def _thoughts(value: Raw) -> list[Piece]:
    said = text(value, "reasoning_content")
    blocks = [text(block, "thinking") for block in objects_in(value.get("thinking_blocks"))]
    return [Reasoning(each) for each in ([said] if said else blocks) if each]


def _images(value: Raw) -> list[Piece]:
    urls = as_items(value.get("image_urls"))
    return [Media("image", chat_media("image", each)) for each in urls if isinstance(each, str)]


def _texts(value: object) -> list[Piece]:
    """Return the texts and images in content of version 1."""
    out: list[Piece] = []
    for part in objects_in(as_items(value)):
        if isinstance(part.get("text"), str):
            out.append(Text(part["text"]))
        out += _images(part)
    return [Text(value)] if isinstance(value, str) and value else out


OPENHANDS = MessageFormat(
    name="openhands",
    title="OpenHands events",
    is_message=is_event,
    to_chat=to_chat,
    labels=frozenset({"action", "observation", "agent_state", "message", "confirmation_state", "security_risk"}),
)
