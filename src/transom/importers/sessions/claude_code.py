"""Reads Claude Code session files: `~/.claude/projects/<project>/<session>.jsonl`, one event a line.

A line of type `user` or `assistant` holds a message in Anthropic's form. One message of the model takes several lines
with the same `message.id`, one for each block; they become one message, at the place of the first. Lines of subagents
(`isSidechain`) are conversations of their own.

The order of the file is the order of the conversation. The lines also form a tree by `parentUuid`, but most of its
forks have no meaning: answers to parallel calls, hooks and retries make some, and parents are named that were never
written. Only one kind means that something was taken back: two prompts of the user with the same parent message, the
first of them answered. Everything from the first prompt up to the second was taken back.

Claude Code writes messages in the user's name (`isMeta`): reminders, the text of a skill, output of local commands.
These are marked as injected. The text that a command stands for ("/init") is marked `isMeta` too, but it is what the
user asks for: it counts as the user's.

Lines of type `attachment` hold what Claude Code shows the model beside the messages: files that the user mentioned,
edited files, memory, reminders. Their texts are kept, marked as injected. What the user typed while the model worked is
in an attachment too, and since 2.1.97 only there; before, it is only in lines of type `queue-operation`. There `remove`
means that the model was shown the text, or that the user dropped it: the text is kept.

A message of the model `<synthetic>` was written by Claude Code: no model was called. It is left out, like its errors.

After a compaction by Claude Code itself the file goes on with a summary, as a message of the user. The summary is kept,
and marked as injected; everything before it is kept too. In a file that begins with a summary it counts as the user's,
because nothing else says what the task is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from msgspec.structs import replace

from transom.core.message import Raw
from transom.importers.sessions.injected_messages import is_command
from transom.importers.sessions.session_reader import Said, SessionEvent, SessionReader, seconds_of
from transom.stores.lru_cache import LruCache
from transom.wire.fields import as_dict, as_parts, objects_in, plain_text, text

_LINE_KEYS = frozenset({"uuid", "parentUuid", "sessionId", "session_id", "leafUuid", "isSidechain", "messageId"})
"""At least one of these keys is in every line."""

_REMEMBERED_LINES = 200_000
"""How many of the last lines a reader knows by their uuid. No rewind goes further back."""

_MOST_HELD = 5_000
"""The most messages that are held back for one turn. A longer turn is returned in pieces."""

_ATTACHED_SINCE = (2, 1, 97)
"""The version from which on a message that the user typed meanwhile is in an attachment, if the model was shown it."""

_UNSENT = frozenset(
    {
        "async_hook_response",
        "command_permissions",
        "hook_cancelled",
        "hook_error_during_execution",
        "hook_non_blocking_error",
        "hook_permission_decision",
        "hook_success",
        "hook_system_message",
        "structured_output",
    }
)
"""Types of attachments that the model is not shown."""

_TEXT_KEYS = frozenset({"content", "snippet", "text", "message", "prompt", "planContent", "body"})
"""The keys of an attachment under which it has texts for the model."""


_PDF = "JVBERi"
"""How a PDF file begins, in base64."""


class ClaudeCodeReader(SessionReader):
    """Reads the lines of a Claude Code session, as `SessionReader` says. It holds back the newest turn of each
    branch."""

    def __init__(self) -> None:
        super().__init__()
        # of each line, by the hash of its uuid, the number of the last message up to it, and its branch
        self._known: LruCache[int, tuple[int, str]] = LruCache(_REMEMBERED_LINES)
        self._turns: dict[str, list[Said]] = {}  # the newest turn of each branch, with the id of its message
        self._turn: dict[str, str] = {}
        self._answered: dict[str, int] = {}  # the number of the last line of the model in each branch
        self._prompts: dict[tuple[str, int, int], int] = {}  # the last prompt behind a message, between compactions
        self._asks: dict[str, bool] = {}  # whether the last message of a branch is a command that stands for a prompt
        self._last: dict[str, int] = {}  # the last message of each branch
        self._compactions = 0
        self._queue: list[str] = []  # what the user typed meanwhile, and no message has said yet
        self._taken: list[str] = []  # said because the queue says so: an attachment may repeat it
        self._version: tuple[int, ...] = ()

    @staticmethod
    def is_line(value: object) -> bool:
        fields = as_dict(value)
        return bool(text(fields, "type")) and not _LINE_KEYS.isdisjoint(fields) and "payload" not in fields

    @property
    def left_out(self) -> list[str]:
        if not self._queue:
            return []
        many = len(self._queue)
        words = "1 message that the user typed" if many == 1 else f"{many:,} messages that the user typed"
        size = f"{sum(map(len, self._queue)):,} characters"
        return [f"left out {words} while the model worked ({size}): taken back, dropped or not yet read at the end"]

    def feed(self, line: object) -> list[SessionEvent]:
        fields = as_dict(line)
        if label := text(fields, "sessionId") or text(fields, "session_id"):
            self.ids.setdefault(label)
        uuid, parent = text(fields, "uuid"), text(fields, "parentUuid")
        if uuid and self._known.get(hash(uuid)) is not None:
            return []  # a resumed session repeats lines
        branch, message = self._branch(fields, parent), self._message(fields)
        self._compactions += fields.get("subtype") == "compact_boundary"
        if message is None and not uuid:
            return []
        known = self._known.get(hash(parent))
        before = self._last.get(branch, -1) if known is None else known[0]
        events: list[SessionEvent] = []
        if message is not None:
            number, self.count = self.count, self.count + 1
            events = self._add(branch, fields, message, number, before if known is not None else -1)
            before = number
        if uuid:
            self._known.put(hash(uuid), (before, branch), 1)
            self._last[branch] = before
        return events

    def flush(self) -> list[SessionEvent]:
        events: list[SessionEvent] = []
        for branch in list(self._turns):
            events += self._release(branch)
        return events

    def _message(self, line: Raw) -> Raw | None:
        """Return the message that a line adds to its branch, or None.

        What the user typed while the model worked may stand in several lines; only one of them adds it.
        """
        if version := text(line, "version"):
            self._version = tuple(int(part) for part in version.split(".") if part.isdecimal())
        if text(line, "type") == "queue-operation":
            return self._queued(line)
        message = _message(line)
        if message is None or message["role"] != "user" or not (self._queue or self._taken):
            return message
        said = plain_text(message["content"])
        if said in self._taken:
            self._taken.remove(said)
            return None
        if not _answers(message):
            self._queue = [queued for queued in self._queue if queued not in said]
        return message

    def _queued(self, line: Raw) -> Raw | None:
        """Take a line of the queue. Return what the user typed if only this line says that the model was shown it."""
        operation, typed = text(line, "operation"), plain_text(line.get("content"))
        if operation == "enqueue" and typed:
            self._queue.append(typed)
        if operation != "remove" or typed not in self._queue or self._version >= _ATTACHED_SINCE:
            return None  # a message or an attachment has what leaves the queue otherwise
        self._queue.remove(typed)
        self._taken.append(typed)
        return {"role": "user", "content": line["content"]}

    def _add(self, branch: str, line: Raw, message: Raw, number: int, parent: int) -> list[SessionEvent]:
        """Take a message and hold it back. Return what was held back before, if it begins a new turn of the model or
        takes something back. `parent`: the last message up to the parent of its line; -1 if that line is not known."""
        plain = {"role": message["role"], "content": message["content"]}
        injected = _is_added(line) and not self._asks.get(branch)
        injected |= bool(line.get("isCompactSummary")) and number > 0
        self._asks[branch] = is_command(_words(plain))
        left_with = plain_text(plain["content"]) if line.get("isCompactSummary") else ""
        said = Said(
            branch=branch, first=number, message=plain, at=seconds_of(line), injected=injected, left_with=left_with
        )
        if message["role"] == "assistant":
            self._answered[branch] = number
            turn = text(message, "id")
            held = self._turns.get(branch, [])
            begins = not turn or turn != self._turn.get(branch) or len(held) > _MOST_HELD
            events = self._release(branch) if begins else []
            self._turn[branch] = turn
        else:
            events = self._replaced(branch, line, message, number, parent)
        self._turns.setdefault(branch, []).append(said)
        return events

    def _replaced(self, branch: str, line: Raw, message: Raw, number: int, parent: int) -> list[SessionEvent]:
        """If a message of the user replaces the last prompt with the same parent message, and the model has answered
        that prompt, record what followed it as taken back, and return what was held back; else an empty list. Results,
        summaries, what Claude Code adds, and messages without a known parent (-1) replace nothing."""
        if _answers(message) or parent < 0 or _is_added(line) or line.get("isCompactSummary"):
            return []
        place = branch, parent, self._compactions
        earlier, self._prompts[place] = self._prompts.get(place), number
        if earlier is None or self._answered.get(branch, -1) < earlier:
            return []
        self._take_back(earlier, number, branch)
        return self._release(branch)

    def _release(self, branch: str) -> list[SessionEvent]:
        return list(_merged(self._turns.pop(branch, [])))

    def _branch(self, line: Raw, parent: str) -> str:
        """Return the branch of a line: a subagent's id, or empty for the session itself. Older files do not name
        subagents: a first line without a known parent begins a new branch, "side-1" and so on."""
        agent = text(line, "parent_tool_use_id")
        if not line.get("isSidechain") and not agent:
            return ""
        if agent := agent or text(line, "agentId"):
            return agent
        known = self._known.get(hash(parent))
        if known is None or not known[1]:  # older files do not name the agent: its first line has no parent
            name = f"side-{len(self.unnamed) + 1}"
            self.unnamed.add(name)
            return name
        return known[1]


def _message(line: Raw) -> Raw | None:
    """Return the message that a line holds, or None.

    Errors of the API and synthetic replies count as none: they are Claude Code's words, not the model's.
    """
    kind, message = text(line, "type"), as_dict(line.get("message"))
    if kind in {"user", "assistant"} and not line.get("isApiErrorMessage"):
        synthetic = kind == "assistant" and message.get("model") == "<synthetic>"
        said = isinstance(message.get("content"), (str, list)) and message["content"] and not synthetic
        return {**message, "role": kind} if said else None
    return _attached(as_dict(line.get("attachment"))) if kind == "attachment" else None


def _attached(attachment: Raw) -> Raw | None:
    """Return the message of the user in which an attachment is shown to the model; None if it is not shown."""
    kind = text(attachment, "type")
    if kind == "queued_command":
        prompt = attachment.get("prompt")
        return {"role": "user", "content": prompt} if isinstance(prompt, str | list) and prompt else None
    if kind in _UNSENT:
        return None
    blocks = list(_attached_blocks(attachment))
    if not blocks:
        return None
    path = text(attachment, "filename") or text(attachment, "path") or text(attachment, "uri")
    title = " ".join(filter(None, (kind.replace("_", " "), path)))
    return {"role": "user", "content": [{"type": "text", "text": f"Attached {title}:"}, *blocks]}


def _attached_blocks(value: object, key: str = "") -> Iterator[Raw]:
    """Yield the texts, images and documents in a value of an attachment as blocks. `key`: the key that the value is
    under: only under `_TEXT_KEYS`, or as the source of a notebook's cell, a text is for the model."""
    if isinstance(value, str) and value.strip() and key in _TEXT_KEYS:
        yield {"type": "text", "text": value}
    elif isinstance(value, list):
        for item in cast("list[object]", value):
            yield from _attached_blocks(item, key)
    elif isinstance(value, dict):
        fields = cast("Raw", value)
        data = text(fields, "base64") or text(fields, "image_data")
        mime = text(fields, "media_type") or text(fields, "type") or ("application/pdf" * data.startswith(_PDF))
        if data and "/" in mime:
            kind = "image" if mime.startswith("image/") else "document"
            yield {"type": kind, "source": {"type": "base64", "media_type": mime, "data": data}}
        for name, item in fields.items():
            if key == "cells" and name == "source":
                yield from _attached_blocks(item, "content")
            elif not isinstance(item, str) or name in _TEXT_KEYS:
                yield from _attached_blocks(item, name)


def _is_added(line: Raw) -> bool:
    """True if Claude Code wrote the message of this line in the user's name; what the user typed meanwhile is not."""
    queued = text(as_dict(line.get("attachment")), "type") == "queued_command"
    return bool(line.get("isMeta")) or (text(line, "type") == "attachment" and not queued)


def _merged(held: list[Said]) -> list[Said]:
    """Merge the messages of one turn: all blocks of the model become one message, at the place of the first, and tool
    results that follow one another another one."""
    out: list[Said] = []
    turn = -1
    for said in held:
        role, at = said.message["role"], len(out) - 1
        if role == "assistant" and turn >= 0:
            at = turn
        elif not (_answers(said.message) and out and out[-1].message["role"] == "user" and _only_results(out[-1])):
            turn = len(out) if role == "assistant" else turn
            out.append(said)
            continue
        earlier = out[at]
        content = [*_blocks(earlier.message), *_blocks(said.message)]
        out[at] = replace(earlier, message={**earlier.message, "content": content}, lines=earlier.lines + said.lines)
    return out


def _answers(message: Raw) -> bool:
    """True if a message has a tool result."""
    return any(block.get("type") == "tool_result" for block in _blocks(message))


def _only_results(said: Said) -> bool:
    return all(block.get("type") == "tool_result" for block in _blocks(said.message))


def _words(message: Raw) -> str:
    """Return the text of a message that is one text block; empty for any other message."""
    blocks = _blocks(message)
    return text(blocks[0], "text") if len(blocks) == 1 else ""


def _blocks(message: Raw) -> list[Raw]:
    return objects_in(as_parts(message["content"]))
