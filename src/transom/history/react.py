"""A window for models without tools: calls and results as text. A rendering; the log never holds it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from transom.core.message import Assistant, Call, Fact, Instruction, Part, Raw, Text, ToolResult, User, role_of
from transom.wire.openai import message, parse

ACTION = "Action: "
OBSERVATION = "Observation: "


def react(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """OpenAI chat messages (of a window, or of `fit`) with system, user and assistant messages only, no tool fields.

    A call becomes a line `Action: name[arguments]` behind what the assistant said; the results of one turn become one
    user message, each behind `Observation: `, in the order of their calls, named where there is more than one. Text,
    images and names stay; reasoning and other fields go. What a tool said stays data: nothing in it is read. Pure: the
    same list gives the same result, and shares nothing with it. The words that are added count towards no budget: a few
    tokens a call, less the ids that go. Raises InvalidMessage.
    """
    out: list[Raw] = []
    calls: tuple[Call, ...] = ()
    for observed, facts in groupby(map(parse, messages), lambda fact: isinstance(fact, ToolResult)):
        if observed:
            out.append(_observed(calls, facts))
            continue
        for fact in facts:
            calls = fact.calls if isinstance(fact, Assistant) else ()
            out += _said(fact, calls)
    return out


def _said(fact: Fact, calls: tuple[Call, ...]) -> list[Raw]:
    """What a fact says in words; nothing of a turn without any."""
    role = "system" if isinstance(fact, Instruction) else role_of(fact)
    extra = fact.extra or {}
    refusal = [extra["refusal"]] if extra.get("refusal") else []
    added = "\n".join([*refusal, *(f"{ACTION}{call.name}[{call.args}]" for call in calls)])
    parts = (*fact.parts, Text(added)) if added else fact.parts
    content = _content(parts, listed=fact.shape == "parts" and bool(fact.parts))
    if not content and role == "assistant":
        return []
    return [{"role": role, "content": content} | ({"name": extra["name"]} if extra.get("name") else {})]


def _observed(calls: tuple[Call, ...], facts: Iterable[Fact]) -> Raw:
    """The results of a turn as one user message."""
    names = {call.id: call.name for call in calls}
    rank = {label: at for at, label in enumerate(names)}
    results = sorted(
        (fact for fact in facts if isinstance(fact, ToolResult)), key=lambda fact: rank.get(fact.call, len(rank))
    )
    pieces: list[Part] = []
    for result in results:
        name = names.get(result.call) if len(results) > 1 else None
        marker = OBSERVATION + (f"{name}: " if name else "")
        first, *rest = result.parts or (Text(""),)
        pieces += [Text(marker + first.text)] if isinstance(first, Text) else [Text(marker.rstrip()), first]
        pieces += rest
    return {"role": "user", "content": _content(pieces, listed=not all(isinstance(piece, Text) for piece in pieces))}


def _content(parts: Sequence[Part], *, listed: bool) -> str | list[Raw]:
    if listed:
        return message(User(parts=tuple(parts), shape="parts"))["content"]
    return "\n".join(part.text for part in parts if isinstance(part, Text) and part.text)
