"""A conversation in which everything happens that the inspector shows."""

from __future__ import annotations

from transom import Budget, Conversation
from transom.core.message import Failure, Recalled
from transom.stores import Store

PORT = 4711
ORIGIN = f"http://127.0.0.1:{PORT}"


def reply(text: str, call: str | None = None, cost_tokens: int = 40) -> dict[str, object]:
    """A reply of OpenAI's API, which says what it took."""
    message: dict[str, object] = {"role": "assistant", "content": text}
    if call is not None:
        function = {"name": "read_file", "arguments": f'{{"path": "{call}"}}'}
        message["tool_calls"] = [{"id": call, "type": "function", "function": function}]
    usage = {
        "prompt_tokens": cost_tokens,
        "completion_tokens": 5,
        "total_tokens": cost_tokens + 5,
        "prompt_tokens_details": {"cached_tokens": cost_tokens // 2},
    }
    choice = {"index": 0, "finish_reason": "stop" if call is None else "tool_calls", "message": message}
    return {"id": "r", "object": "chat.completion", "model": "gpt-5", "choices": [choice], "usage": usage}


def fill(store: Store, name: str = "trip", turns: int = 12, budget: int | Budget = 1_200) -> Conversation:
    """A conversation whose window is compacted several times, with a failure and a pin."""
    conv = Conversation.open(store, name, budget=budget, system="You book trips.")
    conv.user("find a flight to Lisbon")
    for turn in range(turns):
        conv.request()
        if turn == 3:
            conv.append(
                Failure(failure="overloaded", answers=conv.view.in_flight.seq, error="503", model="openai:gpt-5")
            )
            conv.request()
        conv.observe(reply(f"I look at page {turn}", f"page{turn}"))
        conv.tool_result(f"page{turn}", f"page {turn}: " + f"flight LX{turn} at {turn} o'clock for 99 euros, " * 12)
    conv.append(Recalled(text="earlier: no smoking", refs=(1,), why="the message asks about it"))
    return conv
