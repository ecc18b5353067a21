"""The newest plan of an agent, as a record ends with it: what is done and what is still to be done.

Some tools get the whole plan at every call (`PLAN_TOOLS`). Such a call is quoted as it was made, if it is short: the
next one repeats most of it, and a small model writes that better with the call before its eyes than with the items
alone. Of a longer one the items say more in less room. With others an agent adds, changes and lists single tasks
(`TASK_TOOLS`); then the plan is what all of these calls left behind (`TaskBoard`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from itertools import accumulate, takewhile
from typing import cast

from transom.core.message import Assistant, Call, Text, ToolResult
from transom.core.unit import Unit
from transom.core.view import View
from transom.strategies.digest.index import Index
from transom.strategies.digest.passages import arguments
from transom.strategies.digest.tool_lines import OUTCOME, PLAN_TOOLS, TASK_CHANGES, cut_at_word, one_line

CREATE, UPDATE = TASK_CHANGES
LIST = "TaskList"
TASK_TOOLS = (*TASK_CHANGES, LIST)
"""Tools with which agents keep a list of tasks."""

WORDS = ("content", "step", "title", "task")
"""The keys under which an item of a plan has its words, the best first."""

DONE = frozenset(("completed", "complete", "done", "cancelled", "canceled"))
DELETED = "deleted"

AS_MADE = 300
"""Characters up to which a plan is quoted as its call was made."""

LENGTHS = (2 * OUTCOME, OUTCOME, 48, 32, 20)
"""Characters of an item of a plan, about: the most with which all that are open have room."""

_NO_TASKS = re.compile(r"(?i)\s*no tasks\b")
_NOT_FOUND = re.compile(r"(?i)[^\n]{0,80}\bnot found\b")
_COUNTED, _MORE = "… {} completed", "… {} more"
_CREATED = re.compile(r"\s*Task #(\S{1,40}) created successfully: (\S[^\n]*)")
_LISTED = re.compile(r"^#(\S{1,40}) \[(\w{1,40})\] (\S[^\n]*)", re.MULTILINE)

Items = list[tuple[str, str]]
"""The items of a plan: the status and the words of each."""


def newest_plan(view: View, index: Index, units: Sequence[Unit], beside: Sequence[Unit], most: int) -> tuple[int, str]:
    """The entry of the newest plan of these turns, and its text in at most `most` characters. No text if there is no
    plan, if it is empty, or if a turn `beside` them shows a newer one."""
    for unit in reversed(units):
        names = {facts.tool for facts in index.at(view, unit.seqs[0]).calls}
        head = view.fetch(unit.seqs[0]).body
        if not names.isdisjoint((*PLAN_TOOLS, *TASK_TOOLS)) and isinstance(head, Assistant):
            newer = {call.name for one in beside if one.key > unit.key for call in _calls(one.first_fact)}
            if not newer.isdisjoint((*PLAN_TOOLS, LIST)):
                break
            call = next((call for call in head.calls if call.name in PLAN_TOOLS), None)
            if call is None:
                return unit.seqs[0], items_text(_tasks(view, index, unit), most)
            as_made = f"{call.name} {call.args}"
            return unit.seqs[0], as_made if len(as_made) <= min(most, AS_MADE) else plan_text(call, most)
    return -1, ""


def plan_text(call: Call, most: int) -> str:
    """The items of a plan that is given as a whole, each with its status, a line each."""
    return items_text(_items(call) or [("", value) for _, value in arguments(call)], most)


def _items(call: Call) -> Items:
    """The objects of a call's arguments that have words and a status, or words and no objects in them."""
    items: Items = []
    try:
        stack: list[object] = [json.loads(call.args)]
    except (ValueError, RecursionError):
        return items
    while stack:
        value = stack.pop()
        if isinstance(value, list):
            stack.extend(reversed(cast("list[object]", value)))
        elif isinstance(value, dict):
            item = cast("dict[str, object]", value)
            inner: list[object] = [one for one in item.values() if isinstance(one, (dict, list))]
            words = next((one for key in WORDS if isinstance(one := item.get(key), str) and one), "")
            status = item.get("status")
            if words and (isinstance(status, str) or not inner):
                items.append((status if isinstance(status, str) else " ", words))
            stack.extend(reversed(inner))
    return items


def items_text(items: Items, most: int) -> str:
    """A line for each item. If they are longer than `most` characters, those that are done are only counted, the first
    ones first; then the words of all others are shortened. What still has no room is counted from the end."""
    counted = _counted(items, most)
    left = [item for at, item in enumerate(items) if at not in counted]
    before = [_COUNTED.format(len(counted))] if counted else []
    lines: list[str] = []
    for length in LENGTHS:
        lines = [*before, *(_line(*item, length) for item in left)]
        if _length(lines) <= most:
            return "\n".join(lines)
    room = most - len(_MORE.format(len(lines)))
    lengths = accumulate(len(line) + 1 for line in lines)
    fitting = max(1, sum(1 for _ in takewhile(lambda length: length <= room, lengths)))
    text = "\n".join([*lines[:fitting], *([_MORE.format(len(lines) - fitting)] if fitting < len(lines) else [])])
    return text if len(text) <= most else cut_at_word(text, most)


def _counted(items: Items, most: int) -> set[int]:
    """Which of the items that are done are only counted, so that the others have room in whole."""
    lines = [_line(*item, LENGTHS[0]) for item in items]
    whole = _length(lines)
    left = whole + len(_COUNTED) - most if whole > most else 0
    counted: set[int] = set()
    for at, (status, _) in enumerate(items):
        if left > 0 and status.lower() in DONE:
            counted.add(at)
            left -= len(lines[at]) + 1
    return counted


def _line(status: str, words: str, length: int) -> str:
    return f"[{status}] {one_line(words, length)}" if status else one_line(words, length)


def _length(lines: Sequence[str]) -> int:
    return sum(len(line) + 1 for line in lines) - 1


class TaskBoard:
    """A list of tasks, from the calls that keep it."""

    def __init__(self) -> None:
        self.tasks: dict[str, tuple[str, str]] = {}

    def add(self, call: Call, result: str, *, failed: bool = False) -> None:
        """A call and its result. A call that failed changed nothing."""
        if failed or (call.name == UPDATE and _NOT_FOUND.match(result)):
            return
        if call.name == CREATE and (made := _CREATED.match(result)):
            self.tasks[made[1]] = ("pending", made[2])
        elif call.name == LIST and (listed := _LISTED.findall(result)):
            self.tasks = {number: (status, words) for number, status, words in listed}
        elif call.name == LIST and _NO_TASKS.match(result):
            self.tasks = {}
        elif call.name == UPDATE:
            given = dict(arguments(call))
            number = given.get("taskId", "")
            status, words = self.tasks.get(number, ("", ""))
            self.tasks[number] = (given.get("status", status), given.get("subject", words))
            if given.get("status") == DELETED or not number:
                del self.tasks[number]

    @property
    def items(self) -> Items:
        """The tasks, in the order in which they were made."""
        return [(status, f"#{number} {words}".rstrip()) for number, (status, words) in self.tasks.items()]


def _tasks(view: View, index: Index, last: Unit) -> Items:
    """The tasks after a turn, from all calls that the index reaches."""
    board = TaskBoard()
    turns = [seq for seq, one in index.entries.items() if any(facts.tool in TASK_TOOLS for facts in one.calls)]
    for seq in turns:
        if seq <= last.seqs[0]:
            unit = view.unit(view.unit_of[seq])
            results = dict(zip(unit.answered_calls, unit.seqs[1:], strict=True))
            for at, call in enumerate(_calls(view.fetch(seq).body)):
                if call.name in TASK_TOOLS and at in results:
                    ended = index.at(view, results[at]).result
                    failed = ended is not None and (ended.failed or ended.refused)
                    board.add(call, _text(view.fetch(results[at]).body), failed=failed)
    return board.items


def _calls(fact: object) -> Iterable[Call]:
    return fact.calls if isinstance(fact, Assistant) else ()


def _text(fact: object) -> str:
    parts = fact.parts if isinstance(fact, ToolResult) else ()
    return "\n".join(part.text for part in parts if isinstance(part, Text))
