"""What a session keeps: conversation entries as they are recorded, in slices or, with a conversation, in its log.

Entries and the log are read from each other, so that there is one store and not two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, TypeVar, cast
from uuid import NAMESPACE_OID, UUID, uuid5

from msgspec import Struct
from msgspec.structs import replace

from transom.conversation.conversation import Conversation
from transom.core.entry import Entry, Meta
from transom.core.message import Assistant, Fact
from transom.errors import InvalidSetting
from transom.history.entries import ConversationEntry, entry_to_provider_message, provider_message_to_entry
from transom.history.managers import SessionProtocol
from transom.wire.openai import message, parse
from transom.wire.translate import translate_fact

T = TypeVar("T")
Slice = tuple[Any, ...]

NO_EVALUATION = UUID(int=0)
"""Of an entry that belongs to no evaluation."""

_SAME = ("sequence", "mode", "run_id", "workflow_id", "agent_id", "duration", "include_in_context")
"""What an entry and a log's `Meta` call by the same name."""


def entry_to_fact(entry: ConversationEntry) -> Fact:
    """What an entry says, as a fact for a log. Raises InvalidMessage."""
    return parse(entry_to_provider_message(entry))


def entry_to_meta(entry: ConversationEntry) -> Meta:
    """Where an entry belongs, as a log keeps it."""
    evaluation = "" if entry.evaluation_id == NO_EVALUATION else str(entry.evaluation_id)
    same = {name: getattr(entry, name) for name in _SAME}
    return Meta(evaluation_id=evaluation, tool_name=entry.tool_name or "", **same)


def log_to_entries(log: Iterable[Entry]) -> Iterator[ConversationEntry]:
    """The facts of a log, in order, as OpenAI chat would say them; edits, traces and heads are no messages.

    A result without a tool's name gets that of the call it answers. `created_at` is the log's time.
    """
    tools: dict[str, str] = {}
    for entry in log:
        fact, meta = entry.body, entry.meta or Meta()
        if not isinstance(fact, Fact):
            continue
        if isinstance(fact, Assistant):
            tools.update((call.id, call.name) for call in fact.calls)
        made = provider_message_to_entry(
            message(translate_fact(fact, "openai")),
            evaluation_id=evaluation_uuid(meta.evaluation_id),
            sequence=meta.sequence,
            created_at=datetime.fromtimestamp(entry.at, UTC),
        )
        tool = made.tool_name
        if made.tool_call_id is not None:
            tool = meta.tool_name or tool or tools.get(made.tool_call_id)
        yield replace(made, tool_name=tool, **{name: getattr(meta, name) for name in _SAME})


def evaluation_uuid(name: str) -> UUID:
    """The id that stands for an evaluation's name: itself if it is one, else always the same one made from it."""
    if not name:
        return NO_EVALUATION
    try:
        return UUID(name)
    except ValueError:
        return uuid5(NAMESPACE_OID, name)


class ConversationRecorded(Struct, frozen=True):
    """An entry was added to the history: published by whoever runs the conversation."""

    entry: ConversationEntry
    session_id: UUID | None
    created_at: datetime


class ReducerContext(Struct, frozen=True):
    """What a reducer may ask beside its slice and the event."""

    session: SessionProtocol


Reducer = Callable[..., Slice]
"""The next value of a slice: `reducer(slice, event, *, context)`. Pure: it returns a new tuple."""


def append(slice_: Slice, event: Any, /, *, context: ReducerContext) -> Slice:  # noqa: ARG001 - a reducer's
    """Every event is kept, in order: the default. Of what was recorded it is the entry."""
    return (*slice_, event.entry if isinstance(event, ConversationRecorded) else event)


def replace_latest(slice_: Slice, event: Any, /, *, context: ReducerContext) -> Slice:  # noqa: ARG001 - a reducer's
    """Only the newest event is kept."""
    return (event,)


class Session:
    """Events in, slices out. It is its own event bus (`publish`). Not to be shared between threads.

    `ConversationRecorded` fills the slice of `ConversationEntry`; an event without a reducer is appended to the slice
    of its own type. With a `conversation`, recording appends to its log, and that slice is read from the log: one
    store, with everything else that was logged in it. What a manager curates never touches either.
    """

    def __init__(self, session_id: UUID | None = None, *, conversation: Conversation | None = None) -> None:
        self.session_id, self._conversation = session_id, conversation
        self._slices: dict[type, Slice] = {}
        recorded: dict[type, Reducer] = {} if conversation is not None else {ConversationEntry: append}
        self._reducers: dict[type, dict[type, Reducer]] = {ConversationRecorded: recorded}

    def register_reducer(self, event_type: type, reducer: Reducer, *, slice_type: type | None = None) -> None:
        """Let events of this very type change a slice (their own, if not given), in place of the reducer before.

        Raises InvalidSetting for entries that are the log's.
        """
        target = slice_type or event_type
        if target is ConversationEntry and self._conversation is not None:
            raise InvalidSetting("the conversation's log holds its entries: no reducer can change them")
        self._reducers.setdefault(event_type, {})[target] = reducer

    def dispatch(self, event: object) -> None:
        """Let the reducers change the slices. One that raises has changed nothing."""
        kind, context = type(event), ReducerContext(self)
        after = {
            target: reducer(self._slices.get(target, ()), event, context=context)
            for target, reducer in self._reducers.get(kind, {kind: append}).items()
        }
        if isinstance(event, ConversationRecorded) and self._conversation is not None:
            self._conversation.append(entry_to_fact(event.entry), entry_to_meta(event.entry))
        self._slices.update(after)

    publish = dispatch

    def select_all(self, kind: type[T], /) -> tuple[T, ...]:
        """The values of a slice, oldest first; empty if there is none."""
        if kind is ConversationEntry and self._conversation is not None:
            return cast("tuple[T, ...]", tuple(log_to_entries(self._conversation.log.read())))
        return self._slices.get(kind, ())


def select_all(session: SessionProtocol, kind: type[T]) -> tuple[T, ...]:
    """The values of a session's slice, oldest first."""
    return session.select_all(kind)


def select_where(session: SessionProtocol, kind: type[T], predicate: Callable[[T], bool]) -> tuple[T, ...]:
    """Those values of a session's slice for which the predicate holds."""
    return tuple(value for value in session.select_all(kind) if predicate(value))


def get_evaluation_history(session: SessionProtocol, evaluation_id: UUID) -> tuple[ConversationEntry, ...]:
    """All entries of one evaluation, in order."""
    return select_where(session, ConversationEntry, lambda entry: entry.evaluation_id == evaluation_id)
