"""A window for models without tools: calls and results as text. A rendering; the log never holds it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from transom.core.message import Raw
from transom.wire.openai_chat.parse import body_keys
from transom.wire.reading import compact
from transom.wire.saying import copied

ACTION = "Action: "
OBSERVATION = "Observation: "


def react(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """OpenAI chat messages (of a window, or of `fit`) with system, user and assistant messages only, no tool fields.

    A call becomes a line `Action: name[arguments]` behind what the assistant said; the results of one turn become one
    user message, each behind `Observation: `, in the order of their calls, named where there is more than one. Text,
    images and names stay; reasoning and other fields go. What a tool said stays data: nothing in it is read. Pure: the
    same list gives the same result, and shares nothing with it. The words that are added count towards no budget: a few
    tokens a call, less the ids that go.
    """
    out: list[Raw] = []
    at = 0
    while at < len(messages):
        role = messages[at].get("role")
        if role in {"tool", "function"}:
            stop = at
            while stop < len(messages) and messages[stop].get("role") in {"tool", "function"}:
                stop += 1
            out.append(_observed(messages[at - 1] if at else {}, messages[at:stop]))
            at = stop
            continue
        said = _said(messages[at])
        if said is not None:
            out.append(said)
        at += 1
    return out


def _said(message: Raw) -> Raw | None:
    role = "system" if message.get("role") == "developer" else message.get("role")
    content: Any = copied(message.get("content"))
    refusal: Any = message.get("refusal")
    lines = [refusal] if isinstance(refusal, str) and refusal else []
    lines += [f"{ACTION}{name}[{args}]" for _, name, args in _calls(message)]
    if lines:
        added = "\n".join(lines)
        if isinstance(content, list) and content:
            content = [*cast("list[Raw]", content), {"type": "text", "text": added}]
        else:
            content = f"{content}\n{added}" if content else added
    if not content and role == "assistant":
        return None  # it said nothing in words
    name: object = message.get("name")
    return {"role": role, "content": content or ""} | ({"name": name} if isinstance(name, str) and name else {})


def _observed(turn: Raw, results: Sequence[Raw]) -> Raw:
    """The results of a turn as one user message."""
    calls = _calls(turn)
    rank = {label: at for at, (label, _, _) in enumerate(calls)}
    ordered = sorted(results, key=lambda result: rank.get(str(result.get("tool_call_id")), len(rank)))
    names = {label: name for label, name, _ in calls}
    pieces: list[Raw] = []
    for result in ordered:
        name = names.get(str(result.get("tool_call_id"))) if len(ordered) > 1 else None
        pieces.extend(_observation(result, f"{name}: " if name else ""))
    if any(piece.get("type") != "text" for piece in pieces):
        return {"role": "user", "content": pieces}
    return {"role": "user", "content": "\n".join(piece["text"] for piece in pieces)}


def _observation(result: Raw, name: str) -> list[Raw]:
    """One result as content parts, its first words behind the marker."""
    content: Any = copied(result.get("content"))
    parts: list[Raw] = (
        cast("list[Raw]", content)
        if isinstance(content, list)
        else [{"type": "text", "text": content if isinstance(content, str) else ""}]
    )
    marker = OBSERVATION + name
    if parts and parts[0].get("type") == "text":
        return [{"type": "text", "text": f"{marker}{parts[0].get('text', '')}"}, *parts[1:]]
    return [{"type": "text", "text": marker.rstrip()}, *parts]


def _calls(message: Raw) -> list[tuple[str, str, str]]:
    """Id, name and arguments of each call."""
    found: list[tuple[str, str, str]] = []
    for call in cast("list[Raw]", message.get("tool_calls") or []):
        kind, field = body_keys(call)
        body: Raw = call.get(kind) or {}
        found.append((str(call.get("id")), str(body.get("name")), _text(body.get(field))))
    legacy: Any = message.get("function_call")
    if isinstance(legacy, dict):
        body = cast("Raw", legacy)
        found.append(("", str(body.get("name")), _text(body.get("arguments"))))
    return found


def _text(arguments: object) -> str:
    return arguments if isinstance(arguments, str) else "" if arguments is None else compact(arguments)
