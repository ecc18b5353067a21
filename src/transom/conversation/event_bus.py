"""The event bus of a conversation: whoever subscribes is called when something happens.

A callback is called in the thread where it happens, after it is in the log. For the events of this file the
conversation is locked meanwhile; for those of a run it is not. A callback may read the conversation, and must be quick.
What it raises is logged with `logging` and changes nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, TypeVar, cast

from msgspec import Struct

from transom.clock import utc
from transom.conversation.planning.request_planner import RequestPlanner
from transom.conversation.usage import WindowUsage
from transom.core.edit import Edit
from transom.core.entry import Entry
from transom.core.message import Fact
from transom.core.view import View
from transom.errors import InvalidSetting, quote

__all__ = ["ConversationRecorded", "EventBus", "HistoryCurated", "UsageChanged"]

K = TypeVar("K")

_logger = logging.getLogger(__name__)


class ConversationRecorded(Struct, frozen=True):
    """A fact is in the log: ours, or another writer's. `entry`: the entry of the log. `created_at`: its time, in
    UTC."""

    entry: Entry
    """The entry of the log."""
    created_at: datetime
    """The time of the entry."""


class HistoryCurated(Struct, frozen=True):
    """Edits were logged, by a plan or without one. They need not change what the model sees: a pin of a visible message
    does not.

    `prompt_name`: the name of the log. `strategy`: the name of the policy. `edits`: the entries of the edits.
    `original_count`, `curated_count`: the messages of the window before and after everything that was logged together,
    so notes count too.
    """

    prompt_name: str
    """The name of the log."""
    original_count: int
    """Messages before."""
    curated_count: int
    """Messages now."""
    strategy: str
    """The name of the policy."""
    created_at: datetime
    """When it happened."""
    edits: tuple[int, ...]
    """The entries of the edits."""


class UsageChanged(Struct, frozen=True):
    """The status of the window has changed: it was `before`, and is `usage.status` now ("normal", "warning" or
    "compacting")."""

    before: str
    """The status before."""
    usage: WindowUsage
    """The usage now, with the new status."""


class EventBus:
    """Who has subscribed to the events of one conversation. With the first subscriber it begins to watch the log.

    It has no reference to the conversation. So a conversation that nobody closes is freed at once, and gives its lease
    back.
    """

    def __init__(self, planner: RequestPlanner) -> None:
        self._planner = planner
        self._watches_log = False
        self.callbacks: tuple[tuple[type[Any], Callable[[Any], object]], ...] = ()
        """Who has subscribed: the class of the events, and whom to call."""

    def subscribe(self, kind: type[K], callback: Callable[[K], object]) -> Callable[[], None]:
        """Call back with each event of this class (`object`: with all), until the function that this returns is
        called. Raises InvalidSetting if `kind` is no class, or `callback` no function."""
        if not isinstance(cast("object", kind), type):
            raise InvalidSetting(f"subscribe: must be a class of events, not {quote(kind)}")
        if not callable(cast("object", callback)):
            raise InvalidSetting(f"subscribe: must be a function of one event, not {quote(callback)}")
        mine = (kind, callback)
        self.callbacks = (*self.callbacks, mine)
        if not self._watches_log:
            self._watches_log = True
            self._planner.writer.subscribe(self._publish_append)

        def unsubscribe() -> None:
            self.callbacks = tuple(each for each in self.callbacks if each is not mine)

        return unsubscribe

    def publish(self, event: object) -> None:
        """Call everybody who has subscribed to the class of this event, or to a class above it, in the order in which
        they subscribed. What a callback raises is logged with `logging`, and the next one is called."""
        for kind, callback in self.callbacks:
            if isinstance(event, kind):
                try:
                    callback(event)
                except Exception:
                    _logger.exception("a callback for %s failed", type(event).__name__)

    def _publish_append(self, before: View, after: View, entries: Sequence[Entry]) -> None:
        """Publish the events of new entries, of this conversation or of another writer."""
        planner = self._planner
        for entry in entries:
            if isinstance(entry.body, Fact):
                self.publish(ConversationRecorded(entry, utc(entry.at)))
        edits = tuple(entry.seq for entry in entries if isinstance(entry.body, Edit))
        if edits:
            self.publish(
                HistoryCurated(
                    prompt_name=planner.writer.log.name,
                    original_count=before.total.messages,
                    curated_count=after.total.messages,
                    strategy=planner.settings.policy.name,
                    created_at=utc(entries[-1].at),
                    edits=edits,
                )
            )
        if any(issubclass(UsageChanged, wanted) for wanted, _ in self.callbacks):  # usage is counted for these alone
            status, now = planner.usage(before).status, planner.usage(after)
            if status != now.status:
                self.publish(UsageChanged(status, now))
