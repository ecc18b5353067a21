"""`transom mcp` with the official client, over stdio and over HTTP: every tool, and hostile arguments."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
import uvicorn
from mcp.client.streamable_http import streamable_http_client

from mcp import Client, MCPError, StdioServerParameters, stdio_client
from transom import Conversation, open_store
from transom.mcp.server import StoreTools, make_server, with_token
from transom.memory import Memory

TOKEN = "a-token-for-tests"
ASK = Callable[[Client], Awaitable[Any]]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store with a conversation of nobody and one of Ann."""
    place = f"sqlite:///{tmp_path_factory.mktemp('mcp')}/agent.db"
    with Conversation.open(place, "trip", budget=10_000, state={"goal": "Lisbon"}) as conversation:
        conversation.user("Book a flight to Lisbon under 200 euros.")
        conversation.request()
        conversation.observe({"role": "assistant", "content": "TAP 1037 costs 180 euros."})
    with Conversation.open(place, "private", budget=10_000, user_id="ann") as conversation:
        conversation.user("The password of Ann is TANGERINE.")
    with closing(open_store(place)) as store:
        Memory(store).add_block("persona", text="Polite.")
    return place


@pytest.fixture(scope="module")
def http(url: str) -> Iterator[str]:
    """The address of a server of that store."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    app: Any = with_token(make_server(open_store(url)).streamable_http_app(), TOKEN)
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{port}/mcp"
    server.should_exit = True
    thread.join()


def over_http(address: str, ask: ASK) -> Any:
    async def main() -> Any:
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}) as http_client,
            Client(streamable_http_client(address, http_client=http_client)) as client,
        ):
            return await ask(client)

    return anyio.run(main)


def over_stdio(url: str, ask: ASK, *more: str) -> Any:
    async def main() -> Any:
        arguments = ["-m", "transom", "mcp", "--store", url, *more]
        server = StdioServerParameters(command=sys.executable, args=arguments, env=dict(os.environ))
        async with Client(stdio_client(server)) as client:
            return await ask(client)

    return anyio.run(main)


CALLS: list[tuple[str, dict[str, Any], str]] = [
    ("search", {"conversation": "trip", "query": "Lisbon"}, "Lisbon"),
    ("read", {"conversation": "trip", "ref": "1"}, "Lisbon"),
    ("grep", {"conversation": "trip", "pattern": "TAP"}, "TAP 1037"),
    ("list", {"conversation": "trip"}, "assistant"),
    ("list", {}, "[1 conversation, 1 of them from 0]\ntrip"),
    ("explain", {"conversation": "trip"}, "kept"),
    ("explain", {"conversation": "trip", "at": 1}, "entry 0 user kept"),
    ("notes", {"conversation": "trip"}, "goal: "),
    ("memory", {}, "persona"),
    ("memory", {"label": "persona"}, "Polite."),
]


async def every_door(client: Client) -> list[str]:
    wrong: list[str] = []
    for name, arguments, expected in CALLS:
        result = await client.call_tool(name, arguments)
        text = "".join(getattr(each, "text", "") for each in result.content)
        if result.is_error or expected not in text or "TANGERINE" in text or "private" in text:
            wrong.append(f"{name}: {text[:200]}")
    for uri, expected in (("window", "TAP 1037"), ("entry/1", "Lisbon"), ("summary", "")):
        read = await client.read_resource(f"transom://trip/{uri}")
        if expected not in read.contents[0].text:  # type: ignore[union-attr]
            wrong.append(uri)
    prompt = await client.get_prompt("resume", {"conversation": "trip"})
    if "transom://trip/window" not in prompt.messages[0].content.text:  # type: ignore[union-attr]
        wrong.append("resume")
    names = [tool.name for tool in (await client.list_tools()).tools]
    return [*wrong, *(name for name in names if name.startswith(("memory_", "archive_")))]


def test_every_door_over_http(http: str) -> None:
    assert over_http(http, every_door) == []


def test_every_door_over_stdio(url: str) -> None:
    assert over_stdio(url, every_door) == []


def test_every_argument_of_every_tool_is_described(http: str) -> None:
    async def undescribed(client: Client) -> list[str]:
        listed = (await client.list_tools()).tools
        assert all(tool.description for tool in listed)
        arguments = [
            (tool.name, name, about) for tool in listed for name, about in tool.input_schema["properties"].items()
        ]
        assert len(arguments) > 15
        return [f"{tool}: {name}" for tool, name, about in arguments if not about.get("description")]

    assert over_http(http, undescribed) == []


HOSTILE: list[tuple[str, dict[str, Any]]] = [
    ("read", {"conversation": "private", "ref": "0"}),
    ("search", {"conversation": "private", "query": "TANGERINE"}),
    ("grep", {"conversation": "../private", "pattern": "x"}),
    ("grep", {"conversation": "trip", "pattern": "("}),
    ("list", {"conversation": ".memory/private"}),
    ("read", {"conversation": "trip", "ref": "9" * 5_000}),
    ("read", {"conversation": 7, "ref": []}),
    ("read", {"conversation": "trip\x00", "ref": "0"}),
    ("explain", {"conversation": "x" * 100_000}),
    ("explain", {"conversation": "trip", "at": 7}),
    ("notes", {}),
    ("memory", {"label": "../archive"}),
    ("memory_append", {"label": "persona", "text": "x"}),
    ("read", {"conversation": "trip", "ref": "entry -1"}),
    ("read", {"conversation": "trip", "ref": "0", "start": 2.5}),
    ("grep", {"conversation": "trip", "pattern": "x", "limit": "many"}),
    ("list", {"conversation": ["trip", "private"]}),
    ("list", {"conversation": "trip/../private"}),
    ("search", {"conversation": "%", "query": "TANGERINE"}),
    ("search", {"conversation": "trip' OR '1'='1", "query": "TANGERINE"}),
    ("explain", {"conversation": "Trip"}),
    ("explain", {"conversation": "trip", "at": -(10**30)}),
    ("notes", {"conversation": "\u202eetavirp"}),
]

ANSWERED: list[tuple[str, dict[str, Any]]] = [
    ("search", {"conversation": "trip", "query": "TANGERINE' OR conversation = 'private' --"}),
    ("search", {"conversation": "trip", "query": 'conversation:private OR "TANGERINE* NEAR('}),
    ("search", {"conversation": "trip", "query": "x " * 50_000}),
    ("search", {"conversation": "trip", "query": "TANGERINE", "user_id": "ann"}),
    ("grep", {"conversation": "trip", "pattern": "(a+)+$|(.*)*TANGERINE"}),
    ("grep", {"conversation": "trip", "pattern": "Lisbon", "limit": -(10**12), "context": 10**12}),
    ("read", {"conversation": "trip", "ref": "0", "start": 10**18, "lines": -5}),
    ("list", {"first": -(10**18), "limit": 10**18}),
    ("list", {"conversation": "trip", "first": -5, "limit": 0}),
    ("explain", {"conversation": "trip", "limit": -1}),
]
"""Arguments that are odd, and are answered with what the user may see, or refused."""

URIS = ("entry/-1", "entry/1e9", "entry/0x1", "entry/", "window?user_id=ann", "window/../../private/window")
"""Odd addresses in a conversation of the user's own."""

OTHERS = ("private", "..%2Fprivate", "%2Fetc%2Fpasswd")
"""Conversations, or none, that the user may not see."""


def unasked(text: str, arguments: dict[str, Any]) -> str:
    """An answer without the arguments that it quotes: what is left is not the client's own."""
    for each in arguments.values():
        text = text.replace(str(each), "").replace(repr(each), "")
    return text


async def hostile(client: Client) -> list[str]:
    found: list[str] = []
    for name, arguments in HOSTILE:
        try:
            result = await client.call_tool(name, arguments)
        except Exception as error:  # noqa: BLE001 - the protocol's own refusal
            found.append(unasked(str(error), arguments))
            continue
        text = unasked("".join(getattr(each, "text", "") for each in result.content), arguments)
        found.append(text if result.is_error else f"NOT REFUSED: {name} {text[:100]}")
    for conversation in OTHERS:
        try:
            await client.read_resource(f"transom://{conversation}/window")
            found.append(f"NOT REFUSED: {conversation}")
        except Exception as error:  # noqa: BLE001
            found.append(str(error))
    for name, arguments in ANSWERED:
        result = await client.call_tool(name, arguments)
        text = unasked("".join(getattr(each, "text", "") for each in result.content), arguments)
        found.append(f"TOO LONG: {name}" if len(text) > 100_000 else text)
    for uri in URIS:
        try:
            read = await client.read_resource(f"transom://trip/{uri}")
            found.append(read.contents[0].text)  # type: ignore[union-attr]
        except Exception as error:  # noqa: BLE001
            found.append(str(error))
    assert not (await client.call_tool("list", {"conversation": "trip"})).is_error  # it still serves
    return found


def test_hostile_arguments_are_refused_and_nothing_of_another_user_is_said(http: str) -> None:
    said = over_http(http, hostile)
    assert len(said) == len(HOSTILE) + len(OTHERS) + len(ANSWERED) + len(URIS)
    wrong = ("NOT REFUSED", "TOO LONG", "password", "TANGERINE", "Traceback")
    assert [each for each in said if any(word in each for word in wrong)] == []


def only_text(result: Any) -> str:
    (block,) = result.content
    return block.text


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("read", {"conversation": "trip", "ref": 3}, "read: ref must be a valid string, not 3"),
    ("read", {"conversation": "trip", "ref": None}, "read: ref is missing"),
    ("read", {"conversation": "trip"}, "read: ref is missing"),
    ("read", {"conversation": "trip", "ref": "99"}, "read: there is no entry 99 in this log: its entries are 0 to 3"),
    ("read", {"conversation": "trip", "ref": "1", "lines": 0}, "read: lines must be greater than or equal to 1, not 0"),
    ("list", {"limit": 0}, "list: limit must be greater than or equal to 1, not 0"),
    ("list", {"conversation": "trip", "limit": 0}, "list: limit must be greater than or equal to 1, not 0"),
    ("list", {"first": -1}, "list: first must be greater than or equal to 0, not -1"),
    ("list", {"limit": "many"}, "list: limit must be a valid integer, not 'many'"),
    ("list", {"count": 3}, "list: there is no argument 'count': there are conversation, first, limit"),
    ("list", {"conversation": "x"}, "list: there is no conversation 'x'; the tool list names them"),
    ("grep", {"conversation": "trip", "pattern": ""}, "grep: pattern must have at least 1 character, not ''"),
    (
        "grep",
        {"conversation": "trip", "pattern": "a\nb"},
        "grep: a pattern is searched for within each line: it cannot contain a line end",
    ),
    ("search", {"conversation": "trip", "query": ""}, "search: query must have at least 1 character, not ''"),
    (
        "search",
        {"conversation": "trip", "query": "x", "role": "robot"},
        "search: there is no role 'robot'; there are: ",
    ),
    ("explain", {"conversation": "trip", "limit": 0}, "explain: limit must be greater than or equal to 1, not 0"),
    ("explain", {"conversation": "trip", "at": 0}, "explain: there is no call 0: trip has 1, counted from 1"),
    ("memory", {"label": "x"}, "memory: there is no block 'x'"),
    ("transom_list", {}, "there is no tool 'transom_list': there are search, read, grep, list, explain, notes, memory"),
]


def test_wrong_arguments_are_an_error_of_one_line_that_names_the_tools_of_this_server(http: str) -> None:
    async def ask(client: Client) -> list[tuple[bool, str]]:
        results = [await client.call_tool(name, arguments) for name, arguments, _ in WRONG]
        return [(each.is_error, only_text(each)) for each in results]

    for (is_error, said), (_, _, expected) in zip(over_http(http, ask), WRONG, strict=True):
        assert is_error
        assert said.startswith(expected)
        assert "\n" not in said
        assert "transom_" not in said.replace("'transom_list'", "")


def test_a_line_that_is_too_long_is_read_on_with_the_arguments_that_the_tool_has(tmp_path: Path) -> None:
    place = f"sqlite:///{tmp_path}/agent.db"
    with Conversation.open(place, "trip", budget=100_000) as conversation:
        conversation.user("x" * 19_600 + "THE END")

    async def ask() -> list[str]:
        async with Client(make_server(open_store(place))) as client:
            page = await client.call_tool("read", {"conversation": "trip", "ref": "0"})
            rest = await client.call_tool("read", {"conversation": "trip", "ref": "0", "start": 1, "column": 19_601})
            null = await client.call_tool("list", {"conversation": None, "limit": None})
        return [only_text(each) for each in (page, rest, null)]

    page, rest, null = anyio.run(ask)
    assert 'next page: ref "entry 0", start 1, column 19601]' in page
    assert rest.endswith("]\nTHE END")
    assert null.splitlines()[1:] == ["trip"]


def test_the_resource_of_an_entry_has_more_lines_than_a_page_of_the_tool(tmp_path: Path) -> None:
    place = f"sqlite:///{tmp_path}/agent.db"
    lines = "\n".join(map(str, range(300)))
    with Conversation.open(place, "trip", budget=10_000) as conversation:
        conversation.user(lines)
    with closing(open_store(place)) as store:
        entry = StoreTools(store).entry("trip", "0")
    assert entry.partition("\n")[2] == lines
    assert "next page" not in entry.partition("\n")[0]


def test_a_refused_resource_and_prompt_say_why(http: str) -> None:
    async def ask(client: Client) -> list[str]:
        said: list[str] = []
        for read in (
            client.read_resource("transom://nobody/window"),
            client.read_resource("transom://trip/entry/99"),
            client.get_prompt("resume", {"conversation": "nobody"}),
        ):
            try:
                await read
            except MCPError as error:
                said.append(str(error))
        return said

    nobody = "there is no conversation 'nobody'; the tool list names them"
    missing, entry, prompt = over_http(http, ask)
    assert (missing, "99" in entry, prompt) == (nobody, True, nobody)


def test_a_store_of_users_alone_says_so(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/agent.db"
    for number in range(7):
        with Conversation.open(url, f"c{number}", budget=10_000, user_id=f"key-{number}") as conversation:
            conversation.user("Hi")
    with closing(open_store(url)) as store:
        tools = make_server(store)
        assert "with --user ID" in anyio.run(lambda: tools.call_tool("list", {})).content[0].text


def test_a_store_of_users_alone_says_on_stderr_that_none_is_served(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/agent.db"

    def notice(*more: str) -> str:
        command = [sys.executable, "-m", "transom", "mcp", "--store", url, *more]
        return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True).stderr

    for user in ("bob", "ann"):
        Conversation.open(url, f"chat of {user}", budget=10_000, user_id=user).user("Hi")
    none = "transom: every conversation belongs to a user, so that none is served: give --user, one of ann, bob\n"
    assert notice() == none
    assert notice("--user", "ann") == ""
    Conversation.open(url, "free", budget=10_000).user("Hi")
    assert notice() == ""


def test_a_damaged_conversation_does_not_keep_the_server_from_starting(tmp_path: Path) -> None:
    with closing(open_store(f"jsonl:///{tmp_path}/logs")) as store:
        for name in ("broken", "whole"):
            with Conversation.open(store, name, budget=10_000, user_id="ann") as conversation:
                conversation.user("Hi")
        (broken,) = (tmp_path / "logs").glob("broken*.jsonl")
        first, *rest = broken.read_bytes().splitlines(keepends=True)
        broken.write_bytes(first + b"x" * 30 + b"\n" + b"".join(rest))
        tools = make_server(store, user_id="ann")
        listed = anyio.run(lambda: tools.call_tool("list", {})).content[0].text
        assert listed.splitlines() == ["[1 conversation, 1 of them from 0]", "whole"]


def test_a_wrong_token_is_refused(http: str) -> None:
    for headers in ({}, {"Authorization": "Bearer other"}):
        assert httpx2.post(http, headers=headers, json={}).status_code == 401


def test_with_write_the_memory_can_be_edited(url: str) -> None:
    async def edit(client: Client) -> str:
        result = await client.call_tool("memory_append", {"label": "persona", "text": "Brief."})
        return "".join(getattr(each, "text", "") for each in result.content)

    assert "Brief." in over_stdio(url, edit, "--write")


def test_the_conversations_of_a_user(url: str) -> None:
    async def ask(client: Client) -> str:
        return "".join(getattr(each, "text", "") for each in (await client.call_tool("list", {})).content)

    said = over_stdio(url, ask, "--user", "ann")
    assert "private" in said
    assert "trip" not in said


def test_an_explanation_that_is_too_long_has_the_newest_entries() -> None:
    store = open_store("memory:")
    with Conversation.open(store, "long", budget=1_000_000) as conversation:
        for number in range(400):
            conversation.user(f"message {number} " + "word " * 30)
    explained = StoreTools(store).explain("long", limit=400).splitlines()
    assert len("\n".join(explained).encode()) <= 20_000
    assert explained[0] == f"[the newest {len(explained) - 1} of 400 entries]"
    assert "message 399 " in explained[-1]
    assert all(line.startswith("entry ") for line in explained[1:])
