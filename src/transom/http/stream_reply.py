"""Reads a streamed reply as it passes: it parses the server-sent events, and an accumulator makes the turn of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import cast

from transom.conversation.model_calls.model_call import model_of_reply
from transom.core.message import Raw
from transom.errors import InvalidMessage
from transom.wire.dialect import Dialect
from transom.wire.fields import text
from transom.wire.replies import error_in

_LAST_EVENTS = frozenset({"message_stop", "response.completed", "response.incomplete", "response.failed"})
"""The types of the events that end a stream."""
_DONE = "[DONE]"
"""The data of the event that ends a stream of chat completions. The usage comes before it, behind the finish reason."""
_BEFORE_REPLY = frozenset({"response.created", "response.queued", "response.in_progress"})
"""The types of events that a server may send before it says that a request was too long."""
LONGEST_EVENT = 64 << 20
"""The longest event that is read, in bytes. A longer one is dropped: the client gets it all the same."""


class StreamReply:
    """One streamed reply, read while it passes to the client. What cannot be read, or is longer than LONGEST_EVENT, is
    left out; nothing is raised.

    `accumulator`: makes the turn of what came so far. `model`: the model, as "openai:gpt-5"; empty until an event names
    it. `has_begun`: an event has come that is more than an announcement. `finished`: the provider has sent its last
    event. `error`: the newest error that came in place of the reply or of its rest; None if none came.
    """

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self.accumulator = dialect.accumulator()
        self._rest = b""
        self.model = ""
        self.finished = self.has_begun = False
        self.error: Raw | None = None

    def feed(self, chunk: bytes) -> bool:
        """Read the next bytes of the stream, which may end in the middle of an event. True if these bytes complete the
        reply; once only."""
        before = self.finished
        for data in self._events(chunk):
            if data == _DONE:
                self.finished = True
                continue
            try:
                event = json.loads(data)
            except (ValueError, RecursionError):
                continue
            if isinstance(event, dict):
                self._take(cast("Raw", event))
        return self.finished and not before

    def _take(self, event: Raw) -> None:
        kind = text(event, "type")
        self.error = error_in(event) or self.error
        self.has_begun = self.has_begun or kind not in _BEFORE_REPLY
        self.model = self.model or model_of_reply(event, self._dialect)
        try:
            self.accumulator.feed(event)
        except (InvalidMessage, ValueError, TypeError, KeyError, IndexError, AttributeError):
            return  # what cannot be read passes all the same
        self.accumulator.take_deltas()
        if kind in _LAST_EVENTS or (not kind and "candidates" in event and self.accumulator.finished):
            self.finished = True

    def _events(self, chunk: bytes) -> Iterator[str]:
        """The data of each event that ends in this chunk. What is left is kept for the next chunk."""
        self._rest += chunk
        if b"\n" not in chunk and b"\r" not in chunk:
            self._rest = self._rest if len(self._rest) < LONGEST_EVENT else b""
            return
        lines_so_far = self._rest.replace(b"\r\n", b"\n")
        *events, self._rest = lines_so_far.split(b"\n\n")
        for event in events:
            lines = [line[5:].removeprefix(b" ") for line in event.split(b"\n") if line.startswith(b"data:")]
            if lines:
                yield b"\n".join(lines).decode("utf-8", "replace")
