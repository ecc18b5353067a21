"""What a request gave: the turn of the model, or the failure, with what had arrived of the reply."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Self, cast

from msgspec import Struct

from transom import texts
from transom.conversation.model_call import CallModel
from transom.core.message import Assistant, Failure, Raw, Text, is_empty
from transom.errors import InvalidMessage, ProviderError
from transom.providers.base import Provider, model_name
from transom.wire.arguments import read_object
from transom.wire.dialects import dialect_named
from transom.wire.sdk_objects import dumped
from transom.wire.stop_reason import StopReason, stop_reason_of


class Partial(Struct, frozen=True, kw_only=True):
    """What had arrived of a reply."""

    text: str = ""
    reasoning: str = ""

    @classmethod
    def of(cls, want: CallModel, outcome: object) -> Self:
        """What a request gave, whole or not. Never raises: of a reply that cannot be read, the texts that are in it."""
        try:
            turn = _turn_of(want, outcome)
        except (InvalidMessage, ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
            if (stream := want.accumulator) is not None:
                return cls(text=stream.arrived("text"), reasoning=stream.arrived("reasoning"))
            return cls(text="".join(_texts_in(outcome)))
        text = "".join(part.text for part in turn.parts if isinstance(part, Text))
        return cls(text=text, reasoning="\n".join(thought.text for thought in turn.reasoning))

    def failure(
        self, kind: str, *, answers: int, model: Provider, final: bool, error: str = "", limit: int = 0, used: int = 0
    ) -> Failure:
        """The fact. If no other attempt follows (`final`), the model sees the text that had arrived."""
        return Failure(
            failure=kind,
            text=self.text,
            reasoning=self.reasoning,
            shown=texts.reply_interrupted(self.text, kind) if final and self.text.strip() else "",
            answers=answers,
            error=error,
            model=model_name(model),
            limit=limit,
            used=used,
        )


_TEXT_KEYS = ("text", "content")
_NOT_SAID = frozenset(("thinking", "redacted_thinking", "reasoning", "tool_use", "function_call"))


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


def _turn_of(want: CallModel, outcome: object) -> Assistant:
    if want.accumulator is not None:
        return want.accumulator.turn()
    if outcome is None or isinstance(outcome, BaseException):
        return Assistant()
    return dialect_named(want.provider.dialect).parse_reply(outcome)


def read_reply(want: CallModel, outcome: object) -> tuple[Assistant, StopReason]:
    """The turn that a request gave, and why the model stopped. Raises ProviderError if that is no usable reply.

    A turn with calls stopped for "tool_calls", also where the API says only that it is done (Responses, Gemini).
    """
    if isinstance(outcome, ProviderError):
        raise outcome
    stream = want.accumulator
    if stream is not None and stream.error:
        raise ProviderError("server", stream.error, status=200, body=stream.error)
    stop = stop_reason_of(outcome) if stream is None else stream.stop
    if stop in ("filter", "malformed"):
        raise ProviderError(stop)
    if stream is not None and not stream.finished:
        raise ProviderError("connection", "the stream ended before the reply did")
    try:
        turn = _turn_of(want, outcome)
    except InvalidMessage as unreadable:
        raise ProviderError("malformed", str(unreadable)) from None
    if cut := _cut_calls(want, turn, stop):
        kind = "length" if stop == "length" else "malformed"
        raise ProviderError(kind, f"the answer was cut in a tool call: {cut[0] or 'unnamed'}")
    if is_empty(turn):
        raise ProviderError("length" if stop == "length" else "empty", "the reply has no text and no calls")
    return turn, "tool_calls" if stop == "stop" and turn.calls else stop


def _cut_calls(want: CallModel, turn: Assistant, stop: StopReason) -> list[str]:
    """The names of the calls whose arguments are not complete: those that a stream left out of the turn, and those in a
    turn that ended because it was too long."""
    left_out: Sequence[str] = () if want.accumulator is None else want.accumulator.open_calls
    broken = [call.name for call in turn.calls if not _is_object(call.args)] if stop == "length" else []
    return [*left_out, *broken]


def _is_object(arguments: str) -> bool:
    try:
        read_object(arguments)
    except InvalidMessage:
        return False
    return True
