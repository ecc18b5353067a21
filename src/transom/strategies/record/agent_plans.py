"""The newest plan of an agent, as a record ends with it: what is still to be done.

Some tools get the whole plan at every call (`PLAN_TOOLS`). With others an agent adds and changes single tasks
(`TASK_CHANGES`); then the plan is what all of these calls left behind.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import cast

from transom.core.message import Assistant, Call, Fact
from transom.core.unit import Unit
from transom.core.view import View
from transom.strategies.actions.action import OUTCOME
from transom.strategies.actions.arguments import arguments
from transom.strategies.actions.tool_table import PLAN_TOOLS, TASK_CHANGES
from transom.strategies.record.index import Index
from transom.strategies.record.passages import readable
from transom.strategies.text.one_line import cut_at_word, one_line

CREATE, UPDATE = TASK_CHANGES

WORDS = ("content", "step", "title", "task")
"""The keys under which an item of a plan has its words, the best first."""

DONE = frozenset(("completed", "complete", "done", "cancelled", "canceled"))
DELETED = "deleted"

LONGEST, SHORTEST = 2 * OUTCOME, 20
"""Characters of an item of a plan, about: at most, and where many have to have room."""

_NUMBER, _CREATED = "Task #", " created successfully: "
"""What the result of a call that makes a task has in front of its number, and behind it, in front of its words."""

Items = list[tuple[str, str]]
"""The items of a plan: the status and the words of each."""


def newest_plan(view: View, index: Index, units: Sequence[Unit], beside: Sequence[Unit], most: int) -> tuple[int, str]:
    """The entry (seq) of the newest plan of these turns, and the text of what is still to be done, in at most `most`
    characters. `index`: that of `view`. `units`: the oldest first.

    (-1, "") if there is no plan, if all of it is done, or if a turn `beside` them, which the window shows, has a newer
    one.
    """

    def has(one: Unit, tools: Sequence[str]) -> bool:
        return any(done.action.tool in tools for done in index.calls_of(view, one))

    unit = next((one for one in reversed(units) if has(one, (*PLAN_TOOLS, *TASK_CHANGES))), None)
    if unit is None or any(one.key > unit.key and has(one, PLAN_TOOLS) for one in beside):
        return -1, ""
    whole = next((call for call in _calls(view.fetch(unit.seqs[0]).body) if call.name in PLAN_TOOLS), None)
    items = plan_items(whole) if whole is not None else _tasks(view, index, unit)
    return (-1, "") if all(is_done(status) for status, _ in items) else (unit.seqs[0], items_text(items, most))


def is_done(status: str) -> bool:
    """Whether an item of a plan with this status is done, or given up."""
    return status.lower() in DONE


def plan_items(call: Call) -> Items:
    """The items of a plan that one call gives as a whole.

    An item is an object among the arguments, at any depth, that has words (under one of the keys `WORDS`) and a status,
    or words and no object or list in it. An item without a status has a blank as status (shown as "[ ]"). If the call
    has no such object, each of its values is an item with the status "". Empty for a call without arguments.
    """
    items: Items = []
    try:
        stack: list[object] = [json.loads(call.args)]
    except (ValueError, RecursionError):
        stack = []
    while stack:
        value = stack.pop()
        inner: list[object] = cast("list[object]", value) if isinstance(value, list) else []
        if isinstance(value, dict):
            item = cast("dict[str, object]", value)
            inner = [one for one in item.values() if isinstance(one, (dict, list))]
            words = next((one for key in WORDS if isinstance(one := item.get(key), str) and one), "")
            status = item.get("status")
            if words and (isinstance(status, str) or not inner):
                items.append((status if isinstance(status, str) else " ", words))
        stack.extend(reversed(inner))
    return items or [("", value) for _, value in arguments(call)]


def items_text(items: Items, most: int) -> str:
    """A line for each item that is not done ("[pending] Mend the sums"), in at most `most` characters, or one more:
    where they are longer, the words of all are shortened. What is done is counted in a line before them, and what has
    no room in a line behind them. Empty without items."""
    open_items = [item for item in items if not is_done(item[0])]
    count = len(items) - len(open_items)
    length = max(SHORTEST, min(LONGEST, most // max(1, len(open_items)) - SHORTEST))
    lines = [f"… {count} completed"] if count else []
    left = most - sum(map(len, lines)) - SHORTEST
    for at, (status, words) in enumerate(open_items):
        line = f"[{status}] {one_line(words, length)}" if status else one_line(words, length)
        left -= len(line) + 1
        if left < 0 and at:
            lines.append(f"… {len(open_items) - at} more")
            break
        lines.append(line)
    text = "\n".join(lines)
    return text if len(text) <= most else cut_at_word(text, most)


def _tasks(view: View, index: Index, last: Unit) -> Items:
    """The tasks as they are after the turn `last`, in the order in which they were made."""
    tasks: dict[str, tuple[str, str]] = {}
    changing = [seq for seq, one in index.entries.items() if any(call.tool in TASK_CHANGES for call in one.calls)]
    for seq in (seq for seq in changing if seq <= last.seqs[0]):
        calls = _calls(view.fetch(seq).body)
        for done in index.calls_of(view, view.unit(view.unit_of[seq])):
            if done.outcome is not None and done.outcome.status == "ok":
                said = readable(cast("Fact", view.fetch(done.result).body))
                change_task(tasks, calls[done.at], said[0][0] if said else "")
    return [(status, f"#{number} {words}".rstrip()) for number, (status, words) in tasks.items()]


def change_task(tasks: dict[str, tuple[str, str]], call: Call, result: str) -> None:
    """Apply one call of a task tool to `tasks` (number → status and words), in place.

    `result`: the text that the call returned, from which a new task gets its number and words; its status is "pending".
    The status "deleted" removes a task. Leave out failed calls: that is not checked. Nothing changes if the result of a
    new task cannot be read, or if an update of an unknown task has no subject.
    """
    given = dict(arguments(call))
    number, made, words = result.strip().removeprefix(_NUMBER).partition(_CREATED)
    if call.name == CREATE and made:
        tasks[number] = ("pending", words.partition("\n")[0])
    elif given.get("status") == DELETED:
        tasks.pop(given.get("taskId", ""), None)
    elif call.name == UPDATE and (number := given.get("taskId", "")):
        status, words = tasks.get(number, ("", ""))
        if given.get("subject", words):
            tasks[number] = (given.get("status", status), given.get("subject", words))


def _calls(body: object) -> tuple[Call, ...]:
    return body.calls if isinstance(body, Assistant) else ()
