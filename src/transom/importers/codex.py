"""Codex rollout files: `~/.codex/sessions/**/rollout-*.jsonl`, one event a line.

A line is `{"timestamp", "type", "payload"}`. Those of type `response_item` hold the conversation, as items of the
Responses API; `event_msg` repeats it for the terminal, `turn_context` holds settings. Files of 2025 have the items
without an envelope, after a line with the session's `id`; older ones are one JSON object with `session` and `items`.

After a compaction by Codex itself (`compacted`) the summary is kept as a message of the user, and everything before it
stays. Turns that were rolled back are left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, cast

from msgspec import Struct

from transom.core.message import Raw
from transom.importers.values import objects_in
from transom.wire.violations import as_dict, text

_ENVELOPES = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})

_NEVER_SENT = frozenset({"", "ghost_snapshot", "compaction", "compaction_summary", "other"})
"""Items that Codex keeps for itself, or that stand for a history which is here in full."""

_ADDED = ("<environment_context", "<user_instructions", "<turn_aborted", "<INSTRUCTIONS", "# AGENTS.md instructions")
"""How messages begin that Codex adds in the user's name. They begin no turn."""


class Session(Struct, frozen=True, kw_only=True):
    """The items of a session, and the instructions beside them."""

    items: list[Raw]
    instructions: str | None


def is_line(value: object) -> bool:
    """Whether a value is a line that only rollout files have. A bare item is none: it may be anybody's."""
    fields = as_dict(value)
    if text(fields, "type") in _ENVELOPES:
        return isinstance(fields.get("payload"), dict)
    header = {"id", "timestamp"} <= fields.keys() and not {"instructions", "git"}.isdisjoint(fields)
    return bool(fields) and "type" not in fields and ("record_type" in fields or (header and "messages" not in fields))


def is_document(value: object) -> bool:
    """Whether a value is a whole rollout of the oldest kind."""
    fields = as_dict(value)
    return isinstance(fields.get("session"), dict) and isinstance(fields.get("items"), list)


def lines_of(document: Raw) -> Iterator[object]:
    """The lines that a rollout of the oldest kind would be written as today."""
    yield document["session"]
    yield from cast("list[object]", document["items"])


def session(lines: Iterable[object]) -> Session:
    """The conversation that these lines record."""
    items: list[Raw] = []
    instructions: str | None = None
    begun = False
    for fields in map(as_dict, lines):
        kind, payload = text(fields, "type"), fields.get("payload")
        if kind in {"session_meta", ""} and "record_type" not in fields:
            if not begun:  # a forked session repeats its parent's
                instructions, begun = _instructions(as_dict(payload) or fields), True
        elif kind not in _ENVELOPES or kind == "response_item":
            _add(items, as_dict(payload) or fields)
        else:
            _event(items, kind, as_dict(payload))
    return Session(items=items, instructions=instructions)


def _instructions(meta: Raw) -> str | None:
    """The system prompt, if the session's first line has it: as an object since 2026, as a text before."""
    found = meta.get("base_instructions") or meta.get("instructions")
    return text(as_dict(found), "text") or (found if isinstance(found, str) else None) or None


def _add(items: list[Raw], payload: Raw) -> None:
    if text(payload, "type") in _NEVER_SENT:
        return
    item = {key: value for key, value in payload.items() if value is not None}  # Codex writes what it leaves out
    output: Any = item.get("output")
    if isinstance(output, dict):  # for some months of 2025: {"content", "success"}
        content = text(cast("Raw", output), "content")
        item["output"] = content or json.dumps(output, ensure_ascii=False)
    items.append(item)


def _event(items: list[Raw], kind: str, payload: Raw) -> None:
    """What other lines mean for the conversation."""
    summary, turns = text(payload, "message"), payload.get("num_turns")
    if kind == "compacted" and summary:
        items.append({"type": "message", "role": "user", "content": [{"type": "input_text", "text": summary}]})
    elif payload.get("type") == "thread_rolled_back" and isinstance(turns, int) and turns > 0:
        begins = [at for at, item in enumerate(items) if _begins_turn(item)]
        if begins:
            del items[begins[-min(turns, len(begins))] :]


def _begins_turn(item: Raw) -> bool:
    if item.get("role") != "user":
        return False
    parts = objects_in(item.get("content"))
    said = text(parts[0], "text") if parts else text(item, "content")
    return not said.lstrip().startswith(_ADDED)
