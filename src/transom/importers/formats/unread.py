"""Recognises formats that are not read, so that the error names them and says what helps."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from transom.core.message import Raw
from transom.wire.fields import as_dict, first_of, objects_in, text


class UnreadFormat(Struct, frozen=True):
    """A format that is not read. `title`: for people; `is_one`: true for a value in it; `help`: what one can do."""

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
        lambda value: not value.keys().isdisjoint({"model_input_messages", "model_output_message", "step_number"}),
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
        "the state of an AutoGen team",
        lambda value: isinstance(value.get("agent_states"), dict),
        "save the model's context (model_context) of each agent as role and content",
    ),
    UnreadFormat(
        "messages of Letta",
        lambda value: text(value, "message_type").endswith("_message"),
        "write those of the user, the assistant and the tools as role and content, in the form of OpenAI Chat",
    ),
    UnreadFormat(
        "messages of A2A",
        lambda value: any(
            text(each, "role") in {"agent", "ROLE_AGENT", "ROLE_USER"} and "parts" in each
            for each in (value, *objects_in(value.get("history")))
        ),
        "write agent as the assistant, and the parts as content",
    ),
    UnreadFormat(
        "a HAR file of a browser",
        lambda value: isinstance(as_dict(value.get("log")).get("entries"), list),
        "save the body of the last request to the model",
    ),
    UnreadFormat(
        "messages of agent-framework or Microsoft.Extensions.AI",
        lambda value: isinstance(value.get("contents"), list) and "role" in value,
        "write the contents of each as role and content, in the form of OpenAI Chat",
    ),
    UnreadFormat(
        "the messages of an OpenAI thread",
        lambda value: "thread.message" in {text(value, "object"), text(first_of(value.get("data")), "object")},
        "write the text value of each as role and content, the oldest first",
    ),
    UnreadFormat(
        "a message of a Strands session",
        lambda value: {"message", "message_id"} <= value.keys(),
        "dump agent.messages instead, which are messages of Bedrock",
    ),
    UnreadFormat(
        "a chat history of Cohere",
        lambda value: isinstance(value.get("chat_history"), list) or {"role", "message"} == value.keys(),
        "write USER as the user, CHATBOT as the assistant, and message as content",
    ),
    UnreadFormat(
        "a thread of Zed",
        lambda value: isinstance(value.get("User"), dict) or isinstance(value.get("Agent"), dict),
        "write each User and Agent message as role and content",
    ),
    UnreadFormat(
        "what Cline shows of a task",
        lambda value: {"ts", "type"} <= value.keys() and ("say" in value or "ask" in value),
        "read the file api_conversation_history.json beside it",
    ),
    UnreadFormat(
        "an export of Slack",
        lambda value: text(value, "type") == "message" and {"ts", "text"} <= value.keys() and "role" not in value,
        "write each message as role and content: the bot's as the assistant",
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
    """Return the format that a value is in, if it is one of `UNREAD`; otherwise None."""
    fields = as_dict(value)
    return next((each for each in UNREAD if fields and each.is_one(fields)), None)
