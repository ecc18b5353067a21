"""The newest plan of an agent, as a record ends with it: what is done and what is still to be done.

Some tools get the whole plan at every call (`PLAN_TOOLS`). Such a call is quoted as it was made, if it is short: the
next one repeats most of it, and a small model writes that better with the call before its eyes than with the items
alone. Of a longer one the items say more in less room. With others an agent adds and changes single tasks
(`TASK_CHANGES`); then the plan is what all of these calls left behind (`TaskBoard`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import cast

from transom.core.message import Assistant, Call, Text, ToolResult
from transom.core.unit import Unit
from transom.core.view import View
from transom.strategies.actions.action import OUTCOME
from transom.strategies.actions.arguments import arguments
from transom.strategies.actions.tools import PLAN_TOOLS, TASK_CHANGES
from transom.strategies.digest.index import Index
from transom.strategies.text.one_line import cut_at_word, one_line

CREATE, UPDATE = TASK_CHANGES

WORDS = ("content", "step", "title", "task")
"""The keys under which an item of a plan has its words, the best first."""

DONE = frozenset(("completed", "complete", "done", "cancelled", "canceled"))
DELETED = "deleted"

AS_MADE = 300
"""Characters up to which a plan is quoted as its call was made."""

LONGEST, SHORTEST = 2 * OUTCOME, 20
"""Characters of an item of a plan, about: at most, and where many have to have room."""

_COUNTED, _MORE = "… {} completed", "… {} more"
_CREATED = re.compile(r"\s*Task #(\S{1,40}) created successfully: (\S[^\n]*)")

Items = list[tuple[str, str]]
"""The items of a plan: the status and the words of each."""


def newest_plan(view: View, index: Index, units: Sequence[Unit], beside: Sequence[Unit], most: int) -> tuple[int, str]:
    """The entry of the newest plan of these turns, and its text in at most `most` characters. No text if there is no
    plan, if all of it is done, or if a turn `beside` them shows a newer one."""
    for unit in reversed(units):
        names = {action.tool for action in index.at(view, unit.seqs[0]).calls}
        head = view.fetch(unit.seqs[0]).body
        if not names.isdisjoint((*PLAN_TOOLS, *TASK_CHANGES)) and isinstance(head, Assistant):
            newer = {call.name for one in beside if one.key > unit.key for call in _calls(one.first_fact)}
            if not newer.isdisjoint(PLAN_TOOLS):
                break
            call = next((call for call in head.calls if call.name in PLAN_TOOLS), None)
            items = _items(call) if call is not None else _tasks(view, index, unit)
            if items and all(status.lower() in DONE for status, _ in items):
                break
            as_made = f"{call.name} {call.args}" if call is not None else ""
            if call is not None and len(as_made) <= min(most, AS_MADE):
                return unit.seqs[0], as_made
            return unit.seqs[0], plan_text(call, most) if call is not None else items_text(items, most)
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
    lines = [_line(*item, LONGEST) for item in items]
    counted: set[int] = set()
    left = sum(len(line) + 1 for line in lines) - most
    for at, (status, _) in enumerate(items):
        if left > 0 and status.lower() in DONE:
            left -= len(lines[at]) + 1 - (0 if counted else len(_COUNTED))
            counted.add(at)
    open_items = [item for at, item in enumerate(items) if at not in counted]
    length = max(SHORTEST, (most - len(_COUNTED)) // max(1, len(open_items)) - 16) if left > 0 else LONGEST
    lines = [*([_COUNTED.format(len(counted))] if counted else []), *(_line(*item, length) for item in open_items)]
    lengths = list(accumulate(len(line) + 1 for line in lines))
    room = most + 1 - (len(_MORE) if lengths and lengths[-1] > most + 1 else 0)
    shown = max(1, sum(length <= room for length in lengths))
    text = "\n".join([*lines[:shown], *([_MORE.format(len(lines) - shown)] if shown < len(lines) else [])])
    return text if len(text) <= most else cut_at_word(text, most)


def _line(status: str, words: str, length: int) -> str:
    return f"[{status}] {one_line(words, length)}" if status else one_line(words, length)


class TaskBoard:
    """A list of tasks, from the calls that keep it."""

    def __init__(self) -> None:
        self.tasks: dict[str, tuple[str, str]] = {}

    def add(self, call: Call, result: str, *, failed: bool = False) -> None:
        """A call and its result. A call that failed changed nothing."""
        if failed:
            return
        if call.name == CREATE and (made := _CREATED.match(result)):
            self.tasks[made[1]] = ("pending", made[2])
        elif call.name == UPDATE:
            given = dict(arguments(call))
            number = given.get("taskId", "")
            status, words = self.tasks.get(number, ("", ""))
            self.tasks[number] = (given.get("status", status), given.get("subject", words))
            if given.get("status") == DELETED or not (number and self.tasks[number][1]):
                del self.tasks[number]

    @property
    def items(self) -> Items:
        """The tasks, in the order in which they were made."""
        return [(status, f"#{number} {words}".rstrip()) for number, (status, words) in self.tasks.items()]


def _tasks(view: View, index: Index, last: Unit) -> Items:
    """The tasks after a turn, from all calls that the index reaches."""
    board = TaskBoard()
    turns = [seq for seq, one in index.entries.items() if any(action.tool in TASK_CHANGES for action in one.calls)]
    for seq in turns:
        if seq <= last.seqs[0]:
            unit = view.unit(view.unit_of[seq])
            results = dict(zip(unit.answered_calls, unit.seqs[1:], strict=True))
            for at, call in enumerate(_calls(view.fetch(seq).body)):
                if call.name in TASK_CHANGES and at in results:
                    ended = index.at(view, results[at]).result
                    failed = ended is not None and ended.status in {"failed", "refused"}
                    board.add(call, _text(view.fetch(results[at]).body), failed=failed)
    return board.items


def _calls(fact: object) -> Iterable[Call]:
    return fact.calls if isinstance(fact, Assistant) else ()


def _text(fact: object) -> str:
    parts = fact.parts if isinstance(fact, ToolResult) else ()
    return "\n".join(part.text for part in parts if isinstance(part, Text))
