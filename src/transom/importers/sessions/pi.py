"""Reads sessions of the coding agent pi: `~/.pi/agent/sessions/<folder>/<time>_<id>.jsonl`, one entry a line.

A line of type `message` holds a message of the user, the model or a tool, or a shell command of the user
(`bashExecution`). Since version 2 of the format entries form a tree by `id` and `parentId`. The conversation is the
path from the root to the newest entry; messages off this path were taken back.

After a compaction by pi itself (`compaction`, `branch_summary`) the summary is kept as a message of the user, and
everything before it stays.
"""

from __future__ import annotations

from array import array
from typing import cast

from transom.core.message import Raw
from transom.importers.sessions.pi_notes import notes_of_result, notes_of_turn
from transom.importers.sessions.session_reader import Ranges, Said, SessionEvent, SessionReader, seconds_of
from transom.wire.chat_json import chat_call, chat_media
from transom.wire.fields import as_dict, as_text, compact_json, data_url, objects_in, text
from transom.wire.translate import failed_content

_BESIDE = frozenset(
    {
        "model_change",
        "thinking_level_change",
        "compaction",
        "branch_summary",
        "custom",
        "custom_message",
        "label",
        "session_info",
        "context_transform",
        "ephemeral",
    }
)
"""The types of entries other than `session` and `message`."""

_ROLES = frozenset({"user", "assistant", "toolResult", "bashExecution", "custom", "hookMessage"})
_SUMMARIES = frozenset({"compaction", "branch_summary"})


class PiReader(SessionReader):
    """Reads the lines of a session of pi, as `SessionReader` says. It holds back the newest turn of the model."""

    def __init__(self) -> None:
        super().__init__()
        self._before = array("q")  # the number of the message before each; -1 for the first of a branch
        self._known: dict[int, int] = {}  # the last message up to each entry, by the hash of its id
        self._newest = -1  # the last message on the path to the newest entry; -1 if there is none

    @staticmethod
    def is_line(value: object) -> bool:
        fields = as_dict(value)
        kind = text(fields, "type")
        if kind == "message":
            return text(as_dict(fields.get("message")), "role") in _ROLES
        if kind == "session":
            return {"id", "cwd"} <= fields.keys()
        return kind in _BESIDE and "timestamp" in fields

    @property
    def taken_back(self) -> dict[str, Ranges]:
        """The ranges of lines whose messages are not on the path to the newest entry, under "", the name of the only
        branch. Empty if there are none."""
        ranges: Ranges = []
        end, at = self.count, self._newest
        while end > 0:
            if at + 1 < end:
                ranges.append((at + 1, end))
            end, at = at, (self._before[at] if at >= 0 else -1)
        return {"": ranges[::-1]} if ranges else {}

    def feed(self, line: object) -> list[SessionEvent]:
        fields = as_dict(line)
        label = text(fields, "id")
        if text(fields, "type") != "session" and label:
            parent = fields.get("parentId")
            self._newest = self._known.get(hash(parent), self._newest) if isinstance(parent, str) else -1
        elif label:
            self.ids.setdefault(label)
        message = _message(fields)
        summary = text(fields, "type") in _SUMMARIES and self.count > 0
        events = [] if message is None else self._add(message, seconds_of(fields), injected=summary)
        if label:
            self._known[hash(label)] = self._newest
        return events

    def _add(self, message: Raw, at: float | None, *, injected: bool) -> list[SessionEvent]:
        """Take a message and hold it back. Return what was held back before, if this is a message of the model or goes
        back in the tree: then a new turn begins."""
        number, self.count = self.count, self.count + 1
        ends = message["role"] == "assistant" or self._newest != number - 1
        events = self.flush() if ends else []
        self._before.append(self._newest)
        self._newest = number
        self._held.append(Said(first=number, message=message, at=at, injected=injected))
        return events


def _message(line: Raw) -> Raw | None:
    """Return the OpenAI Chat message of a line; None if the line holds none that is sent."""
    kind = text(line, "type")
    if kind in _SUMMARIES:
        summary = text(line, "summary")
        return {"role": "user", "content": summary} if summary else None
    if kind == "custom_message":
        return _said({"role": "user", "content": line.get("content")})
    return _said(as_dict(line.get("message"))) if kind == "message" else None


def _said(message: Raw) -> Raw | None:
    """Translate a message of pi to OpenAI Chat; None for one that is never sent."""
    role, content = text(message, "role"), message.get("content")
    if role == "bashExecution":
        return None if message.get("excludeFromContext") else {"role": "user", "content": _shell(message)}
    if not isinstance(content, str | list) or role not in _ROLES:
        return None
    if role == "assistant":
        return _turn(message)
    parts = content if isinstance(content, str) else [_part(block) for block in objects_in(cast("object", content))]
    if role == "toolResult":
        said = failed_content(_plain(parts)) if message.get("isError") is True else _plain(parts)
        answer: Raw = {"role": "tool", "tool_call_id": text(message, "toolCallId"), "content": said}
        return answer | notes_of_result(message)
    return {"role": "user", "content": parts} if parts else None


def _turn(message: Raw) -> Raw | None:
    """Translate a turn of the model; None for one that failed before it said anything."""
    blocks = objects_in(message.get("content"))
    said = [_part(block) for block in blocks if text(block, "type") not in {"thinking", "toolCall"}]
    thoughts = [text(block, "thinking") for block in blocks if text(block, "type") == "thinking"]
    calls = [
        chat_call(text(block, "id"), text(block, "name"), as_text(block.get("arguments")))
        for block in blocks
        if text(block, "type") == "toolCall"
    ]
    out: Raw = {"role": "assistant", "content": _plain(said) or None}
    if any(thoughts):
        out["reasoning_content"] = "\n".join(filter(None, thoughts))
    if calls:
        out["tool_calls"] = calls
    return out | notes_of_turn(blocks) if len(out) > 2 or out["content"] else None


def _plain(parts: str | list[Raw]) -> str | list[Raw]:
    """Return the text alone if the parts are one text; otherwise the parts."""
    if isinstance(parts, list) and len(parts) == 1 and parts[0].get("type") == "text":
        return parts[0]["text"]
    return parts or ""


def _part(block: Raw) -> Raw:
    if text(block, "type") == "image":
        return chat_media("image", data_url(text(block, "mimeType"), text(block, "data")))
    known = text(block, "type") in {"text", ""}
    return {"type": "text", "text": text(block, "text") if known else compact_json(block)}


def _shell(message: Raw) -> str:
    """Render a shell command of the user as pi shows it to the model."""
    output = text(message, "output")
    out = f"Ran `{text(message, 'command')}`\n" + (f"```\n{output}\n```" if output else "(no output)")
    code = message.get("exitCode")
    if message.get("cancelled"):
        return f"{out}\n\n(command cancelled)"
    return f"{out}\n\nCommand exited with code {code}" if isinstance(code, int) and code else out
