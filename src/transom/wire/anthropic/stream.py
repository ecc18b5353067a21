"""Reads a streamed message, one event at a time."""

from __future__ import annotations

from contextlib import suppress

from transom.core.message import Assistant, Raw
from transom.errors import InvalidMessage
from transom.wire.anthropic.parse import USAGE, parse_reply, without_refused_blocks
from transom.wire.arguments import read_object
from transom.wire.fields import as_dict, text
from transom.wire.replies import stop_reason
from transom.wire.stream import Accumulator, Place, Places, chunk_fields, is_whole_object

_TEXTS = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}
"""The field of a block to which each kind of delta adds."""

_OPENS = {"text_delta": "text", "thinking_delta": "thinking"}
"""The kind of a block that begins with a delta, by the kind of that delta."""


class AnthropicAccumulator(Accumulator):
    """Collects the events of `messages.create(stream=True)`, or of the SDK's `.stream()`, which adds some of its own.

    Before the message ends, the turn has only the blocks that have ended, and the text so far. `bound`: see
    `AnthropicDialect`.
    """

    usage_fields = USAGE

    def __init__(self, *, bound: bool = True) -> None:
        self._bound = bound
        self._model: object = None
        self._places = Places()
        self._blocks: dict[Place, Raw] = {}
        self._arguments: dict[Place, str] = {}
        self._ended: set[Place | None] = set()
        self._usage: Raw = {}
        self._container: object = None
        self._stop: object = None

    def feed(self, chunk: object) -> None:
        if getattr(chunk, "type", None) in _OF_THE_HELPER:  # they repeat the message so far: not even looked at
            return
        fields = chunk_fields(chunk, {"input"})
        kind = fields.get("type")
        if kind == "message_start":
            message = as_dict(fields.get("message"))
            self._usage |= as_dict(message.get("usage"))
            self._container = message.get("container")
            self._model = message.get("model")
        elif kind == "content_block_start":
            self._start(fields.get("index"), as_dict(fields.get("content_block")))
        elif kind == "content_block_delta":
            self._add(fields.get("index"), as_dict(fields.get("delta")))
        elif kind == "content_block_stop":
            self._ended.add(self._places.newest(fields.get("index")))
        elif kind == "message_delta":
            self._usage |= as_dict(fields.get("usage"))
            delta = as_dict(fields.get("delta"))
            self._container = delta.get("container") or self._container
            self._stop = delta.get("stop_reason") or self._stop
            self.finished = self.finished or bool(self._stop)
            self.stop = stop_reason(self._stop)
        elif kind == "error":
            self._take_error(fields)

    def turn(self) -> Assistant:
        content = [block for at in sorted(self._blocks) if (block := self._whole(at)) is not None]
        if not self.finished:
            content = without_refused_blocks(content)
        reply: Raw = {"role": "assistant", "content": content, "usage": self._usage, "model": self._model}
        return parse_reply({**reply, "stop_reason": self._stop, "container": self._container}, bound=self._bound)

    @property
    def open_calls(self) -> list[str]:
        blocks = [block for at, block in sorted(self._blocks.items()) if self._whole(at) is None]
        return [text(block, "name") for block in blocks if block.get("type") == "tool_use"]

    def _start(self, index: object, block: Raw) -> None:
        """Begin a block, unless that is said twice, or only now said: its arguments may come first."""
        held = self._places.newest(index)
        if held is not None and not self._blocks[held]:  # its arguments came first
            self._blocks[held] = dict(block)
        elif held is None or held in self._ended or self._blocks[held] != block:
            self._blocks[self._places.begin(index)] = dict(block)

    def _add(self, index: object, delta: Raw) -> None:
        """Add a delta to the newest block with this index.

        Some gateways do not say that a block begins. So a text or thinking begins one if the newest block has ended or
        is of another kind, and arguments begin one if there is none. Any other delta without a block is dropped.
        """
        kind = delta.get("type")
        at = self._places.newest(index)
        if kind in _OPENS and (at is None or at in self._ended or self._blocks[at].get("type") != _OPENS[kind]):
            at = self._places.begin(index)
            self._blocks[at] = {"type": _OPENS[kind]}
        elif kind == "input_json_delta" and at is None:
            at = self._places.begin(index)
            self._blocks[at] = {}
        if at is None:
            return
        block = self._blocks[at]
        if kind == "input_json_delta":
            self._arguments[at] = self._arguments.get(at, "") + text(delta, "partial_json")
        elif kind == "citations_delta":
            block["citations"] = [*(block.get("citations") or []), delta.get("citation")]
        elif kind == "compaction_delta":  # the block began with nulls in the place of all that comes here
            for key, value in delta.items():
                if key != "type" and value is not None:
                    before = block.get(key)
                    block[key] = before + value if isinstance(before, str) and isinstance(value, str) else value
        elif isinstance(kind, str) and kind in _TEXTS:
            key = _TEXTS[kind]
            block[key] = text(block, key) + text(delta, key)
            if key != "signature":
                self._add_delta("text" if key == "text" else "reasoning", delta.get(key))

    def _whole(self, at: Place) -> Raw | None:
        """A block as it may be stored now; None if it is not complete. Arguments that are complete and no object that a
        log can hold stay a text: then the call fails with them."""
        block: Raw = self._blocks[at]
        if not block:  # arguments whose call never began
            return None
        if at not in self._ended and not self.finished and block.get("type") != "text":
            return None
        arguments = self._arguments.get(at, "")
        if not arguments:
            return block
        with suppress(InvalidMessage):
            return {**block, "input": read_object(arguments)}
        # an object that no log can hold, or what the model wrote instead of one: the call fails with its text
        written = at in self._ended and self.stop == "tool_calls" and block.get("type") == "tool_use"
        return {**block, "input": arguments} if written or is_whole_object(arguments) else None


_OF_THE_HELPER = frozenset({"text", "thinking", "signature", "input_json", "citation", "message_stop"})
"""Events of the SDK's helper that repeat what came before. They are not read."""
