"""No command lets a control character of a log, a file or a name out: neither to a terminal nor into a pipe."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path

import pytest
from test_terminal_output import on_a_terminal

from transom import Conversation
from transom.cli import commands  # noqa: F401 - registers them
from transom.cli.lazy_commands import app
from transom.core.edit import Fold
from transom.core.entry import Meta
from transom.core.message import Failure, Text, User
from transom.memory import Memory
from transom.providers.scripted import Reply, Scripted, ScriptedCall
from transom.stores import open_store

BAD = (
    "\x1b]0;owned\x07\x1b[2J\x9b31m\x00\x08\x7f\x85\r\N{RIGHT-TO-LEFT OVERRIDE}\N{LEFT-TO-RIGHT ISOLATE}"
    "\N{LINE SEPARATOR}\N{ZERO WIDTH SPACE}\ud800\n[red]markup[/red] :smile: "
)
NAME = f"one {BAD}"
STORE = "sqlite:///hostile.db"
HARMFUL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store, a source file and a recording: texts and names in them want out of their place."""
    folder = tmp_path_factory.mktemp("hostile")
    store = open_store(f"sqlite:///{folder}/hostile.db")
    calls = (ScriptedCall(f"tool{BAD}", json.dumps({f"key{BAD}": BAD})), ScriptedCall("read", f'{{"a": "{BAD}'))
    provider = Scripted(Reply(text=BAD, reasoning=BAD, calls=calls), f"Answer {BAD}")

    def read(path: str) -> str:
        return f"result {BAD}" * 200

    with Conversation.open(
        store, NAME, budget=4_000, system=BAD, user_id=f"user{BAD}", session_id=f"session{BAD}"
    ) as conv:
        conv.run(f"Task {BAD}", provider=provider, tools=[read])
        conv.append(Failure(failure=f"kind{BAD}", text=BAD, error=BAD, model=BAD))
        conv.pin(conv.user(f"Pinned {BAD}"), f"why {BAD}")
        for turn in range(30):
            conv.user(f"More {turn} {BAD}" + "and so on " * 60)
            conv.request(state={"key": f"state{BAD}"})
        conv.edit(Fold(first=conv.view.slots[-3].key, last=conv.view.slots[-2].key, text=f"x{BAD}", why=f"y{BAD}"))
        conv.append(User(parts=(Text("newest"),)), Meta(tool_name=BAD, run_id=BAD))
    memory = Memory.open(store, user_id=f"user{BAD}", name="memory", agent=f"agent{BAD}")
    memory.add_block("label", f"about {BAD}", text=f"remembered {BAD}")
    memory.archive.store(f"archived {BAD}", tags=[f"tag{BAD}"])
    store.close()
    messages = [{"role": "user", "content": BAD}, {"role": "assistant", "content": BAD}] * 30
    path = folder / f"recording{BAD.replace(chr(0), '').encode('utf-8', 'ignore').decode().replace('/', '')}.jsonl"
    path.write_text(json.dumps({"id": f"two {BAD}", "messages": messages}))
    (folder / "recording.jsonl").write_text(json.dumps({"id": f"two {BAD}", "messages": messages}))
    summary = {"role": "user", "content": f"This session is being continued from a previous conversation {BAD}"}
    (folder / "compacted.jsonl").write_text(json.dumps({"id": f"two {BAD}", "messages": [*messages, summary]}))
    checks = 'files = ["recording.jsonl"]\nbudget = 4000\n[[check]]\nmax_tokens = 1\n[[check]]\ncontains = "owned"\n'
    name = json.dumps(BAD.encode("utf-8", "ignore").decode())
    (folder / "hostile.check.toml").write_text(f'{checks}[[check]]\nname = {name}\ncontains = "no such"\n')
    (folder / "code\x1b[2J.py").write_text("def first():\n    return second()\n\ndef second():\n    pass\n")
    return folder


USER = f"user{BAD}"
COMMANDS: dict[str, list[list[str]]] = {
    "replay": [["recording.jsonl", "--budget", "4000"], ["{file}", "--budget", "4000"]],
    "compare": [["recording.jsonl", "--budget", "4000", "--policies", "default,sliding"]],
    "check": [["hostile.check.toml"], ["hostile.check.toml", "--policy", "passthrough"]],
    "audit": [["compacted.jsonl", "--all"], ["recording.jsonl"]],
    "shadow": [["recording.jsonl", "--budget", "4000", "--model", "scripted", "--policy", "sliding", "--yes"]],
    "log": [["one"]],
    "explain": [["one", "--all"], ["one", "--html", "-"]],
    "inspect": [["none\x1b[2J"]],
    "mcp": [["--port", "none\x1b[2J"]],
    "proxy": [["--upstream", "none\x1b[2J"]],
    "run": [["none\x1b[2J"]],
    "demo": [[]],
    "doctor": [[]],
    "pin": [["one", "4", "--why", BAD, "--dry-run"]],
    "undo": [["one", "--why", BAD, "--dry-run"]],
    "import": [["{file}", "--store", "sqlite:///imports.db"], ["missing\x1b[2J.jsonl"]],
    "export": [["one", "--format", "openai", "-o", "out\x1b.jsonl"], ["one"]],
    "memory": [
        ["--user", USER],
        ["label", "--user", USER],
        ["label", "--user", USER, "--history"],
        ["--archive", "--user", USER],
        ["--archive", "--find", "archived", "--user", USER],
        ["none\x1b", "--user", USER],
    ],
    "compact": [["one", "--budget", "4000", "--focus", BAD]],
    "conversations": [[], ["--full"]],
    "map": [["."]],
    "clean": [["--yes"]],
    "fork": [["one", "--name", f"fork{BAD}"]],
    "forget": [["fork", "--yes"], ["none\x1b"], ["--user", f"nobody{BAD}", "--yes"]],
    "usage": [["one"], []],
    "window": [["one", "--budget", "4000"], ["one", "--budget", "4000", "--as", "text", "--full"]],
    "read": [["one", "entry 0"], ["one", "entry 1 args 0"], ["one", "entry \x1b[2J"]],
    "grep": [["one", "owned"], ["one", "nothing\x1b"]],
    "search": [["owned"], ["nothing\x1b[2J"], ["owned", "--user", USER]],
    "chat": [["one", "--model", "scripted", "--budget", "9000"]],
}
HAVE_STORE = {"log", "explain", "pin", "undo", "export", "memory", "compact", "conversations", "fork"} | {
    "doctor", "forget", "inspect", "usage", "window", "read", "grep", "search", "chat",
}  # fmt: skip
TYPED = f"Hello {BAD}\n/context\n/explain\n/pin {BAD}\n/model {BAD}\n/{BAD}\n"
CASES = [(name, arguments) for name, lines in COMMANDS.items() for arguments in lines]


def test_every_command_is_walked():
    assert {each.name for each in app.registered_commands} == set(COMMANDS)


def line_of(name: str, arguments: list[str], folder: Path) -> list[str]:
    (odd,) = (each.name for each in folder.glob("recording*") if each.name != "recording.jsonl")
    given = [odd if each == "{file}" else each for each in arguments]
    where = ["--store", STORE]
    return [name, *given, *(where if name in HAVE_STORE else [])]


@pytest.mark.parametrize("form", ["plain", "json"])
@pytest.mark.parametrize(("name", "arguments"), CASES)
def test_no_control_character_leaves(name, arguments, form, hostile, run, monkeypatch):
    monkeypatch.chdir(hostile)
    line = line_of(name, arguments, hostile)
    if form == "json":
        if name in {"chat", "inspect", "mcp", "proxy", "run"} or "--as" in line:
            pytest.skip("there is no --json")
        line.append("--json")
    monkeypatch.setattr(sys, "stdin", io.StringIO(TYPED))
    code, out, err = run(*line)
    assert code in {0, 1, 2}
    assert out + err
    assert (HARMFUL.findall(out), HARMFUL.findall(err)) == ([], [])


PROGRESS = r"\x1b\[[0-9;?]*[mhlK]|\r\n|\r(?=\x1b\[(?:2K|1A))|\x1b\[1A(?=\x1b\[2K)"
"""Ends of lines, colours, and what draws progress over itself, which a slow machine shows."""


@pytest.mark.parametrize("line", ["log one", "export one --format openai -o -", "read one 0 --json"])
def test_at_a_terminal_only_our_own_sequences_are_sent(line, hostile, monkeypatch):
    monkeypatch.chdir(hostile)
    code, seen = on_a_terminal(*line.split(), "--store", STORE, columns=100)
    assert code == 0, seen
    assert "owned" in seen
    assert HARMFUL.findall(re.sub(PROGRESS, "", seen)) == []
