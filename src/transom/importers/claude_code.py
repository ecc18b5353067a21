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

After a compaction by Claude Code itself the file goes on with a summary, as a message of the user. The summary is kept,
and marked as injected; everything before it is kept too. In a file that begins with a summary it counts as the user's,
because nothing else says what the task is.
"""

from __future__ import annotations

from msgspec.structs import replace

from transom.core.message import Raw
from transom.importers.injected import is_command
from transom.importers.session_events import Ranges, Said, SessionEvent, add_range, seconds_of
from transom.importers.values import objects_in
from transom.wire.violations import as_dict, text

_MARKS = frozenset({"uuid", "parentUuid", "sessionId", "session_id", "leafUuid", "isSidechain", "messageId"})
"""At least one of these keys is in every line."""

_REMEMBERED = 200_000
"""A reader knows at least this many of the last lines by their uuid, and at most twice as many.

A rewind never goes further back.
"""

_MOST_HELD = 5_000
"""A turn of more lines than this is handed out in pieces."""


def is_line(value: object) -> bool:
    """True if a value is a line of a Claude Code session file."""
    fields = as_dict(value)
    return bool(text(fields, "type")) and not _MARKS.isdisjoint(fields) and "payload" not in fields


class ClaudeCodeReader:
    """Reads the lines of a Claude Code session: see `SessionReader`."""

    def __init__(self) -> None:
        self._count = 0
        self.ids: dict[str, None] = {}
        self.taken_back: dict[str, Ranges] = {}
        self._known = _Lines()
        self._held: dict[str, list[Said]] = {}  # the newest turn of each branch, with the id of its message
        self._turn: dict[str, str] = {}
        self._answered: dict[str, int] = {}  # the number of the last line of the model in each branch
        self._prompts: dict[tuple[str, int, int], int] = {}  # the last prompt behind a message, between compactions
        self._asks: dict[str, bool] = {}  # whether the last message of a branch is a command that stands for a prompt
        self._last: dict[str, int] = {}  # the last message of each branch
        self._compactions = self._sides = 0

    @property
    def count(self) -> int:
        return self._count

    @property
    def held_from(self) -> int:
        return min((said.first for held in self._held.values() for said in held), default=self._count)

    def feed(self, line: object) -> list[SessionEvent]:
        fields = as_dict(line)
        if label := text(fields, "sessionId") or text(fields, "session_id"):
            self.ids.setdefault(label)
        uuid, parent = text(fields, "uuid"), text(fields, "parentUuid")
        if uuid and self._known.get(uuid) is not None:
            return []  # a resumed session repeats lines
        branch, message = self._branch(fields, parent), _message(fields)
        self._compactions += fields.get("subtype") == "compact_boundary"
        if message is None and not uuid:
            return []
        known = self._known.get(parent)
        before = self._last.get(branch, -1) if known is None else known[0]
        events: list[SessionEvent] = []
        if message is not None:
            number, self._count = self._count, self._count + 1
            events = self._add(branch, fields, message, number, before if known is not None else -1)
            before = number
        if uuid:
            self._known.add(uuid, (before, branch))
            self._last[branch] = before
        return events

    def flush(self) -> list[SessionEvent]:
        events: list[SessionEvent] = []
        for branch in list(self._held):
            events += self._release(branch)
        return events

    def _add(self, branch: str, line: Raw, message: Raw, number: int, parent: int) -> list[SessionEvent]:
        """Take a message; return the messages of the turn before, if this one begins a new turn or takes something
        back.
        """
        plain = {"role": message["role"], "content": message["content"]}
        injected = bool(line.get("isMeta")) and not self._asks.get(branch)
        injected |= bool(line.get("isCompactSummary")) and number > 0
        self._asks[branch] = is_command(_words(plain))
        said = Said(branch=branch, first=number, last=number, message=plain, at=seconds_of(line), injected=injected)
        if message["role"] == "assistant":
            self._answered[branch] = number
            turn = text(message, "id")
            held = self._held.get(branch, [])
            begins = not turn or turn != self._turn.get(branch) or len(held) > _MOST_HELD
            events = self._release(branch) if begins else []
            self._turn[branch] = turn
        else:
            events = self._take_back(branch, line, message, number, parent)
        self._held.setdefault(branch, []).append(said)
        return events

    def _take_back(self, branch: str, line: Raw, message: Raw, number: int, parent: int) -> list[SessionEvent]:
        """Take a message of the user; if it replaces an earlier prompt, record what was taken back and return the held
        turn.

        It replaces a prompt with the same parent message that the model had answered. Tool results, compaction
        summaries and messages that Claude Code adds replace nothing.
        """
        if _answers(message) or parent < 0 or line.get("isMeta") or line.get("isCompactSummary"):
            return []
        place = branch, parent, self._compactions
        earlier, self._prompts[place] = self._prompts.get(place), number
        if earlier is None or self._answered.get(branch, -1) < earlier:
            return []
        add_range(self.taken_back.setdefault(branch, []), earlier, number)
        return self._release(branch)

    def _release(self, branch: str) -> list[SessionEvent]:
        return list(_merged(self._held.pop(branch, [])))

    def _branch(self, line: Raw, parent: str) -> str:
        """Return the name of the branch that a line belongs to: a subagent's id, or empty for the session itself.

        Older files do not name subagents: a first line without a known parent begins a new branch, "side-1" and so on.
        """
        agent = text(line, "parent_tool_use_id")
        if not line.get("isSidechain") and not agent:
            return ""
        if agent := agent or text(line, "agentId"):
            return agent
        known = self._known.get(parent)
        if known is None or not known[1]:  # older files do not name the agent: its first line has no parent
            self._sides += 1
            return f"side-{self._sides}"
        return known[1]


class _Lines:
    """The last lines by their uuid: for each, the number of the last message up to it, and its branch.

    Older lines are dropped.
    """

    def __init__(self) -> None:
        self._new: dict[int, tuple[int, str]] = {}
        self._old: dict[int, tuple[int, str]] = {}

    def get(self, uuid: str) -> tuple[int, str] | None:
        key = hash(uuid)  # its text would take twice the memory
        return self._new.get(key) or self._old.get(key)

    def add(self, uuid: str, found: tuple[int, str]) -> None:
        if len(self._new) >= _REMEMBERED:
            self._old, self._new = self._new, {}
        self._new[hash(uuid)] = found


def _message(line: Raw) -> Raw | None:
    """Return the message that a line holds, or None.

    Errors of the API count as none: they are Claude Code's words, not the model's.
    """
    kind, message = text(line, "type"), as_dict(line.get("message"))
    if kind in {"user", "assistant"} and not line.get("isApiErrorMessage"):
        said = isinstance(message.get("content"), (str, list)) and message["content"]
        return {**message, "role": kind} if said else None
    attachment = as_dict(line.get("attachment"))  # what the user typed while the agent was at work
    queued = kind == "attachment" and attachment.get("type") == "queued_command"
    if queued and isinstance(attachment.get("prompt"), (str, list)):
        return {"role": "user", "content": attachment["prompt"]}
    return None


def _merged(held: list[Said]) -> list[Said]:
    """Merge the blocks of one turn of the model into one message, and tool results that follow one another into one
    message.
    """
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
        out[at] = replace(
            earlier, message={**earlier.message, "content": content}, last=said.last, lines=earlier.lines + said.lines
        )
    return out


def _answers(message: Raw) -> bool:
    return any(block.get("type") == "tool_result" for block in _blocks(message))


def _only_results(said: Said) -> bool:
    return all(block.get("type") == "tool_result" for block in _blocks(said.message))


def _words(message: Raw) -> str:
    """Return the text of a message of one text; empty for another one."""
    blocks = _blocks(message)
    return text(blocks[0], "text") if len(blocks) == 1 else ""


def _blocks(message: Raw) -> list[Raw]:
    content = text(message, "content")
    return [{"type": "text", "text": content}] if content else objects_in(message["content"])
