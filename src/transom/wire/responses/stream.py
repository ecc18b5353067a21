"""Reads a streamed response, one event at a time."""

from __future__ import annotations

from typing import cast

from transom.core.message import Assistant, Raw
from transom.wire.responses.built_in import is_clients
from transom.wire.responses.parse import CALLS
from transom.wire.responses.reply import as_item, parse_response
from transom.wire.stop_reason import stop_reason_of
from transom.wire.stream import Accumulator, chunk_fields
from transom.wire.violations import as_dict, as_list, text

_TEXTS = {"response.output_text.delta": "output_text", "response.refusal.delta": "refusal"}
_REASONING = frozenset({"response.reasoning_summary_text.delta", "response.reasoning_text.delta"})
_ITEMS = frozenset({"response.output_item.added", "response.output_item.done"})
_ENDS = frozenset({"response.completed", "response.incomplete"})


class ResponsesAccumulator(Accumulator):
    """Collects the events of `responses.create(stream=True)`, or of the SDK's `.stream()`.

    Before the response ends, the turn has only the items that are done, and the text of the message so far.
    """

    def __init__(self) -> None:
        self._items: dict[int, Raw] = {}
        self._begun: dict[int, Raw] = {}
        self._open: dict[tuple[int, int], tuple[str, str]] = {}
        """The text so far of each part that is not done: item and part, to kind and text."""
        self._response: Raw = {}

    def feed(self, chunk: object) -> None:
        kind = _kind(chunk)
        if kind and kind not in _READ:  # the helper's events repeat all that came: not looked at
            return
        fields = chunk_fields(as_item(chunk))
        at = fields.get("output_index")
        if kind == "response.output_item.added" and isinstance(at, int):
            self._begun[at] = as_dict(fields.get("item"))
        elif kind == "response.output_item.done" and isinstance(at, int):
            self._items[at] = as_dict(fields.get("item"))
        elif kind in _TEXTS and isinstance(at, int):
            place = (at, cast("int", fields.get("content_index") or 0))
            self._open[place] = (_TEXTS[kind], self._open.get(place, ("", ""))[1] + text(fields, "delta"))
            self._add_delta("text", fields.get("delta"))
        elif kind in _REASONING:
            self._add_delta("reasoning", fields.get("delta"))
        elif kind in _ENDS:
            self._response, self.finished = as_dict(fields.get("response")), True
            self.stop = stop_reason_of(self._response)
        elif kind == "response.failed":
            error = as_dict(fields.get("response")).get("error")
            self.error = str(as_dict(error).get("message") or error or "the response failed")
        elif kind == "error":
            self.error = text(fields, "message") or "the response failed"

    def turn(self) -> Assistant:
        if self.finished and as_list(self._response.get("output")):
            return parse_response(self._response)
        items = [item for at in sorted({*self._items, *(at for at, _ in self._open)}) for item in self._item(at)]
        while items and items[-1].get("type") == "reasoning":
            items.pop()
        return parse_response({"output": items, "usage": self._response.get("usage")})

    @property
    def open_calls(self) -> list[str]:
        if self.finished and as_list(self._response.get("output")):
            return []
        begun = [item for at, item in sorted(self._begun.items()) if at not in self._items and _waits(item)]
        return [text(item, "name") or text(item, "type").removesuffix("_call") for item in begun]

    def _item(self, at: int) -> list[Raw]:
        """The item at this index if it is done; else the text of its message so far. Reasoning before an unfinished
        message is left out."""
        if at in self._items:
            ahead = at + 1 not in self._items and any(item == at + 1 for item, _ in self._open)
            return [] if ahead and self._items[at].get("type") == "reasoning" else [self._items[at]]
        parts = [self._open[place] for place in sorted(self._open) if place[0] == at]
        content = [{"type": kind, "refusal" if kind == "refusal" else "text": words} for kind, words in parts if words]
        return [{"type": "message", "role": "assistant", "content": content}] if content else []


_READ = frozenset({*_TEXTS, *_ENDS, *_REASONING, *_ITEMS, "response.failed", "error"})
"""The events that are read. The SDK's helper has others, which repeat what came before."""


def holds_items(reply: object) -> bool:
    """Whether a reply is a list of items. (A list of events is a stream.)"""
    if not isinstance(reply, (list, tuple)):
        return False
    kinds = [_kind(each) for each in cast("list[object]", reply)[:1]]
    return bool(kinds) and not any(kind.startswith(("response.", "error")) for kind in kinds)


def _waits(item: Raw) -> bool:
    """Whether an item is a call that the client answers."""
    return item.get("type") in CALLS or is_clients(item)


def _kind(chunk: object) -> str:
    """The type of an event."""
    kind = as_dict(cast("object", chunk)).get("type") if isinstance(chunk, dict) else getattr(chunk, "type", "")
    return kind if isinstance(kind, str) else ""
