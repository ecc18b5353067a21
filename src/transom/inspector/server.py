"""The server of the inspector: the page, and the data for it as JSON. It listens on this machine only."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from secrets import token_urlsafe
from typing import Any
from urllib.parse import quote as url_quote

import msgspec
import uvicorn
from msgspec import Struct
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from transom.core.codec import plain
from transom.errors import Conflict, InvalidSetting, TransomError, UnknownLog
from transom.evaluation.call_figures import CallFigures
from transom.inspector.access import Access
from transom.inspector.comparison import Comparisons
from transom.inspector.inspected_conversation import Action, InspectedConversation, InspectedConversations
from transom.inspector.message_pieces import CHARACTERS_OF_ENTRY
from transom.inspector.window_data import ROWS_OF_PAGE
from transom.policies import POLICIES
from transom.reports.policy_figures import VERDICT
from transom.stores import Store
from transom.stores.conversation_list import StoredConversation, describe_conversation

STATIC = Path(__file__).parent / "static"
HOST = "127.0.0.1"
MOST_ROWS = 200
"""The most rows in one answer."""
MOST_LISTED = 200
"""The most conversations in one answer: each of them is opened."""
MOST_BODY = 100_000
"""The most bytes of a request's body."""
COLUMNS = ("entry", "at", "tokens", "limit", "messages", "folds", "trims", "undos", "broken_by", "failure", "answered")
"""The figures of a call that the page takes as they are."""


class ListPage(Struct, frozen=True, kw_only=True):
    """A page of the conversations of a store. `total`: how many the store has. `found`: how many of them have the words
    of the query in their names. `first`: the index among these at which the page begins."""

    total: int
    found: int
    first: int
    conversations: list[StoredConversation]


class Do(Action, frozen=True, kw_only=True):
    """The body of a request that tries an action or carries it out. `id`: the name of the conversation. `expect`: how
    many entries it had when the action was tried."""

    id: str
    expect: int = 0


class Inspector:
    """Answers the requests of the page with data of one store."""

    def __init__(self, store: Store, *, place: str, read_only: bool = False) -> None:
        """`place`: what the page calls the store. `read_only`: nothing can be changed from the page."""
        self._store = store
        self._open = InspectedConversations(store)
        self._comparisons = Comparisons(store)
        self._place, self._read_only = place, read_only

    def app(self, *, port: int, token: str) -> Access:
        """Make the ASGI application, which answers only the browser that has opened the one-time link. `token`: of that
        link. `port`: where the server listens."""
        routes = [
            Route("/", self._page),
            Route("/api/start", self._data(self._start)),
            Route("/api/conversations", self._data(self._conversations)),
            Route("/api/mark", self._data(self._mark)),
            Route("/api/calls", self._data(self._calls)),
            Route("/api/window", self._data(self._window)),
            Route("/api/left-out", self._data(self._left_out)),
            Route("/api/names", self._data(self._names)),
            Route("/api/entry", self._data(self._entry)),
            Route("/api/compare", self._data(self._compare)),
            Route("/api/try", self._change(self._try), methods=["POST"]),
            Route("/api/do", self._change(self._do), methods=["POST"]),
            Mount("/static", StaticFiles(directory=STATIC)),
        ]
        return Access(Starlette(routes=routes), port=port, token=token)

    @staticmethod
    async def _page(_: Request) -> Response:
        return FileResponse(STATIC / "index.html")

    def _data(self, answer: Callable[[Query], object]) -> Callable[[Request], Any]:
        """The endpoint of a GET: what `answer` returns for the query, as JSON. It runs in a thread, because it reads
        the store."""

        async def endpoint(request: Request) -> Response:
            query = Query(request)
            return await run_in_threadpool(self._answered, query.text("id"), lambda: answer(query))

        return endpoint

    def _change(self, answer: Callable[[Do], object]) -> Callable[[Request], Any]:
        """The endpoint of a POST whose body is the JSON of `Do`: what `answer` returns for it, as JSON."""

        async def endpoint(request: Request) -> Response:
            if request.headers.get("content-type", "").partition(";")[0] != "application/json":
                return _problem("the body must be JSON", 415)
            body = await request.body()
            if len(body) > MOST_BODY:
                return _problem("the body is too long", 413)
            try:
                wanted = msgspec.json.decode(body, type=Do)
            except msgspec.MsgspecError as problem:
                return _problem(str(problem), 400)
            return await run_in_threadpool(self._answered, wanted.id, lambda: answer(wanted))

        return endpoint

    # ---- what is asked

    def _start(self, _: Query) -> object:
        return {"store": self._place, "policies": list(POLICIES), "read_only": self._read_only, "figures": VERDICT}

    def _conversations(self, query: Query) -> object:
        return list_page(self._store, query.text("query"), query.number("from", 0), query.number("count", 100))

    def _mark(self, query: Query) -> object:
        """How many conversations there are, and how many entries the one that is shown has. When a number has changed,
        the page asks for its data again."""
        name = query.text("id")
        return {"conversations": len(self._store.names()), "entries": self._conversation(query).length() if name else 0}

    def _calls(self, query: Query) -> object:
        conversation = self._conversation(query)
        calls, table = conversation.calls()
        first = query.number("from", 0)
        return {"entries": table.length, "first": first, "total": table.total, **_columns(calls[first:])}

    def _window(self, query: Query) -> object:
        first = query.number("from", None)
        count = min(query.number("count", ROWS_OF_PAGE), MOST_ROWS)
        conversation = self._conversation(query)
        if (tried := query.number("try", None)) is not None:
            return conversation.tried_window(tried, first, count)
        return conversation.window(query.number("call", None), first, count)

    def _left_out(self, query: Query) -> object:
        return self._conversation(query).left_out(
            query.number("call", None),
            query.number("fold", None),
            query.number("from", 0),
            min(query.number("count", ROWS_OF_PAGE), MOST_ROWS),
        )

    def _names(self, query: Query) -> object:
        return self._conversation(query).missing_names(query.number("call", None))

    def _entry(self, query: Query) -> object:
        entry = self._conversation(query).entry(query.number("entry", -1), query.number("from", 0))
        return {**msgspec.structs.asdict(entry), "most": CHARACTERS_OF_ENTRY}

    def _compare(self, query: Query) -> object:
        """Work a little on a comparison, and return what it has so far. The page asks until all is done."""
        name = self._conversation(query).name
        comparison = self._comparisons.get(
            name, query.texts("policies"), query.numbers("windows"), query.number("entries", 0), query.text("model")
        )
        return comparison.page(query.number("from", 0))

    def _try(self, wanted: Do) -> object:
        return self._open.get(wanted.id).try_action(wanted)

    def _do(self, wanted: Do) -> object:
        if self._read_only:
            raise InvalidSetting("this inspector only looks: it was started with --read-only")
        return {"entries": self._open.get(wanted.id).do_action(wanted, wanted.expect)}

    def _conversation(self, query: Query) -> InspectedConversation:
        return self._open.get(query.text("id"))

    def _answered(self, name: str, answer: Callable[[], object]) -> Response:
        """The answer as JSON. An expected error becomes `{"error": …}` with one line, and status 400, 404 or 409."""
        try:
            return Response(plain(answer()), media_type="application/json")
        except UnknownLog as problem:
            self._open.close(name)
            return _problem(str(problem), 404)
        except Conflict:
            return _problem("the conversation has gone on meanwhile: look again", 409)
        except TransomError as problem:
            return _problem(str(problem), 400)


def list_page(store: Store, query: str, first: int, count: int) -> ListPage:
    """Return a page of the conversations whose names contain every word of the query, in upper or lower case, the one
    that was created last first: at most `count` of them, and never more than MOST_LISTED (200), from index `first` on.
    An empty query finds all. A conversation that is forgotten meanwhile is left out of the page."""
    names = store.names()
    words = query.casefold().split()
    found = [name for name in reversed(names) if all(word in name.casefold() for word in words)]
    first = max(0, first)
    shown = (describe_conversation(store, name) for name in found[first : first + max(0, min(count, MOST_LISTED))])
    conversations = [one for one in shown if one is not None]
    return ListPage(total=len(names), found=len(found), first=first, conversations=conversations)


class Query:
    """The parameters in the URL of a request."""

    def __init__(self, request: Request) -> None:
        self._given = request.query_params

    def text(self, name: str) -> str:
        """Return the parameter `name`; empty if it is not given."""
        return self._given.get(name, "")

    def texts(self, name: str) -> list[str]:
        """Return the texts between the commas of the parameter `name`, without empty ones; none if it is not given."""
        return [each for each in self.text(name).split(",") if each]

    def number(self, name: str, default: Any) -> Any:
        """Return the parameter `name` as a whole number, which may be negative; `default` if it is not given or empty.
        Raises InvalidSetting for anything else, and for a number of 2**53 or more, as the page cannot hold it."""
        given = self._given.get(name, "")
        return _whole_number(name, given) if given else default

    def numbers(self, name: str) -> list[int]:
        """Return the whole numbers between the commas of the parameter `name`; none if it is not given. Raises
        InvalidSetting for anything else."""
        return [_whole_number(name, each) for each in self.texts(name)]


def _whole_number(name: str, given: str) -> int:
    try:
        number = int(given)
    except ValueError:
        raise InvalidSetting(f"{name} must be a whole number") from None
    if abs(number) >= 1 << 53:
        raise InvalidSetting(f"{name} is too large")
    return number


def _problem(text: str, status: int) -> Response:
    return Response(plain({"error": text}), status, media_type="application/json")


def _columns(calls: list[CallFigures]) -> dict[str, object]:
    """The figures of calls as columns: a list for each figure. That is a third of the size of rows."""
    return {
        **{name: [getattr(call, name) for call in calls] for name in COLUMNS},
        **{name: [getattr(call.usage, name, None) for call in calls] for name in ("prompt", "cached", "output")},
        "shared": [call.shared_tokens for call in calls],
        "dollars": [round(call.dollars, 9) if call.dollars or not call.unpriced else None for call in calls],
        "model": _runs([call.model for call in calls]),
    }


def _runs(values: list[str]) -> list[tuple[int, str]]:
    """Each run of equal values once: the index of its first value, and the value."""
    return [(at, value) for at, value in enumerate(values) if not at or values[at - 1] != value]


def listen(port: int) -> socket.socket:
    """Open a socket that only this machine can reach, and listen on it, so that a browser that opens the link before
    the server runs waits. Port 0: any free port. Raises OSError if the port is taken."""
    return socket.create_server((HOST, port))


def serve(
    inspector: Inspector, listening: socket.socket, *, conversation: str | None, ready: Callable[[str], None]
) -> None:
    """Serve on this socket until Ctrl-C; then close the socket and return. `ready`: called once with the one-time link,
    before the first request is answered. `conversation`: the name of the one that the link shows first; None: the
    list."""
    port, token = listening.getsockname()[1], token_urlsafe(24)
    shown = "" if conversation is None else f"#id={url_quote(conversation, safe='')}"
    config = uvicorn.Config(inspector.app(port=port, token=token), log_level="warning", access_log=False)
    ready(f"http://{HOST}:{port}/?token={token}{shown}")
    try:
        uvicorn.Server(config).run(sockets=[listening])
    except KeyboardInterrupt:
        return
    finally:
        listening.close()
