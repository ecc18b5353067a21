"""Tools of MCP servers in a run: the real SDK's server on stdio, on HTTP and in this process; hostile ones too."""

from __future__ import annotations

import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
import uvicorn
from tool_server import PIXEL, make

from transom import AsyncConversation, Conversation, RunResult, texts
from transom.core.message import Media, Text, ToolResult
from transom.errors import InvalidSetting, ToolsUnavailable
from transom.mcp import McpServer
from transom.mcp.server import with_token
from transom.providers.scripted import Scripted, calls

SERVER = [sys.executable, str(Path(__file__).parent / "tool_server.py")]
ALL = calls(
    ("add", {"a": 1, "b": 2}), ("picture", {}), ("weather", {"city": "Rome"}), ("refuses", {}), ("add", {"a": 1})
)
TIMEOUT = 2.0
"""Seconds that a call may take: enough for a slow machine, and little where a test waits for it to end."""
WEATHER = Text('{\n  "city": "Rome",\n  "degrees": 21\n}')


@pytest.fixture(scope="module")
def over_stdio() -> Iterator[McpServer]:
    with McpServer(SERVER, timeout=TIMEOUT) as server:
        yield server


@pytest.fixture(scope="module")
def over_http() -> Iterator[McpServer]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    app: Any = with_token(make().streamable_http_app(), "secret")
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield McpServer(f"http://127.0.0.1:{port}/mcp", headers={"Authorization": "Bearer secret"}, timeout=TIMEOUT)
    server.should_exit = True
    thread.join()


def run_sync(conv: Conversation, **settings: Any) -> RunResult:
    return conv.run("Go", **settings)


def run_asyncio(conv: Conversation, **settings: Any) -> RunResult:
    return anyio.run(lambda: AsyncConversation(conv).run("Go", **settings), backend="asyncio")


def run_trio(conv: Conversation, **settings: Any) -> RunResult:
    return anyio.run(lambda: AsyncConversation(conv).run("Go", **settings), backend="trio")


def opened() -> Conversation:
    return Conversation.open("memory:", "c", budget=30_000)


def results(conv: Conversation) -> dict[int, ToolResult]:
    """The results by the index of their call."""
    found = [entry.body for entry in conv.log if isinstance(entry.body, ToolResult)]
    return {each.place[1]: each for each in found if each.place is not None}


@pytest.mark.parametrize("where", ["over_stdio", "over_http"])
@pytest.mark.parametrize("run", [run_sync, run_asyncio, run_trio])
def test_what_a_tool_returns_is_kept_as_it_is(
    where: str, run: Callable[..., RunResult], request: pytest.FixtureRequest
) -> None:
    server: McpServer = request.getfixturevalue(where)
    conv, provider = opened(), Scripted(ALL, "Done.", dialect="anthropic")
    assert run(conv, provider=provider, tools=[server]).text == "Done."
    added, picture, weather, refused, wrong = (each for _, each in sorted(results(conv).items()))
    assert [added.parts, weather.parts, refused.parts] == [(Text("3"),), (WEATHER,), (Text("no such file"),)]
    assert isinstance(picture.parts[1], Media)
    assert picture.parts[1].raw["source"] == {"type": "base64", "media_type": "image/png", "data": PIXEL}
    assert [each.failed for each in (added, picture, weather, refused, wrong)] == [False, False, False, True, True]
    assert provider.violations == []
    assert (server.tools == ()) is (where == "over_http"), "a run closes what it has opened, and no more"


def test_names_that_clash_get_a_prefix_and_hostile_ones_are_made_plain(caplog: pytest.LogCaptureFixture) -> None:
    def add(a: int, b: int) -> str:
        return "own"

    named = [McpServer(make()), McpServer(make(), name="other files", allowed_tools=["add"])]
    provider = Scripted(calls(*[(f"{name}add", {"a": 2, "b": 2}) for name in ("files_", "other_files_", "")]), "Done.")
    conv = opened()
    conv.run("Go", provider=provider, tools=[*named, add])
    assert [each.parts for _, each in sorted(results(conv).items())] == [(Text("4"),), (Text("4"),), (Text("own"),)]
    functions = [tool["function"] for tool in provider.requests[0]["tools"]]
    names = [each["name"] for each in functions]
    own = ["files_add", "picture", "weather", "refuses", "hangs", "dies", "files_transom_read", "bad_name___entry_7"]
    assert names == [*own, "other_files_add", "add", *sorted(texts.READ_BACK, key=names.index)]
    assert len(functions[7]["description"]) == 10_000
    assert provider.violations == []


@pytest.mark.parametrize(
    ("server", "why"),
    [
        (["no such command"], "'no such command'\" did not start: FileNotFoundError"),
        (["sh", "-c", "exit 3"], "did not start: "),
        (["sh", "-c", "while read line; do :; done"], "did not start: TimeoutError: no answer within 0.5 seconds"),
        ("http://ann:secret@127.0.0.1:1/mcp?key=secret", "MCP server 'http://127.0.0.1:1/mcp' did not start: "),
    ],
)
@pytest.mark.parametrize("run", [run_sync, run_asyncio])
def test_a_server_that_does_not_start_ends_the_run_before_anything_is_logged(
    server: Any, why: str, run: Callable[..., RunResult]
) -> None:
    conv, threads = opened(), threading.active_count()
    with pytest.raises(ToolsUnavailable) as raised:
        run(conv, provider=Scripted("Done."), tools=[McpServer(server, start_timeout=0.5)])
    assert why in str(raised.value)
    assert "secret" not in str(raised.value)
    assert len(conv.log) == 0
    assert threading.active_count() <= threads + 1, "its thread has ended"


def test_a_call_of_a_server_waits_for_approval() -> None:
    conv = opened()
    server = McpServer(make(), needs_approval=["add"])
    provider = Scripted(calls(("add", {"a": 1, "b": 2}), ("weather", {"city": "Rome"})), "Done.")
    result = conv.run("Go", provider=provider, tools=[server])
    assert [call.name for call in result.pending] == ["add"]
    conv.approve("call00001", arguments={"a": 5, "b": 5})
    assert conv.run(provider=provider, tools=[server]).text == "Done."
    assert results(conv)[0].parts == (Text(texts.arguments_changed('{"a":5,"b":5}')), Text("10"))


def test_a_name_that_the_server_has_not_is_refused() -> None:
    for setting in ("needs_approval", "allowed_tools"):
        settings: Any = {setting: ["ad"]}
        with pytest.raises(InvalidSetting, match=f"{setting}: McpServer.* has no tool 'ad'; it has: add, "):
            opened().run("Go", provider=Scripted("Done."), tools=[McpServer(make(), **settings)])


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"server": ""}, "must be a URL, a command, or what mcp.Client takes, not ''"),
        ({"server": 7}, "must be a URL, a command, or what mcp.Client takes, not 7"),
        ({"server": "x", "needs_approval": "add"}, "needs_approval: must be names of tools, not 'add'"),
        ({"server": "x", "timeout": 0}, "timeout: must be a number above 0"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidSetting, match=says):
        McpServer(**settings)


def test_a_server_that_is_silent_or_dies_makes_the_call_a_failed_one(over_stdio: McpServer) -> None:
    asks = calls(("hangs", {}), ("add", {"a": 1, "b": 1})), calls(("dies", {})), calls(("add", {"a": 1, "b": 1}))
    conv = opened()
    assert conv.run("Go", provider=Scripted(*asks, "Pity."), tools=[over_stdio]).text == "Pity."
    said = ["".join(part.text for part in entry.body.parts) for entry in conv.log if isinstance(entry.body, ToolResult)]  # type: ignore[union-attr]
    lost = "MCPError: Connection closed"
    assert said == ["2", texts.tool_timed_out(TIMEOUT), lost, lost]


@pytest.mark.parametrize("server", ["npx foo", ["npx", "foo"], object()])
def test_headers_are_refused_without_a_url(server: object) -> None:
    with pytest.raises(InvalidSetting, match="headers: are for a server with a URL"):
        McpServer(server, headers={"Authorization": "Bearer x"})


@pytest.mark.parametrize("server", ["https://example.com/mcp", object()])
@pytest.mark.parametrize("given", [{"env": {"A": "1"}}, {"cwd": "/tmp"}])
def test_env_and_cwd_are_refused_without_a_command(server: object, given: dict[str, Any]) -> None:
    with pytest.raises(InvalidSetting, match="env, cwd: are for a server that is a command"):
        McpServer(server, **given)
