"""Reads a streamed chat completion, one chunk at a time."""

from __future__ import annotations

from typing import Any, cast

from transom.core.message import Assistant, Raw
from transom.wire.fields import as_dict, as_parts, dicts, text
from transom.wire.openai.parse import TAKEN, USAGE, parse, taken
from transom.wire.replies import as_assistant, stop_reason, with_usage
from transom.wire.stream import Accumulator, chunk_fields, is_whole_object

_PIECES = frozenset({"text", "thinking", "summary", "data"})
"""Fields of content parts whose text comes in pieces."""
_SHOWN, _THOUGHT = frozenset({"content", "refusal"}), frozenset({"reasoning_content", "reasoning"})
"""Fields whose text is shown as it comes: answers, and reasoning."""
_WHOLE = frozenset({"role", "name", "id", "type", "prefix"})
"""Fields that are never joined: some servers repeat them in every chunk."""
_STREAMED = {**TAKEN, "tool_calls": {**cast("Any", TAKEN["tool_calls"]), "index": None}}
"""The fields of a delta that are read: those of a message, and the index of a piece of a call."""


class ChatAccumulator(Accumulator):
    """Collects the chunks of `chat.completions.create(stream=True)`, or the events of the SDK's `.stream()`."""

    usage_fields = USAGE

    def __init__(self) -> None:
        self._fields: Raw = {}
        self._calls: list[Raw] = []
        """The calls in the order in which they began. Each has its `index` as the stream gave it."""
        self._newest: dict[tuple[str, str], Raw] = {}
        """The newest call with each index and each id, and the newest of all."""
        self._pieces_have_own_ids = False
        """Whether the server gives each piece of a call another id: one such piece has come."""

    def feed(self, chunk: object) -> None:
        event: object = getattr(chunk, "chunk", chunk)  # the SDK's helper wraps each chunk in an event
        fields = chunk_fields(event)
        self._take_error(fields)
        # Groq has it elsewhere
        self._usage = fields.get("usage") or as_dict(fields.get("x_groq")).get("usage") or self._usage
        choice: Raw = next((each for each in dicts(fields.get("choices")) if not each.get("index")), Raw())
        piece = choice.get("delta")
        if piece is None and not self._fields and not self._calls:
            piece = choice.get("message")  # of gateways that do not stream: all of it in one chunk
        for key, value in taken(as_dict(piece), _STREAMED).items():
            if key == "tool_calls":
                for each in dicts(value):
                    self._add_call(each)
            else:
                _add(self._fields, key, value)
                self._show(key, value)
        if reason := choice.get("finish_reason"):
            self.stop = stop_reason(reason)
            self.finished = self.finished or not self.error

    def turn(self) -> Assistant:
        message: Raw = {**self._fields, "role": "assistant"}
        calls = [call for call in _by_index(self._calls) if self._is_shown(call)]
        if calls:
            message["tool_calls"] = [{key: x for key, x in call.items() if key != "index"} for call in calls]
        if self._open_function() is not None:
            message.pop("function_call")
        if not message.get("content") and (calls or message.get("refusal") or "content" not in message):
            message["content"] = None  # as a reply that is not streamed has it
        return with_usage(as_assistant(parse(message, "reply"), message), self._usage, USAGE)

    @property
    def open_calls(self) -> list[str]:
        calls = [_body(call) for call in _by_index(self._calls) if not self._is_shown(call)]
        function = self._open_function()
        return [text(call, "name") for call in (calls if function is None else [*calls, function])]

    def _show(self, key: str, value: object) -> None:
        """Add the text of a field of a delta for `take_deltas`. A list of parts may hold thinking beside text."""
        if key in _SHOWN | _THOUGHT:
            self._add_delta("text" if key in _SHOWN else "reasoning", value)
        for part in dicts(value) if key == "content" else ():
            self._add_delta("text", part.get("text"))
            for thought in dicts(part.get("thinking")):
                self._add_delta("reasoning", thought.get("text"))

    def _is_shown(self, call: Raw) -> bool:
        """Whether the turn has a call: its arguments are complete, or the provider has ended the reply.

        The turn has no call that is only the empty last piece of another one. Such a call has no arguments, and there
        is one with its name, its index and arguments. That counts only if the server numbers the calls, or gives each
        piece of a call another id.
        """
        body = _body(call)
        if is_whole_object(body.get("arguments")):
            return True
        if not self.finished or not body:
            return False
        indexes = {one["index"] for one in self._calls if one.get("index") is not None}
        if body.get("arguments") or not (self._pieces_have_own_ids or len(indexes) > 1):
            return True
        beside = [_body(one) for one in self._calls if one.get("index") == call.get("index") is not None]
        return not any(one.get("name") == body.get("name") and one.get("arguments") for one in beside)

    def _open_function(self) -> Raw | None:
        """The call in the API's old form, if its arguments are not complete; else None."""
        function = self._fields.get("function_call")
        if function is None or self.finished or is_whole_object(as_dict(function).get("arguments")):
            return None
        return as_dict(function)

    def _add_call(self, piece: Raw) -> None:
        """Add a piece to the call that it belongs to, or to a new one: by its index, else its id, else to the
        newest."""
        at, label = piece.get("index"), text(piece, "id")
        key = ("index", str(at)) if at is not None else ("id", label) if label else ("last", "")
        call = self._newest.get(key)
        if call is not None and _is_repeat(call, piece):
            return
        if call is None or _begins_another(call, piece):
            call = Raw()
            self._calls.append(call)
            self._newest["last", ""] = call
        elif label and text(call, "id") not in ("", label):
            self._pieces_have_own_ids = True
        for name, value in piece.items():
            _add(call, name, value)
        call["type"] = "custom" if "custom" in call else "function"
        self._newest[key] = self._newest["id", text(call, "id")] = call


def _body(call: Raw) -> Raw:
    """Name and arguments of a call, or of a piece of one."""
    return as_dict(call.get("function") or call.get("custom"))


def _begins_another(call: Raw, piece: Raw) -> bool:
    """Whether a piece with the index of a call begins another one: some servers give all calls one index, or none. Only
    a piece with another name or id does, and one that follows complete arguments."""
    so_far, more = _body(call), _body(piece)
    name, label, arguments = more.get("name"), piece.get("id"), so_far.get("arguments")
    is_other_name = bool(name and so_far.get("name") and so_far["name"] != name)
    is_other_id = bool(label and call.get("id") and call["id"] != label)
    if name and (isinstance(arguments, dict) or is_whole_object(arguments)):
        return is_other_name or is_other_id or bool(str(more.get("arguments") or "").strip())
    return is_other_name and (is_other_id or bool(arguments))


def _is_repeat(call: Raw, piece: Raw) -> bool:
    """Whether a piece says once more what the whole call says, under the same id."""
    so_far, more = _body(call), _body(piece)
    is_same = all(held and held == new for held, new in ((call.get("id"), piece.get("id")), (so_far, more)))
    return is_same and is_whole_object(so_far.get("arguments"))


def _add(fields: Raw, key: str, value: Any) -> None:
    """Add one field of a chunk in place: texts, lists and objects to those so far, any other value instead."""
    before: object = fields.get(key)
    if value is None:
        return
    if isinstance(value, list):
        fields[key] = _merged(as_parts(before), cast("list[Any]", value))
    elif isinstance(before, list) and isinstance(value, str):  # Magistral: thinking as lists, then text as strings
        fields[key] = _merged(cast("list[Any]", before), as_parts(value))
    elif not isinstance(before, type(cast("object", value))):
        fields[key] = dict(cast("Raw", value)) if isinstance(value, dict) else value
    elif isinstance(value, str):
        fields[key] = _joined(key, cast("str", before), value)
    elif isinstance(value, dict):
        fields[key] = dict(cast("Raw", before))
        for name, part in cast("Raw", value).items():
            _add(fields[key], name, part)
    else:
        fields[key] = value


def _joined(key: str, before: str, more: str) -> str:
    """A text with one more piece. A field of `_WHOLE` keeps its first value, but a name may come in pieces."""
    if not before or key not in _WHOLE:
        return before + more
    return before + more if key == "name" and more != before else before


def _merged(before: list[Any], more: list[Any]) -> list[Any]:
    """The list of parts so far, with those of one more chunk. A part is joined to the one that it continues."""
    out = list(before)
    for part in more:
        at = _continued_at(out, cast("Raw", part)) if isinstance(part, dict) else None
        if at is None:
            out.append(part)
            continue
        joined = dict(cast("Raw", out[at]))
        for key, value in cast("Raw", part).items():
            if key in _PIECES or value is None:
                _add(joined, key, value)
            else:
                joined[key] = value
        out[at] = joined
    return _by_index(out)


def _by_index(parts: list[Any]) -> list[Any]:
    """The parts by their index, as a whole reply has them; as they came if one has no index."""
    if not all(isinstance(as_dict(part).get("index"), int) for part in parts):
        return parts
    return sorted(parts, key=lambda part: part["index"])


def _continued_at(parts: list[Any], part: Raw) -> int | None:
    """The place of the part that another one continues: the newest of its type and index. Without an index only the
    last part is continued, and a part with a signature only by its own signature."""
    for at in reversed(range(len(parts))):
        held = as_dict(parts[at])
        if held.get("type") == part.get("type") and held.get("index") == part.get("index"):
            return at if _goes_on(held, part) else None
        if part.get("index") is None:
            return None
    return None


def _goes_on(held: Raw, part: Raw) -> bool:
    """Whether a part continues one of its type: its id is the same, and no other signature has ended that."""
    if held.get("id") and part.get("id") and held["id"] != part["id"]:
        return False
    if any(held.get(key) for key in _PIECES) and held.get("signature") and any(part.get(key) for key in _PIECES):
        return held["signature"] == part.get("signature")
    return any(key in held or key in part for key in _PIECES)
