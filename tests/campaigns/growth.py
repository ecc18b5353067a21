"""Twice the size costs about twice the time, whatever it is that grows. One row for each shape of conversation or text.

    python tests/campaigns/growth.py [--n 1] [--only WORD] [--most 2.2]

Each shape is built with n, 2n and 4n of something, one after the other in this process. A row shows the CPU seconds of
each, and both ratios. The campaign fails if a ratio is above `--most`; times below `NOISE` seconds say nothing, and
pass. `--n` multiplies all sizes. What every request shows again is in no shape: a window that grows with n is rendered
n times, and that takes n squared. Shapes of many turns begin where a log is long already (`BEFORE`).
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import itertools
import json
import logging
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import transom
from transom import Conversation
from transom.core.edit import Fold, Pin, Trim, Undo
from transom.core.message import Text, ToolResult
from transom.core.summary import Summary
from transom.importers import import_file, read
from transom.policies import POLICIES
from transom.providers.scripted import Scripted
from transom.stores import open_store
from transom.tokenizer import o200k
from transom.wire.dialects import dialect_named

NOISE = 0.05
"""Seconds below which a time says nothing about growth."""
ENOUGH = 40.0
"""A row ends early where the next size would take more seconds than this, as far as the sizes before it say."""
BEFORE = 600
"""Turns that a conversation of many turns has before the clock starts. An index of a log reaches back 16 windows at
most, and until it does, each compaction looks at more turns than the one before it: with no turns before, the talk of
letta cost 2.4, 2.4, 2.4 and 2.3 times as much with each doubling from 300 to 4,800 turns. The budgets of these shapes
are so small that 16 windows have fewer turns than this. What grows with the whole log still shows: if the cost of a
turn did, the longest run would take six times as long as the shortest one, and not four times."""
WORDS = "the parser reads each line of src/engine/loader.py and returns 4821 records with status ok "

Json = dict[str, Any]


class Shape(NamedTuple):
    """What grows: `run(n)` does the work with n of it. `make`: what is built before the clock starts, from n."""

    name: str
    n: int
    run: Callable[[Any], object]
    make: Callable[[int], Any] = int


# ---- what conversations are made of


def opened(budget: int = 50_000, **settings: Any) -> Conversation:
    return Conversation.open("memory:", "grown", budget=budget, **settings)


def called(*calls: Json, said: str = "") -> Json:
    return {"role": "assistant", "content": said or None, "tool_calls": list(calls)}


def call(label: str, arguments: str = '{"command": "make"}', name: str = "shell") -> Json:
    return {"id": label, "type": "function", "function": {"name": name, "arguments": arguments}}


def turn(conversation: Conversation, i: int, result: str, arguments: str = '{"command": "make"}') -> None:
    conversation.request()
    conversation.observe(called(call(f"c{i}", arguments), said=f"Step {i}."))
    conversation.tool_result(f"c{i}", result)


def asked(conversation: Conversation) -> None:
    """Plan a request; that it cannot be made to fit is an answer too."""
    with contextlib.suppress(transom.BudgetImpossible):
        conversation.request()


def long_talk(n: int, budget: int = 1_000_000) -> Conversation:
    """A conversation of n turns in one window."""
    messages: list[Json] = [{"role": "user", "content": "Mend src/engine/loader.py."}]
    for i in range(n):
        messages.append(called(call(f"c{i}", f'{{"path": "src/m{i}/file_{i % 50}.py"}}', "read"), said=f"Step {i}."))
        messages.append({"role": "tool", "tool_call_id": f"c{i}", "content": f"{i}: {WORDS * 3}"})
    return Conversation.from_messages(messages, budget=budget)


def work(i: int) -> list[Json]:
    """The messages of turn i of an agent. After every 25 turns, it answers and is asked again."""
    arguments = f'{{"command": "pytest tests/test_{i % 37}.py"}}'
    result = f"tests/test_{i % 37}.py:{i}: AssertionError: {i * 7}\n{WORDS * 12}"
    messages = [
        called(call(f"c{i}", arguments), said=f"Step {i}."),
        {"role": "tool", "tool_call_id": f"c{i}", "content": result},
    ]
    if i % 25 == 24:
        messages.append({"role": "assistant", "content": f"Step {i} is done: file_{i}.py is mended."})
        messages.append({"role": "user", "content": f"Now file_{i}.py. The limit must be {i}, not {i + 1}."})
    return messages


def talk(i: int) -> list[Json]:
    """The messages of turn i of a conversation without tools."""
    return [
        {"role": "user", "content": f"What of file_{i}.py? The limit must be {i}. {WORDS * 2}"},
        {"role": "assistant", "content": f"The limit is {i} now. {WORDS * 3}"},
    ]


def short(i: int) -> list[Json]:
    """The messages of turn i of a conversation with few words."""
    return [{"role": "user", "content": f"t{i} " + "w " * 30}, {"role": "assistant", "content": "ok " * 20}]


class Begun(NamedTuple):
    """A conversation with `BEFORE` turns, and how many more follow: those with these messages."""

    conversation: Conversation
    turns: Callable[[int], list[Json]]
    n: int


def begun(turns: Callable[[int], list[Json]], budget: int, policy: str = "default") -> Callable[[int], Begun]:
    def make(n: int) -> Begun:
        messages: list[Json] = [{"role": "user", "content": "Mend src/engine/loader.py so that all tests pass."}]
        messages += (message for i in range(BEFORE) for message in turns(i))
        conversation = Conversation.from_messages(messages, budget=budget, policy=policy)
        conversation.request()
        return Begun(conversation, turns, n)

    return make


# ---- shapes: conversations


def calls_of_a_turn(n: int) -> None:
    conversation = opened(20_000)
    conversation.user("go")
    conversation.request()
    conversation.observe(called(*(call(f"c{i}", f'{{"p":{i}}}', "r") for i in range(n))))
    for i in range(n):
        conversation.tool_result(f"c{i}", f"res {i}")
    asked(conversation)


def calls_in_a_wide_window(n: int) -> None:
    conversation = opened(10_000_000)
    conversation.user("go")
    conversation.request()
    conversation.observe(called(*(call(f"c{i}", f'{{"p":{i}}}', "r") for i in range(n))))
    for i in range(n):
        conversation.tool_result(f"c{i}", f"res {i}")
    conversation.request()


def calls_given_up(n: int) -> None:
    conversation = opened(10_000_000)
    conversation.user("go")
    conversation.request()
    conversation.observe(called(*(call(f"c{i}", f'{{"p":{i}}}', "r") for i in range(n))))
    conversation.request()


def late_results(n: int) -> None:
    conversation = opened(10_000_000)
    conversation.user("go")
    conversation.request()
    conversation.observe(called(*(call(f"c{i}", f'{{"p":{i}}}', "r") for i in range(n))))
    conversation.request()
    for i in range(n):
        conversation.tool_result(f"c{i}", f"res {i}")
    conversation.request()


def parts_of_a_result(n: int) -> None:
    conversation = opened(8_000, dialect="anthropic")
    conversation.user("go")
    conversation.request()
    use = {"type": "tool_use", "id": "t", "name": "search", "input": {}}
    conversation.observe({"role": "assistant", "content": [use]})
    conversation.tool_result("t", [{"type": "text", "text": f"hit {i} " + "w " * 5} for i in range(n)])
    conversation.request()


def parts_of_a_message(n: int) -> None:
    conversation = opened(8_000)
    conversation.user([{"type": "text", "text": f"part {i} " + "w " * 5} for i in range(n)])
    conversation.request()


def parts_of_a_reply(n: int) -> None:
    conversation = opened(8_000, dialect="anthropic")
    conversation.user("go")
    conversation.request()
    conversation.observe(
        {"role": "assistant", "content": [{"type": "text", "text": f"part {i} " + "w " * 5} for i in range(n)]}
    )
    conversation.user("on")
    conversation.request()


def trims_and_undos(begun: Begun) -> None:
    conversation = begun.conversation
    for i in range(begun.n):
        seq = conversation.user(f"t{i} " + "w " * 30)
        conversation.edit(Undo(edit=conversation.edit(Trim(entry=seq, part=("text", 0), note="[x]"))))
        conversation.request()
        conversation.observe({"role": "assistant", "content": "ok " * 20})


def trims_of_one_part(n: int) -> None:
    conversation = opened(400_000)
    seq = conversation.user("word " * 2_000)
    for i in range(n):
        conversation.edit(Trim(entry=seq, part=("text", 0), note=f"[{i}]"))
    conversation.request()


def undos_of_one_trim(n: int) -> None:
    conversation = opened(400_000)
    seq = conversation.user("word " * 2_000)
    for i in range(n):
        conversation.undo(conversation.edit(Trim(entry=seq, part=("text", 0), note=f"[{i}]")))
    conversation.request()


def folds_and_undos(n: int) -> None:
    conversation = opened(400_000)
    first = conversation.user("word " * 200)
    last = conversation.user("word " * 200)
    for i in range(n):
        conversation.undo(conversation.edit(Fold(first=first, last=last, text=f"[{i}]")))
    conversation.request()


def folds_undone_at_the_end(n: int) -> None:
    conversation = opened(4_000_000)
    folds = []
    for i in range(n):
        seq = conversation.user(f"{i} " + "word " * 20)
        folds.append(conversation.edit(Fold(first=seq, last=seq, text=f"[{i}]")))
    for fold in folds:
        conversation.undo(fold)
    conversation.request()


def undo_folds_over_folds(conversation: Conversation) -> None:
    for seq in reversed(list(conversation.view.live_edits)):
        conversation.undo(seq)
    conversation.request()


def nested_folds(n: int) -> Conversation:
    conversation = opened(400_000)
    first = conversation.user("word " * 200)
    for i in range(n):
        conversation.edit(Fold(first=first, last=conversation.user("word " * 20), text=f"[{i}]"))
    return conversation


def pins(n: int) -> None:
    conversation = opened(8_000)
    for i in range(n):
        conversation.pin(conversation.user(f"{i} " + "word " * 10))
        conversation.observe({"role": "assistant", "content": "ok"})
    conversation.user("go")
    asked(conversation)


def pins_of_one_message(n: int) -> None:
    conversation = opened(8_000)
    seq = conversation.user("word " * 10)
    for _ in range(n):
        conversation.edit(Pin(entry=seq))
    asked(conversation)


def pins_turn_by_turn(begun: Begun) -> None:
    """The newest 10 pins hold, or ever less room would be left and the window would be compacted ever more often."""
    conversation, pinned = begun.conversation, list[int]()
    for i in range(begun.n):
        seq = conversation.user(f"{i} " + "word " * 20)
        if i % 10 == 0:
            pinned.append(conversation.pin(seq))
        if len(pinned) > 10:
            conversation.undo(pinned.pop(0))
        asked(conversation)
        conversation.observe({"role": "assistant", "content": "ok " * 20})


def notes_of_one_key(n: int) -> None:
    conversation = opened(4_000)
    for i in range(n):
        conversation.user(f"{i} go on. {WORDS}")
        conversation.request(state={"step": f"step {i}"})
        conversation.observe({"role": "assistant", "content": "ok"})


def keys_of_state(n: int) -> None:
    conversation = opened(4_000_000)
    conversation.user("go")
    for turn in range(4):
        conversation.request(state={f"key {i}": f"step {turn}" for i in range(n)})
        conversation.observe({"role": "assistant", "content": "ok"})
        conversation.user("go on")


def small_messages(n: int) -> None:
    conversation = opened(8_000)
    for i in range(n):
        conversation.user(f"{i} go on")
    conversation.request()


def small_messages_in_a_wide_window(n: int) -> None:
    conversation = opened(10_000_000)
    for i in range(n):
        conversation.user(f"{i} go on")
    conversation.request()


def failures(n: int) -> None:
    conversation = opened(8_000)
    conversation.user("go")
    for i in range(n):
        conversation.request()
        conversation.user(f"{i} go on. {WORDS * 3}")


def stray_results(n: int) -> None:
    conversation = opened(8_000)
    conversation.user("go")
    conversation.request()
    conversation.observe(called(call("c")))
    for i in range(n):
        conversation.append(ToolResult(call=f"x{i}", parts=(Text("late"),)))
    conversation.request()


def summaries(n: int) -> None:
    conversation = opened(100_000)
    conversation.user("go")
    for i in range(n):
        writer = conversation._planner.writer
        summary = Summary(last=0, text=f"Summary {i}.", degraded=bool(i % 2))
        writer.append_new(lambda view, at, summary=summary: (view.entry(summary, at),))
        conversation.user("go")
    assert conversation.view.summary is not None
    conversation.explain()
    conversation.request()


def summarized_turns(n: int) -> None:
    conversation = opened(8_000, policy="summary", summarizer=Scripted(then="## User intent\n- mend the loader"))
    conversation.user("Mend the loader.")
    for i in range(n):
        turn(conversation, i, f"{i} {WORDS * 12}")


def gone_on(begun: Begun) -> None:
    conversation = begun.conversation
    for i in range(BEFORE, BEFORE + begun.n):
        for message in begun.turns(i):
            if message["role"] == "assistant":
                conversation.request()
                conversation.observe(message)
            else:
                conversation.extend([message])


def tool(i: int) -> Json:
    return {"type": "function", "function": {"name": f"tool_{i}", "description": WORDS * 3, "parameters": {}}}


def many_tools(n: int) -> None:
    conversation = opened(100_000_000)
    conversation.user("go")
    tools = [tool(i) for i in range(n)]
    for _ in range(4):
        conversation.request(tools=[*tools])
        conversation.observe({"role": "assistant", "content": "ok"})
        conversation.user("go on")


# ---- shapes: one large thing


def with_result(text: str, budget: int = 50_000, policy: str = "default", name: str = "shell") -> Conversation:
    """A conversation with one result, which is folded later."""
    conversation = opened(budget, policy=policy)
    conversation.user("Mend the loader.")
    conversation.request()
    conversation.observe(called(call("c", name=name)))
    conversation.tool_result("c", text)
    conversation.request()
    conversation.observe({"role": "assistant", "content": "It is done."})
    conversation.user("Thanks. " + WORDS * 3)
    asked(conversation)
    conversation.compact()
    return conversation


def with_message(text: str, budget: int = 50_000) -> Conversation:
    conversation = opened(budget)
    conversation.user("Mend the loader.")
    conversation.user(text)
    conversation.request()
    conversation.observe({"role": "assistant", "content": "It is done."})
    conversation.user("Thanks. " + WORDS * 3)
    asked(conversation)
    conversation.compact()
    return conversation


def with_reply(text: str, budget: int = 50_000) -> Conversation:
    conversation = opened(budget)
    conversation.user("Mend the loader.")
    conversation.request()
    conversation.observe({"role": "assistant", "content": text})
    conversation.user("Thanks. " + WORDS * 3)
    asked(conversation)
    conversation.compact()
    return conversation


def with_arguments(arguments: str, name: str = "shell", budget: int = 50_000) -> Conversation:
    conversation = opened(budget)
    conversation.user("Mend the loader.")
    conversation.request()
    conversation.observe(called(call("c", arguments, name)))
    conversation.tool_result("c", "Done.")
    conversation.request()
    conversation.observe({"role": "assistant", "content": "It is done."})
    conversation.user("Thanks. " + WORDS * 3)
    asked(conversation)
    conversation.compact()
    return conversation


def with_command(command: str) -> Conversation:
    return with_arguments(json.dumps({"command": command}))


def patch(n: int) -> str:
    files = (f"*** Update File: src/p{i}/file_{i}.py\n@@\n-old {i}\n+new {i}\n" for i in range(n))
    return "*** Begin Patch\n" + "".join(files) + "*** End Patch\n"


def diff(n: int) -> str:
    return "".join(
        f"diff --git a/src/f{i}.py b/src/f{i}.py\n--- a/src/f{i}.py\n+++ b/src/f{i}.py\n@@ -1 +1 @@\n-a{i}\n+b{i}\n"
        for i in range(n)
    )


def names(n: int) -> str:
    return " ".join(f"src/p{i % 97}/name_{i}.py handleRequest{i}Done ERR_{i}_X {i * 7}" for i in range(n))


def lines(n: int) -> str:
    return "".join(f"line {i}\n" for i in range(n))


def prose(n: int) -> str:
    return " ".join(f"Sentence {i} says that the limit of module {i % 31} must be {i * 3}." for i in range(n))


def failing_tests(n: int) -> str:
    return "".join(f"FAILED tests/test_{i}.py::test_{i} - AssertionError: {i} != {i + 1}\n" for i in range(n))


def tracebacks(n: int) -> str:
    return "".join(
        f'Traceback (most recent call last):\n  File "src/f{i}.py", line {i}, in f\nValueError: {i} is wrong\n\n'
        for i in range(n)
    )


def table(n: int) -> str:
    return "".join(f"| row {i} | value {i * 3} | src/f{i}.py |\n" for i in range(n))


def steps(n: int) -> str:
    return "".join(f"{i}. Mend src/f{i}.py\n" for i in range(n))


def todo(n: int) -> str:
    return json.dumps({"todos": [{"content": f"Mend src/f{i}.py", "status": "pending"} for i in range(n)]})


HOSTILE = {
    "a": "a",
    "blanks": " ",
    "tabs": "\t",
    "line ends": "\n",
    "blank lines": " \n",
    "(": "(",
    "[": "[",
    "{": "{",
    "<": "<",
    "()": "()",
    "[](": "[](",
    "/": "/",
    "\\": "\\",
    "a/": "a/",
    "../": "../",
    ".": ".",
    "a.": "a.",
    "-": "-",
    "--": "--a",
    "_": "_",
    "a_": "a_",
    "#": "#",
    "*": "*",
    "**a": "**a",
    "|": "|",
    "&": "& ",
    ";": ";",
    "'": "'",
    '"': '"',
    "`": "`",
    "```": "```\n",
    "«": "«",
    ":": ":",
    "a:": "a:",
    "a: ": "a: ",
    "=": "=",
    "a=": "a=",
    "0": "0",
    "0.": "0.",
    "1, ": "1, ",
    "@": "@",
    "a@": "a@",
    "$(": "$(",
    "<<": "<<EOF\n",
    "<a>": "<a>",
    "![](": "![](",
    "http://": "http://",
    "汉": "汉",
    "é": "e\u0301",
    "surrogates": "\ud800",
    "\x1b[": "\x1b[",
    "\r": "\r",
    "a b": "a ",
    "A": "A",
    "Aa": "Aa",
    "+": "+",
    "+\\n": "+\n",
    "-\\n": "-\n",
    "> ": "> ",
    "File ": 'File "a", line 1\n',
    "at ": "    at a (b:1:2)\n",
    "Error: ": "Error: ",
    "error ": "error ",
    "@@": "@@ -1 +1 @@\n",
    "entry 1 ": "entry 1 ",
}
"""Texts that are repeated to a length, and what they are called."""


PLACES = (("result", with_result), ("message", with_message), ("reply", with_reply), ("command", with_command))


def hostile(unit: str, n: int, *, broken: bool = False) -> str:
    """A text of n characters; `broken`: of lines of some thousand characters."""
    text = unit * (n // len(unit))
    if not broken:
        return text
    return "\n".join(text[start : start + 3_000] for start in range(0, n, 3_000))


# ---- shapes: reading


def rendered(conversation: Conversation) -> None:
    for dialect in ("openai", "anthropic", "gemini", "responses"):
        transom.render(conversation.view, dialect)


def checked(conversation: Conversation) -> None:
    for dialect in ("openai", "anthropic", "gemini", "responses"):
        spoken = dialect_named(dialect)
        spoken.violations(transom.render(conversation.view, dialect))


def searched(conversation: Conversation) -> None:
    assert conversation.search("loader records")
    conversation.search("file_7 4821 parser")


def imported(path: Path) -> None:
    import_file(path, open_store("memory:"))


def file_of(messages: object) -> Path:
    folder = Path(FOLDER.name)
    path = folder / f"{len(list(folder.iterdir()))}.json"
    path.write_text(json.dumps(messages))
    return path


FOLDER = TemporaryDirectory()


def one_message(n: int) -> Path:
    return file_of({"messages": [{"role": "user", "content": prose(n)}, {"role": "assistant", "content": "ok"}]})


def many_messages(n: int) -> Path:
    return file_of({"messages": [{"role": ("user", "assistant")[i % 2], "content": f"{i} {WORDS}"} for i in range(n)]})


def grepped(conversation: Conversation) -> None:
    for pattern in ("loader", "zzz", "(4|5)8[0-9]+", "nothing.*here"):
        conversation.readback("grep", {"pattern": pattern})


def shapes() -> Iterator[Shape]:
    yield Shape("calls of a turn", 2_000, calls_of_a_turn)
    yield Shape("calls, wide window", 2_000, calls_in_a_wide_window)
    yield Shape("calls given up", 2_000, calls_given_up)
    yield Shape("late results", 1_000, late_results)
    yield Shape("parts of a result", 2_000, parts_of_a_result)
    yield Shape("parts of a message", 2_000, parts_of_a_message)
    yield Shape("parts of a reply", 2_000, parts_of_a_reply)
    yield Shape("trims and undos", 200, trims_and_undos, begun(short, 2_000))
    yield Shape("trims of one part", 500, trims_of_one_part)
    yield Shape("undos of one trim", 500, undos_of_one_trim)
    yield Shape("folds and undos", 500, folds_and_undos)
    yield Shape("folds undone later", 500, folds_undone_at_the_end)
    yield Shape("folds over folds", 500, nested_folds)
    yield Shape("folds over folds, undone", 250, undo_folds_over_folds, nested_folds)
    yield Shape("pins", 1_000, pins)  # from here on the pins alone are larger than the window
    yield Shape("pins of one message", 1_000, pins_of_one_message)
    yield Shape("pins, turn by turn", 500, pins_turn_by_turn, begun(short, 2_000))
    yield Shape("notes of one key", 500, notes_of_one_key)
    yield Shape("keys of state", 500, keys_of_state)
    yield Shape("small messages", 2_000, small_messages)
    yield Shape("small messages, wide", 2_000, small_messages_in_a_wide_window)
    yield Shape("failures", 500, failures)
    yield Shape("stray results", 1_000, stray_results)
    yield Shape("summaries", 1_000, summaries)
    yield Shape("summarized turns", 250, summarized_turns)
    for policy in POLICIES:
        yield Shape(f"turns of {policy}", 300, gone_on, begun(work, 8_000, policy))
        yield Shape(f"talk of {policy}", 300, gone_on, begun(talk, 4_000, policy))
    yield Shape("tools", 500, many_tools)
    for name, text, n in (
        ("lines", lines, 50_000),
        ("names", names, 5_000),
        ("prose", prose, 5_000),
        ("a patch", patch, 2_000),
        ("a diff", diff, 2_000),
        ("failing tests", failing_tests, 5_000),
        ("tracebacks", tracebacks, 2_500),
        ("a table", table, 5_000),
        ("steps", steps, 5_000),
    ):
        for place, run in (("result", with_result), ("message", with_message), ("reply", with_reply)):
            yield Shape(f"{place} of {name}", n, run, text)
    yield Shape("patch as arguments", 2_000, lambda n: with_arguments(json.dumps({"patch": patch(n)}), "apply_patch"))
    yield Shape("a patch of a shell", 2_000, lambda n: with_command(f"apply_patch <<'EOF'\n{patch(n)}EOF"))
    yield Shape("todos", 2_000, lambda n: with_arguments(todo(n), "todo_write"))
    yield Shape("keys of arguments", 5_000, lambda n: with_arguments(json.dumps({f"k{i}": f"v{i}" for i in range(n)})))
    yield Shape("text of arguments", 500_000, lambda n: with_command("echo " + "word " * (n // 5)))
    yield Shape("commands", 2_000, lambda n: with_command("; ".join(f"cat src/f{i}.py" for i in range(n))))
    yield Shape("pipes", 2_000, lambda n: with_command(" | ".join(f"grep f{i}" for i in range(n))))
    yield Shape("nested arguments", 200, lambda n: with_arguments('{"a":' * n + "1" + "}" * n))
    yield Shape("nested lists", 200, lambda n: with_arguments('{"a":' + "[" * n + "]" * n + "}"))
    yield Shape("one line", 500_000, lambda n: with_result((WORDS * n)[:n]))
    yield Shape("10 MB", 1_000_000, lambda n: with_result("".join(f"{i} {WORDS}\n" for i in range(n // 98))))
    yield Shape("explain", 500, lambda c: c.explain(), long_talk)
    yield Shape("explain, compacted", 500, lambda c: c.explain(), compacted)
    yield Shape("render", 1_000, rendered, long_talk)
    yield Shape("violations", 1_000, checked, long_talk)
    yield Shape("search", 1_000, searched, long_talk)
    yield Shape("grep", 2_000, grepped, long_talk)
    yield Shape("compact", 500, lambda c: c.compact(), long_talk)
    yield Shape("fit", 500, lambda n: transom.fit(transom.render(long_talk(n).view)["messages"], context=20_000))
    yield Shape("import, one message", 10_000, imported, one_message)
    yield Shape("import, messages", 2_000, imported, many_messages)
    yield Shape("read, one message", 10_000, lambda path: list(read(path)), one_message)
    for name, unit in HOSTILE.items():
        for place, run in PLACES:
            yield Shape(f"{place}: {name}", 50_000, run, lambda n, unit=unit: hostile(unit, n))
            yield Shape(f"{place}, lines: {name}", 50_000, run, lambda n, unit=unit: hostile(unit, n, broken=True))


def compacted(n: int) -> Conversation:
    conversation = long_talk(n, budget=40_000)
    conversation.request()
    return conversation


def seconds(shape: Shape, n: int) -> float:
    """CPU time of a run."""
    given = shape.make(n)
    gc.collect()
    begin = time.process_time()
    shape.run(given)
    return time.process_time() - begin


def row(shape: Shape, most: float) -> bool:
    """Measure a shape, and print its row. Returns whether it grows too fast."""
    times: list[float] = []
    for factor in (1, 2, 4):
        if len(times) > 1 and times[-1] ** 2 / max(times[-2], 1e-6) > ENOUGH:
            break
        try:
            times.append(seconds(shape, shape.n * factor))
        except Exception as error:  # noqa: BLE001 - a row of its own
            print(f"{shape.name:28} {shape.n * factor:>9,}  {type(error).__name__}: {str(error)[:90]}", flush=True)
            return True
    ratios = [b / a if b > NOISE and a > 0 else 0.0 for a, b in itertools.pairwise(times)]
    bad = any(ratio > most for ratio in ratios)
    figures = " ".join(f"{t:8.3f}" for t in times)
    shown = " ".join(f"{ratio:5.2f}" for ratio in ratios)
    print(f"{shape.name:28} {shape.n:>9,} {figures}   {shown} {'<--' if bad else ''}", flush=True)
    return bad


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=float, default=1.0)
    parser.add_argument("--only", default="")
    parser.add_argument("--most", type=float, default=2.2)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable()
    o200k().count("the encoder loads at first use")
    bad = 0
    for shape in shapes():
        if options.only in shape.name:
            bad += row(shape._replace(n=int(shape.n * options.n)), options.most)
    print("too fast:", bad)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
