"""What one user said or stored shows up in no tool and no command that works for another user."""

from __future__ import annotations

import json

import pytest

from transom import Conversation
from transom.cli import commands
from transom.cli.lazy_commands import app
from transom.conversation.runs.own_tools import CONTEXT_MANAGER
from transom.memory import Memory
from transom.providers.scripted import Scripted, call
from transom.readback import TOOLS
from transom.stores import open_store

URL = "sqlite:///a.db"
MARK = "zebrastripe"
STORE = ("--store", URL)
EXPORTED = "exported.json"

COMMANDS = {
    "log": ("chat of bob",),
    "explain": ("chat of bob", "--all"),
    "pin": ("chat of bob", "entry 0", "--dry-run"),
    "undo": ("chat of bob", "--dry-run"),
    "export": ("chat of bob", "--format", "openai", "-o", EXPORTED),
    "compact": ("chat of bob", "--budget", 4_000, "--policy", "default"),
    "conversations": ("--user", "bob"),
    "fork": ("chat of bob", "--name", "fork of bob"),
    "window": ("chat of bob", "--budget", 8_000),
    "read": ("chat of bob", "entries 0-3"),
    "grep": ("chat of bob", MARK),
    "search": (f"{MARK} pilot", "--user", "bob"),
    "memory": ("--user", "bob"),
    "usage": ("--user", "bob"),
    "forget": ("chat of bob", "--yes"),
}
"""The commands that read a store, each as it works for one user, and not for the whole store."""

FOR_PEOPLE = {"window": ("--as", "text", "--full")}
"""What a command is given too, if not --json."""

FINDS_NOTHING = {"grep"}
"""The commands that look in Bob's conversation for what Ana said: exit code 1."""

WITHOUT_A_STORE = {"replay", "compare", "demo", "import", "map", "clean", "chat", "inspect", "mcp", "proxy", "run"}
WITHOUT_A_STORE |= {"audit", "check", "doctor", "shadow"}
"""They read files, one conversation that is named, or nothing of anybody; or they serve until they are stopped (which
has tests of its own)."""


@pytest.fixture
def store():
    """A store in which Ana has said and stored everything that can be, and Bob a little."""
    opened = open_store(URL)
    fill(opened, "ana", f"{MARK} pilot")
    fill(opened, "bob", "harbour pilot")
    yield opened
    opened.close()


def fill(store, user, text):
    memory = Memory.open(store, user_id=user)
    memory.add_block("human", text, text=text)
    memory.archive.store(text, [text])
    with Conversation.open(store, f"chat of {user}", budget=8_000, user_id=user, session_id=text) as conv:
        provider = Scripted(call("look", place=text), f"{text} found")
        conv.run(f"{text}, please", provider=provider, tools=[look], state=memory.state())
        conv.pin(0)


def look(place: str) -> str:
    """Look at a place."""
    return f"there is a {place}"


def test_every_command_is_here():
    assert commands
    assert {command.name for command in app.registered_commands} == COMMANDS.keys() | WITHOUT_A_STORE


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("form", [(), ("--json",)])
def test_no_command_for_bob_shows_what_ana_said(run, folder, store, name, form):
    code, out, err = run(name, *COMMANDS[name], *STORE, *(form or FOR_PEOPLE.get(name, ())))
    assert code == (name in FINDS_NOTHING), err
    assert out or err
    assert (folder / EXPORTED).exists() == (name == "export")
    if name == "export":
        out += (folder / EXPORTED).read_text(encoding="utf-8")
        assert "harbour pilot" in out
    shown = (out + err).replace(MARK, "", 1) if name == "search" and form else out + err  # a search repeats the query
    assert MARK not in shown


def test_forget_of_a_user_names_nobody_else(run, store):
    code, out, err = run("forget", "--user", "bob", "--yes", *STORE)
    assert (code, err) == (0, "")
    assert out == "user bob: 1 conversation, 2 logs of memory, forgotten\n"
    assert MARK not in out
    assert run("search", "pilot", "--user", "ana", *STORE)[0] == 0
    assert run("search", "harbour", *STORE)[0] == 1
    assert json.loads(run("memory", "--user", "bob", "--json", *STORE)[1])["blocks"] == []
    code, out, err = run("forget", "--user", "ana", "--yes", "--json", *STORE)
    found = json.loads(out)
    memory = [".memory/ana/memory/human", ".memory-archive/ana/memory"]
    assert found == {"user": "ana", "conversations": ["chat of ana"], "memory": memory, "damaged": []}


@pytest.mark.parametrize(
    ("args", "error"),
    [
        (("--user", "eve", "--yes"), f"user eve: 0 conversations, 0 logs of memory in {URL}"),
        (("chat of bob", "--user", "bob"), "forget: give the id of a conversation or --user, not both"),
        ((), "forget: give the id of a conversation, or --user ID"),
        (("--user", "", "--yes"), "user_id: must be a text of at least one character, not ''"),
        (("--user", "bob"), "forgetting user 'bob' cannot be undone: there is no terminal to ask at, so add --yes"),
    ],
)
def test_an_error_of_forget_user_is_one_line(run, store, args, error):
    assert run("forget", *args, *STORE) == (2, "", f"transom: {error}\n")
    assert len(store.names()) + len(store.names(".memory")) > 5


def test_no_tool_of_bob_shows_what_ana_said(store):
    arguments = {
        "transom_read": {"ref": "entries 0-9"},
        "transom_grep": {"pattern": "pilot"},
        "transom_list": {},
        "transom_search": {"query": "pilot"},
        "context_manager": {},
        "memory_append": {"label": "human", "text": "x"},
        "memory_replace": {"label": "human", "old": "harbour", "new": "port"},
        "memory_insert": {"label": "human", "text": "x", "line": 0},
        "memory_rethink": {"label": "human", "text": "y"},
        "archive_store": {"text": "z"},
        "archive_search": {"query": "pilot"},
    }
    memory = Memory.open(store, user_id="bob")
    tools = memory.tools()
    assert arguments.keys() == {*(tool.name for tool in (*TOOLS, CONTEXT_MANAGER)), *(tool.__name__ for tool in tools)}
    replies = [call(name, **given) for name, given in arguments.items()]
    with Conversation.open(store, "chat of bob", budget=8_000, user_id="bob") as conv:
        before = len(conv.log)
        settings = {"tools": [*TOOLS, CONTEXT_MANAGER, *tools], "max_steps": 20}
        conv.run("look everywhere", provider=Scripted(*replies, "done"), **settings)
        answers = [entry.body for entry in conv.log.read(before) if type(entry.body).__name__ == "ToolResult"]
        texts = ["".join(part.text for part in answer.parts) for answer in answers]
        assert len(texts) == len(arguments)
        assert sum("pilot" in text for text in texts) >= 5, "they find what is Bob's"
        assert MARK not in "".join(texts)
        assert {hit.conversation for hit in conv.search("pilot", scope="user")} == {"chat of bob"}
