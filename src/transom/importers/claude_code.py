"""Claude Code session files: `~/.claude/projects/<project>/<session>.jsonl`, one event a line.

A line of type `user` or `assistant` holds a message in Anthropic's words. One message of the model takes several lines
with the same `message.id`, one for each block; they become one message, at the place of the first. Lines of subagents
(`isSidechain`) are conversations of their own.

The order of the file is the order of the conversation. The lines also form a tree by `parentUuid`, but its forks say
little: answers to parallel calls, hooks and retries make some, and parents are named that were never written. Only one
kind means that something was taken back: two prompts of the user behind the same message, the first of them answered.
Everything that follows from the first is left out here.

After a compaction by Claude Code itself the file goes on with a summary, as a message of the user. It is kept like any
other message; so is everything before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from transom.core.message import Raw
from transom.importers.values import objects_in
from transom.wire.violations import as_dict, text

_MARKS = frozenset({"uuid", "parentUuid", "sessionId", "session_id", "leafUuid", "isSidechain", "messageId"})
"""At least one of these keys is in every line."""


class Branch(Struct, frozen=True, kw_only=True):
    """One conversation of a session: `name` is empty for the session itself, else that of a subagent.

    `dropped` counts the messages of branches that were taken back.
    """

    name: str
    messages: list[Raw]
    dropped: int


class _Entry(Struct, frozen=True, kw_only=True):
    """A line that holds a message. `answers`: ids of the calls it answers."""

    uuid: str
    message: Raw
    message_id: str
    answers: list[str]


def is_line(value: object) -> bool:
    """Whether a value is a line of a session file."""
    fields = as_dict(value)
    return bool(text(fields, "type")) and not _MARKS.isdisjoint(fields) and "payload" not in fields


def branches(lines: Iterable[object]) -> Iterator[Branch]:
    """The conversations of a session: its own first, then one for each subagent."""
    session = _Session()
    for line in lines:
        session.add(as_dict(line))
    taken_back = session.taken_back()
    for name, entries in sorted(session.entries.items(), key=lambda item: item[0] != ""):
        kept = [entry for entry in entries if entry.uuid not in taken_back]
        yield Branch(name=name, messages=_merged(kept), dropped=len(entries) - len(kept))


class _Session:
    """The lines so far: messages by conversation, and which line follows which."""

    def __init__(self) -> None:
        self.entries: dict[str, list[_Entry]] = {}
        self._before: dict[str, str] = {}  # a line's parent; if that is not in the file, the line before it
        self._message: dict[str, str] = {}  # the last message up to a line
        self._turns: set[str] = set()  # the lines of the model
        self._replaced: set[str] = set()  # prompts behind whose message there is another prompt
        self._prompts: dict[tuple[str, int], str] = {}  # the last prompt behind a message, between two compactions
        self._branches: dict[str, str] = {}
        self._last: dict[str, str] = {}  # the last line of each conversation
        self._compactions = self._sides = 0

    def add(self, line: Raw) -> None:
        """Take the next line."""
        uuid, parent = text(line, "uuid"), text(line, "parentUuid")
        if uuid in self._before:
            return  # a resumed session repeats lines
        branch, message = self._branch(line, parent), _message(line)
        self._compactions += line.get("subtype") == "compact_boundary"
        if message is None and not uuid:
            return
        if message is not None:
            results = [block for block in _blocks(message) if block.get("type") == "tool_result"]
            entry = _Entry(
                uuid=uuid,
                message={"role": message["role"], "content": message["content"]},
                message_id=text(message, "id"),
                answers=[text(block, "tool_use_id") for block in results],
            )
            self.entries.setdefault(branch, []).append(entry)
            self._note(line, entry, parent)
        if uuid:
            self._before[uuid] = parent if parent in self._before else self._last.get(branch, "")
            self._message[uuid] = uuid if message is not None else self._message.get(self._before[uuid], "")
            self._branches[uuid] = branch
            self._last[branch] = uuid

    def _note(self, line: Raw, entry: _Entry, parent: str) -> None:
        """Remember the turns of the model, and prompts of the user that came twice behind the same message."""
        if entry.message["role"] == "assistant":
            self._turns.add(entry.uuid)
        elif (
            not entry.answers and self._message.get(parent) and not (line.get("isMeta") or line.get("isCompactSummary"))
        ):
            place = self._message[parent], self._compactions
            if place in self._prompts:
                self._replaced.add(self._prompts[place])
            self._prompts[place] = entry.uuid

    def taken_back(self) -> set[str]:
        """The lines of every prompt that was replaced by another after the model had answered it."""
        branch: dict[str, str] = {}
        answered: set[str] = set()
        for uuid, before in self._before.items():
            root = branch.get(before, "") or (uuid if uuid in self._replaced else "")
            if root:
                branch[uuid] = root
                if uuid in self._turns:
                    answered.add(root)
        return {uuid for uuid, root in branch.items() if root in answered}

    def _branch(self, line: Raw, parent: str) -> str:
        """The name of the conversation that a line belongs to."""
        agent = text(line, "parent_tool_use_id")
        if not line.get("isSidechain") and not agent:
            return ""
        if agent := agent or text(line, "agentId"):
            return agent
        if not self._branches.get(parent):  # older files do not name the agent: its first line has no parent
            self._sides += 1
        return self._branches.get(parent) or f"side-{self._sides}"


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
