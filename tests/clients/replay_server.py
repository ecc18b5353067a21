"""A server on the loopback that gives back replies it was handed: whole, streamed, cut off, or as an error."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

Json = dict[str, Any]


class Answer(NamedTuple):
    """What the server sends. `cut`: only so many chunks; then the connection breaks, or ends as if all were well."""

    whole: Json | str = ""
    chunks: Sequence[Json] = ()
    status: int = 200
    headers: Mapping[str, str] = {}
    cut: int | None = None
    breaks: bool = True


class ReplayServer:
    """`answer` is what comes next; `requests` what came: the path, the headers and the body."""

    def __init__(self) -> None:
        self.answer = Answer()
        self.requests: list[tuple[str, dict[str, str], Json]] = []
        self.url = ""


def as_stream(path: str, chunks: Sequence[Json]) -> list[bytes]:
    """Server-sent events, one a chunk, as the API at this path writes them."""
    named = path.endswith(("/responses", "/messages"))
    lines = [(f"event: {each['type']}\n" if named else "") + f"data: {json.dumps(each)}\n\n" for each in chunks]
    return [line.encode() for line in lines]


@contextmanager
def replay_server() -> Iterator[ReplayServer]:
    """A running server."""
    state = ReplayServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            path = self.path.partition("?")[0]
            state.requests.append((self.path, dict(self.headers), body))
            answer = state.answer
            streamed = body.get("stream") or path.endswith(":streamGenerateContent")
            if answer.status == 200 and streamed:
                self._stream(path, answer)
                return
            text = answer.whole if isinstance(answer.whole, str) else json.dumps(answer.whole)
            self._begin(answer, "application/json", len(text.encode()))
            self.wfile.write(text.encode())

        def _begin(self, answer: Answer, kind: str, length: int) -> None:
            self.send_response(answer.status)
            for name, value in {"Content-Type": kind, "Content-Length": str(length), **answer.headers}.items():
                self.send_header(name, value)
            self.end_headers()

        def _stream(self, path: str, answer: Answer) -> None:
            data = as_stream(path, answer.chunks)
            end = b"data: [DONE]\n\n" if path.endswith("/completions") else b""
            sent = b"".join(data[: answer.cut]) + (end if answer.cut is None else b"")
            missing = 1 if answer.cut is not None and answer.breaks else 0
            self._begin(answer, "text/event-stream", len(sent) + missing)
            self.wfile.write(sent)
            self.close_connection = self.close_connection or bool(missing)

        def log_message(self, *args: object) -> None:
            """Nothing on stderr."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    state.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
