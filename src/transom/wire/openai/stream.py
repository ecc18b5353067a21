"""Reads a streamed chat completion, one chunk at a time."""

from __future__ import annotations

from typing import Any, cast

from transom.core.message import Assistant, Raw
from transom.wire.openai.input_fields import taken
from transom.wire.openai.parse import parse
from transom.wire.openai.reply import with_chat_usage
from transom.wire.sdk_objects import as_assistant
from transom.wire.stop_reason import stop_reason
from transom.wire.stream import Accumulator, chunk_fields, is_whole_object
from transom.wire.violations import as_dict, dicts, text

_PIECES = frozenset({"text", "thinking", "summary", "data"})
"""Fields of content parts whose text comes in pieces."""
_SHOWN, _THOUGHT = frozenset({"content", "refusal"}), frozenset({"reasoning_content", "reasoning"})
"""Fields whose text is shown as it comes: answers, and reasoning."""
_WHOLE = frozenset({"role", "name", "id", "type", "prefix"})
"""Fields that are never joined: some servers repeat them in every chunk."""


class ChatAccumulator(Accumulator):
    """Collects the chunks of `chat.completions.create(stream=True)`, or the events of the SDK's `.stream()`."""

    def __init__(self) -> None:
        self._fields: Raw = {}
        self._calls: list[Raw] = []
        self._usage: object = None

    def feed(self, chunk: object) -> None:
        event: object = getattr(chunk, "chunk", chunk)  # the SDK's helper wraps each chunk in an event
        fields = chunk_fields(event)
        if error := fields.get("error"):
            self.error = str(as_dict(error).get("message") or error)
        # Groq has it elsewhere
        self._usage = fields.get("usage") or as_dict(fields.get("x_groq")).get("usage") or self._usage
        choice: Raw = next((each for each in dicts(fields.get("choices")) if not each.get("index")), Raw())
        for key, value in taken(as_dict(choice.get("delta"))).items():
            if key == "tool_calls":
                for call in dicts(value):
                    self._add_call(call)
            else:
                _add(self._fields, key, value)
                self._add_delta("text" if key in _SHOWN else "reasoning", value if key in _SHOWN | _THOUGHT else None)
        if reason := choice.get("finish_reason"):
            self.stop = stop_reason(reason)
            self.finished = self.finished or not self.error

    def turn(self) -> Assistant:
        message: Raw = {**self._fields, "role": "assistant"}
        calls = [call for call in self._calls if self._is_shown(call)]
        if calls:
            message["tool_calls"] = [{key: x for key, x in call.items() if key != "index"} for call in calls]
        if self._open_function() is not None:
            message.pop("function_call")
        if not message.get("content") and (calls or message.get("refusal") or "content" not in message):
            message["content"] = None  # as a reply that is not streamed has it
        return with_chat_usage(as_assistant(parse(message, "reply"), message), self._usage)

    @property
    def open_calls(self) -> list[str]:
        calls = [
            as_dict(call.get("function") or call.get("custom")) for call in self._calls if not self._is_shown(call)
        ]
        function = self._open_function()
        return [text(call, "name") for call in (calls if function is None else [*calls, function])]

    def _is_shown(self, call: Raw) -> bool:
        """Whether the turn has a call: its arguments are complete, or the provider has ended the reply."""
        return self.finished or is_whole_object(as_dict(call.get("function")).get("arguments"))

    def _open_function(self) -> Raw | None:
        """The call in the API's old form, if its arguments are not complete; else None."""
        function = self._fields.get("function_call")
        if function is None or self.finished or is_whole_object(as_dict(function).get("arguments")):
            return None
        return as_dict(function)

    def _add_call(self, piece: Raw) -> None:
        """Add a piece to the call of its index. (Gemini gives all calls one index, and each an id of its own.)"""
        at, label = piece.get("index"), piece.get("id")
        call = next((each for each in reversed(self._calls) if each.get("index") == at), None)
        if call is None or (label and call.get("id") and label != call["id"]):
            call = {"index": at}
            self._calls.append(call)
        for key, value in piece.items():
            if key != "index":
                _add(call, key, value)
        call.setdefault("type", "custom" if "custom" in call else "function")


def _add(fields: Raw, key: str, value: Any) -> None:
    """Add one field of a chunk to the fields so far, in place."""
    before = fields.get(key)
    if before is None or type(before) is not type(value):
        fields[key] = _merged([], cast("list[Any]", value)) if isinstance(value, list) else value
    elif isinstance(value, str):
        fields[key] = (before or value) if key in _WHOLE else before + value
    elif isinstance(value, dict):
        fields[key] = dict(before)
        for name, part in cast("Raw", value).items():
            _add(fields[key], name, part)
    else:
        fields[key] = _merged(before, cast("list[Any]", value)) if isinstance(value, list) else value


def _merged(before: list[Any], more: list[Any]) -> list[Any]:
    """The list of parts so far, with those of one more chunk. A part is joined to the last one if it continues that."""
    out = list(before)
    for part in more:
        last = out[-1] if out else None
        if not (isinstance(part, dict) and isinstance(last, dict) and _goes_on(cast("Raw", last), cast("Raw", part))):
            out.append(part)
            continue
        joined = dict(cast("Raw", last))
        for key, value in cast("Raw", part).items():
            text = isinstance(value, str) and isinstance(joined.get(key), str)
            if key in _PIECES and text:
                joined[key] += value
            elif key in _PIECES and isinstance(value, list) and isinstance(joined.get(key), list):
                joined[key] = _merged(joined[key], cast("list[Any]", value))
            else:
                joined[key] = value
        out[-1] = joined
    return out


def _goes_on(last: Raw, part: Raw) -> bool:
    """Whether a part continues the last one: same type and index, and no signature has ended that."""
    same = last.get("type") == part.get("type") and last.get("index") == part.get("index")
    return same and not last.get("signature") and any(key in part and key in last for key in _PIECES)
