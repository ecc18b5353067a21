"""Reads a streamed message, one event at a time."""

from __future__ import annotations

import json
from typing import Any

from transom.core.message import Assistant, Raw
from transom.wire.anthropic.reply import parse_reply
from transom.wire.stop_reason import stop_reason
from transom.wire.stream import Accumulator, chunk_fields, is_whole_object
from transom.wire.violations import as_dict, dicts, text

_TEXTS = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}
"""The field of a block to which each kind of delta adds."""


class AnthropicAccumulator(Accumulator):
    """Collects the events of `messages.create(stream=True)`, or of the SDK's `.stream()`, which adds some of its own.

    Before the message ends, the turn has only the blocks that have ended, and the text so far. `bound`: see
    `AnthropicDialect`.
    """

    def __init__(self, *, bound: bool = False) -> None:
        self._bound = bound
        self._blocks: dict[int, Raw] = {}
        self._arguments: dict[int, str] = {}
        self._ended: set[int] = set()
        self._usage: Raw = {}
        self._stop: object = None

    def feed(self, chunk: object) -> None:
        if getattr(chunk, "type", None) in _OF_THE_HELPER:  # they repeat the message so far: not even looked at
            return
        fields = chunk_fields(chunk, {"input"})
        kind, at = fields.get("type"), fields.get("index")
        if kind == "message_start":
            self._usage |= as_dict(as_dict(fields.get("message")).get("usage"))
        elif kind == "content_block_start" and isinstance(at, int):
            self._blocks[at] = dict(as_dict(fields.get("content_block")))
        elif kind == "content_block_delta" and at in self._blocks:
            self._add(at, as_dict(fields.get("delta")))
        elif kind == "content_block_stop" and at in self._blocks:
            self._ended.add(at)
        elif kind == "message_delta":
            self._usage |= as_dict(fields.get("usage"))
            self._stop = as_dict(fields.get("delta")).get("stop_reason") or self._stop
            self.finished = self.finished or bool(self._stop)
            self.stop = stop_reason(self._stop)
        elif kind == "error":
            error = fields.get("error")
            self.error = str(as_dict(error).get("message") or error)

    def turn(self) -> Assistant:
        content = [block for at in sorted(self._blocks) if (block := self._whole(at)) is not None]
        if not self.finished:
            content = _without_loose_ends(content)
        return parse_reply({"role": "assistant", "content": content, "usage": self._usage}, bound=self._bound)

    @property
    def open_calls(self) -> list[str]:
        blocks = [block for at, block in sorted(self._blocks.items()) if self._whole(at) is None]
        return [text(block, "name") for block in blocks if block.get("type") == "tool_use"]

    def _add(self, at: int, delta: Raw) -> None:
        """Add a delta to the block at this index."""
        block, kind = self._blocks[at], delta.get("type")
        if kind == "input_json_delta":
            self._arguments[at] = self._arguments.get(at, "") + str(delta.get("partial_json", ""))
        elif kind == "citations_delta":
            block["citations"] = [*(block.get("citations") or []), delta.get("citation")]
        elif isinstance(kind, str) and kind in _TEXTS:
            key = _TEXTS[kind]
            block[key] = str(block.get(key) or "") + str(delta.get(key, ""))
            if key != "signature":
                self._add_delta("text" if key == "text" else "reasoning", delta.get(key))

    def _whole(self, at: int) -> Raw | None:
        """A block as it may be stored now; None if it is not complete."""
        block: Raw = self._blocks[at]
        if at not in self._ended and block.get("type") != "text":
            return None
        if at not in self._arguments:
            return block
        arguments = self._arguments[at]
        if not arguments:
            return block
        return {**block, "input": json.loads(arguments)} if is_whole_object(arguments) else None


_OF_THE_HELPER = frozenset({"text", "thinking", "signature", "input_json", "citation", "message_stop"})
"""Events of the SDK's helper that repeat what came before. They are not read."""


def _without_loose_ends(content: list[Raw]) -> list[Raw]:
    """The blocks of an unfinished message without what the API refuses: a call of the provider's own tool that has no
    result, and thinking at the end."""
    answered: set[Any] = {block.get("tool_use_id") for block in dicts(content)}
    out = [block for block in content if block.get("type") != "server_tool_use" or block.get("id") in answered]
    while out and out[-1].get("type") in ("thinking", "redacted_thinking"):
        out.pop()
    return out
