"""Random conversations with tools of the provider that span turns: is every request valid, and is every compaction of
the provider in it?

    python tests/campaigns/spans.py [--count 1000] [--first 0]

A strict model answers each request: a server tool that waits in the request is answered at the top of the reply. Calls,
code that calls tools, MCP approvals, compactions, cut streams, refusals, messages of the user at any time. Each
window is judged by the rules of its dialect, rendered in every other one, and cut at random and fitted again.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from random_histories import WORDS

import transom
from transom.conversation.fit import fit_or_empty
from transom.core.message import Head
from transom.errors import BudgetImpossible, InvalidMessage, ProviderError
from transom.policies import POLICIES
from transom.wire.dialects import dialect_named
from transom.wire.rendering import render

BUDGETS = (700, 1_000, 2_000, 4_000, 16_000)
OTHERS = ("openai", "anthropic", "responses", "gemini", "mistral")
ENDS = {"A12", "G6", "M3"}
"""Rules about the end of a request, which `render` in another dialect need not obey."""

Json = dict[str, Any]


class Model:
    """What both models have in common. `compaction`: the newest one that a reply had."""

    def __init__(self, draw: random.Random) -> None:
        self.draw, self.made = draw, 0
        self.compaction: Json | None = None
        self.waiting: list[str] = []

    def text(self) -> str:
        size = self.draw.choice((3, 20, 60, 200))
        return " ".join(self.draw.choices(WORDS, k=size))

    def label(self, kind: str) -> str:
        self.made += 1
        return f"{kind}_{self.made:03}"

    def chance(self, share: float) -> bool:
        return self.draw.random() < share


class Claude(Model):
    """Answers as the Messages API does. `code`: the call of code execution that waits."""

    def reply(self, body: Json) -> tuple[object, list[str]]:
        """A reply, and the ids of the client's calls in it."""
        pending = pending_calls(body["messages"])
        blocks: list[Json] = []
        code = [label for label, name in pending.items() if name == "code_execution"]
        goes_on = bool(code) and self.chance(0.5)  # the code calls the next tool
        for label, name in pending.items():
            if not (goes_on and label in code) and not self.chance(0.05):  # or it is never heard of again
                blocks.append(self.result(label, name))
        if self.chance(0.06):
            self.compaction = {"type": "compaction", "content": self.text()}
            blocks.insert(0, dict(self.compaction))
        if self.chance(0.3):
            blocks.append({"type": "thinking", "thinking": self.text(), "signature": "c2ln"})
        if self.chance(0.8) or not blocks:
            blocks.append({"type": "text", "text": self.text()})
        calls = [self.label("toolu") for _ in range(self.draw.choice((0, 0, 1, 1, 2)))]
        caller = code[0] if goes_on else ""
        for _ in range(self.draw.choice((0, 0, 1, 2))):
            label, name = self.label("srvtoolu"), self.draw.choice(("web_fetch", "code_execution", "mcp"))
            kind = "mcp_tool_use" if name == "mcp" else "server_tool_use"
            blocks.append({"type": kind, "id": label, "name": name, "input": {"q": self.text()}})
            if self.chance(0.4):
                blocks.append(self.result(label, name))
            elif name == "code_execution":
                caller = label
        for label in calls:
            made_by = {"caller": {"type": "code_execution_20250825", "tool_id": caller}} if caller else {}
            blocks.append({"type": "tool_use", "id": label, "name": "sh", "input": {"c": self.text()}, **made_by})
        end = self.draw.choice(("max_tokens", "refusal", None)) if self.chance(0.12) else "tool_use" if calls else "x"
        if end == "x":
            end = "pause_turn" if blocks[-1]["type"].endswith("_tool_use") else "end_turn"
        reply: Json = {"role": "assistant", "content": blocks, "stop_reason": end, "container": {"id": "box"}}
        if end is None or self.chance(0.3):
            return stream(reply), calls
        return {"type": "message", **reply}, calls

    def result(self, label: str, name: str) -> Json:
        kind = {"mcp": "mcp_tool_result"}.get(name, f"{name}_tool_result")
        return {"type": kind, "tool_use_id": label, "content": [{"type": "text", "text": self.text()}]}

    def problems(self, body: Json) -> list[str]:
        """What is wrong with a request as to compactions and containers."""
        blocks = [block for m in body["messages"] if isinstance(m["content"], list) for block in m["content"]]
        return self.compaction_problems([block for block in blocks if block["type"] == "compaction"], blocks[:1])

    def compaction_problems(self, found: list[Json], first: list[Json]) -> list[str]:
        if found != ([] if self.compaction is None else [self.compaction]):
            return [f"{len(found)} compactions, or a changed one"]
        return [] if not found or first == found else ["something stands before the compaction"]


def pending_calls(messages: list[Json]) -> dict[str, str]:
    """The calls of the provider's own tools that wait at the end of a request, with the names of their tools."""
    pending: dict[str, str] = {}
    for message in messages:
        for block in message["content"] if isinstance(message["content"], list) else []:
            if block["type"] in ("server_tool_use", "mcp_tool_use"):
                pending[block["id"]] = "mcp" if block["type"] == "mcp_tool_use" else block["name"]
            pending.pop(block.get("tool_use_id", ""), None)
    return pending


def stream(reply: Json) -> list[Json]:
    """A reply as events. One without a stop reason is cut."""
    out: list[Json] = [{"type": "message_start", "message": {"role": "assistant", "content": [], "usage": {}}}]
    for at, block in enumerate(reply["content"]):
        begun = {**block, "content": None} if block["type"] == "compaction" else block
        out.append({"type": "content_block_start", "index": at, "content_block": begun})
        if block["type"] == "compaction":
            delta = {"type": "compaction_delta", "content": block["content"]}
            out.append({"type": "content_block_delta", "index": at, "delta": delta})
        out.append({"type": "content_block_stop", "index": at})
    if reply["stop_reason"]:
        delta = {"stop_reason": reply["stop_reason"], "container": reply["container"]}
        out += [{"type": "message_delta", "delta": delta, "usage": {"output_tokens": 1}}, {"type": "message_stop"}]
    return out


class Gpt(Model):
    """Answers as the Responses API does."""

    def reply(self, body: Json) -> tuple[object, list[str]]:
        """A reply, and the ids of the client's calls in it."""
        items: list[Json] = []
        approved = {x["approval_request_id"] for x in body["input"] if x.get("type") == "mcp_approval_response"}
        for label in [each for each in self.waiting if each in approved]:
            done = {"name": "close", "arguments": "{}", "output": self.text(), "approval_request_id": label}
            items.append({"type": "mcp_call", "id": self.label("mcp"), "server_label": "board", **done})
        self.waiting = []
        if self.chance(0.07):
            self.compaction = {"type": "compaction", "id": self.label("cmp"), "encrypted_content": "gAAA" * 20}
            items.append(dict(self.compaction))
        if self.chance(0.4):
            items.append({"type": "reasoning", "id": self.label("rs"), "summary": [], "encrypted_content": "gB" * 40})
        if self.chance(0.8) or not items or items[-1]["type"] == "reasoning":
            part = {"type": "output_text", "text": self.text(), "annotations": []}
            said = {"type": "message", "id": self.label("msg"), "role": "assistant", "status": "completed"}
            items.append({**said, "content": [part]})
        calls = [self.label("call") for _ in range(self.draw.choice((0, 0, 1, 2)))]
        for label in calls:
            call = {"type": "function_call", "id": f"fc_{label}", "call_id": label, "name": "sh"}
            items.append({**call, "arguments": json.dumps({"c": self.text()})})
        for _ in range(self.draw.choice((0, 0, 1, 2))):
            asks = {"id": self.label("mcpr"), "server_label": "board", "name": "close", "arguments": "{}"}
            self.waiting.append(asks["id"])
            items.append({"type": "mcp_approval_request", **asks})
        return {"object": "response", "status": "completed", "output": items}, calls

    def problems(self, body: Json) -> list[str]:
        """What is wrong with a request as to compactions."""
        found = [item for item in body["input"] if item.get("type") == "compaction"]
        if found != ([] if self.compaction is None else [self.compaction]):
            return [f"{len(found)} compactions, or a changed one"]
        return []


MODELS: dict[str, Callable[[random.Random], Claude | Gpt]] = {"anthropic": Claude, "responses": Gpt}


def judge(dialect: str, seed: int) -> tuple[Counter[str], list[str]]:
    """What became of one conversation, and all that is wrong with its requests."""
    draw = random.Random(f"{dialect} {seed}")
    model, budget, policy = MODELS[dialect](draw), draw.choice(BUDGETS), draw.choice([*POLICIES])
    seen: Counter[str] = Counter(conversations=1)
    where = f"{dialect} {seed}, {policy}, {budget} tokens"
    wrong: list[str] = []
    with transom.Conversation.open("memory:", "x", budget=budget, dialect=dialect, policy=policy, system="s") as conv:
        conv.user(model.text())
        for turn in range(draw.randrange(4, 14)):
            try:
                body = conv.request()
            except BudgetImpossible:
                seen["refused"] += 1
                break
            seen["requests"] += 1
            wrong += [f"{where}, request {turn}: {why}" for why in problems(conv, dialect, body, model)]
            wrong += [f"{where}, cut after {turn}: {why}" for why in cut_problems(draw, dialect, body, budget)]
            reply, calls = model.reply(body)
            try:
                conv.observe(reply)
            except InvalidMessage:  # the stream was cut before anything that could be kept
                seen["no reply"] += 1
                conv.user(model.text())
                continue
            except ProviderError:  # the stream was cut behind something; who wants that reply all the same appends it
                seen["cut"] += 1
                conv.append(conv.dialect.parse_reply(reply))
            answer(conv, dialect, model, calls)
    return seen, wrong


def answer(conv: transom.Conversation, dialect: str, model: Claude | Gpt, calls: list[str]) -> None:
    """What the program and its user do between two requests: results, approvals, messages at any time."""
    if model.chance(0.15):
        conv.user(model.text())
    for label in calls:
        if model.chance(0.9) and any(label in unit_calls for unit_calls in open_calls(conv)):
            conv.tool_result(label, model.text())
    if dialect == "responses":
        for label in model.waiting:
            if model.chance(0.8):
                approval = {"type": "mcp_approval_response", "approval_request_id": label, "approve": True}
                conv.extend([approval])
    if model.chance(0.1):
        conv.state = {"goal": model.text()[:40]}
    if (not calls and model.chance(0.7)) or model.chance(0.1):
        conv.user(model.text())


def open_calls(conv: transom.Conversation) -> list[list[str]]:
    units = [conv.view.open_unit(key) for key in conv.view.open_units]
    return [[unit.first_fact.calls[index].id for index in unit.open_calls] for unit in units]


def problems(conv: transom.Conversation, dialect: str, body: Json, model: Claude | Gpt) -> list[str]:
    """What is wrong with a request, in its dialect and in every other."""
    out = [str(each) for each in dialect_named(dialect).violations(body)] + model.problems(body)
    for other in OTHERS:
        if other != dialect:
            found = dialect_named(other).violations(render(conv.view, other))
            out += [f"in {other}: {each}" for each in found if each.rule not in ENDS]
    return out


def cut_problems(draw: random.Random, dialect: str, body: Json, budget: int) -> list[str]:
    """What is wrong with a request from which messages or blocks were lost, once it is fitted again."""
    if draw.random() > 0.3:
        return []
    spoken = dialect_named(dialect)
    messages = body["input" if dialect == "responses" else "messages"]
    left = [message for message in messages if draw.random() > 0.2]
    for message in left:
        if dialect == "anthropic" and isinstance(message["content"], list) and draw.random() < 0.2:
            message["content"] = [block for block in message["content"] if draw.random() > 0.3]
    if not left:
        return []
    try:
        fitted = fit_or_empty(left, budget=budget, dialect=dialect)
    except BudgetImpossible:
        return []
    return [str(each) for each in spoken.violations(spoken.body(Head(), fitted))] if fitted else []


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1_000)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    bad = 0
    with ProcessPoolExecutor(2) as pool:
        for dialect in MODELS:
            total: Counter[str] = Counter()
            seeds = range(options.first, options.first + options.count)
            for seen, wrong in pool.map(judge, [dialect] * len(seeds), seeds, chunksize=25):
                total += seen
                total["wrong conversations"] += bool(wrong)
                bad += len(wrong)
                for line in wrong[:1]:
                    print("   ", line[:300])
            print(f"{dialect:10} {dict(total)} violations {bad}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
