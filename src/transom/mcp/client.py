"""The tools of an MCP server in a run: `tools=[McpServer("npx -y some-server")]`.

The official client is async and belongs to one event loop. So each open server has a thread with an event loop of its
own, and its tools are plain functions that wait for that thread. They are the same in a sync and in an async run.
"""

from __future__ import annotations

import importlib
import logging
import re
import shlex
from collections.abc import AsyncGenerator, Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import AbstractAsyncContextManager, AsyncExitStack, ExitStack, asynccontextmanager, suppress
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, Self, cast

from transom.conversation import argument_checks as check
from transom.conversation.function_tool import FunctionTool, error_text
from transom.conversation.runs.awaited_work import ToolOutcome
from transom.conversation.toolset import MAX_NAME, Toolset, free_name
from transom.errors import InvalidMessage, InvalidSetting, ToolsUnavailable, quote, shorten
from transom.extras import install_command
from transom.texts import tool_timed_out
from transom.wire.fields import json_copy

if TYPE_CHECKING:
    import anyio
    from anyio.from_thread import BlockingPortal

__all__ = ["McpServer"]

REQUEST_TIMEOUT = -32001
"""The code of an error of the official client: the server has not answered in time."""
MAX_TOOLS = 1_000
"""The most tools that a server may have."""
MAX_DESCRIPTION = 10_000
"""The most characters of a tool's description that a request has."""
CLOSE_SECONDS = 10
"""How long a server may take to end before nobody waits for it any more."""

_logger = logging.getLogger(__name__)


class McpServer(Toolset):
    """An MCP server whose tools a run may call: give it in `tools`, beside functions.

        files = McpServer("npx -y @modelcontextprotocol/server-filesystem /home/me/notes")
        conv.run("Tidy up my notes.", provider=…, tools=[files, McpServer("https://example.com/mcp")])

    `server`: a URL (streamable HTTP), a command as one text or a list (stdio), or anything that `mcp.Client` takes. A
    run starts the server and ends it. To keep it for several runs, open it yourself: `with files:`.

    - `name`: the prefix of a tool whose name another tool has too (`NAME_TOOL`); by default the server's own name.
    - `headers`: of each HTTP request; only for a URL.
    - `env`, `cwd`: only for a command. The command gets `env` beside the few variables that the official client passes
      on, not all variables of this process.
    - `allowed_tools`: the only tools that the model has, by the names that the server uses; None: all.
    - `needs_approval`: the tools whose calls a person must approve, by these names, or True for all.
    - `timeout`: seconds for each call; then the call has failed. `start_timeout`: seconds for the start.

    What a tool returns is logged as it came: texts, images, structured content, and whether it failed. A server that
    dies or is silent makes the call a failed one. A tool whose name or schema no provider would take is left out, with
    a warning.

    Raises InvalidSetting for a wrong setting. Opening it raises ToolsUnavailable if the server does not start, and
    InvalidSetting if the package `mcp` is missing, or if `allowed_tools` or `needs_approval` name a tool that the
    server does not have.
    """

    def __init__(
        self,
        server: Any,
        *,
        name: str = "",
        headers: Mapping[str, str] | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        allowed_tools: Collection[str] | None = None,
        needs_approval: bool | Collection[str] = False,
        timeout: float = 60,
        start_timeout: float = 30,
    ) -> None:
        if headers is not None and not _is_url(server):
            raise InvalidSetting("headers: are for a server with a URL; a command has env, and a client its own")
        if (env is not None or cwd is not None) and not _is_command(server):
            raise InvalidSetting("env, cwd: are for a server that is a command; one with a URL has headers")
        self._server, self._headers, self._env, self._cwd = server, headers, env, cwd
        self._given_name = _plain(name)
        self.name = self._given_name or "mcp"
        self._allowed = None if allowed_tools is None else _names("allowed_tools", allowed_tools)
        if isinstance(needs_approval, bool):
            self._needs_approval: bool | frozenset[str] = needs_approval
        else:
            self._needs_approval = _names("needs_approval", needs_approval)
        self._timeout = cast("float", check.positive("timeout", timeout, check.LONGEST))
        self._start_timeout = cast("float", check.positive("start_timeout", start_timeout, check.LONGEST))
        self._label = _label(server)
        self._lock, self._users = Lock(), 0
        self._connection: _Connection | None = None
        self._tools: tuple[FunctionTool, ...] = ()

    def __repr__(self) -> str:
        return f"McpServer({self._label!r})"

    @property
    def tools(self) -> Sequence[FunctionTool]:
        """The tools that the model may call, while the server is open; none before and after."""
        return self._tools

    def __enter__(self) -> Self:
        with self._lock:
            if not self._users:
                self._open()
            self._users += 1
        return self

    def __exit__(self, *exception: object) -> None:
        with self._lock:
            self._users -= 1
            if not self._users:
                self._close()

    async def __aenter__(self) -> Self:
        from transom.conversation.event_loop_threads import in_thread  # noqa: PLC0415 - anyio only where there is an event loop

        return await in_thread(self.__enter__)

    async def __aexit__(self, *exception: object) -> None:
        from transom.conversation.event_loop_threads import in_thread  # noqa: PLC0415 - as above

        await in_thread(self.__exit__)

    # ---- private

    def _open(self) -> None:
        try:
            importlib.import_module("mcp")  # two seconds
        except ImportError as missing:
            raise InvalidSetting(f"McpServer needs the package mcp: {install_command('mcp')}") from missing
        connection = _Connection(self._client, self._timeout)
        try:
            name, listed = connection.open(self._start_timeout)
        except Exception as error:
            connection.close()
            raise ToolsUnavailable(f"MCP server {quote(self._label)} did not start: {_reason(error)}") from error
        try:
            self._must_have(listed)
            self.name = self._given_name or _plain(name) or "mcp"
            self._tools = tuple(self._function_tools(listed, connection))
        except BaseException:
            connection.close()
            raise
        self._connection = connection

    def _close(self) -> None:
        self._tools = ()
        if self._connection is not None:
            self._connection.close()

    @asynccontextmanager
    async def _client(self) -> AsyncGenerator[Any]:
        """A client that is connected to the server."""
        from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415

        from mcp import Client, StdioServerParameters  # noqa: PLC0415 - two seconds

        server, target = self._server, self._server
        async with AsyncExitStack() as stack:
            if self._headers is not None:
                import httpx2  # noqa: PLC0415 - the client of mcp

                timeout = httpx2.Timeout(self._start_timeout, read=None)  # each request has its own limit
                http = httpx2.AsyncClient(headers=dict(self._headers), timeout=timeout)
                target = streamable_http_client(server, http_client=await stack.enter_async_context(http))
            elif _is_command(server):
                words = shlex.split(server) if isinstance(server, str) else [*cast("Sequence[str]", server)]
                env = None if self._env is None else dict(self._env)
                target = StdioServerParameters(command=words[0], args=words[1:], env=env, cwd=self._cwd)
            yield await stack.enter_async_context(Client(target))

    def _must_have(self, listed: Sequence[Any]) -> None:
        """Raise InvalidSetting if `allowed_tools` or `needs_approval` name a tool that the server does not have: a
        misspelt name would let a call run without approval."""
        known = {each.name for each in listed}
        named = {"allowed_tools": self._allowed or (), "needs_approval": self._needs_approval}
        for setting, names in named.items():
            if not isinstance(names, bool) and (unknown := sorted(set(names) - known)):
                there = shorten(", ".join(sorted(known)), 500) or "none"
                raise InvalidSetting(f"{setting}: {self!r} has no tool {quote(unknown[0])}; it has: {there}")

    def _function_tools(self, listed: Sequence[Any], connection: _Connection) -> Iterator[FunctionTool]:
        """The tools that the model may have, with names that providers take. A tool whose name or schema no provider
        would take is left out, with a warning."""
        used: set[str] = set()
        for each in listed:
            if self._allowed is not None and each.name not in self._allowed:
                continue
            ask = self._needs_approval
            if not (name := _plain(each.name)):
                _logger.warning("%r: the tool %s is left out: its name has no letter", self, quote(each.name))
                continue
            try:
                yield FunctionTool(
                    partial(connection.call, each.name),
                    name=free_name(name, used),
                    description=shorten(each.description or "", MAX_DESCRIPTION),
                    parameters=json_copy(each.input_schema, "input_schema"),
                    needs_approval=ask if isinstance(ask, bool) else each.name in ask,
                )
            except (InvalidSetting, InvalidMessage) as wrong:
                _logger.warning("%r: the tool %s is left out: %s", self, quote(each.name), shorten(str(wrong)))


class _Connection:
    """One connection to a server, in a thread with an event loop of its own: `open` once, `call` often, `close`
    once."""

    def __init__(self, client: Callable[[], AbstractAsyncContextManager[Any]], timeout: float) -> None:
        self._make_client, self._timeout = client, timeout
        self._client: Any = None
        self._stack = ExitStack()
        self._portal: BlockingPortal | None = None
        self._ended: Future[None] | None = None
        self._stop: anyio.Event | None = None

    def open(self, timeout: float) -> tuple[str, Sequence[Any]]:
        """Start the thread, and connect. Returns the server's name and its tools. Raises what the client raises, and
        TimeoutError after this many seconds. After an error `close` must be called too."""
        from anyio.from_thread import start_blocking_portal  # noqa: PLC0415 - only where a server is used

        portal = self._portal = self._stack.enter_context(start_blocking_portal())
        opened: Future[tuple[str, Sequence[Any]]] = Future()
        self._ended = portal.start_task_soon(self._serve, opened)
        try:
            return opened.result(timeout)
        except FutureTimeout:
            self._ended.cancel()
            raise TimeoutError(f"no answer within {timeout:g} seconds") from None

    async def _serve(self, opened: Future[tuple[str, Sequence[Any]]]) -> None:
        """Connect, put the name and the tools (or the error) into `opened`, and stay connected until `close`."""
        import anyio  # noqa: PLC0415 - as above

        self._stop = anyio.Event()
        try:
            async with self._make_client() as client:
                self._client = client
                tools = await _listed(client)
                info = client.server_info
                opened.set_result((info.name if info is not None else "", tools))
                await self._stop.wait()
        except BaseException as error:
            if opened.done():
                raise
            opened.set_exception(error if isinstance(error, Exception) else ConnectionError("it was stopped"))

    def call(self, tool: str, /, **arguments: Any) -> Any:
        """Call a tool of the server. Returns its result as the client gives it; if it takes too long, a failed result
        that says so. Raises what the client raises."""
        assert self._portal is not None
        try:
            return self._portal.call(
                partial(self._client.call_tool, tool, arguments, read_timeout_seconds=self._timeout)
            )
        except Exception as error:
            if _is_timeout(error):
                return ToolOutcome(content=tool_timed_out(self._timeout), failed=True)
            raise

    def close(self) -> None:
        """End the connection, and the server if it was started as a command. Calls that still wait fail. A second call
        does nothing."""
        if self._portal is None:
            return
        try:
            if self._stop is not None:
                self._portal.call(self._stop.set)
            if self._ended is not None:
                self._ended.result(CLOSE_SECONDS)
        except (Exception, CancelledError) as error:  # noqa: BLE001 - it is over anyway
            _logger.info("an MCP server did not end well: %s", error_text(error))
        finally:
            with suppress(RuntimeError):  # it has stopped
                self._portal.call(self._portal.stop, True)
            self._portal = None
            self._stack.close()


async def _listed(client: Any) -> list[Any]:
    """All tools of a server, page by page. Raises ValueError if there are more than `MAX_TOOLS`."""
    tools: list[Any] = []
    cursor: str | None = None
    while True:
        page = await client.list_tools(cursor=cursor)
        tools += page.tools
        if len(tools) > MAX_TOOLS:
            raise ValueError(f"it lists more than {MAX_TOOLS:,} tools")
        if not page.next_cursor or not page.tools:
            return tools
        cursor = page.next_cursor


def _is_timeout(error: Exception) -> bool:
    code = getattr(getattr(error, "error", None), "code", None)
    return isinstance(error, TimeoutError) or code == REQUEST_TIMEOUT


def _plain(name: str) -> str:
    """A name that providers take: characters other than letters, digits, `_` and `-` become `_`, and it is cut to 64.
    Empty if the name has no letter and no digit."""
    plain = re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:MAX_NAME]
    return plain if plain.strip("_-") else ""


def _label(server: object) -> str:
    """How errors and warnings name a server: its URL without user and query, its command, or the type of the object.
    Raises InvalidSetting for what can be no server."""
    if _is_url(server):
        return re.sub(r"//[^/@]*@", "//", str(server).split("?")[0])
    if isinstance(server, (list, tuple)) and server:
        return shlex.join(map(str, cast("Sequence[object]", server)))
    if isinstance(server, str) and server.strip():
        return server
    if server is None or isinstance(server, (str, list, tuple, int, dict)):
        what = cast("object", server)
        raise InvalidSetting(f"McpServer: must be a URL, a command, or what mcp.Client takes, not {quote(what)}")
    return type(server).__name__


def _is_url(server: object) -> bool:
    return isinstance(server, str) and server.startswith(("http://", "https://"))


def _is_command(server: object) -> bool:
    return isinstance(server, (str, list, tuple)) and not _is_url(cast("object", server))


def _reason(error: BaseException) -> str:
    """Why a server did not start, in one line. A group of exceptions is named by its first one."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return " ".join(error_text(error).split())


def _names(setting: str, given: object) -> frozenset[str]:
    """These names of tools. Raises InvalidSetting for anything but a list, tuple or set of texts."""
    if isinstance(given, (list, tuple, set, frozenset)):
        names = cast("Collection[object]", given)
        if all(isinstance(name, str) for name in names):
            return frozenset(cast("Collection[str]", names))
    raise InvalidSetting(f"{setting}: must be names of tools, not {quote(cast('object', given))}")
