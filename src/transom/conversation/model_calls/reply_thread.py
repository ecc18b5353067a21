"""A provider's reply, received in a thread of its own: the driver can stop waiting for a provider that is silent."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Generator, Iterable
from contextvars import copy_context
from typing import Any, TypeVar

T = TypeVar("T")


def received(
    receive: Callable[[], Iterable[T]],
    check: Callable[[], None],
    tick: float,
    *,
    on_left: Callable[[T], object] | None = None,
    on_late: Callable[[T], object] | None = None,
) -> Generator[T, None, None]:
    """What `receive` gives, one by one. `check` is called every `tick` seconds of waiting, and may raise.

    When the generator is closed, or `check` raises, `on_left` is called with each item that has arrived and was not
    taken. The thread notices that with the next item, which it gives to `on_late`, or drops. Then it closes what
    `receive` returned. It is a daemon thread: it does not keep the process from ending.
    """
    arrived: queue.SimpleQueue[tuple[T] | BaseException | None] = (
        queue.SimpleQueue()
    )  # an item; an error; None: the end
    dropped = threading.Event()

    def work() -> None:
        try:
            items = receive()
            try:
                for item in items:
                    if dropped.is_set():
                        if on_late is not None:
                            on_late(item)
                        return
                    arrived.put((item,))
            finally:
                close_items(items)
        except BaseException as error:  # noqa: BLE001 - it is raised in the thread that waits
            arrived.put(error)
        else:
            arrived.put(None)

    threading.Thread(target=copy_context().run, args=(work,), name="transom reply", daemon=True).start()
    try:
        while True:
            try:
                found = arrived.get(timeout=tick)
            except queue.Empty:
                check()
                continue
            if found is None:
                return
            if isinstance(found, BaseException):
                raise found
            yield found[0]
    finally:
        dropped.set()
        while on_left is not None and not arrived.empty():
            if isinstance(left := arrived.get(), tuple):
                on_left(left[0])


def close_items(items: Any) -> None:
    """Close an iterator that can be closed, as a provider's stream can."""
    if (close := getattr(items, "close", None)) is not None:
        close()
