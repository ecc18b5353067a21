"""`transom chat` at a terminal: answers, commands, tools that ask, Ctrl-C, and going on."""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest
from chat_process import LONG, ChatTerminal

from transom.cli.commands.programs import SLASH_COMMANDS
from transom.conversation.conversation import Conversation
from transom.core.edit import Fold, Pin, Undo
from transom.core.message import Failure, Note, Text, ToolResult

GAUGE = r"% of [\d,]+ tokens[^\n]*\n"
PROMPT = "› "


def wait_for(file: Path) -> str:
    """The content of a file, as soon as there is some."""
    end = time.monotonic() + 20
    while not (file.exists() and file.read_text().strip()):
        assert time.monotonic() < end
        time.sleep(0.01)
    return file.read_text()


def is_gone(pid: int) -> bool:
    """Whether a process has ended, within some seconds."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.01)
    return False


def bodies(name: str, kind: type, *, store: str = ".transom/chats.db") -> list:
    with Conversation.open(store, name, budget=32_000) as conv:
        return [entry.body for entry in conv.log.read() if isinstance(entry.body, kind)]


def test_answers_and_commands(folder):
    with ChatTerminal("talk", "c1", "--model", "scripted", "--budget", "32000") as chat:
        chat.expect(r"c1 \(new\) with scripted:scripted")
        chat.type("Hello")
        answer = chat.expect(GAUGE)
        assert "Hello, I am bold." in answer
        assert " • one\n • two\n" in answer
        assert "The end.\n" in answer
        assert "% of 32,000 tokens · 1 request, " in answer
        chat.type("Tell me about cranes")
        chat.expect("The crane MV-59 lifts a container")
        chat.expect(GAUGE)
        chat.type("/context")
        assert "user, 2" in chat.expect(r"in the context +[\d,]+ tokens")
        chat.type("/note Use metric units")
        chat.expect("noted as entry 7")
        chat.type("/pin 0 the task")
        chat.expect("entry 0 stays in the context")
        chat.type("/undo")
        chat.expect(r"1 edit undone: entry 0 need not stay in the context\n.*" + GAUGE)
        chat.type("/pin 0 again")
        chat.expect("entry 0 stays in the context")
        chat.type("/undo entry 8")
        chat.expect(r"1 edit undone: entry 7 need not stay in the context\n.*" + GAUGE)
        chat.type("/retry")
        chat.expect("A second answer")
        chat.expect(GAUGE)
        chat.type("/compact")
        chat.expect(GAUGE)
        chat.type("/explain")
        chat.expect(r"note +\d+ kept")
        chat.type("/model")
        chat.expect("scripted:scripted\n")
        chat.type("/model nothing")
        chat.expect("provider: must be name:model")
        chat.type("/undo 1")
        chat.expect("undo: entry 1 is no live edit")
        for number in ("1234567890123456", "١"):
            chat.type(f"/undo {number}")
            chat.expect("undo: the number of an edit")
            chat.type(f"/pin {number}")
            chat.expect("pin: which entry")
        chat.type("/explain --5")
        chat.expect("explain: the number of a call")
        chat.type("/quit now")
        chat.expect("/quit takes nothing behind it")
        chat.type("/undo it")
        chat.expect("undo: the number of an edit")
        chat.type("/compact everything")
        chat.expect("/compact takes nothing behind it")
        chat.type("/nothing")
        chat.expect("there is no command /nothing")
        chat.type("/pin x")
        chat.expect("pin: which entry")
        chat.type("/help")
        helped = chat.expect("/quit[^\n]*\n")
        assert all(f"{name} " in helped for name in SLASH_COMMANDS)
        chat.type("/mode run")
        chat.expect("what must the run do")
        chat.type("/mode run Tidy up")
        chat.expect("run mode from the next message on; nothing is read again")
        chat.type("/mode")
        chat.expect("run\n")
        chat.type("/quit")
        chat.expect(r"to go on: .*chat c1\b")
        assert chat.ended() == 0
    (note,) = bodies("c1", Note)
    assert note.text == "[note of the user] Use metric units"
    assert [pin.entry for pin in bodies("c1", Pin)][:2] == [7, 0]
    assert [undo.edit for undo in bodies("c1", Undo)] == [9, 8]
    assert "[answer discarded by the user]" in [fold.text for fold in bodies("c1", Fold)]


def test_tools_ask_before_they_change_something(folder):
    Path("secret.txt").write_text("secret")
    work = Path("work")
    work.mkdir()
    Path("work/notes.txt").write_text("one\n")
    with ChatTerminal("files", "c1", "--model", "scripted", "--budget", "32000", cwd=work) as chat:
        chat.expect(PROMPT)
        chat.type("Write it")
        shown = chat.expect(r"run it\?")
        assert "write notes.txt\n" in shown
        assert " one\n+two\n" in shown
        assert Path("work/notes.txt").read_text() == "one\n"
        chat.type("y")
        chat.expect("It is written.")
        assert Path("work/notes.txt").read_text() == "one\ntwo\n"
        chat.type("Run something")
        assert "$ echo from-the-shell; exit 3" in chat.expect(r"run it\?")
        chat.type("use make instead")
        chat.expect("You refused.")
        chat.type("Run something else")
        chat.expect(r"run it\?")
        chat.type("n")
        chat.expect("You refused again.")
        chat.type("Now everything")
        chat.expect(r"run it\?")
        chat.type("yes")
        said = chat.expect("All done.")
        assert "← from-the-shell" in said
        assert "→ read path=../secret.txt" in said
        assert "notes.txt:2: two" in said
        chat.type("/quit")
        assert chat.ended() == 0
    assert Path("work/made-by-shell").exists()
    results = bodies("c1", ToolResult, store="work/.transom/chats.db")
    texts = ["".join(part.text for part in each.parts if isinstance(part, Text)) for each in results]
    assert texts[0] == "notes.txt replaced, 2 lines"
    assert "the user refused it and said: use make instead" in texts[1]
    assert [each.failed for each in results] == [False, True, True, False, True, False]
    assert "outside of the working folder" in texts[4]
    assert texts[5] == "notes.txt:2: two"


def test_what_was_typed_before_the_question_is_no_answer_to_it(folder):
    work = Path("work")
    work.mkdir()
    with ChatTerminal("files", "c1", "--model", "scripted", "--budget", "32000", cwd=work) as chat:
        chat.expect(PROMPT)
        chat.type("Write it\ry\ryes")
        chat.expect(r"run it\?")
        time.sleep(0.3)
        assert not Path("work/notes.txt").exists()
        chat.type("n")
        chat.expect("It is written.")  # the script says so, whatever came of it
        chat.expect(PROMPT)
    assert not Path("work/notes.txt").exists()
    (result,) = bodies("c1", ToolResult, store="work/.transom/chats.db")
    assert result.failed


def test_ctrl_c_keeps_what_arrived_and_the_same_id_goes_on(folder):
    options = ("--model", "scripted", "--budget", "32000", "--store", "own.db")
    with ChatTerminal("slow", "c1", *options) as chat:
        chat.expect(PROMPT)
        chat.type("Tell me about cranes")
        chat.expect("MV-3 lifts")
        chat.interrupt()
        chat.expect("stopped; what had arrived is kept")
        chat.expect(GAUGE)
        (failure,) = bodies("c1", Failure, store="own.db")
        assert failure.failure == "interrupted"
        assert LONG.startswith(failure.text)
        assert "MV-3 lifts" in failure.text
        chat.type("/retry")
        chat.expect("The rest of it.")
        chat.expect(GAUGE)
        chat.type("Again")
        chat.expect(r"the request failed \(auth\)")
        chat.expect(GAUGE)
        chat.type("/retry")
        chat.expect("It works again.")
        chat.type("Sleep")
        chat.expect(r"run it\?")
        chat.type("y")
        pid = int(wait_for(Path("pid")))
        chat.interrupt()
        chat.expect("stopped; what had arrived is kept")
        assert is_gone(pid), "the command goes on"
        chat.expect(PROMPT)
        assert "Ctrl-C again to leave" in chat.interrupt_until("to go on: ")
        assert chat.ended() == 0
    with ChatTerminal("slow", "c1", *options) as chat:
        greeting = chat.expect(PROMPT + "(?=$)")
        assert "entries) with scripted:scripted" in greeting
        assert "› Sleep\nIt works again." in greeting
        chat.type("Hello again")
        chat.expect("MV-3 lifts")
        chat.interrupt()
        chat.expect(GAUGE)
        chat.type("/quit")
        assert chat.ended() == 0
    assert [each.failure for each in bodies("c1", Failure, store="own.db")] == ["interrupted", "auth", "interrupted"]


def test_no_control_character_of_a_model_reaches_the_terminal(folder):
    with ChatTerminal("hostile", "c1", "--model", "scripted", "--budget", "32000") as chat:
        chat.expect(PROMPT)
        chat.type("Hello")
        chat.expect(GAUGE)
        chat.type("Read it")
        assert "$ echo" in chat.expect(r"run it\?")
        chat.type("n")
        chat.expect(GAUGE)
        chat.type("/explain")
        chat.expect("user")
        chat.type("/quit")
        assert chat.ended() == 0
    assert "owned" in chat.raw
    assert "link(http://x/y)" in re.sub(r"\s", "", chat.text()), "links show where they lead"
    for harmful in ("\x1b]", "\x07", "\x1b[2J", "\u202e", "\x9b"):
        assert harmful not in chat.raw, repr(harmful)


@pytest.mark.parametrize(
    ("lines", "given", "again"),
    [
        ("/quit\n", "--model scripted", "--model scripted"),
        ("/quit\n", "--model scripted --tools read,grep", "--model scripted --tools read,grep"),
        (
            "/model scripted:x\n/model scripted:gemini\n",
            "--model scripted --tools none",
            "--model scripted:gemini --tools none",
        ),
        ("", "--store my.db --model scripted --budget 9000", "--store my.db --model scripted --budget 9000"),
    ],
)
def test_the_last_line_goes_on_with_the_same_options(run, monkeypatch, lines, given, again):
    monkeypatch.setattr(sys, "stdin", io.StringIO(lines))
    out = run("chat", "my trip", *given.split())[1]
    assert out.splitlines()[-1] == f"to go on: transom chat 'my trip' {again}"


@pytest.mark.parametrize("name", ["Ana's trip", "-1"])
def test_the_last_line_goes_on_with_a_name_that_needs_quotes(run, monkeypatch, name):
    for _ in range(2):
        monkeypatch.setattr(sys, "stdin", io.StringIO("Hello\n"))
        out = run("chat", "--model", "scripted", "--", name)[1]
        line = out.splitlines()[-1].removeprefix("to go on: transom ")
        assert shlex.split(line) in (["chat", name, "--model", "scripted"], ["chat", "--model", "scripted", "--", name])
    monkeypatch.setattr(sys, "stdin", io.StringIO("/quit\n"))
    assert run(*shlex.split(line))[1].startswith(f"{name} (")


@pytest.mark.parametrize(("lines", "code"), [("Hello\n", 0), ("Hello\n/nothing\n", 1), ("/pin 99\nHello\n", 1)])
def test_through_a_pipe_the_exit_code_says_whether_something_failed(tmp_path, lines, code):
    chat = [sys.executable, "-m", "transom", "chat", "x", "--model", "scripted", "--store", "memory:"]
    done = subprocess.run(chat, cwd=tmp_path, input=lines, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
