"""When a message of a list and a fact of a log are the same, and where a log is forked for a list that differs from it.

Two facts are the same message if they have the same key. A key has what a message says, and nothing that a program or a
framework may add to it later.
"""

from __future__ import annotations

from typing import Any

from transom.core.entry import Sent
from transom.core.log import Log
from transom.core.message import Assistant, Fact, Instruction, Text, ToolResult, User
from transom.wire.fields import compact_json

Key = tuple[Any, ...]


def is_said(fact: object) -> bool:
    """Whether a fact may come from a list of messages: one of the user or the model, an instruction, or a real result
    of a tool."""
    return isinstance(fact, (User, Assistant, Instruction)) or (isinstance(fact, ToolResult) and not fact.synthetic)


def key_of(fact: Fact) -> Key:
    """What a fact says, as a key: equal for two facts that are the same message. Names, ids of messages and metadata do
    not count. A result is known by the id of its call alone, if it has one: whoever keeps the list may have shortened
    its text."""
    if isinstance(fact, ToolResult) and fact.call:
        return ("result", fact.call)
    parts = (part for part in fact.parts if not isinstance(part, Text) or part.text)
    said = tuple(part.text if isinstance(part, Text) else compact_json(part.raw) for part in parts)
    if isinstance(fact, Assistant):
        return (
            "assistant",
            said,
            tuple((call.id, call.name) if call.id else (call.name, call.args) for call in fact.calls),
        )
    return (type(fact).__name__, said)


def fork_point(log: Log, length: int) -> int:
    """The number of the last entry that a fork takes over from a log. The fork is for a list of messages that has the
    first `length` entries of the log, and goes on with another message.

    A program may store each reply in another form than it came. So if a reply comes next in the log, the fork also has
    the edits that were made for the request of that reply: without them each such reply would take back a fold, and the
    prompt cache would be lost. The fork does not have that request, because its reply is billed to the source.
    """
    end = length
    for seq in range(length, len(log)):
        body = log[seq].body
        if isinstance(body, Sent):
            end = seq
        elif is_said(body):
            return end - 1 if isinstance(body, Assistant) else length - 1
    return length - 1
