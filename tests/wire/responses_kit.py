"""Requests to the Responses API to windows and back, and the counting formula over items, from nothing."""

from __future__ import annotations

import json

from counting import strings
from transom.conversation.conversation import Conversation
from transom.core.budget import Budget
from transom.core.entry import Meta
from transom.core.window import Window, assemble
from transom.policies import policy_named
from transom.stores import MemoryStore
from transom.testing import WordCounter
from transom.wire.dialect import Rendered
from transom.wire.rendering import render_messages
from transom.wire.responses import RESPONSES

OUTPUTS = ("function_call_output", "custom_tool_call_output")
BUILT_IN = (
    "tool_search_output",
    "computer_call_output",
    "local_shell_call_output",
    "shell_call_output",
    "apply_patch_call_output",
)
WORDS = {"input_text": "text", "output_text": "text", "refusal": "refusal"}
MEDIA = ("input_image", "input_file", "input_audio", "computer_screenshot")


def told(facts, dialect=RESPONSES, system=(), counter=None, budget=None, policy="passthrough") -> Conversation:
    """A conversation in which these facts happened."""
    conversation = Conversation(
        MemoryStore().open("x"),
        budget=budget or Budget(context=10_000_000),
        policy=policy_named(policy),
        counter=counter or WordCounter(),
        system=list(system),
        dialect=dialect,
        clock=lambda: 0.0,
    )
    for at, fact in enumerate(facts):
        conversation.append(fact, Meta(source=at))
    return conversation


def read(request, dialect=RESPONSES, counter=None) -> Conversation:
    """A conversation in which a request was sent; its instructions are the head."""
    facts = [fact for _, fact in dialect.parse(request["input"])]
    return told(facts, dialect, dialect.parse_system(request.get("instructions")), counter)


def request_of(conversation, dialect=RESPONSES, window=None) -> dict:
    """What a window is sent as; by default, that of what the log shows now, with nothing closed."""
    if window is None:
        bare = assemble(conversation.view, 10**7)
        top = [] if bare.head_entry is not None else dialect.render_head(conversation.head)
        shown = [Rendered(item) for item in render_messages(bare.view, dialect)]
        return dialect.body(conversation.head, dialect.join([*top, *shown]))
    return dialect.body(conversation.head, render_messages(window.view, dialect))


def planned(conversation, dialect=RESPONSES) -> tuple[dict, Window]:
    """The request of the next call, and its window."""
    window = conversation.plan_request()
    return request_of(conversation, dialect, window), window


def tokens_of(request, count) -> int:
    """3 a request; 4 a fact: a message, an output, a run of items that are the model's; an image or file 1,000; each
    text by itself."""
    total = 3 + (4 + count(request["instructions"]) if request.get("instructions") is not None else 0)
    inside = False
    for item in request["input"]:
        models = item.get("role") == "assistant" or (
            item.get("role") is None
            and (item["type"] not in (*OUTPUTS, *BUILT_IN) or item.get("execution", "client") != "client")
            and item["type"] not in ("additional_tools", "configuration_update")
        )
        total += 0 if models and inside else 4
        inside = models
        total += item_tokens(item, count)
    return total


def item_tokens(item, count) -> int:
    kind = item.get("type") or "message"
    if kind == "message":
        return _content(item["content"], count)
    if kind in OUTPUTS:
        return count(item["call_id"]) + _content(item["output"], count)
    if kind in ("function_call", "custom_tool_call"):
        given = item["arguments"] if kind == "function_call" else item["input"]
        assert isinstance(given, str)
        return count(item["call_id"]) + count(item["name"]) + count(given)
    if kind == "reasoning":
        return sum(count(part["text"]) for key in ("summary", "content") for part in item.get(key) or ())
    if kind == "computer_call_output" and len(item["output"].get("image_url", "")) == 118:  # one pixel
        return 255
    if kind in ("image_generation_call", "computer_call_output"):
        return 1000
    return sum(map(count, strings({key: value for key, value in item.items() if key != "type"})))


def _content(content, count) -> int:
    if isinstance(content, str):
        return count(content)
    total = 0
    for part in content:
        kind = part["type"]
        if kind in MEDIA:
            total += 100 if part.get("detail") == "low" else 1000
        elif kind in WORDS:
            total += count(part[WORDS[kind]])
        else:
            total += sum(map(count, strings({key: value for key, value in part.items() if key != "type"})))
    return total


def same(one, other) -> bool:
    """The same JSON, true and 1 apart."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
