"""Long runs against a server that takes reasoning back only behind the prefix that it was made on.

    python tests/campaigns/bound_reasoning.py [--turns 30] [--policy default]

The server speaks the Messages API and the Responses API, over the real SDKs. It remembers for every signature the exact
system prompt, tools and messages before it (without cache marks), and looks at each request for reasoning that stands
behind others. A run has 30 tool turns with reasoning, in a room so small that it is compacted again and again. The mode
and the system prompt change on the way. No request may have stale reasoning. Then the server refuses one request of the
run that has reasoning: the run must go on, and the log must say so.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from transom import Budget, Conversation
from transom.conversation.planning.modes import Directive, Profile
from transom.core.message import REASONING_REFUSED, Failure
from transom.core.unit import FoldedSlot
from transom.evaluation.explanations import REFUSED_REASONING, explain
from transom.policies import POLICIES
from transom.providers.anthropic import Anthropic
from transom.providers.base import Provider
from transom.providers.openai import OpenAIResponses
from transom.stores.in_memory import MemoryStore

sys.path.append(str(Path(__file__).parents[1]))
from loopback_server import Json, PostHandler, serving

APIS = ("anthropic", "responses")
TURNS = 36
"""The replies of the model: 32 calls, and an answer to each task."""
TASKS = 4
"""The tasks of the user that the tool turns are shared by."""
ROOM, WIDE = 6_000, 200_000
"""The context window, and that of a policy that leaves nothing out."""
REFUSALS = {
    "anthropic": {
        "type": "error",
        "error": {
            "type": "invalid_request_error",
            "message": "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a "
            "different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "
            '"drop_block"',
        },
    },
    "responses": {
        "error": {
            "message": "The encrypted content for item rs_1 could not be verified.",
            "type": "invalid_request_error",
            "param": None,
            "code": "invalid_encrypted_content",
        }
    },
}
TOOL = {"name": "look", "description": "Looks.", "input_schema": {"type": "object", "properties": {}}}


class Outcome(NamedTuple):
    """What became of the runs of one conversation."""

    requests: int
    stale: int
    """Blocks of reasoning behind another prefix than their own, over all requests."""
    reasoning: int
    """Blocks of reasoning that were sent."""
    folds: int
    """Folds in the last window."""
    heads: int
    """System prompts and lists of tools in the log."""
    refused: int
    """Failures in the log that hide reasoning."""
    explained: int
    """Turns of which `explain` says that a provider refused their reasoning."""


class Server:
    """Answers every request with reasoning and a tool call, or with a text if `ends` says so after that many calls."""

    def __init__(self, refuse_at: int | None) -> None:
        self.requests = self.stale = self.reasoning = self.turn = 0
        self.refuse_at = refuse_at
        self.ends_at = 0
        self._made_on: dict[str, str] = {}

    def post(self, handler: PostHandler, path: str, body: Json) -> None:
        if path.endswith("/compact"):
            handler.reply(404, "application/json", b'{"error": {"message": "no such path"}}')
            return
        self.requests += 1
        api = "responses" if path.endswith("/responses") else "anthropic"
        found = list(_reasoning(api, body))
        self.reasoning += len(found)
        self.stale += sum(self._made_on[signature] != prefix for signature, prefix in found)
        is_of_run = bool(body.get("tools")) and "compaction" not in body  # of a summary no refusal is logged
        if self.refuse_at is not None and self.requests >= self.refuse_at and found and is_of_run:
            self.refuse_at = None
            handler.reply(400, "application/json", json.dumps(REFUSALS[api]).encode())
            return
        self.turn += 1
        signature = f"signature {self.turn}"
        self._made_on[signature] = _prefix(api, body, len(_messages(api, body)))
        reply = _REPLIES[api](self.turn, signature, calls=self.turn % self.ends_at != 0)
        handler.reply(200, "application/json", json.dumps(reply).encode())


def _messages(api: str, body: Json) -> list[Json]:
    return body["messages" if api == "anthropic" else "input"]


def _prefix(api: str, body: Json, at: int) -> str:
    """What stands before the message at this index, without cache marks, which do not count."""
    head = [body.get("system"), body.get("instructions"), body.get("tools")]
    return json.dumps(_without_marks([head, _messages(api, body)[:at]]), sort_keys=True)


def _without_marks(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_marks(item) for item in value]
    if isinstance(value, dict):
        fields = {key: _without_marks(item) for key, item in value.items() if key != "cache_control"}
        if "role" in fields and isinstance(fields.get("content"), str):  # a mark needs a block: the content is the same
            fields["content"] = [{"type": "text", "text": fields["content"]}]
        return fields
    return value


def _reasoning(api: str, body: Json) -> Iterator[tuple[str, str]]:
    """Each signature in a request, with what stands before it."""
    for at, message in enumerate(_messages(api, body)):
        blocks = message.get("content") if api == "anthropic" else [message]
        for block in blocks if isinstance(blocks, list) else ():
            if block.get("type") in ("thinking", "redacted_thinking", "reasoning"):
                keys = ("signature", "data", "encrypted_content")
                yield next(block[key] for key in keys if key in block), _prefix(api, body, at)


def _message(turn: int, signature: str, *, calls: bool) -> Json:
    """A reply of the Messages API. Every third thought is encrypted."""
    thought: Json = {"type": "thinking", "thinking": f"Thought {turn}. " * 9, "signature": signature}
    if turn % 3 == 0:
        thought = {"type": "redacted_thinking", "data": signature}
    said = {"type": "tool_use", "id": f"toolu_{turn}", "name": "look", "input": {}}
    return {
        "id": f"msg_{turn}",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-5-5",
        "content": [thought, said if calls else {"type": "text", "text": f"Task done in turn {turn}."}],
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 900, "output_tokens": 90},
    }


def _response(turn: int, signature: str, *, calls: bool) -> Json:
    """A reply of the Responses API."""
    thought = {"type": "reasoning", "id": f"rs_{turn}", "summary": [], "encrypted_content": signature}
    call = {"type": "function_call", "id": f"fc_{turn}", "call_id": f"call_{turn}", "name": "look", "arguments": "{}"}
    words = {"type": "output_text", "text": f"Task done in turn {turn}.", "annotations": []}
    message = {"type": "message", "id": f"msg_{turn}", "role": "assistant", "content": [words], "status": "completed"}
    return {
        "id": f"resp_{turn}",
        "object": "response",
        "created_at": 1,
        "model": "gpt-6.2",
        "status": "completed",
        "output": [thought, {**call, "status": "completed"} if calls else message],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": 900,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 90,
            "output_tokens_details": {"reasoning_tokens": 60},
            "total_tokens": 990,
        },
    }


_REPLIES = {"anthropic": _message, "responses": _response}


def provider_of(api: str, url: str) -> Provider:
    if api == "anthropic":
        return Anthropic("claude-opus-5-5", base_url=url, api_key="none")
    return OpenAIResponses("gpt-6.2", base_url=f"{url}/v1", api_key="none")


def outcome(api: str, policy: str, *, turns: int = TURNS, refuse_at: int | None = None) -> Outcome:
    """Play the runs under a policy. `refuse_at`: the first request with reasoning from this number on is refused, of
    those that are not for a summary."""
    server, looked = Server(refuse_at), iter(range(10**6))

    def look() -> str:
        """Looks."""
        at = next(looked)
        return f"line {at} value {at * 7919} " * 40

    store, room = MemoryStore(), WIDE if policy == "passthrough" else ROOM
    settings: Json = {"budget": Budget(context=room, reserve=500), "policy": policy, "dialect": api}
    with serving(server.post) as url:
        provider = provider_of(api, url)
        with Conversation.open(store, "c", system="Be brief.", **settings) as conv:
            server.ends_at = turns // TASKS
            conv.run("The first task: look around.", provider=provider, tools=[look])
            conv.set_mode("agent", Profile(rules="Be brief."))
            conv.run("The second task: look again.", provider=provider, tools=[look])
        with Conversation.open(store, "c", system="Be brief, and polite.", **settings) as conv:
            conv.run("The third task: look on.", provider=provider, tools=[look])
            conv.set_mode(
                "run",
                Profile(rules="Be thorough."),
                directive=Directive(run_id="r", text="Look at all of it."),
                new_head=True,
            )
            server.ends_at = turns - 3 * (turns // TASKS) + server.turn
            conv.run("The fourth task: look once more.", provider=provider, tools=[look])
            log = [conv.log[seq].body for seq in range(len(conv.log))]
            return Outcome(
                requests=server.requests,
                stale=server.stale,
                reasoning=server.reasoning,
                folds=sum(isinstance(slot, FoldedSlot) for slot in conv.view.slots),
                heads=sum(type(body).__name__ == "Head" for body in log),
                refused=sum(isinstance(body, Failure) and body.failure == REASONING_REFUSED for body in log),
                explained=sum(REFUSED_REASONING in row.why for row in explain(conv.view)),
            )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--policy", action="append", help="only this policy")
    wrong = 0
    options = parser.parse_args()
    for api in APIS:
        for policy in options.policy or POLICIES:
            whole = outcome(api, policy, turns=options.turns)
            once = outcome(api, policy, turns=options.turns, refuse_at=options.turns // 3)
            print(f"{api:<10} {policy:<20} {whole}\n{'':31} {once}", flush=True)
            wrong += whole.stale + once.stale + (once.refused != 1)
    print(f"{wrong} wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
