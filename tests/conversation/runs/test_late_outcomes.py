"""A tool that is done after its call was given up: its result is a fact, and the model reads it in a note."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import anyio
import pytest

import transom
from transom import AsyncConversation, Conversation, RunStopped
from transom.core.message import Note, ToolResult
from transom.providers.scripted import Scripted, call

TIMED_OUT = "timed out after 0.05 seconds; the tool may still be at work"


class Slow:
    """A sync tool that waits until it is released."""

    def __init__(self) -> None:
        self.release, self.started = threading.Event(), threading.Event()
        self.tool = transom.FunctionTool(self.copy, timeout=0.05)

    def copy(self) -> str:
        """Copy the files."""
        self.started.set()
        self.release.wait(10)
        return "9 files copied"


def in_thread(conv: Conversation, **settings: Any) -> str:
    return conv.run("Copy the files.", **settings).text


def on_loop(conv: Conversation, **settings: Any) -> str:
    async def main() -> str:
        return (await AsyncConversation(conv).run("Copy the files.", **settings)).text

    return anyio.run(main)


def facts(conv: Conversation, kind: type[Any]) -> list[str]:
    found = [entry.body for entry in conv.log if isinstance(entry.body, kind)]
    return [getattr(each, "text", "") or "".join(part.text for part in each.parts) for each in found]


def wait_for(done: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not done() and time.monotonic() < end:
        time.sleep(0.005)


@pytest.mark.parametrize("run", [in_thread, on_loop])
def test_a_result_after_the_timeout_is_logged_and_told(run: Callable[..., str]) -> None:
    slow = Slow()
    with Conversation.open("memory:", "x", budget=10_000) as conv:
        provider = Scripted(call("copy"), "It takes its time.", "Nine files.")
        assert run(conv, provider=provider, tools=[slow.tool]) == "It takes its time."
        assert facts(conv, ToolResult) == [TIMED_OUT]
        slow.release.set()
        wait_for(lambda: len(facts(conv, ToolResult)) == 2)
        assert facts(conv, ToolResult) == [TIMED_OUT, "9 files copied"]
        assert conv.run("And now?", provider=provider).text == "Nine files."
        note = "[late result of copy, entry 7; it came after the call was given up]\n9 files copied"
        assert facts(conv, Note) == [note]
        assert conv.view.usage.tool_calls == 1
        assert [each["content"] for each in provider.requests[-1]["messages"] if each["role"] == "user"][-1] == note
        assert provider.violations == []


def test_a_result_after_the_run_was_stopped_is_logged_and_told() -> None:
    slow, cancel = Slow(), threading.Event()
    slow.tool.timeout = None
    provider = Scripted(call("copy"), "Nine files.")
    with Conversation.open("memory:", "x", budget=10_000) as conv:
        threading.Thread(target=lambda: (slow.started.wait(10), cancel.set())).start()
        with pytest.raises(RunStopped, match="cancelled"):
            conv.run("Copy the files.", provider=provider, tools=[slow.tool], cancel=cancel)
        slow.release.set()
        wait_for(lambda: len(facts(conv, ToolResult)) == 2)
        assert conv.run(provider=provider).text == "Nine files."
        assert [text.splitlines()[-1] for text in facts(conv, Note)] == ["9 files copied"]


def test_a_result_after_the_end_is_lost_with_a_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    slow = Slow()
    with Conversation.open("memory:", "x", budget=10_000) as conv:
        conv.run("Copy the files.", provider=Scripted(call("copy"), "So?"), tools=[slow.tool])
    slow.release.set()
    wait_for(lambda: bool(caplog.messages))
    lost = "the late result of copy (call 2.0 'call00001') is lost: the conversation is closed"
    assert caplog.messages == [f"conversation 'x': {lost}"]


def test_a_late_picture_is_named() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}}
    with Conversation.open("memory:", "x", budget=10_000) as conv:
        conv.user("Draw it.")
        conv.observe(
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "c", "type": "function", "function": {"name": "draw", "arguments": "{}"}}],
            }
        )
        conv.request()
        conv.tool_result("c", [{"type": "text", "text": "Here it is:"}, picture])
        note = conv.request()["messages"][-1]["content"]
    assert "late result of draw" in note
    assert note.endswith("Here it is:\n[image left out]")
