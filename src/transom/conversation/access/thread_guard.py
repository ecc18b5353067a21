"""Who may use a conversation now: one thread at a time, one run at a time, and nobody once it is closed."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager

from transom.conversation.access.lease import Lease
from transom.errors import ConversationBusy, InvalidSetting


class Guard:
    """The lock of a conversation, and whether it is closed or a run is at work."""

    def __init__(self, lease: Lease) -> None:
        self.lease = lease
        self.lock = threading.RLock()
        self.is_closed = False
        self.is_running = False

    def must_be_open(self) -> None:
        """Raise InvalidSetting if the conversation is closed."""
        if self.is_closed:
            raise InvalidSetting("the conversation is closed")

    def must_not_run(self, why: str) -> None:
        """Raise InvalidSetting, with this line, if a run is at work."""
        if self.is_running:
            raise InvalidSetting(why)

    @contextmanager
    def run(self) -> Generator[None]:
        """While a run is at work: only one at a time, of all that have opened the conversation. Raises InvalidSetting
        if it is closed, ConversationBusy."""
        with self.lock:
            self.must_be_open()
            if self.is_running:
                raise ConversationBusy(self.lease.name, "another run of this object")
            self.is_running = True
        try:
            with self.lease.hold():
                yield
        finally:
            self.is_running = False
