"""Claude Code session files: `~/.claude/projects/<project>/<session>.jsonl`, one event a line.

A line of type `user` or `assistant` holds a message in Anthropic's words. One message of the model takes several lines
with the same `message.id`, one for each block; they become one message, at the place of the first. The lines form a
tree by `parentUuid`: after a rewind, the branch that was taken back is still in the file and is left out here. Lines of
subagents (`isSidechain`) are conversations of their own.

After a compaction by Claude Code itself the file goes on with a summary, as a message of the user. It is kept like any
other message; so is everything before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from transom.core.message import Raw
from transom.importers.values import objects_in
from transom.wire.validation import as_dict, text

_MARKS = frozenset({"uuid", "parentUuid", "sessionId", "session_id", "leafUuid", "isSidechain", "messageId"})
"""At least one of these keys is in every line."""


class Chain(Struct, frozen=True, kw_only=True):
    """One conversation of a session: `name` is empty for the session itself, else that of a subagent.

    `dropped` counts the messages of branches that were taken back.
    """

    name: str
    messages: list[Raw]
    dropped: int


class _Entry(Struct, frozen=True, kw_only=True):
    """A line that holds a message. `calls`: ids of its tool calls; `answers`: ids of the calls it answers."""

    uuid: str
    message: Raw
    message_id: str
    calls: list[str]
    answers: list[str]


def is_line(value: object) -> bool:
    """Whether a value is a line of a session file."""
    fields = as_dict(value)
    return bool(text(fields, "type")) and not _MARKS.isdisjoint(fields) and "payload" not in fields


def chains(lines: Iterable[object]) -> Iterator[Chain]:
    """The conversations of a session: its own first, then one for each subagent."""
    tree = _Tree()
    for line in lines:
        tree.add(as_dict(line))
    for name, entries in sorted(tree.entries.items(), key=lambda item: item[0] != ""):
        kept = tree.active(entries)
        yield Chain(name=name, messages=_merged(kept), dropped=len(entries) - len(kept))


class _Tree:
    """The lines so far: messages by conversation, and which line follows which."""

    def __init__(self) -> None:
        self.entries: dict[str, list[_Entry]] = {}
        self._parents: dict[str, str] = {}
        self._before: dict[str, str] = {}  # the line before in the file, of the same conversation
        self._chains: dict[str, str] = {}
        self._last: dict[str, str] = {}

    def add(self, line: Raw) -> None:
        uuid, parent = text(line, "uuid"), text(line, "parentUuid")
        if uuid in self._parents:
            return  # a resumed session repeats lines
        chain = self._chain(line, parent)
        if uuid:
            self._parents[uuid] = parent
            self._before[uuid] = self._last.get(chain, "")
            self._chains[uuid] = chain
            self._last[chain] = uuid
        message = _message(line)
        if message is not None:
            blocks = _blocks(message)
            entry = _Entry(
                uuid=uuid,
                message={"role": message["role"], "content": message["content"]},
                message_id=text(message, "id"),
                calls=[text(block, "id") for block in blocks if block.get("type") == "tool_use"],
                answers=[text(block, "tool_use_id") for block in blocks if block.get("type") == "tool_result"],
            )
            self.entries.setdefault(chain, []).append(entry)

    def _chain(self, line: Raw, parent: str) -> str:
        """The name of the conversation that a line belongs to."""
        agent = text(line, "parent_tool_use_id")
        if not line.get("isSidechain") and not agent:
            return ""
        if agent := agent or text(line, "agentId"):
            return agent
        known = self._chains.get(parent, "")  # older files do not name the agent: its first line has no parent
        return known or f"side-{1 + len({name for name in self._chains.values() if name.startswith('side-')})}"

    def active(self, entries: list[_Entry]) -> list[_Entry]:
        """The entries that the last one follows, and what belongs to them: the other blocks of a message of theirs,
        and every answer to their calls (answers to parallel calls are leaves of the tree)."""
        path = self._path(entries[-1].uuid)
        said = {entry.message_id for entry in entries if entry.uuid in path and entry.message_id}
        calls = {
            call for entry in entries if entry.uuid in path or entry.message_id in said for call in entry.calls if call
        }
        return [
            entry
            for entry in entries
            if not entry.uuid or entry.uuid in path or entry.message_id in said or not calls.isdisjoint(entry.answers)
        ]

    def _path(self, uuid: str) -> set[str]:
        """A line and all before it. A line without a known parent (a compaction, a resumed session) follows the one
        before it in the file."""
        path: set[str] = set()
        while uuid:
            path.add(uuid)
            parent = self._parents[uuid]
            if parent not in self._parents or parent in path or self._chains[parent] != self._chains[uuid]:
                parent = self._before[uuid]
                while parent in path:
                    parent = self._before[parent]
            uuid = parent
        return path


def _message(line: Raw) -> Raw | None:
    """The message that a line holds. Errors of the API are Claude Code's words, not the model's."""
    kind, message = text(line, "type"), as_dict(line.get("message"))
    if kind in {"user", "assistant"} and not line.get("isApiErrorMessage"):
        said = isinstance(message.get("content"), (str, list)) and message["content"]
        return {**message, "role": kind} if said else None
    attachment = as_dict(line.get("attachment"))  # what the user typed while the agent was at work
    queued = kind == "attachment" and attachment.get("type") == "queued_command"
    if queued and isinstance(attachment.get("prompt"), (str, list)):
        return {"role": "user", "content": attachment["prompt"]}
    return None


def _merged(entries: list[_Entry]) -> list[Raw]:
    """One message for all blocks with the same message id, and one for results that follow one another."""
    messages: list[Raw] = []
    said: dict[str, Raw] = {}
    for entry in entries:
        earlier = said.get(entry.message_id)
        if earlier is not None and entry.message["role"] == "assistant":
            earlier["content"] = [*_blocks(earlier), *_blocks(entry.message)]
            continue
        if entry.answers and messages and messages[-1]["role"] == "user" and _only_results(messages[-1]):
            messages[-1]["content"] = [*messages[-1]["content"], *_blocks(entry.message)]
            continue
        messages.append(entry.message)
        if entry.message_id and entry.message["role"] == "assistant":
            said[entry.message_id] = entry.message
    return messages


def _only_results(message: Raw) -> bool:
    return all(block.get("type") == "tool_result" for block in _blocks(message))


def _blocks(message: Raw) -> list[Raw]:
    content = text(message, "content")
    return [{"type": "text", "text": content}] if content else objects_in(message["content"])
