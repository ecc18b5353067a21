"""How a runner tells what happened: message by message, numbered within one evaluation."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

from msgspec.structs import replace

from transom.clock import Clock, system_clock
from transom.history.entries import ConversationEntry, provider_message_to_entry
from transom.history.events import ConversationRecorded
from transom.history.protocol import Publisher


class Recorder:
    """Publishes a `ConversationRecorded` for each message of one evaluation, in order, whatever a manager later sends.

    `mode` and `run_id` go with every entry. Not to be shared between threads.
    """

    def __init__(
        self,
        bus: Publisher,
        evaluation_id: UUID,
        *,
        session_id: UUID | None = None,
        mode: str = "",
        run_id: str = "",
        clock: Clock = system_clock,
    ) -> None:
        self._bus, self._session_id = bus, session_id
        self.evaluation_id, self._sequence = evaluation_id, 0
        self._mode, self._run_id, self._clock = mode, run_id, clock

    def record(self, msg: object) -> ConversationEntry:
        """The entry for a message, once it is published. Raises InvalidMessage, with nothing published or numbered."""
        entry = provider_message_to_entry(
            msg,
            evaluation_id=self.evaluation_id,
            sequence=self._sequence,
            created_at=datetime.fromtimestamp(self._clock(), UTC),
        )
        entry = replace(entry, mode=self._mode, run_id=self._run_id)
        self._bus.publish(ConversationRecorded(entry, self._session_id, entry.created_at))
        self._sequence += 1
        return entry
