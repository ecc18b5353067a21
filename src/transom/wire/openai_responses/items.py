"""The words of the API that reading and rendering share."""

from __future__ import annotations

from transom.core.message import Raw

NAME = "responses"
"""What facts call this dialect."""

CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
"""The calls a caller answers, and where each keeps what the tool is given."""

OUTPUTS = {kind: f"{kind}_output" for kind in CALLS}
ANSWERS = frozenset(OUTPUTS.values())

TEXTS = {"input_text": "text", "output_text": "text", "refusal": "refusal", "summary_text": "text", "text": "text"}
"""Content parts that are words, and where each keeps them. `text` is chat's: the API refuses it."""

SAID, HEARD = "output_text", "input_text"
"""What a text part is called in the model's messages, and in everybody else's."""

INSTRUCTIONS = "instructions"
"""Marks the instruction that stands beside the items in a request."""

ITEMS = "items"
"""Where a turn remembers the fields of the messages it came in, null for each item that is a part by itself. `content`
is there only if it was a string, or empty: then the turn holds one empty text for it."""

TOOLS = "additional_tools"
"""An item that is no message, and not the model's either: tools that the developer adds."""


def kind(item: Raw) -> str:
    return item.get("type") or "message"


def is_models(item: Raw) -> bool:
    """Whether the model made an item: said, thought or called it, or did it with the provider's own tools."""
    type_ = kind(item)
    return item.get("role") == "assistant" if type_ == "message" else type_ not in ANSWERS and type_ != TOOLS
