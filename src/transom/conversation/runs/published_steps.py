"""The steps of a run as its conversation hands them out."""

from __future__ import annotations

from collections.abc import Generator
from inspect import GEN_RUNNING, getgeneratorstate
from typing import Any

from transom.conversation.bus import EventBus
from transom.conversation.runs.work import Work
from transom.errors import InvalidSetting


class PublishedSteps(Generator[Any, Any, Any]):
    """The steps of a run as its conversation hands them out: events are published too, and `stop` can end them."""

    def __init__(self, steps: Generator[Any, Any, Any], bus: EventBus) -> None:
        self._steps, self._bus = steps, bus
        self._is_stopped = False

    def stop(self) -> None:
        """End the run, because its conversation closes: what is open in the log is closed now, and whoever still drives
        the run gets an error. Not while a step is at work in another thread."""
        try:
            self._steps.close()
        except ValueError:
            if self._is_at_work():  # the step at work meets the closed conversation itself
                return
            raise
        finally:
            self._is_stopped = not self._is_at_work()

    def _is_at_work(self) -> bool:
        return getgeneratorstate(self._steps) == GEN_RUNNING

    def send(self, value: Any) -> Any:
        """Go on with the outcome of what the generator waited for, and return what it yields next.

        Raises InvalidSetting if the conversation was closed meanwhile.
        """
        if self._is_stopped:
            raise InvalidSetting("the conversation is closed")
        return self._seen(self._steps.send(value))

    def throw(self, *reason: Any) -> Any:
        """Stop the generator with an exception, and return what it yields while it cleans up."""
        return self._seen(self._steps.throw(*reason))

    def _seen(self, item: Any) -> Any:
        if not isinstance(item, Work):
            self._bus.publish(item)
        return item
