"""Reads Codex rollout files: `~/.codex/sessions/**/rollout-*.jsonl`, one event a line.

A line is `{"timestamp", "type", "payload"}`. Lines of type `response_item` hold the conversation, as items of the
Responses API; `event_msg` repeats it for the terminal, `turn_context` holds settings. Files of 2025 have the items
without an envelope, after a line with the session's `id`; older files are one JSON object with `session` and `items`.

After a compaction by Codex itself (`compacted`) the summary is kept as a message of the user, and everything before it
stays. The summary is the text of `message`; since 2026 that is empty, and the messages of `replacement_history` that
were not said before have it. A summary that only OpenAI can read (`compaction`) is left out.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator
from typing import Any, cast

from transom.core.message import Raw
from transom.importers.sessions.session_reader import Said, SessionEvent, SessionReader, SystemPrompt, seconds_of
from transom.wire.fields import as_dict, objects_in, plain_text, text
from transom.wire.responses.parse import is_models

_ENVELOPES = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})

_NEVER_SENT = frozenset({"", "ghost_snapshot", "compaction", "compaction_summary", "context_compaction", "other"})
"""Types of items that Codex keeps for itself, or that replace a history which the file has in full."""

_ENCRYPTED = frozenset({"compaction", "compaction_summary", "context_compaction"})

_KEYS_OF_TYPES = {
    "message": {"role", "content"},
    "function_call_output": {"call_id", "output"},
    "function_call": {"name", "arguments"},
    "custom_tool_call": {"name", "input"},
    "reasoning": {"summary", "encrypted_content"},
}
"""For items without a `type`, the keys that say which type it is."""

_MOST_ROLLED_BACK = 100_000
"""How many turns of the user are remembered: a rollback of more goes back to the oldest of them."""

_MOST_HELD = 5_000
"""The most items that are held back for one turn. A longer turn is returned in pieces."""

_ADDED = ("<environment_context", "<user_instructions", "<turn_aborted", "<INSTRUCTIONS", "# AGENTS.md instructions")
"""How messages begin that Codex adds in the user's name. Such a message begins no turn."""


def is_document(value: object) -> bool:
    """True if a value is a whole rollout of the oldest kind: one object with `session` and `items`."""
    fields = as_dict(value)
    return isinstance(fields.get("session"), dict) and isinstance(fields.get("items"), list)


def lines_of(document: Raw) -> Iterator[object]:
    """Yield the lines that a Codex of 2025 would have written for a rollout of the oldest kind, whose document this
    is: its session, then its items without an envelope."""
    yield document["session"]
    yield from cast("list[object]", document["items"])


class CodexReader(SessionReader):
    """Reads the lines of a rollout of Codex, as `SessionReader` says. It holds back the newest turn of the model."""

    def __init__(self) -> None:
        super().__init__()
        self._turns: deque[int] = deque(maxlen=_MOST_ROLLED_BACK)  # where the user's turns begin
        self._begun = self._ends_with_model = False
        self._texts = set[int]()  # of the messages so far, hashed
        self._encrypted = 0

    @staticmethod
    def is_line(value: object) -> bool:
        """True if a value is a line that only rollout files have.

        False for an item without its envelope: other files have such items too.
        """
        fields = as_dict(value)
        if text(fields, "type") in _ENVELOPES:
            return isinstance(fields.get("payload"), dict)
        if not fields or "type" in fields:
            return False
        header = {"id", "timestamp"} <= fields.keys() and not {"instructions", "git"}.isdisjoint(fields)
        return "record_type" in fields or (header and "messages" not in fields)

    @property
    def left_out(self) -> list[str]:
        if not self._encrypted:
            return []
        many = "1 compaction" if self._encrypted == 1 else f"{self._encrypted:,} compactions"
        return [f"left out the summaries of {many}: they are encrypted, and everything before them is kept"]

    def feed(self, line: object) -> list[SessionEvent]:
        fields = as_dict(line)
        kind, payload = text(fields, "type"), fields.get("payload")
        untyped = kind == "" and _type_of(fields)
        if kind in {"session_meta", ""} and "record_type" not in fields and not untyped:
            if self._begun:  # a forked session repeats its parent's
                return []
            self._begun = True
            meta = as_dict(payload) or fields
            if label := text(meta, "id"):
                self.ids[label] = None
            prompt = _instructions(meta)
            return [] if prompt is None else [SystemPrompt(text=prompt)]
        if kind not in _ENVELOPES or kind == "response_item":
            item = _item(as_dict(payload) or fields)
            return [] if item is None else self._add(item, seconds_of(fields))
        return self._event(kind, as_dict(payload), seconds_of(fields))

    def _add(self, item: Raw, at: float | None, *, injected: bool = False, left_with: str = "") -> list[SessionEvent]:
        """Take an item and hold it back. Return what was held back before, if this is the first item of the model after
        one of somebody else: then a new turn begins."""
        number, self.count = self.count, self.count + 1
        if _begins_turn(item):
            self._turns.append(number)
        if item.get("type") == "message":
            self._texts.add(hash(plain_text(item.get("content"))))
        models = is_models(item)
        begins = (models and not self._ends_with_model) or len(self._held) > _MOST_HELD
        events = self.flush() if begins else []
        self._ends_with_model = models
        self._held.append(Said(first=number, message=item, at=at, injected=injected, left_with=left_with))
        return events

    def _event(self, kind: str, payload: Raw, at: float | None) -> list[SessionEvent]:
        """Take a line that is no item. A compaction adds its summary as a message; a rollback takes turns back."""
        turns = payload.get("num_turns")
        if kind == "compacted":
            out: list[SessionEvent] = []
            left_with = _left_with(payload)
            for summary in self._summaries(payload):
                content = [{"type": "input_text", "text": summary}]
                message = {"type": "message", "role": "user", "content": content}
                out += self._add(message, at, injected=self.count > 0, left_with=left_with)
                left_with = ""  # the first message of a compaction has it
            return out
        if payload.get("type") == "thread_rolled_back" and isinstance(turns, int) and turns > 0 and self._turns:
            first = [self._turns.pop() for _ in range(min(turns, len(self._turns)))][-1]
            self._take_back(first, self.count)
            return self.flush()
        return []

    def _summaries(self, payload: Raw) -> list[str]:
        """Return the texts of a compaction that no message before it has: its summary, and new messages behind it."""
        said = text(payload, "message")
        history = [(_type_of(item), item) for item in objects_in(payload.get("replacement_history"))]
        texts = [plain_text(item.get("content")) for kind, item in history if kind == "message"]
        new = [each for each in texts if each and hash(each) not in self._texts and not (said and said in each)]
        self._encrypted += any(kind in _ENCRYPTED for kind, _ in history) and not (said or new)
        return [said, *new] if said else new


def _left_with(payload: Raw) -> str:
    """Return the text that the model is left with after a compaction: the summary, and the messages that stay."""
    history = objects_in(payload.get("replacement_history"))
    return "\n".join(filter(None, [text(payload, "message"), *(plain_text(item.get("content")) for item in history)]))


def _type_of(item: Raw) -> str:
    """Return the type of an item; if it names none, the one that its keys say, or empty if they say none."""
    found = (kind for kind, keys in _KEYS_OF_TYPES.items() if keys <= item.keys())
    return text(item, "type") or next(found, "")


def _instructions(meta: Raw) -> str | None:
    """Return the system prompt of a session's first line, or None: an object since 2026, and a text before."""
    found = meta.get("base_instructions") or meta.get("instructions")
    return text(as_dict(found), "text") or (found if isinstance(found, str) else None) or None


def _item(payload: Raw) -> Raw | None:
    """Return an item without the keys that are null, as the API takes it; None for one that is never sent."""
    kind = _type_of(payload)
    if kind in _NEVER_SENT:
        return None
    item = {key: value for key, value in payload.items() if value is not None}  # Codex writes what it leaves out
    item["type"] = kind
    output: Any = item.get("output")
    if isinstance(output, dict):  # for some months of 2025: {"content", "success"}
        content = text(cast("Raw", output), "content")
        item["output"] = content or json.dumps(output, ensure_ascii=False)
    return item


def _begins_turn(item: Raw) -> bool:
    """True for a message that the user wrote, and not for one that Codex adds in the user's name."""
    if item.get("role") != "user":
        return False
    parts = objects_in(item.get("content"))
    said = text(parts[0], "text") if parts else text(item, "content")
    return not said.lstrip().startswith(_ADDED)
