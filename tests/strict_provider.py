"""A provider on the loopback for long scripted runs, over each API: strict about form, size and prefixes.

It answers each request with reasoning (where the API has it) and one to three tool calls, and after `steps` calls with
a text. What it holds against a request is counted:

- `invalid`: a rule of the API is broken;
- `stale`: reasoning stands behind another prefix than the one that it was made on. Gemini's signatures are bound to no
  prefix: each must be one that was given;
- `over`: more tokens than the limit, after the limit was said once;
- `lost`: the task is not in the request;
- `breaks`: it does not begin with the request before.

`reasoned` counts the parts of all requests that have a signature: a run that sends none has shown nothing of prefixes.

A request with more tokens than `limit` is refused in the provider's words, with its numbers.

The usage of a reply says how many tokens were in the cache: those of the longest prefix that was sent before.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from hashlib import sha256
from threading import Event, Lock
from typing import Any

from loopback_server import Json, PostHandler, as_events, end_of_events, is_streamed, serving
from transom.tokenizer import o200k
from transom.wire.dialects import dialect_named
from transom.wire.gemini.render import ESCAPE
from transom.wire.gemini.rules import violations as gemini_violations

TASK = "Count the lines of every file, and say TALISMAN-77 at the end."
ANSWER = "All files are counted: TALISMAN-77."
TOOL = "look"
HEAD = ("system", "systemInstruction", "instructions", "tools")
"""What stands before the messages of a request."""

_count = lru_cache(maxsize=1 << 16)(o200k().count)


def tokens_in(value: Any) -> int:
    """The tokens of all texts in a JSON value, and a few for each message and call around them."""
    if isinstance(value, str):
        return _count(value)
    if isinstance(value, dict):
        return 3 + sum(map(tokens_in, value.values()))
    return sum(map(tokens_in, value)) if isinstance(value, list) else 1


def used_by(body: Json) -> int:
    """The tokens of a request."""
    return sum(tokens_in(body.get(key)) for key in (*HEAD, "messages", "input", "contents"))


class StrictProvider:
    """One script, and what came of it."""

    def __init__(self, steps: int, *, limit: int = 10**9, breaks_at: int = 0, stalls_at: int = 0) -> None:
        self.steps, self.limit, self.breaks_at, self.stalls_at = steps, limit, breaks_at, stalls_at
        self.go_on = Event()
        self.requests: list[tuple[str, Json]] = []
        self.headers: list[dict[str, str]] = []
        self.invalid: list[str] = []
        self.stale = self.over = self.lost = self.refused = self.turn = 0
        self.largest = self.breaks = self.reasoned = 0
        self._last = ""
        self._cached: set[str] = set()
        """The hashes of all prefixes that were sent."""
        self.url = ""
        self._made_on: dict[str, str] = {}
        self._lock = Lock()

    def post(self, handler: PostHandler, path: str, body: Json) -> None:
        api = api_of(path)
        with self._lock:
            self.requests.append((api, body))
            self.headers.append(dict(handler.headers))
            status, found = self._answer(api, body)
        if status != 200:
            handler.reply(status, "application/json", json.dumps(found).encode())
        elif is_streamed(path, body):
            data = [*as_events(path, EVENTS[api](found)), end_of_events(path)]
            if self.turn and self.turn in (self.breaks_at, self.stalls_at):
                half = b"".join(data[: max(1, len(data) // 2)])
                handler.reply(200, "text/event-stream", half, {"Content-Length": str(len(half) + 9)})
                handler.close_connection = True
                if self.turn == self.stalls_at:
                    self.go_on.wait(20)
                self.breaks_at = self.stalls_at = 0
                return
            handler.reply(200, "text/event-stream", b"".join(data))
        else:
            handler.reply(200, "application/json", json.dumps(found).encode())

    def _answer(self, api: str, body: Json) -> tuple[int, Json]:
        broken = gemini_violations(body, strict=True) if api == "gemini" else dialect_named(api).violations(body)
        self.invalid += [f"{api}: {each.rule} {each.why}" for each in broken]
        if broken:
            return 400, {"error": {"message": self.invalid[-1], "type": "invalid_request_error"}}
        used = used_by(body)
        if used > self.limit:
            self.over += self.refused > 0
            self.refused += 1
            return 400, too_long(api, used, self.limit)
        self.largest = max(self.largest, used)
        self.lost += TASK not in json.dumps(body)
        before = prefixes(api, body)
        for at, signature in reasoning_in(api, body):
            self.reasoned += 1
            made_on = self._made_on.get(signature)
            self.stale += made_on is None if api == "gemini" else made_on != before[at]
        self.breaks += bool(self._last) and self._last not in before
        self._last = before[-1]
        cached = self._cached_tokens(api, body, before)
        self.turn += 1
        signature = b64encode(f"signature-{self.turn}".encode()).decode()
        self._made_on[signature] = before[-1]
        calls = [] if self.turn >= self.steps else [f"{TOOL}_{self.turn}_{n}" for n in range(1 + self.turn % 3)]
        reply = REPLIES[api](self.turn, signature, calls, used)
        _CACHED[api](reply, cached)
        return 200, reply

    def _cached_tokens(self, api: str, body: Json, before: list[str]) -> int:
        """The tokens of the longest prefix that was sent before, as a provider's cache has it."""
        known = sum(prefix in self._cached for prefix in before)
        self._cached.update(before)
        return used_by({**body, MESSAGES[api]: messages_of(api, body)[: known - 1]}) if known else 0


def api_of(path: str) -> str:
    ends = {"/chat/completions": "openai", "/responses": "responses", "/messages": "anthropic"}
    return next((api for end, api in ends.items() if path.endswith(end)), "gemini")


MESSAGES = {"openai": "messages", "responses": "input", "anthropic": "messages", "gemini": "contents"}


def messages_of(api: str, body: Json) -> list[Json]:
    found = body[MESSAGES[api]]
    return [{"role": "user", "content": found}] if isinstance(found, str) else found


def prefixes(api: str, body: Json) -> list[str]:
    """The hash of what stands before each message, and before the next one, without cache marks, which do not count."""
    head = [body.get(key) for key in HEAD]
    digests = [""]
    for each in [head, *messages_of(api, body)]:
        text = digests[-1] + json.dumps(_unmarked(each), sort_keys=True)
        digests.append(sha256(text.encode()).hexdigest())
    return digests[1:]


def _unmarked(value: Any) -> Any:
    if isinstance(value, list):
        return [_unmarked(item) for item in value]
    if isinstance(value, dict):
        fields = {key: _unmarked(item) for key, item in value.items() if key != "cache_control"}
        if "role" in fields and isinstance(fields.get("content"), str):
            fields["content"] = [{"type": "text", "text": fields["content"]}]
        return fields
    return value


def reasoning_in(api: str, body: Json) -> Iterator[tuple[int, str]]:
    """Each signature in a request, with the index of its message."""
    for at, message in enumerate(messages_of(api, body)):
        if api == "responses":
            blocks: Any = [message]
        else:
            blocks = message.get("parts" if api == "gemini" else "content")
        for block in blocks if isinstance(blocks, list) else ():
            if block.get("type") in ("thinking", "reasoning"):
                yield at, block.get("signature") or block["encrypted_content"]
            elif block.get("thoughtSignature", ESCAPE) != ESCAPE:
                yield at, block["thoughtSignature"]


def too_long(api: str, used: int, limit: int) -> Json:
    """The refusal of a request, in the words of each provider."""
    if api == "anthropic":
        said = {"type": "invalid_request_error", "message": f"prompt is too long: {used} tokens > {limit} maximum"}
        return {"type": "error", "error": said}
    if api == "gemini":
        said = f"The input token count ({used}) exceeds the maximum number of tokens allowed ({limit})."
        return {"error": {"code": 400, "message": said, "status": "INVALID_ARGUMENT"}}
    said = f"This model's maximum context length is {limit} tokens. However, your messages resulted in {used} tokens."
    return {"error": {"message": said, "type": "invalid_request_error", "code": "context_length_exceeded"}}


# ---- replies


def arguments_of(call: str) -> Json:
    """The arguments of a call, by its id."""
    _, turn, number = call.rsplit("_", 2)
    return {"at": int(turn), "number": int(number)}


def _chat(turn: int, signature: str, calls: list[str], used: int) -> Json:
    made = [
        {"id": each, "type": "function", "function": {"name": TOOL, "arguments": json.dumps(arguments_of(each))}}
        for each in calls
    ]
    message = {"role": "assistant", "content": f"Step {turn}." if calls else ANSWER, "refusal": None, "annotations": []}
    choice = {
        "index": 0,
        "message": {**message, **({"tool_calls": made} if calls else {})},
        "finish_reason": "tool_calls" if calls else "stop",
        "logprobs": None,
    }
    usage = {"prompt_tokens": used, "completion_tokens": 20, "total_tokens": used + 20}
    base = {"id": f"chat_{turn}", "object": "chat.completion", "created": 1, "model": "gpt-test"}
    return {**base, "choices": [choice], "usage": usage}


def _chat_events(whole: Json) -> list[Json]:
    base = {"id": whole["id"], "object": "chat.completion.chunk", "created": 1, "model": whole["model"]}
    (choice,) = whole["choices"]
    message = choice["message"]
    deltas: list[Json] = [{"role": "assistant", "content": message["content"]}]
    for index, call in enumerate(message.get("tool_calls", ())):
        function = call["function"]
        deltas.append({"tool_calls": [{"index": index, **call, "function": {**function, "arguments": ""}}]})
        deltas += [
            {"tool_calls": [{"index": index, "function": {"arguments": each}}]} for each in function["arguments"]
        ]
    chunks = [{**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    last = {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]}
    return [*chunks, last, {**base, "choices": [], "usage": whole["usage"]}]


def _message(turn: int, signature: str, calls: list[str], used: int) -> Json:
    thought = {"type": "thinking", "thinking": f"Thought {turn}. " * 9, "signature": signature}
    uses = [{"type": "tool_use", "id": f"toolu_{each}", "name": TOOL, "input": arguments_of(each)} for each in calls]
    return {
        "id": f"msg_{turn}",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-5-5",
        "content": [thought, {"type": "text", "text": f"Step {turn}." if calls else ANSWER}, *uses],
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": used, "output_tokens": 20},
    }


def _message_events(whole: Json) -> list[Json]:
    out: list[Json] = [{"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}}]
    for index, block in enumerate(whole["content"]):
        if block["type"] == "thinking":
            start = {**block, "thinking": "", "signature": ""}
            deltas = [
                {"type": "thinking_delta", "thinking": block["thinking"]},
                {"type": "signature_delta", "signature": block["signature"]},
            ]
        elif block["type"] == "text":
            start = {**block, "text": ""}
            deltas = [{"type": "text_delta", "text": each} for each in block["text"]]
        else:
            start = {**block, "input": {}}
            deltas = [{"type": "input_json_delta", "partial_json": each} for each in json.dumps(block["input"])]
        out.append({"type": "content_block_start", "index": index, "content_block": start})
        out += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        out.append({"type": "content_block_stop", "index": index})
    delta = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    return [*out, {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 20}}, {"type": "message_stop"}]


def _response(turn: int, signature: str, calls: list[str], used: int) -> Json:
    thought = {"type": "reasoning", "id": f"rs_{turn}", "summary": [], "encrypted_content": signature}
    words = {"type": "output_text", "text": f"Step {turn}." if calls else ANSWER, "annotations": []}
    message = {"type": "message", "id": f"msg_{turn}", "role": "assistant", "content": [words], "status": "completed"}
    made = [
        {
            "type": "function_call",
            "id": f"fc_{each}",
            "call_id": each,
            "name": TOOL,
            "arguments": json.dumps(arguments_of(each)),
            "status": "completed",
        }
        for each in calls
    ]
    return {
        "id": f"resp_{turn}",
        "object": "response",
        "created_at": 1,
        "model": "gpt-6.2",
        "status": "completed",
        "output": [thought, message, *made],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": used,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 20,
            "output_tokens_details": {"reasoning_tokens": 9},
            "total_tokens": used + 20,
        },
    }


def _response_events(whole: Json) -> list[Json]:
    out: list[Json] = [{"type": "response.created", "response": {**whole, "status": "in_progress", "output": []}}]
    for index, item in enumerate(whole["output"]):
        place = {"item_id": item["id"], "output_index": index}
        empty = {"content": []} if item["type"] == "message" else {"arguments": ""} if "arguments" in item else {}
        out.append({"type": "response.output_item.added", "output_index": index, "item": {**item, **empty}})
        if item["type"] == "message":
            (part,) = item["content"]
            inner = {**place, "content_index": 0}
            out.append({"type": "response.content_part.added", **inner, "part": {**part, "text": ""}})
            out += [
                {"type": "response.output_text.delta", **inner, "delta": each, "logprobs": []} for each in part["text"]
            ]
            out.append({"type": "response.output_text.done", **inner, "text": part["text"], "logprobs": []})
            out.append({"type": "response.content_part.done", **inner, "part": part})
        elif item["type"] == "function_call":
            out.append({"type": "response.function_call_arguments.delta", **place, "delta": item["arguments"]})
            done = {"arguments": item["arguments"], "name": item["name"]}
            out.append({"type": "response.function_call_arguments.done", **place, **done})
        out.append({"type": "response.output_item.done", "output_index": index, "item": item})
    out.append({"type": "response.completed", "response": whole})
    return [{**event, "sequence_number": number} for number, event in enumerate(out)]


def _generated(turn: int, signature: str, calls: list[str], used: int) -> Json:
    thought = {"text": f"Thought {turn}. " * 9, "thought": True}
    made: list[Json] = [{"functionCall": {"id": each, "name": TOOL, "args": arguments_of(each)}} for each in calls]
    signed = {"thoughtSignature": signature}
    said = {"text": f"Step {turn}."} if calls else {"text": ANSWER, **signed}
    parts: list[Json] = [thought, said, *({**each, **signed} for each in made[:1]), *made[1:]]
    candidate = {"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": "STOP"}
    usage = {"promptTokenCount": used, "candidatesTokenCount": 20, "totalTokenCount": used + 20}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "gemini-test"}


def _generated_events(whole: Json) -> list[Json]:
    (candidate,) = whole["candidates"]
    parts = candidate["content"]["parts"]
    out = [{"candidates": [{"index": 0, "content": {"role": "model", "parts": [part]}}]} for part in parts]
    out[-1] = {**whole, "candidates": [{**out[-1]["candidates"][0], "finishReason": "STOP"}]}
    return out


def _chat_cached(reply: Json, cached: int) -> None:
    reply["usage"]["prompt_tokens_details"] = {"cached_tokens": cached}


def _message_cached(reply: Json, cached: int) -> None:
    reply["usage"]["cache_read_input_tokens"] = cached
    reply["usage"]["input_tokens"] -= cached


def _response_cached(reply: Json, cached: int) -> None:
    reply["usage"]["input_tokens_details"] = {"cached_tokens": cached}


def _generated_cached(reply: Json, cached: int) -> None:
    reply["usageMetadata"]["cachedContentTokenCount"] = cached


_CACHED = {
    "openai": _chat_cached,
    "anthropic": _message_cached,
    "responses": _response_cached,
    "gemini": _generated_cached,
}
"""Says in the usage of a reply how many tokens of the request were read from the cache."""
REPLIES = {"openai": _chat, "anthropic": _message, "responses": _response, "gemini": _generated}
EVENTS = {
    "openai": _chat_events,
    "anthropic": _message_events,
    "responses": _response_events,
    "gemini": _generated_events,
}


def with_text(value: Any, text: str) -> Any:
    """A reply without calls that says this, and not `ANSWER`."""
    if isinstance(value, dict):
        return {key: text if item == ANSWER else with_text(item, text) for key, item in value.items()}
    return [with_text(item, text) for item in value] if isinstance(value, list) else value


@contextmanager
def strict_provider(steps: int, **script: int) -> Iterator[StrictProvider]:
    """A running server. `limit`: the tokens that the model takes. `breaks_at`, `stalls_at`: the turn whose stream
    breaks in the middle, or comes to a halt there until `go_on` is set; once."""
    state = StrictProvider(steps, **script)
    with serving(state.post) as state.url:
        try:
            yield state
        finally:
            state.go_on.set()
