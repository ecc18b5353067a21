"""An HTTP server on the loopback, for servers that stand in for a provider."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]


class PostHandler(BaseHTTPRequestHandler):
    """A handler whose `post` is called with the path, without its query, and the body of each request."""

    post: Callable[[PostHandler, str, Json], None]
    get: Callable[[PostHandler], None] | None

    def do_GET(self) -> None:
        if type(self).get is None:
            self.send_error(501)
        else:
            type(self).get(self)

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        type(self).post(self, self.path.partition("?")[0], body)

    def reply(self, status: int, kind: str, data: bytes, headers: Mapping[str, str] | None = None) -> None:
        """Send an answer; `headers` take the place of those of the same name."""
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(data)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, *args: object) -> None:
        """Nothing on stderr."""


class _Server(ThreadingHTTPServer):
    """Takes as many connections at once as a test opens: the kernel resets some of those that nobody has accepted."""

    request_queue_size = 1_024


def is_streamed(path: str, body: Json) -> bool:
    return bool(body.get("stream")) or path.endswith(":streamGenerateContent")


def as_events(path: str, chunks: Sequence[Json]) -> list[bytes]:
    """Server-sent events, one a chunk, as the API at this path writes them."""
    named = path.endswith(("/responses", "/messages"))
    lines = [(f"event: {each['type']}\n" if named else "") + f"data: {json.dumps(each)}\n\n" for each in chunks]
    return [line.encode() for line in lines]


def end_of_events(path: str) -> bytes:
    """What ends a whole stream: only OpenAI Chat writes something."""
    return b"data: [DONE]\n\n" if path.endswith("/completions") else b""


@contextmanager
def serving(
    post: Callable[[PostHandler, str, Json], None], get: Callable[[PostHandler], None] | None = None
) -> Iterator[str]:
    """The URL of a running server, which calls `post` for each POST, and `get` for each GET and HEAD."""
    methods = {"post": staticmethod(post), "get": None if get is None else staticmethod(get)}
    handler = type("Handler", (PostHandler,), methods)
    server = _Server(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
