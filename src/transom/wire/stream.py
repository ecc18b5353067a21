"""Reads streamed replies: an accumulator collects the chunks into a turn.

An accumulator does no I/O. It takes one chunk at a time, and can give the turn so far at any moment. A tool call is in
the turn only once its arguments are complete; until then, `open_calls` names it.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Literal, NamedTuple, cast

from transom.core.message import Assistant, Raw, Usage
from transom.errors import InvalidMessage
from transom.wire.replies import ErrorReply, StopReason, UsageFields, dumped, error_in, error_message, read_usage

_NOTHING = "no reply is in these chunks: the stream broke off, or its API is not the conversation's (see `dialect`)"

_MOST_DIGITS = 9
"""Digits of an index that is written as a text. A longer one is no index: no reply has so many blocks, and Python
refuses to read a number of some thousand digits."""

_logger = logging.getLogger(__name__)


class TextDelta(NamedTuple):
    """A piece of text or of reasoning that one chunk brought: `kind` says which of the two, `text` is the piece."""

    kind: Literal["text", "reasoning"]
    text: str


class Place(NamedTuple):
    """Where a block or item stands in its reply. Places are in order of `at`, the index that the stream gives to the
    block; those with the same index in the order in which they began. Some gateways give all blocks one index."""

    at: int
    begun: int


class Places:
    """The places of the blocks or items of one reply."""

    def __init__(self) -> None:
        self._newest: dict[int, Place] = {}
        self._last: Place | None = None

    def begin(self, at: object) -> Place:
        """A place for one more block. `at`: its index as the stream gives it, a number or the text of one. A block with
        any other value has no index: it gets the index of the newest block, or 0 if it is the first."""
        begun, before = (0, 0) if self._last is None else (self._last.begun + 1, self._last.at)
        number = _number(at)
        self._last = Place(before if number is None else number, begun)
        self._newest[self._last.at] = self._last
        return self._last

    def newest(self, at: object) -> Place | None:
        """The newest place with this index; without an index, the newest of all. None if there is none."""
        number = _number(at)
        return self._last if number is None else self._newest.get(number)


def _number(at: object) -> int | None:
    """An index as a number, also one that a gateway has written as a text. None for any other value."""
    if isinstance(at, str) and at.isascii() and at.isdigit() and len(at) <= _MOST_DIGITS:
        return int(at)
    return at if isinstance(at, int) and not isinstance(at, bool) else None


class Accumulator:
    """Collects the chunks of one streamed reply into a turn.

    - `finished`: the provider said that the reply is complete.
    - `error`: the error that came in the stream instead of the rest; empty if none.
    - `error_details`: this error as the provider sent it; None if none came, or only its text is known.
    - `stop`: why the model stopped; "unknown" until the provider says it.
    - `usage_fields`: where the numbers stand in the usage that the chunks carry. None: `usage` is that of `turn`.
    """

    finished = False
    error = ""
    error_details: Raw | None = None
    stop: StopReason = "unknown"
    usage_fields: UsageFields | None = None
    _usage: Any = None  # the newest that `feed` has kept, if there are `usage_fields`
    _deltas: list[TextDelta] | None = None
    _deltas_taken = 0

    def feed(self, chunk: object) -> None:
        """Take the next chunk: an object of the SDK, or a dict. Raises InvalidMessage if it is neither. An error that
        the provider sends as a chunk does not raise: it is kept in `error`."""
        raise NotImplementedError

    def turn(self) -> Assistant:
        """The turn so far, with its usage if that has come. May be called at any time, and after an error. Raises
        InvalidMessage if what has come cannot be read as a turn."""
        raise NotImplementedError

    def final_turn(self) -> Assistant:
        """The turn after the last chunk. A call whose arguments are not complete by then is left out; a warning is
        logged for it. Raises InvalidMessage as `turn` does."""
        for name in self.open_calls:
            _logger.warning("the stream ended inside a call of %s: the call is left out of the reply", name or "a tool")
        return self.turn()

    @property
    def open_calls(self) -> Sequence[str]:
        """The tool names of the calls that have begun and are not in `turn` yet. A name is empty if it has not come
        yet."""
        return ()

    def take_deltas(self) -> list[TextDelta]:
        """Return the pieces of text and of reasoning that came since the last call of this method, in the order in
        which they came; empty if none came."""
        deltas = (self._deltas or [])[self._deltas_taken :]
        self._deltas_taken += len(deltas)
        return deltas

    def _add_delta(self, kind: Literal["text", "reasoning"], piece: object) -> None:
        """Keep a piece for `take_deltas` and `arrived`, if it is a text that is not empty."""
        if isinstance(piece, str) and piece:
            if self._deltas is None:
                self._deltas = []
            self._deltas.append(TextDelta(kind, piece))

    def _take_error(self, event: Raw) -> None:
        """Keep the error in an event, if there is one."""
        if (error := error_in(event)) is not None:
            self.error, self.error_details = error_message(error), error

    def arrived(self, kind: Literal["text", "reasoning"]) -> str:
        """Everything of this kind that has come since the first chunk, as one text: what is left of a reply that cannot
        be read. Pieces that `take_deltas` has given are in it too."""
        return "".join(delta.text for delta in self._deltas or () if delta.kind == kind)

    @property
    def usage(self) -> Usage | None:
        """The usage that the provider has reported so far, also if no turn can be read; None if none."""
        if self.usage_fields is not None:
            return read_usage(dumped(self._usage or None), self.usage_fields)
        try:
            return self.turn().usage
        except InvalidMessage:
            return None


def chunk_fields(chunk: object, keep: Collection[str] = ()) -> Raw:
    """A chunk as a dict. A dict is returned as it is. An object of an SDK loses its nulls, which the SDK has filled in,
    except below the keys `keep`.

    Raises InvalidMessage if the chunk is neither a dict nor an object of an SDK.
    """
    fields = dumped(chunk, keep)
    if not isinstance(fields, dict):
        raise InvalidMessage("reply", f"a chunk must be an object, not {type(chunk).__name__}")
    return cast("Raw", fields)


def is_whole_object(arguments: object) -> bool:
    """Whether the arguments are the text of a complete JSON object. Then no piece of them is missing: JSON does not go
    on behind an object.

    An object that nests too deep to be read counts as complete if its last character closes one.
    """
    try:
        return isinstance(arguments, str) and isinstance(json.loads(arguments), dict)
    except RecursionError:
        return str(arguments).rstrip().endswith("}")
    except ValueError:
        return False


def turn_of_chunks(chunks: Iterable[object], accumulator: Accumulator) -> Assistant:
    """The turn that a list of chunks makes. `accumulator`: a new one, for these chunks.

    Raises InvalidMessage if the list is empty, holds an error, or has nothing of a reply: no content, no call, not even
    one that has only begun, and no reason for its end. (Reasoning alone is nothing.) Then its chunks are of another
    API, or the stream broke off at once.
    """
    empty = True
    for chunk in chunks:
        accumulator.feed(chunk)
        empty = False
    if accumulator.error:
        raise ErrorReply(accumulator.error_details or {"message": accumulator.error})
    if empty:
        raise InvalidMessage("reply", "the list of chunks is empty")
    turn = accumulator.final_turn()
    if not (turn.parts or turn.calls) and accumulator.stop == "unknown" and not accumulator.open_calls:
        raise InvalidMessage("reply", _NOTHING)
    return turn
