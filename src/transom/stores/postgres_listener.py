"""Listens for announced appends: one connection and one thread for all conversations that this process follows."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from threading import Event, Lock, Thread
from typing import Any

import psycopg
from psycopg import Connection
from psycopg.sql import SQL, Identifier

_LOOK = 0.25
"""Seconds after which the thread checks whether it should end."""
_PAUSE = 0.5
"""Seconds before a lost connection is opened again."""


class Listener:
    """A thread that hears announcements of appends and wakes those who wait for the conversation concerned.

    A missed announcement (the connection was lost) only delays a follower: it looks by itself from time to time.
    """

    def __init__(self, connect: Callable[[], Connection[Any]], channel: str) -> None:
        self._connect, self._channel = connect, channel
        self._lock = Lock()
        self._waiting: dict[str, set[Event]] = {}
        self._closed = Event()
        self._thread = Thread(target=self._listen, name=f"{channel} listener", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop the thread, and wake all that wait."""
        self._closed.set()
        self._wake()
        self._thread.join(timeout=5)

    @contextmanager
    def waiting_for(self, key: str) -> Generator[Event]:
        """Register for the conversation with this key during the block; yields an event that is set when it may have
        grown.
        """
        event = Event()
        with self._lock:
            self._waiting.setdefault(key, set()).add(event)
        try:
            yield event
        finally:
            with self._lock:
                events = self._waiting[key]
                events.discard(event)
                if not events:
                    del self._waiting[key]

    def _listen(self) -> None:
        while not self._closed.is_set():
            with suppress(psycopg.Error), self._connect() as db:
                db.execute(SQL("LISTEN {}").format(Identifier(self._channel)))
                self._wake()  # something may have come while nobody listened
                while not self._closed.is_set():
                    for notify in db.notifies(timeout=_LOOK):
                        self._wake(notify.payload)
            self._closed.wait(_PAUSE)

    def _wake(self, key: str | None = None) -> None:
        with self._lock:
            found = self._waiting.values() if key is None else [self._waiting.get(key, set[Event]())]
            for events in found:
                for event in events:
                    event.set()
