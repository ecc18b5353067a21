"""Reads a streamed response, one event at a time."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any, cast

from transom.core.message import Assistant, Raw
from transom.wire.fields import as_dict, as_list, text
from transom.wire.replies import stop_reason_of
from transom.wire.responses import parse
from transom.wire.responses.built_in_tools import is_clients
from transom.wire.stream import Accumulator, Place, Places, chunk_fields

_TEXTS = {"response.output_text": "output_text", "response.refusal": "refusal"}
"""The kinds of text parts, by the names of their events without `.delta` and `.done`."""
_ARGUMENTS = {"response.function_call_arguments": "arguments", "response.custom_tool_call_input": "input"}
"""The fields of calls that come in pieces, by the names of their events without `.delta` and `.done`."""
_REASONING = frozenset({"response.reasoning_summary_text.delta", "response.reasoning_text.delta"})
_ITEMS = frozenset({"response.output_item.added", "response.output_item.done"})
_ENDS = frozenset({"response.completed", "response.incomplete"})
_ERRORS = frozenset({"response.failed", "error"})
_BESIDE = ("model", "status", "incomplete_details", parse.TRANSFORMATIONS)
"""The fields of a response that are read beside its output and its usage."""


class ResponsesAccumulator(Accumulator):
    """Collects the events of `responses.create(stream=True)`, or of the SDK's `.stream()`.

    Before the response ends, the turn has only the items that are done, and the text of the message so far. Pieces are
    joined by `output_index` and `content_index`: some servers give an item another id in each event. `bound`: see
    `ResponsesDialect`.
    """

    usage_fields = parse.USAGE

    def __init__(self, *, bound: bool = True) -> None:
        self._bound = bound
        self._places = Places()
        self._by_id: dict[str, Place] = {}
        self._begun: dict[Place, Raw] = {}
        self._done: dict[Place, Raw] = {}
        self._open: dict[Place, dict[int, tuple[str, str]]] = {}
        """The text so far of each part of a message that is not done: by its index, kind and text."""
        self._arguments: dict[Place, tuple[str, str]] = {}
        """The arguments so far of each call: their field, and the text."""
        self._response: Raw = {}

    def feed(self, chunk: object) -> None:
        kind = _kind(chunk)
        if kind and kind not in _READ:  # the helper's events repeat all that came: not looked at
            return
        fields = chunk_fields(parse.as_item(chunk))
        self._usage = as_dict(fields.get("response")).get("usage") or self._usage
        name, _, step = kind.rpartition(".")
        if kind in _ITEMS:
            self._add_item(fields, done=step == "done")
        elif name in _TEXTS:
            self._add_text(fields, _TEXTS[name], done=step == "done")
        elif name in _ARGUMENTS:
            key, place = _ARGUMENTS[name], self._place(fields)
            before = self._arguments.get(place, ("", ""))[1]
            self._arguments[place] = (key, text(fields, key) if step == "done" else before + text(fields, "delta"))
        elif kind in _REASONING:
            self._add_delta("reasoning", fields.get("delta"))
        elif kind in _ENDS:
            self._response, self.finished = as_dict(fields.get("response")), True
            self.stop = stop_reason_of(self._response)
        elif kind in _ERRORS:
            self._take_error(fields)

    def turn(self) -> Assistant:
        if self.finished and as_list(self._response.get("output")):
            return parse.parse_response(self._response, bound=self._bound)
        places = sorted({*self._done, *self._open, *(self._arguments if self.finished else ())})
        items = [item for place, after in zip_longest(places, places[1:]) for item in self._item(place, after)]
        if not self.finished:
            items = parse.without_unfinished_calls(items)
        while items and items[-1].get("type") == "reasoning":
            items.pop()
        rest = {key: self._response.get(key) for key in _BESIDE}
        return parse.parse_response({**rest, "output": items, "usage": self._usage}, bound=self._bound)

    @property
    def open_calls(self) -> list[str]:
        if self.finished and as_list(self._response.get("output")):
            return []
        begun = [item for at, item in sorted(self._begun.items()) if not self._is_done(at)]
        calls = (item for item in begun if item.get("type") in parse.CALLS or is_clients(item))
        return [text(item, "name") or text(item, "type").removesuffix("_call") for item in calls]

    def _place(self, event: Raw) -> Place:
        """The place of the newest item with the event's index or, without one, id; else the newest, or a new one."""
        at: object = event.get("output_index")
        label = event.get("item_id") or as_dict(event.get("item")).get("id")
        known = self._by_id.get(label) if at is None and isinstance(label, str) else None
        place = known or self._places.newest(at)
        return self._new_place(at) if place is None else place

    def _new_place(self, at: object) -> Place:
        """A place for one more item with this index."""
        place = self._places.begin(at)
        self._begun[place] = {}
        return place

    def _add_item(self, event: Raw, *, done: bool) -> None:
        """Begin an item, or end it, once. Another item at its place gets a place of its own."""
        place, item = self._place(event), as_dict(event.get("item"))
        if self._done.get(place) == item:  # said twice
            return
        if place in self._done or not (done or self._begun[place] in ({}, item)):
            place = self._new_place(place.at)
        (self._done if done else self._begun)[place] = item
        self._by_id[text(item, "id")] = place

    def _add_text(self, event: Raw, kind: str, *, done: bool) -> None:
        """Add a piece to the text of a message, or set the whole text."""
        parts = self._open.setdefault(self._place(event), {})
        at: Any = event.get("content_index") or 0
        piece = text(event, "refusal" if kind == "refusal" else "text") if done else text(event, "delta")
        parts[at] = (kind, piece if done else parts.get(at, ("", ""))[1] + piece)
        if not done:
            self._add_delta("text", piece)

    def _is_done(self, place: Place) -> bool:
        """Whether an item is complete: it is done, or the response has ended and its arguments have come."""
        return place in self._done or (self.finished and place in self._arguments)

    def _item(self, place: Place, after: Place | None) -> list[Raw]:
        """The item at this place if it is complete; else the text of its message so far. Empty if there is neither, and
        for reasoning before an unfinished item. `after`: the place of the next item; None if there is none."""
        if place in self._done:
            item, (key, arguments) = self._done[place], self._arguments.get(place, ("", ""))
            ahead = after is not None and not self._is_done(after) and not self.finished
            if key and not item.get(key):  # some servers end a call without what came in pieces
                item = {**item, key: arguments}
            return [] if ahead and item.get("type") == "reasoning" else [item]
        begun = self._begun.get(place, {})
        if place in self._arguments:
            return [{**begun, **dict([self._arguments[place]])}] if begun else []
        parts = [words for _, words in sorted(self._open[place].items())]
        content = [{"type": kind, "refusal" if kind == "refusal" else "text": words} for kind, words in parts if words]
        message = {"type": "message", "role": "assistant", "content": content}
        return [{**begun, **message} if self.finished else message] if content else []


_PIECES = frozenset(f"{name}.{step}" for name in (*_TEXTS, *_ARGUMENTS) for step in ("delta", "done"))
_READ = frozenset({*_PIECES, *_ENDS, *_REASONING, *_ITEMS, *_ERRORS})
"""The events that are read. The SDK's helper has others, which repeat what came before."""


def holds_items(reply: Sequence[object]) -> bool:
    """Whether a reply that is a list holds items, by its first member; false for an empty list. (A list of events is a
    stream.)"""
    kinds = [_kind(each) for each in reply[:1]]
    return bool(kinds) and not any(kind.startswith(("response.", "error")) for kind in kinds)


def _kind(chunk: object) -> str:
    """The type of an event; empty if it has none."""
    kind = as_dict(cast("object", chunk)).get("type") if isinstance(chunk, dict) else getattr(chunk, "type", "")
    return kind if isinstance(kind, str) else ""
