"""A run is interrupted at every place where it waits or tells something: the log is valid, and it goes on."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from transom import Conversation, Retry
from transom.conversation import events
from transom.conversation.runs.agent_loop import RunSteps
from transom.conversation.runs.sync_driver import drained, drive
from transom.core.edit import Fold, Trim
from transom.core.message import Assistant, Failure, ToolResult
from transom.providers.scripted import Fault, Reply, Scripted, ScriptedCall, calls
from transom.testing.fakes import WordCounter


class Interrupt(BaseException):
    """Stands for Ctrl-C and for a cancelled task."""


def interrupted(steps: RunSteps, at: int) -> RunSteps:
    """The same steps; an exception comes in at item number `at`."""
    item, number = next(steps), 0
    try:
        while True:
            if number == at:
                steps.throw(Interrupt())
            number += 1
            try:
                outcome = yield item
            except BaseException as reason:  # noqa: BLE001 - a driver passes everything on
                item = steps.throw(reason)
            else:
                item = steps.send(outcome)
    except StopIteration as done:
        return done.value


def read(n: int) -> str:
    """Read a line."""
    return f"line {n} " * 40


def script(dialect: str) -> Scripted:
    asked = calls(("read", {"n": 1}), ("read", {"n": 2}), ("nothing", {}), text="I read.")
    return Scripted(
        Reply(reasoning="Hm.", calls=(ScriptedCall("read", '{"n": 3}'),)),
        asked,
        Fault(kind="connection", after=3),
        asked,
        asked,
        "It is done.",
        dialect=dialect,
    )


def begin(dialect: str, at: int) -> tuple[Conversation, Any]:
    conv = Conversation.open("memory:", "c", budget=600, counter=WordCounter(), dialect=dialect)
    settings: Any = {"provider": script(dialect), "tools": [read], "retry": Retry(wait=0), "approve": lambda _: True}
    steps = conv._start("Read all lines. " * 20, settings, stream=True)
    return conv, drive(interrupted(steps, at), approve=settings["approve"])


@pytest.mark.parametrize("dialect", ["openai", "responses", "anthropic", "gemini"])
def test_at_every_place(dialect: str) -> None:
    finished = kinds = 0
    for at in range(200):
        conv, running = begin(dialect, at)
        try:
            drained(running)
            finished = at
        except Interrupt:
            pass
        assert conv.view.in_flight is None, at
        assert conv.view.open_units == (), at
        called = sum(len(entry.body.calls) for entry in conv.log if isinstance(entry.body, Assistant))
        assert called == sum(isinstance(entry.body, ToolResult) for entry in conv.log), at
        kinds += sum(isinstance(entry.body, Failure) and entry.body.failure == "interrupted" for entry in conv.log)
        provider = Scripted("All is well.", dialect=dialect)
        assert conv.run("Go on.", provider=provider).text == "All is well.", at
        assert provider.violations == [], at
        conv.close()
        if finished:
            break
    assert finished > 30
    assert kinds > 5


def test_a_compaction_is_told() -> None:
    conv, running = begin("openai", -1)
    told = [event for event in running if isinstance(event, events.Compacted)]
    assert told
    for event in told:
        assert event.tokens_after < event.tokens_before
        edits = [conv.log[seq].body for seq in event.edits]
        assert any(isinstance(edit, Fold) for edit in edits)
        assert all(isinstance(edit, (Fold, Trim)) for edit in edits)
    conv.close()


def test_ctrl_c_ends_an_async_approval_in_a_running_loop() -> None:
    """As in a notebook, whose loop runs in the main thread. The process is one that no other test needs."""
    code = """
import asyncio, signal, threading
from transom import Conversation
from transom.providers.scripted import Scripted, call

signal.signal(signal.SIGINT, signal.default_int_handler)

async def approve(called):
    threading.Timer(0.3, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT)).start()
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        print("cancelled")
        raise

def read():
    return "line"

async def cell():
    with Conversation.open("memory:", "c", budget=9_000) as conv:
        try:
            conv.run("Go", provider=Scripted(call("read")), tools=[read], approve=approve)
        except KeyboardInterrupt:
            print("interrupted", conv.view.open_units)

asyncio.new_event_loop().run_until_complete(cell())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "cancelled\ninterrupted ()\n", "")
