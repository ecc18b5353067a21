"""Sessions: they collect events in slices. If a session has a conversation, conversation entries are in its log
instead.

Entries can be made from a log and facts from entries, so that nothing is stored twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar, cast
from uuid import NAMESPACE_OID, UUID, uuid5

from msgspec import Struct
from msgspec.structs import replace

from transom.clock import utc
from transom.conversation.bus import ConversationRecorded, HistoryCurated, UsageChanged
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
"""The values of one slice, the oldest first."""

NO_EVALUATION = UUID(int=0)
"""The `evaluation_id` of an entry that belongs to no evaluation."""

_SHARED_FIELDS = ("sequence", "mode", "run_id", "workflow_id", "agent_id", "duration", "include_in_context")
"""The fields that an entry and a log's `Meta` have under the same name."""


def _entry_to_fact(entry: ConversationEntry) -> Fact:
    """Convert an entry to the fact that a log stores. Raises InvalidMessage if its message has a field of the wrong
    type."""
    return parse(entry_to_provider_message(entry))


def _entry_to_meta(entry: ConversationEntry) -> Meta:
    """The meta data of an entry, as a log stores it with the fact."""
    evaluation = "" if entry.evaluation_id == NO_EVALUATION else str(entry.evaluation_id)
    shared = {name: getattr(entry, name) for name in _SHARED_FIELDS}
    return Meta(evaluation_id=evaluation, tool_name=entry.tool_name or "", **shared)


def log_to_entries(log: Iterable[Entry]) -> Iterator[ConversationEntry]:
    """Convert the facts of a log to conversation entries, in order. Edits, traces and heads are left out.

    A result without the name of its tool gets it from its call. `created_at` is the time in the log.
    """
    tools: dict[str, str] = {}
    for entry in log:
        fact, meta = entry.body, entry.meta or Meta()
        if not isinstance(fact, Fact):
            continue
        if isinstance(fact, Assistant):
            tools.update((call.id, call.name) for call in fact.calls)
        converted = provider_message_to_entry(
            message(translate_fact(fact, "openai")),
            evaluation_id=_evaluation_uuid(meta.evaluation_id),
            sequence=meta.sequence,
            created_at=utc(entry.at),
        )
        tool = converted.tool_name
        if converted.tool_call_id is not None:
            tool = meta.tool_name or tool or tools.get(converted.tool_call_id)
        yield replace(converted, tool_name=tool, **{name: getattr(meta, name) for name in _SHARED_FIELDS})


def _evaluation_uuid(name: str) -> UUID:
    """The id of an evaluation: its name if that is a UUID, else a UUID computed from the name. An empty name gives
    NO_EVALUATION."""
    if not name:
        return NO_EVALUATION
    try:
        return UUID(name)
    except ValueError:
        return uuid5(NAMESPACE_OID, name)


class ReducerContext(Struct, frozen=True):
    """What a reducer gets beside its slice and the event."""

    session: SessionProtocol


Reducer = Callable[..., Slice]
"""Computes the next value of a slice: `reducer(slice, event, *, context)` returns a new tuple."""


def append(slice_: Slice, event: Any, /, *, context: ReducerContext) -> Slice:  # noqa: ARG001 - a reducer's
    """The default reducer: returns the slice with the event at its end; of a `ConversationRecorded`, with its entry."""
    added: Any = cast("ConversationRecorded[Any]", event).entry if isinstance(event, ConversationRecorded) else event
    return (*slice_, added)


class Session:
    """Collects events in slices, one for each type of event. It is also the bus to which they are published
    (`publish`).

    A `ConversationRecorded` adds its entry to the slice of `ConversationEntry`. An event without a reducer is appended
    to the slice of its own type. History managers change neither slices nor log. Do not share a session between
    threads.

    If it has a `conversation`, recorded entries are appended to its log, and the slice of `ConversationEntry` is read
    from there. Of the conversation's events (`Conversation.subscribe`), those of
    runs are kept only if they have a reducer: a slice of them would hold every tool result. `select_all` reads a slice.
    """

    def __init__(self, session_id: UUID | None = None, *, conversation: Conversation | None = None) -> None:
        self.session_id, self._conversation = session_id, conversation
        self._slices: dict[type, Slice] = {}
        recorded: dict[type, Reducer] = {} if conversation is not None else {ConversationEntry: append}
        self._reducers: dict[type, dict[type, Reducer]] = {ConversationRecorded: recorded}
        self._is_appending = False
        if conversation is not None:
            conversation.subscribe(object, self._of_conversation)

    def register_reducer(self, event_type: type, reducer: Reducer, *, slice_type: type | None = None) -> None:
        """Let a reducer compute a slice from events of exactly this type. It replaces an earlier reducer for the same
        two types.

        `slice_type`: the slice; None: that of the event's own type. Raises InvalidSetting for the slice of
        `ConversationEntry` if a conversation's log holds the entries.
        """
        target = slice_type or event_type
        if target is ConversationEntry and self._conversation is not None:
            raise InvalidSetting("the log of the conversation holds its entries: a reducer cannot change them")
        self._reducers.setdefault(event_type, {})[target] = reducer

    def publish(self, event: object) -> None:
        """Take an event: run its reducers, and append a recorded entry to the conversation's log. If a reducer raises,
        nothing is changed."""
        changed = self._reduced(event)
        if isinstance(event, ConversationRecorded) and self._conversation is not None:
            entry: ConversationEntry = cast("ConversationRecorded[Any]", event).entry
            self._is_appending = True  # the conversation tells of it, too
            try:
                self._conversation.append(_entry_to_fact(entry), _entry_to_meta(entry))
            finally:
                self._is_appending = False
        self._slices.update(changed)

    def _reduced(self, event: object) -> dict[type, Slice]:
        """The slices that an event changes, with their next values."""
        kind, context = type(event), ReducerContext(self)
        return {
            target: reducer(self._slices.get(target, ()), event, context=context)
            for target, reducer in self._reducers.get(kind, {kind: append}).items()
        }

    def _of_conversation(self, event: object) -> None:
        """Take an event of the conversation."""
        if isinstance(event, ConversationRecorded):
            if self._is_appending:
                return
            entries = log_to_entries([cast("ConversationRecorded[Entry]", event).entry])
            event = ConversationRecorded(next(entries), self.session_id, event.created_at)
        if type(event) in {*self._reducers, HistoryCurated, UsageChanged}:
            self._slices.update(self._reduced(event))

    def select_all(self, kind: type[T], /) -> tuple[T, ...]:
        """All values of a slice, the oldest first; empty if there is no such slice."""
        if kind is ConversationEntry and self._conversation is not None:
            return cast("tuple[T, ...]", tuple(log_to_entries(self._conversation.log.read())))
        return self._slices.get(kind, ())

    def select_where(self, kind: type[T], predicate: Callable[[T], bool], /) -> tuple[T, ...]:
        """The values of a slice for which the predicate is true, the oldest first."""
        return tuple(value for value in self.select_all(kind) if predicate(value))
