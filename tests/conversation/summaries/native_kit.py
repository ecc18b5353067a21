"""What the tests of `native` share: servers that answer and compact in the shapes that the APIs document."""

from __future__ import annotations

from typing import Any

import transom
from transom.core.edit import Fold
from transom.core.message import Failure
from transom.core.summary import Summary
from transom.errors import ProviderError
from transom.testing import WordCounter
from transom.wire.dialects import dialect_named


class Server:
    """A model behind Anthropic's or OpenAI's API. It checks each request by the rules of its dialect.

    `refuses`: the body of the error with which it refuses every request that has a compaction. `fails`: the error with
    which it refuses to compact.
    """

    def __init__(
        self, dialect: str, model: str = "m1", *, refuses: str = "", fails: ProviderError | None = None
    ) -> None:
        self.name = self.dialect = dialect
        self.model, self.refuses, self.fails = model, refuses, fails
        self.asked: list[Any] = []
        self.compacted: list[Any] = []

    def complete(self, request: Any, *, max_tokens: int | None = None, timeout: float | None = None) -> Any:
        assert dialect_named(self.dialect).violations(request) == []
        if self.refuses and "compaction" in str(request):
            raise ProviderError("bad_request", status=400, body=self.refuses)
        self.asked.append(request)
        return self.answer(f"Answer {len(self.asked)}. " + "well done " * 40)

    def answer(self, text: str) -> Any:
        if self.dialect == "anthropic":
            usage = {"input_tokens": 10, "output_tokens": 5}
            content = [{"type": "text", "text": text}]
            return {
                **MESSAGE, "content": content, "stop_reason": "end_turn", "usage": usage
            }  # fmt: skip
        content = [{"type": "output_text", "text": text, "annotations": []}]
        item = {"type": "message", "id": f"msg_{len(self.asked)}", "role": "assistant", "status": "completed"}
        return {**RESPONSE, "status": "completed", "output": [{**item, "content": content}]}

    def compact(self, request: Any, *, timeout: float | None = None) -> Any:
        self.compacted.append(request)
        if self.fails is not None:
            raise self.fails
        return compaction(self.dialect, len(self.compacted))


MESSAGE = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m1"}
RESPONSE = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m1"}


def block(number: int) -> dict[str, Any]:
    """The block of Anthropic's compaction on demand."""
    return {
        "type": "compaction",
        "content": f"the summary {number}",
        "signature": f"signed {number}",
        "encrypted_content": "opaque" * 20,
        "tool_changes": [],
    }


def kept(number: int) -> list[dict[str, Any]]:
    """The items of OpenAI's compaction: messages of the user, and the opaque one."""
    content = [{"type": "input_text", "text": "Look at the crane."}]
    return [
        {"type": "message", "id": "u1", "role": "user", "status": "completed", "content": content},
        {"type": "compaction", "id": f"cmp_{number}", "encrypted_content": "opaque" * 20},
    ]


def compaction(dialect: str, number: int) -> dict[str, Any]:
    """The answer to a request for a compaction."""
    if dialect == "anthropic":
        usage = {"input_tokens": 100, "output_tokens": 50}
        return {**MESSAGE, "content": [block(number)], "stop_reason": "compaction", "usage": usage}
    usage = {"input_tokens": 100, "output_tokens": 50, "total_tokens": 150}
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    output = kept(number)
    return {**RESPONSE, "object": "response.compaction", "output": output, "usage": {**usage, **details}}


def opened(dialect: str, store: str = "memory:", **settings: Any) -> transom.Conversation:
    settings = {"budget": 3_000, "policy": "native", "counter": WordCounter(), "system": "Brief.", **settings}
    return transom.Conversation.open(store, "c", dialect=dialect, **settings)


def talk(conv: transom.Conversation, provider: Any, first: int, last: int) -> None:
    for number in range(first, last):
        conv.run(f"Question {number} about pier {number}. " + "mind the crane " * 20, provider=provider)


def messages(request: Any) -> list[Any]:
    return request.get("messages") or request["input"]


def bodies(conv: transom.Conversation, kind: type) -> list[Any]:
    return [entry.body for entry in conv.log.read() if isinstance(entry.body, kind)]


def shown(conv: transom.Conversation) -> list[Fold]:
    """The folds that show the provider's compaction."""
    slots = [slot for slot in conv.view.slots if getattr(slot, "compaction", None) is not None]
    return [conv.log[slot.seq].body for slot in slots]  # pyright: ignore[reportReturnType, reportAttributeAccessIssue]


def failures(conv: transom.Conversation) -> list[str]:
    return [one.error for one in bodies(conv, Failure)]


__all__ = ["Server", "Summary", "block", "bodies", "failures", "kept", "messages", "opened", "shown", "talk"]
