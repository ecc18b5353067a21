"""A provider on the loopback for runs of agent frameworks: OpenAI chat and responses, and Gemini.

It checks each request by the rules of its API, counts it, refuses what is longer than its own limit (which is below the
budget that the framework was given), and answers from a script: parallel tool calls, and at the end a text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from loopback_server import Json, PostHandler, as_events, end_of_events, serving
from transom.tokenizer import o200k
from transom.wire.dialects import dialect_named

TASK = "Count the files of the archive whose number is prime. The password of the vault is TANGERINE-7731."
ANSWER = "All files are counted."
LONG_EVERY = 7
MOST_REFUSED = 2
"""How often the server says that a request is too long, for each step. Then it says something else."""


def output_of(number: int) -> str:
    """What the tool returns: for most numbers some lines, for each seventh several thousand tokens."""
    lines = 700 if number % LONG_EVERY == 0 else 12
    return "\n".join(
        f"file {number}.{line} has {number * line % 97} bytes, owner user{line % 5}" for line in range(lines)
    )


class ScriptedApi:
    """What the server was asked, and what was wrong with it.

    `steps`: requests until it answers; each of them is answered with two calls. `limit`: its own limit of tokens.
    """

    def __init__(self, steps: int, limit: int, budget: int) -> None:
        self.steps, self.limit, self.budget = steps, limit, budget
        self.url = ""
        self.served = self.refused = self.over_budget = self.without_task = self.summaries = 0
        self.invalid: list[str] = []
        self.tokens: list[int] = []
        self.kept: list[float] = []
        """For each request, the share of the last one that it begins with."""
        self._last: list[str] = []

    def answer(self, handler: PostHandler, path: str, body: Json) -> None:
        """Answer a request."""
        dialect = "responses" if path.endswith("/responses") else "gemini" if "/models/" in path else "openai"
        found = dialect_named(dialect).violations(body)
        text = json.dumps(body, ensure_ascii=False)
        tokens = o200k().count(text)
        if found:
            self.invalid += [f"{each.rule} {each.why}" for each in found]
            return self._refuse(handler, f"invalid: {self.invalid[-1]}", None)
        if tokens > self.limit:
            self.refused += 1
            if self.refused > MOST_REFUSED * self.steps:  # some compactions never get there
                return self._refuse(handler, f"this is refusal {self.refused:,}: the server gives up", None)
            self.over_budget += tokens > self.budget
            said = (
                f"This model's maximum context length is {self.limit} tokens. However, your messages resulted in "
                f"{tokens} tokens. Please reduce the length of the messages."
            )
            return self._refuse(handler, said, "context_length_exceeded")
        if not body.get("tools"):  # the framework asks for a summary
            self.summaries += 1
            return self._send(handler, path, body, None, tokens)
        self.tokens.append(tokens)
        self.without_task += "TANGERINE-7731" not in text
        self._compare(body.get("messages") or body.get("input") or body["contents"])
        self.served += 1
        return self._send(handler, path, body, self.served, tokens)

    def _compare(self, messages: list[Json]) -> None:
        now = [json.dumps(each, sort_keys=True) for each in messages]
        same = next((at for at, pair in enumerate(zip(self._last, now, strict=False)) if pair[0] != pair[1]), None)
        same = min(len(self._last), len(now)) if same is None else same
        if self._last:
            self.kept.append(same / len(self._last))
        self._last = now

    def _refuse(self, handler: PostHandler, message: str, code: str | None) -> None:
        error = {"message": message, "type": "invalid_request_error", "code": code, "param": "messages"}
        handler.reply(400, "application/json", json.dumps({"error": error}).encode())

    def _send(self, handler: PostHandler, path: str, body: Json, step: int | None, tokens: int) -> None:
        calls: list[Json] = []
        if step is not None and step <= self.steps:
            numbers = (2 * step, 2 * step + 1)
            calls = [{"id": f"call_{number}", "arguments": json.dumps({"number": number})} for number in numbers]
        text = "" if calls else ANSWER if step is not None else "Summary: files were read. TANGERINE-7731."
        make = _response if path.endswith("/responses") else _content if "/models/" in path else _completion
        replies = make(body, calls, text, tokens)
        if body.get("stream"):
            data = b"".join(as_events(path, replies)) + end_of_events(path)
            handler.reply(200, "text/event-stream", data)
        else:
            handler.reply(200, "application/json", json.dumps(replies[0]).encode())


def _completion(body: Json, calls: list[Json], text: str, tokens: int) -> list[Json]:
    named = [
        {"id": each["id"], "type": "function", "function": {"name": "read_file", "arguments": each["arguments"]}}
        for each in calls
    ]
    message: Json = {"role": "assistant", "content": text or None, **({"tool_calls": named} if named else {})}
    usage = {"prompt_tokens": tokens, "completion_tokens": 20, "total_tokens": tokens + 20}
    base = {"id": "chat_1", "created": 1, "model": body["model"], "usage": usage}
    finish = "tool_calls" if named else "stop"
    if not body.get("stream"):
        choice = {"index": 0, "message": message, "finish_reason": finish}
        return [{**base, "object": "chat.completion", "choices": [choice]}]
    delta = {**message, "tool_calls": [{"index": at, **call} for at, call in enumerate(named)]}
    choices = [
        [{"index": 0, "delta": delta, "finish_reason": None}],
        [{"index": 0, "delta": {}, "finish_reason": finish}],
        [],
    ]
    usages = [None, None, usage]
    return [
        {**base, "object": "chat.completion.chunk", "choices": each, "usage": used}
        for each, used in zip(choices, usages, strict=True)
    ]


def _content(body: Json, calls: list[Json], text: str, tokens: int) -> list[Json]:
    asked = [{"functionCall": {"name": "read_file", "args": json.loads(each["arguments"])}} for each in calls]
    candidate = {"content": {"role": "model", "parts": [*asked, *([{"text": text}] if text else [])]}, "index": 0}
    usage = {"promptTokenCount": tokens, "candidatesTokenCount": 20, "totalTokenCount": tokens + 20}
    return [{"candidates": [{**candidate, "finishReason": "STOP"}], "usageMetadata": usage, "modelVersion": "m"}]


def _response(body: Json, calls: list[Json], text: str, tokens: int) -> list[Json]:
    items: list[Json] = [
        {
            "type": "function_call",
            "id": f"fc_{each['id']}",
            "status": "completed",
            "call_id": each["id"],
            "name": "read_file",
            "arguments": each["arguments"],
        }
        for each in calls
    ]
    if text:
        part = {"type": "output_text", "text": text, "annotations": []}
        items = [{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}]
    usage = {
        "input_tokens": tokens,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": 20,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": tokens + 20,
    }
    base = {"id": "resp_1", "object": "response", "created_at": 1, "model": body["model"], "status": "completed"}
    rest = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    whole = {**base, **rest, "output": items, "usage": usage}
    if not body.get("stream"):
        return [whole]
    done = [{"type": "response.output_item.done", "output_index": at, "item": item} for at, item in enumerate(items)]
    events = [{"type": "response.created", "response": {**whole, "output": []}}, *done]
    events.append({"type": "response.completed", "response": whole})
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


@contextmanager
def scripted_api(steps: int, *, budget: int, limit: int) -> Iterator[ScriptedApi]:
    """A running server."""
    api = ScriptedApi(steps, limit, budget)
    with serving(api.answer) as api.url:
        yield api


def report(name: str, api: ScriptedApi, error: str = "") -> dict[str, Any]:
    """What a run has come to, as a row."""
    return {
        "run": name,
        "requests": api.served,
        "refused": api.refused,
        "invalid": len(api.invalid),
        "over budget": sum(tokens > api.budget for tokens in api.tokens) + api.over_budget,
        "without task": api.without_task,
        "most tokens": max(api.tokens, default=0),
        "prefix kept": f"{sum(api.kept) / max(1, len(api.kept)):.0%}",
        "summaries": api.summaries,
        "error": error[:90],
    }
