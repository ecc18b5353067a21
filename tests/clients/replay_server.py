"""A server on the loopback that gives back replies it was handed: whole, streamed, cut off, or as an error."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from loopback_server import Json, PostHandler, as_events, end_of_events, is_streamed, serving


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


@contextmanager
def replay_server() -> Iterator[ReplayServer]:
    """A running server."""
    state = ReplayServer()

    def post(handler: PostHandler, path: str, body: Json) -> None:
        state.requests.append((handler.path, dict(handler.headers), body))
        answer = state.answer
        if answer.status == 200 and is_streamed(path, body):
            _stream(handler, path, answer)
            return
        text = answer.whole if isinstance(answer.whole, str) else json.dumps(answer.whole)
        handler.reply(answer.status, "application/json", text.encode(), answer.headers)

    with serving(post) as state.url:
        yield state


def _stream(handler: PostHandler, path: str, answer: Answer) -> None:
    sent = b"".join(as_events(path, answer.chunks)[: answer.cut])
    sent += end_of_events(path) if answer.cut is None else b""
    missing = 1 if answer.cut is not None and answer.breaks else 0
    length = {"Content-Length": str(len(sent) + missing)}
    handler.reply(answer.status, "text/event-stream", sent, {**length, **answer.headers})
    handler.close_connection = handler.close_connection or bool(missing)
