"""A session: typed slices, filled from events by reducers. With a conversation, its entries are the log's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar, cast
from uuid import UUID

from msgspec import Struct

from transom.drive.conversation import Conversation
from transom.errors import InvalidSetting
from transom.history.entries import ConversationEntry, MessageRole
from transom.history.events import ConversationRecorded
from transom.history.logged import entry_to_fact, entry_to_meta, log_to_entries
from transom.history.protocol import SessionProtocol

T = TypeVar("T")


class ReducerContext(Struct, frozen=True):
    """What a reducer may ask beside its slice and the event."""

    session: SessionProtocol


class Reducer(Protocol):
    """The next value of a slice. Pure: it returns a new tuple."""

    def __call__(self, slice_: tuple[Any, ...], event: Any, /, *, context: ReducerContext) -> tuple[Any, ...]: ...


def append(slice_: tuple[Any, ...], event: Any, /, *, context: ReducerContext) -> tuple[Any, ...]:  # noqa: ARG001
    """Every event is kept, in order. The default."""
    return (*slice_, event)


def replace_latest(slice_: tuple[Any, ...], event: Any, /, *, context: ReducerContext) -> tuple[Any, ...]:  # noqa: ARG001
    """Only the newest event is kept."""
    return (event,)


def _append_entry(slice_: tuple[Any, ...], event: Any, /, *, context: ReducerContext) -> tuple[Any, ...]:  # noqa: ARG001
    return (*slice_, event.entry)


class Session:
    """Events in, slices out. It is its own event bus (`publish`). Not to be shared between threads.

    `ConversationRecorded` fills the slice of `ConversationEntry`; an event without a reducer is appended to the slice
    of its own type. With a `conversation`, recording appends to its log, and that slice is read from the log: one
    store, with everything else that was logged in it. What a manager curates never touches either.
    """

    def __init__(self, session_id: UUID | None = None, *, conversation: Conversation | None = None) -> None:
        self._id, self._conversation = session_id, conversation
        self._slices: dict[type, tuple[Any, ...]] = {}
        self._reducers: dict[type, dict[type, Reducer]] = {}
        self._subscribers: dict[type, list[Callable[[Any], object]]] = {}
        if conversation is None:
            self.register_reducer(ConversationRecorded, _append_entry, slice_type=ConversationEntry)

    @property
    def session_id(self) -> UUID | None:
        """Whose events these are."""
        return self._id

    def register_reducer(self, event_type: type, reducer: Reducer, *, slice_type: type | None = None) -> None:
        """Let events of this very type change a slice (their own, if not given), in place of the reducer before.

        Raises InvalidSetting for entries that are the log's.
        """
        target = slice_type or event_type
        if target is ConversationEntry and self._conversation is not None:
            raise InvalidSetting("the conversation's log holds its entries: no reducer can change them")
        self._reducers.setdefault(event_type, {})[target] = reducer

    def subscribe(self, event_type: type[T], handler: Callable[[T], object]) -> Callable[[], None]:
        """Call `handler` with every event of this very type, once the slices have changed; returns how to stop."""
        handlers = self._subscribers.setdefault(event_type, [])
        handlers.append(handler)

        def stop() -> None:
            if handler in handlers:
                handlers.remove(handler)

        return stop

    def dispatch(self, event: object) -> None:
        """Change the slices, then tell the subscribers. A reducer that raises has changed nothing."""
        kind, context = type(event), ReducerContext(self)
        logged = isinstance(event, ConversationRecorded) and self._conversation is not None
        reducers = self._reducers.get(kind) or ({} if logged else {kind: append})
        after = {
            target: reducer(self._slices.get(target, ()), event, context=context)
            for target, reducer in reducers.items()
        }
        if isinstance(event, ConversationRecorded) and self._conversation is not None:
            self._conversation.append(entry_to_fact(event.entry), entry_to_meta(event.entry))
        self._slices.update(after)
        for handler in tuple(self._subscribers.get(kind, ())):
            handler(event)

    publish = dispatch

    def select_all(self, kind: type[T], /) -> tuple[T, ...]:
        """The values of a slice, oldest first; empty if there is none."""
        if kind is ConversationEntry and self._conversation is not None:
            return cast("tuple[T, ...]", tuple(log_to_entries(self._conversation.log.read())))
        return self._slices.get(kind, ())

    def select_where(self, kind: type[T], predicate: Callable[[T], bool]) -> tuple[T, ...]:
        """Those values of a slice for which the predicate holds."""
        return tuple(value for value in self.select_all(kind) if predicate(value))


def select_all(session: SessionProtocol, kind: type[T]) -> tuple[T, ...]:
    """The values of a session's slice, oldest first."""
    return session.select_all(kind)


def select_where(session: SessionProtocol, kind: type[T], predicate: Callable[[T], bool]) -> tuple[T, ...]:
    """Those values of a session's slice for which the predicate holds."""
    return tuple(value for value in session.select_all(kind) if predicate(value))


def get_evaluation_history(session: SessionProtocol, evaluation_id: UUID) -> tuple[ConversationEntry, ...]:
    """All entries of one evaluation, in order."""
    return select_where(session, ConversationEntry, lambda entry: entry.evaluation_id == evaluation_id)


def get_role_history(session: SessionProtocol, role: MessageRole) -> tuple[ConversationEntry, ...]:
    """All entries of one role, in order."""
    return select_where(session, ConversationEntry, lambda entry: entry.role == role)


def get_run_history(session: SessionProtocol, run_id: str) -> tuple[ConversationEntry, ...]:
    """All entries of one run, in order."""
    return select_where(session, ConversationEntry, lambda entry: entry.run_id == run_id)
