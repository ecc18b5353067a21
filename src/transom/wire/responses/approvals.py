"""Approvals of calls of MCP servers, which the provider makes itself: it asks in one turn, the user's program answers
in the next, and the call follows in a third."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from transom import texts
from transom.core import message as m
from transom.core.message import Assistant, Other, Raw
from transom.wire.dialect import Rendered
from transom.wire.fields import text

REQUEST, RESPONSE = "mcp_approval_request", "mcp_approval_response"


def request_id(item: Raw) -> str:
    """The id under which an item asks for an approval; empty for any other item."""
    return text(item, "id") if item.get("type") == REQUEST else ""


def answered_request(item: Raw) -> str:
    """The id of the request that an item answers; empty for any other item."""
    return text(item, "approval_request_id") if item.get("type") == RESPONSE else ""


def with_pending_calls(turn: Assistant) -> Assistant:
    """A copy of the turn that says which requests for an approval it leaves open (`pending_calls`), and which of
    earlier turns it answers (`continued_calls`)."""
    items = [part.raw for part in turn.parts if isinstance(part, Other)]
    return m.with_pending_calls(turn, map(request_id, items), map(answered_request, items), ())


def without_orphaned_answers(messages: Sequence[Rendered]) -> Sequence[Rendered]:
    """The items without the answers that the API refuses: those whose request is not before them, and second ones. A
    placeholder stands for one directly behind reasoning, which something must follow (R5)."""
    if not any(rendered.message.get("type") == RESPONSE for rendered in messages):
        return messages  # nearly every window has no approval
    waiting, out = set[str](), list[Rendered]()
    for rendered in messages:
        waiting.add(request_id(rendered.message))
        label = answered_request(rendered.message)
        if rendered.message.get("type") != RESPONSE or (label and label in waiting):
            out.append(rendered)
            waiting.discard(label)
        elif out and out[-1].message.get("type") == "reasoning":  # R5: something must follow it
            words = texts.left_out_marker("part")
            out.append(replace(rendered, message={"role": "assistant", "content": words}))
    return out
