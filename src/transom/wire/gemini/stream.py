"""Reads a streamed generateContent, one response at a time.

On Vertex (`streamFunctionCallArguments`) the arguments of a function call come in pieces. The first piece has the name.
Each of the next ones has values for places in the arguments, named by a JSON path; a text may come in several pieces.
The last piece does not say that more will come.
"""

from __future__ import annotations

import re
from typing import Any, cast

from transom.core.message import Assistant, Raw
from transom.wire.fields import as_dict, dicts, text
from transom.wire.gemini.keys import CALL, DIALECT_NAME, either, key_of_part, kinds_of
from transom.wire.gemini.parse import USAGE, parse_response, plain, without_unanswered_calls
from transom.wire.replies import stop_reason, stop_reason_of
from transom.wire.stream import Accumulator, chunk_fields

_STEP = re.compile(r"""\.([^.\[\]]+)|\[(\d+)\]|\[(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\]""")
"""A step of a JSON path: a key after a dot, an index, or a key in quotes."""
_VALUES = ("stringValue", "numberValue", "boolValue", "string_value", "number_value", "bool_value")
_MOST_STEPS, _MOST_ITEMS = 100, 100_000
"""The most steps of a path, and items of a list. More is a mistake, which must not fill the memory."""


def is_piece(part: Raw) -> bool:
    """Whether a part holds a piece of a call, and more pieces of this call are to come."""
    call = call_in(part)
    return bool(either(call, "partialArgs") or either(call, "willContinue"))


def begins_another(part: Raw, piece: Raw) -> bool:
    """Whether `piece` begins another call than the one in `part`: it has whole arguments, or another name or id."""
    held, more = call_in(part), call_in(piece)
    return "args" in more or any(held.get(key) and more.get(key, held[key]) != held[key] for key in ("id", "name"))


def with_piece(part: Raw, piece: Raw) -> Raw:
    """A part with a call, to which one more piece is added: the values in the piece go to their places in the
    arguments. Use only the result from then on: it shares the arguments with `part`, and these are changed in place.
    Fields beside the call (its signature) stay."""
    key = key_of_part(part, CALL) or CALL[0]
    call, more = dict(call_in(part)), call_in(piece)
    arguments: Any = call.get("args") or {}
    for each in dicts(either(more, "partialArgs")):
        value = next((each[name] for name in _VALUES if name in each), None)
        keys = _keys(either(each, "jsonPath"))
        arguments = _placed(arguments, keys, value) if len(keys) <= _MOST_STEPS else arguments
    beside = {name: value for name, value in piece.items() if name not in CALL}
    known = {name: more[name] for name in ("id", "name") if more.get(name)}
    return {**part, **beside, key: {**call, **known, "args": as_dict(arguments)}}


def call_in(part: Raw) -> Raw:
    """The object of the function call in a part; empty if the part has none."""
    return as_dict(part.get(key_of_part(part, CALL) or ""))


def _keys(path: object) -> list[str | int]:
    """The steps of a JSON path; none for a value that is no text."""
    steps = _STEP.findall(path.removeprefix("$")) if isinstance(path, str) else []
    return [int(at) if at else key or re.sub(r"\\(.)", r"\1", "".join(quoted)) for key, at, *quoted in steps]


def _placed(held: Any, keys: list[str | int], value: Any) -> Any:
    """A JSON value with `value` at the end of these steps, in place. A text is added to the text there."""
    if not keys:
        return held + value if isinstance(held, str) and isinstance(value, str) else value
    key, rest = keys[0], keys[1:]
    if isinstance(key, str):
        fields = as_dict(held)
        fields[key] = _placed(fields.get(key), rest, value)
        return fields
    items = cast("list[Any]", held) if isinstance(held, list) else list[Any]()
    if key < _MOST_ITEMS:
        items.extend([None] * (key + 1 - len(items)))
        items[key] = _placed(items[key], rest, value)
    return items


class GeminiAccumulator(Accumulator):
    """Collects the responses of `models.generate_content_stream`. A function call comes whole, in one part, or in
    pieces: those of different calls may be mixed if they have ids."""

    usage_fields = USAGE

    def __init__(self) -> None:
        self._parts: list[Raw] = []
        self._open: list[Raw] = []
        """The calls whose next pieces are to come: they are not among the parts yet. A piece belongs to the one with
        its id, without an id to the last one."""
        self._last: Raw = {}

    def feed(self, chunk: object) -> None:
        self._last = fields = chunk_fields(plain(chunk))
        self._take_error(fields)
        self._usage = either(fields, "usageMetadata") or self._usage
        candidate: Raw = next((each for each in dicts(fields.get("candidates")) if not each.get("index")), Raw())
        for part in dicts(as_dict(candidate.get("content")).get("parts")):
            self._add(part)
            self._add_delta("reasoning" if _thinks(part) else "text", part.get("text"))
        if reason := either(candidate, "finishReason"):
            self.finished, self.stop = True, stop_reason(reason)
            if self.stop == "stop":  # it ends a call whose last piece does not
                self._parts += [each for each in self._open if text(call_in(each), "name")]
                self._open = []
        elif as_dict(either(fields, "promptFeedback")):
            self.stop = stop_reason_of(fields)

    def turn(self) -> Assistant:
        if not self._parts:
            return parse_response({**self._last, "usageMetadata": self._usage}) if self.finished else _NOTHING
        said = [part for part in self._parts if part != _EMPTY]  # the last chunk often has an empty text
        if not self.finished or self.stop in ("length", "filter"):
            said = without_unanswered_calls(said)
        content = {"role": "model", "parts": said or [_EMPTY]}
        return parse_response({"candidates": [{"content": content}], "usageMetadata": self._usage})

    @property
    def open_calls(self) -> list[str]:
        """The names of the calls whose arguments are still to come."""
        return [text(call_in(part), "name") for part in self._open]

    def _add(self, part: Raw) -> None:
        """Add a part: a text to the text that it continues, a piece of a call to the open call that it is of."""
        if key := key_of_part(part, CALL):
            label = text(call_in(part), "id")
            held = next((each for each in self._open if label and call_in(each).get("id") == label), None)
            held = held or (self._open[-1] if self._open else None)
            if held is None or begins_another(held, part):
                if not is_piece(part):
                    self._parts += [part] if part[key] else []
                    return
                self._open.append(held := {key: {}})
            at = next(at for at, each in enumerate(self._open) if each is held)
            self._open[at] = with_piece(held, part)
            if not is_piece(part):
                self._parts.append(self._open.pop(at))
            return
        last: Raw = self._parts[-1] if self._parts else {}
        if _is_text(last) and _is_text(part) and _thinks(last) == _thinks(part) and set(last) <= {"text", "thought"}:
            self._parts[-1] = {**last, **part, "text": last["text"] + part["text"]}
        else:
            self._parts.append(part)


_NOTHING = Assistant(shape="parts", dialect=DIALECT_NAME)
_EMPTY = {"text": ""}


def _is_text(part: Raw) -> bool:
    """Whether a part is a text."""
    return isinstance(part.get("text"), str) and kinds_of(part) == ["text"]


def _thinks(part: Raw) -> bool:
    """Whether a part is a thought."""
    return bool(part.get("thought"))
