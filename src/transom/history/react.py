"""Messages for models without tools: calls and results as text. This form is never stored in the log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from transom.core.message import Assistant, Call, Fact, Instruction, Part, Raw, Text, ToolResult, User, role_of
from transom.wire.openai import message, parse

ACTION = "Action: "
OBSERVATION = "Observation: "


def react(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Convert OpenAI chat messages (of a window, or of `fit`) to ones without tool fields: system, user and assistant
    only.

    A call becomes a line `Action: name[arguments]` after the text of the assistant. The results of one turn become one
    user message: each result follows `Observation: `, in the order of the calls, and with the name of its tool if there
    are several. Text, images and names of speakers are kept; reasoning and other fields are left out. The output of a
    tool stays data: it is not parsed.

    The same list gives the same result, which shares nothing with the list. The added words are not counted in a
    budget: they are a few tokens a call, minus the ids that are left out. Raises InvalidMessage if an item is not an
    OpenAI chat message.
    """
    out: list[Raw] = []
    calls: tuple[Call, ...] = ()
    for are_results, facts in groupby(map(parse, messages), lambda fact: isinstance(fact, ToolResult)):
        if are_results:
            out.append(_observations(calls, facts))
            continue
        for fact in facts:
            calls = fact.calls if isinstance(fact, Assistant) else ()
            out += _message(fact, calls)
    return out


def _message(fact: Fact, calls: tuple[Call, ...]) -> list[Raw]:
    """A fact as a list of one message of text; empty for a turn without text and calls."""
    role = "system" if isinstance(fact, Instruction) else role_of(fact)
    extra = fact.extra or {}
    refusal = [extra["refusal"]] if extra.get("refusal") else []
    actions = "\n".join([*refusal, *(f"{ACTION}{call.name}[{call.args}]" for call in calls)])
    parts = (*fact.parts, Text(actions)) if actions else fact.parts
    content = _content(parts, as_list=fact.shape == "parts" and bool(fact.parts))
    if not content and role == "assistant":
        return []
    return [{"role": role, "content": content} | ({"name": extra["name"]} if extra.get("name") else {})]


def _observations(calls: tuple[Call, ...], facts: Iterable[Fact]) -> Raw:
    """The results of a turn as one user message."""
    names = {call.id: call.name for call in calls}
    order = {call_id: index for index, call_id in enumerate(names)}
    results = sorted(
        (fact for fact in facts if isinstance(fact, ToolResult)), key=lambda fact: order.get(fact.call, len(order))
    )
    parts: list[Part] = []
    for result in results:
        name = names.get(result.call) if len(results) > 1 else None
        marker = OBSERVATION + (f"{name}: " if name else "")
        first, *rest = result.parts or (Text(""),)
        parts += [Text(marker + first.text)] if isinstance(first, Text) else [Text(marker.rstrip()), first]
        parts += rest
    return {"role": "user", "content": _content(parts, as_list=not all(isinstance(part, Text) for part in parts))}


def _content(parts: Sequence[Part], *, as_list: bool) -> str | list[Raw]:
    """Parts as the content of a message: a list, or one text."""
    if as_list:
        return message(User(parts=tuple(parts), shape="parts"))["content"]
    return "\n".join(part.text for part in parts if isinstance(part, Text) and part.text)
