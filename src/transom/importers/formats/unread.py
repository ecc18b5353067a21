"""Formats that are known by their shape and not read: what they are, and what helps."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from transom.core.message import Raw
from transom.wire.json_values import first_of
from transom.wire.violations import as_dict, text


class UnreadFormat(Struct, frozen=True):
    """A format that is refused by name. `title`: for people; `help`: what helps, in a few words."""

    title: str
    is_one: Callable[[Raw], bool]
    help: str


_SMOLAGENTS_ROLES = "write the roles as smolagents sends them: tool-call as assistant, tool-response as user"

UNREAD = (
    UnreadFormat(
        "an OpenCode session",
        lambda value: isinstance(value.get("info"), dict) and ("parts" in value or "messages" in value),
        "read its database through OpenCode and write each message as role and content",
    ),
    UnreadFormat(
        "a chat of GitHub Copilot in VS Code",
        lambda value: "requesterUsername" in value or "responderUsername" in value,
        "write each request as a user message and each response as an assistant message",
    ),
    UnreadFormat(
        "the memory of a smolagents agent",
        lambda value: "model_input_messages" in value or "model_output_message" in value,
        f"dump agent.write_memory_to_messages() instead, and {_SMOLAGENTS_ROLES}",
    ),
    UnreadFormat(
        "a list of messages of smolagents",
        lambda value: text(value, "role") in {"tool-call", "tool-response"},
        _SMOLAGENTS_ROLES,
    ),
    UnreadFormat(
        "messages of AutoGen",
        lambda value: text(value, "type").endswith(("Message", "Event")) and {"source", "content"} <= value.keys(),
        "save the model's context (model_context) as role and content",
    ),
    UnreadFormat(
        "a trajectory of SWE-agent",
        lambda value: isinstance(value.get("trajectory"), list) and isinstance(value.get("history"), list),
        "its history is a list of OpenAI Chat messages: read that alone",
    ),
    UnreadFormat(
        "a prompt-and-completion data set",
        lambda value: {"instruction", "output"} <= value.keys() or {"prompt", "completion"} <= value.keys(),
        "write it as messages of the user and the assistant",
    ),
    UnreadFormat(
        "events of a stream",
        lambda value: "choices" in value and "delta" in first_of(value.get("choices")),
        "join the stream first",
    ),
)


def unread_format(value: object) -> UnreadFormat | None:
    """Return the known format that a value is in and that is not read, or None."""
    fields = as_dict(value)
    return next((each for each in UNREAD if fields and each.is_one(fields)), None)
