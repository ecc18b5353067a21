"""One request to a model, which a driver sends once (`CallModel`), and what it gave: the turn of the model, or the
failure with what had arrived of the reply (`PartialReply`).

Whether a failed request is sent again is decided in `retry.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Self, cast

from msgspec import Struct

from transom.core.message import Assistant, Raw, Usage, is_empty, said_in
from transom.errors import InvalidMessage, ProviderError
from transom.providers.base import Provider
from transom.providers.sdk_errors import error_reply
from transom.wire.arguments import read_object
from transom.wire.dialect import Dialect
from transom.wire.fields import as_dict, objects_in
from transom.wire.replies import ErrorReply, StopReason, dumped, stop_reason_of
from transom.wire.stream import Accumulator

CUT = "the stream ended before the reply did"


class CallModel(Struct, frozen=True, kw_only=True, eq=False):
    """Work for a driver: send a request to a provider. The outcome is the reply, or a ProviderError if there is none.
    With an `accumulator` the reply is streamed into it, and the outcome is None.

    `dialect`: reads a whole reply. `request`, `max_tokens`, `timeout`: the arguments of `Provider.complete`.
    `compacts`: the request asks for the provider's own compaction (`Compacts.compact`). `on_late`: called in another
    thread with a whole reply that comes when nobody waits for it any more.
    """

    provider: Provider
    dialect: Dialect
    request: Mapping[str, Any]
    max_tokens: int | None = None
    timeout: float | None = None
    compacts: bool = False
    accumulator: Accumulator | None = None
    on_late: Callable[[object], object] | None = None


class PartialReply(Struct, frozen=True, kw_only=True):
    """What had arrived of a reply that cannot be used as a whole: its text, its reasoning, and the usage that the
    provider has reported."""

    text: str = ""
    reasoning: str = ""
    usage: Usage | None = None

    @classmethod
    def of(cls, want: CallModel, outcome: object) -> Self:
        """Read what a request gave, as far as that is possible. Never raises: of a reply that no dialect can read, the
        texts in it are taken.

        `outcome`: what a driver sends back for a `CallModel`: a reply, None for a stream, or the error.
        """
        usage = reported_usage(want, outcome)
        try:
            turn = _turn_of(want, outcome)
        except (InvalidMessage, ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
            if (stream := want.accumulator) is not None:
                return cls(text=stream.arrived("text"), reasoning=stream.arrived("reasoning"), usage=usage)
            return cls(text="".join(_texts_in(outcome)), usage=usage)
        return cls.of_turn(turn, usage)

    @classmethod
    def of_turn(cls, turn: Assistant, usage: Usage | None) -> Self:
        """The text and the reasoning of a turn that was not completed, with this usage."""
        return cls(text=said_in(turn), reasoning="\n".join(thought.text for thought in turn.reasoning), usage=usage)


class CutReply(ProviderError):
    """The stream of a reply broke off: a ProviderError of the kind "connection". `partial`: what had arrived."""

    def __init__(self, partial: PartialReply) -> None:
        self.partial = partial
        super().__init__("connection", CUT)

    def __reduce__(self) -> tuple[type[CutReply], tuple[PartialReply]]:
        return CutReply, (self.partial,)


def must_have_ended(reply: object, turn: Assistant, dialect: Dialect) -> None:
    """Raises CutReply if a reply is the chunks of a stream in which the provider has not said that it is complete. A
    reply that is no stream passes. `turn`: what the dialect has read in it."""
    if not dialect.is_stream(reply):
        return
    stream = dialect.accumulator()
    for chunk in cast("Sequence[object]", reply):
        stream.feed(chunk)
    if not stream.finished and stream.stop == "unknown" and not _is_end(reply):
        raise CutReply(PartialReply.of_turn(turn, stream.usage))


def _is_end(chunks: object) -> bool:
    """Whether the last chunk is the end of a stream by its form: some servers end it without a reason. Anthropic's last
    event; the old last one of Responses; of Chat the usage that comes behind the end, or a whole message."""
    last = as_dict(dumped(cast("Sequence[object]", chunks)[-1]))
    if last.get("type") in ("message_stop", "response.done"):
        return True
    choices = objects_in(last.get("choices"))
    return bool("choices" in last and not choices and last.get("usage")) or any("message" in one for one in choices)


_TEXT_KEYS = ("text", "content")
_NOT_SAID = frozenset(("thinking", "redacted_thinking", "reasoning", "tool_use", "function_call"))
"""Types of blocks whose texts are not the answer."""


def _texts_in(reply: object) -> Iterator[str]:
    """The texts in a whole reply that no dialect can read, without those of reasoning and calls."""
    stack: list[object] = [reply]
    while stack:
        value = dumped(stack.pop())
        if isinstance(value, list):
            stack.extend(reversed(cast("list[object]", value)))
        elif isinstance(value, dict):
            fields = cast("Raw", value)
            if str(fields.get("type")) in _NOT_SAID or fields.get("thought"):
                continue
            yield from (fields[key] for key in _TEXT_KEYS if isinstance(fields.get(key), str))
            stack.extend(reversed([*fields.values()]))


def reported_usage(want: CallModel, outcome: object) -> Usage | None:
    """The tokens that the provider has reported for a request, whatever became of the reply; None if it has reported
    none."""
    if want.accumulator is not None:
        return want.accumulator.usage
    if outcome is None or isinstance(outcome, BaseException):
        return None
    return want.dialect.usage_of(outcome)


def _turn_of(want: CallModel, outcome: object) -> Assistant:
    if want.accumulator is not None:
        return want.accumulator.turn()
    if outcome is None or isinstance(outcome, BaseException):
        return Assistant()
    return want.dialect.parse_reply(outcome)


def read_reply(want: CallModel, outcome: object) -> tuple[Assistant, StopReason]:
    """The turn that a request gave, and why the model stopped. `outcome`: as for `PartialReply.of`.

    A ProviderError as `outcome` is raised again. Raises a ProviderError for a reply that cannot be used, too: it is
    empty, cannot be read, was cut within a call, or a filter has stopped it. A text that the limit of the answer has
    cut is no error: then the reason is "length". A turn with calls stopped for "tool_calls", also where the API says
    only that it is done (Responses, Gemini). Whether the arguments of its calls can be read is not asked.
    """
    if isinstance(outcome, ProviderError):
        raise outcome
    stream = want.accumulator
    if stream is not None and stream.error:
        raise error_reply(stream.error_details or {"message": stream.error})
    stop = stop_reason_of(outcome) if stream is None else stream.stop
    if stop in ("filter", "malformed"):
        raise ProviderError(stop)
    if stream is not None and not stream.finished:
        raise ProviderError("connection", CUT)
    try:
        turn = _turn_of(want, outcome)
    except ErrorReply as said:
        raise error_reply(said.details) from None
    except InvalidMessage as unreadable:
        raise ProviderError("malformed", str(unreadable)) from None
    if cut := _cut_calls(want, turn, stop):
        kind = "length" if stop == "length" else "malformed"
        raise ProviderError(kind, f"the answer was cut in a tool call: {cut[0] or 'unnamed'}")
    if is_empty(turn):
        raise ProviderError("length" if stop == "length" else "empty", "the reply has no text and no calls")
    return turn, "tool_calls" if stop == "stop" and turn.calls else stop


def _cut_calls(want: CallModel, turn: Assistant, stop: StopReason) -> list[str]:
    """The names of the calls whose arguments are not complete: cut by the stream, or by the limit of the answer."""
    left_out: Sequence[str] = () if want.accumulator is None else want.accumulator.open_calls
    broken = [call.name for call in turn.calls if not _is_object(call.args)] if stop == "length" else []
    return [*left_out, *broken]


def _is_object(arguments: str) -> bool:
    try:
        read_object(arguments)
    except InvalidMessage:
        return False
    return True


_MODEL_KEYS = ("model", "modelVersion", "model_version")
"""The fields in which a reply names its model; Gemini's is spelt in two ways."""

_HOLDERS = ("message", "response", "chunk")
"""In an event of a stream, the fields that may hold what names the model: Anthropic's, the Responses API's, and those
of OpenAI's stream helper."""


def model_of_reply(reply: object, dialect: Dialect) -> str:
    """The model that a reply names, behind the name of the dialect: "openai:gpt-5". Empty if it names none. `reply`: a
    response, the chunks of a stream, or an event of a stream that holds a response or a chunk."""
    chunks = cast("Sequence[object]", reply) if isinstance(reply, (list, tuple)) else (reply,)
    for chunk in chunks:
        for holder in (chunk, *(_field(chunk, key) for key in _HOLDERS)):
            for key in _MODEL_KEYS:
                if isinstance(named := _field(holder, key), str) and named:
                    return f"{dialect.name}:{named}"
    return ""


def _field(value: object, key: str) -> object:
    """A field of a dict or an object; None if it has none."""
    return cast("Mapping[str, Any]", value).get(key) if isinstance(value, Mapping) else getattr(value, key, None)
