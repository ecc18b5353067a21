"""Items of the OpenAI Agents SDK: `RunItem`s and `ModelResponse`s. Its input items are those of the Responses API."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from transom.core.message import Assistant, Raw
from transom.core.view import View
from transom.errors import InvalidMessage
from transom.wire.frameworks.framework_format import FrameworkFormat, Piece, Sources
from transom.wire.rendering import render_messages
from transom.wire.replies import dumped, with_usage
from transom.wire.responses.parse import USAGE

_NO_ID = "__fake_id__"
"""The SDK's id for the items of an API that gives none."""


class OpenAIAgentsFormat(FrameworkFormat):
    """The items of `agents.items`. They are written as input items: new dicts of the Responses API, also for an item
    that is shown unchanged."""

    name = "openai_agents"
    api = "responses"
    classes = ("agents.items", ".*")

    def read(self, messages: Sequence[Any], where: str = "") -> list[Piece]:
        items: list[Any] = []
        owners: list[int] = []
        for at, one in enumerate(messages):
            given = _items(one)
            items += given
            owners += [at] * len(given)
        placed = self.dialect.parse(items, where)
        return [Piece(at=owners[at], fact=fact, source=items[at], message=messages[owners[at]]) for at, fact in placed]

    def read_reply(self, reply: Any) -> Assistant:
        if not hasattr(reply, "to_input_items"):
            if self.owns(reply):  # one item of a response
                raise InvalidMessage("reply", f"a ModelResponse is needed, not {type(reply).__name__}")
            return self.dialect.parse_reply(reply)  # a stream ends with the API's own response
        response: Any = reply
        output = [dumped(item, exclude_unset=True) for item in response.output]
        turn = self.dialect.parse_reply({"object": "response", "output": output})
        usage = {
            each.name: dumped(value)
            for each in dataclasses.fields(response.usage)
            if (value := getattr(response.usage, each.name)) is not None
        }
        return with_usage(turn, usage, USAGE)

    def write(self, view: View, sources: Sources) -> list[Raw]:  # noqa: ARG002 - an item is the dict that it is
        return [_with_id(item) for item in render_messages(view, self.dialect)]


def _items(one: Any) -> list[Any]:
    if hasattr(one, "to_input_items"):  # a response of the model
        return list(one.to_input_items())
    return [one.to_input_item()] if hasattr(one, "to_input_item") else [one]


def _with_id(item: Raw) -> Raw:
    """An item of a window as the SDK writes it.

    For an API that gives no ids, such as Chat Completions, the SDK gives all messages of the model one id, `_NO_ID`. A
    window, where no id may come twice, has left it to one message. But the SDK refuses a message of the model without
    an id if it has fields such as `provider_data`. So such a message gets that id again.
    """
    if item.get("role") != "assistant" or "provider_data" not in item or "id" in item:
        return item
    said = item["content"]
    parts: Any = [{"type": "output_text", "text": said, "annotations": []}] if isinstance(said, str) else said
    return {**item, "id": _NO_ID, "content": parts}


OPENAI_AGENTS = OpenAIAgentsFormat()
