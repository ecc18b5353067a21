"""The counting formula over Messages requests as they go out, from nothing. No window costs more than it says."""

from __future__ import annotations

import json

import pytest
from windows import Letters

from counting import strings
from transom.conversation.conversation import Conversation
from transom.conversation.render_window import render
from transom.core.budget import Budget
from transom.core.message import Assistant, Call, Failure, Instruction, Reasoning, Text, ToolResult, User
from transom.policies import policy_named
from transom.stores import MemoryStore
from transom.wire.anthropic import ANTHROPIC, AnthropicDialect

MEDIA = 1_000


def request_tokens(request, counter, tools=()) -> int:
    """3, the tool schemas, the system prompt as one message, and the messages: 4 each, and every text by itself."""
    total = 3 + sum(counter.count(_compact(tool)) for tool in tools)
    if "system" in request:
        total += 4 + sum(map(counter.count, _texts(request["system"])))
    for message in request["messages"]:
        total += 4 + sum(map(counter.count, _texts(message["content"]))) + MEDIA * _media(message["content"])
    return total


def _compact(value) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _media(content) -> int:
    blocks = content if isinstance(content, list) else []
    nested = sum(_media(block.get("content")) for block in blocks if block["type"] == "tool_result")
    return nested + sum(block["type"] in {"image", "document"} for block in blocks)


def _texts(content):
    if isinstance(content, str):
        yield content
        return
    for block in content:
        kind = block["type"]
        if kind == "text":
            yield block["text"]
        elif kind == "tool_use":
            yield from (block["id"], block["name"], _compact(block["input"]))
        elif kind == "tool_result":
            yield block["tool_use_id"]
            yield from _texts(block.get("content") or [])
        elif kind in {"thinking", "redacted_thinking"}:
            yield block.get("thinking") or block.get("data") or ""
        elif kind not in {"image", "document"}:
            yield from strings({key: value for key, value in block.items() if key not in {"type", "cache_control"}})


def talking(*facts, dialect: AnthropicDialect = ANTHROPIC, context=10_000_000, counter=None, system=None, **more):
    """A conversation that holds these facts; open calls stay open."""
    log = MemoryStore().open("x")
    budget = Budget(context=context, **more)
    conversation = Conversation(
        log,
        budget=budget,
        policy=policy_named("passthrough" if context == 10_000_000 else "default"),
        counter=counter or Letters(),
        system=system,
        dialect=dialect,
        clock=lambda: 0.0,
    )
    for fact in facts:
        conversation.append(fact)
    return conversation


def read(*messages):
    return [fact for _, fact in ANTHROPIC.parse(list(messages))]


def asked(*blocks):
    return {"role": "assistant", "content": list(blocks)}


def use(label="a", name="sh", **more):
    return {"type": "tool_use", "id": label, "name": name, "input": {"cmd": "ls"}, **more}


def got(label="a", **more):
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": label, **more}]}


LOGS = {
    "plain": read({"role": "user", "content": "hello"}, asked({"type": "text", "text": "hi"})),
    "blank": read({"role": "user", "content": " \n"}, asked({"type": "text", "text": "\t"}, use()), got(content=" ")),
    "a failure that says nothing": read(asked(use()), got(is_error=True)),
    "an odd id": read(asked(use("a b"), use("a b")), got("a b", content="1"), got("a b", content="2")),
    "an odd name": read(asked(use(name="汉字 names")), got(content="1")),
    "several messages": read(asked(use()), asked(use("b")), got(content="1"), got("b", content="2")),
    "instructions": [Instruction(parts=(Text("be brief"),), role="developer"), *read({"role": "user", "content": "x"})],
    "a system message first": read({"role": "system", "content": "be brief"}, {"role": "user", "content": "x"}),
    "an odd block first": read({"role": "system", "content": [{"type": "tool_addition"}]}),
    "another dialect": [
        User(parts=(Text("go"),)),
        Assistant(calls=(Call("1", "a tool", "not JSON"), Call("2", "b", "")), reasoning=(Reasoning("hm"),)),
        ToolResult(call="2", parts=(Text(""),)),
        ToolResult(call="1", failed=True),
        Assistant(parts=(Text(" "),), extra={"refusal": "no"}),
        Failure(failure="timeout", text="", shown=" "),
    ],
    "a call of another dialect, answered in this one": [
        Assistant(calls=(Call("1", "sh", "{}"),)),
        *read(got("1", content="ok")),
    ],
    "a plain document": read(
        {"role": "user", "content": [{"type": "document", "source": {"type": "text", "data": "x " * 2_000}}]}
    ),
}


@pytest.mark.parametrize("facts", LOGS.values(), ids=LOGS)
def test_no_window_costs_more_than_it_says(facts):
    window = talking(*facts, system=[Instruction(parts=(Text("s"),))]).plan_request(tools=[{"name": "sh"}])
    request = render(window, ANTHROPIC)
    assert ANTHROPIC.violations(request) == []
    assert request_tokens(request, Letters(), [{"name": "sh"}]) <= window.tokens


def test_a_plain_conversation_costs_what_is_sent():
    facts = read(
        {"role": "user", "content": "hello"},
        asked(
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "text", "text": "hi"},
            use("toolu_01" * 4),
        ),
        got("toolu_01" * 4, content=[{"type": "text", "text": "ok"}, {"type": "image", "source": {}}]),
        asked({"type": "text", "text": "done"}),
        {"role": "user", "content": [{"type": "text", "text": "thanks"}]},
    )
    window = talking(*facts, system=ANTHROPIC.parse_system("be brief")).plan_request()
    marks = len("[system message] ") + 1  # counted for instructions, since one in the middle may need it
    assert window.tokens == request_tokens(render(window, ANTHROPIC), Letters()) + marks


def test_an_open_document_counts_its_text():
    def tokens(source):
        document = {"type": "document", "source": source}
        return talking(*read({"role": "user", "content": [document]})).plan_request().tokens

    assert tokens({"type": "text", "data": "x" * 5_000}) >= 5_000
    assert tokens({"type": "base64", "data": "A" * 5_000}) == 3 + 4 + 3_000  # a page
