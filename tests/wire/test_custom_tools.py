"""A custom tool of OpenAI takes a free text. Every other API has it as a function with one argument, `input`: in the
declaration, in the calls of its turns, and in what they count."""

from __future__ import annotations

import json

import pytest
from windows import Letters, entries

from transom.core.message import Assistant, Text, ToolResult
from transom.core.unit import new_unit, with_result
from transom.wire.arguments import CUSTOM_TYPES
from transom.wire.dialects import DIALECTS, dialect_named

VARIANTS = {"mistral": "openai", "deepseek_responses": "responses"}
"""Dialects that keep what is said in another one's words."""

TEXTS = ("*** Begin Patch\n*** End Patch", '{"a": 1}', "", "[1, 2]")


def turn_of(source: str, text: str) -> Assistant:
    if source == "openai":
        call = {"id": "c", "type": "custom", "custom": {"name": "sh", "input": text}}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
        return dialect_named(source).parse_reply({"choices": [{"message": message, "finish_reason": "tool_calls"}]})
    item = {"type": "custom_tool_call", "call_id": "c", "name": "sh", "input": text}
    return dialect_named(source).parse_reply({"output": [item], "status": "completed"})


def sent(target: str, turn: Assistant) -> object:
    """The arguments of the call in the request to `target`."""
    call, result = entries([turn, ToolResult(call="c", parts=(Text("Fine."),), dialect=turn.dialect)])
    unit = with_result(new_unit(0, call), 0, result)
    messages = [each.message for each in dialect_named(target).render_unit(unit)]
    if target.startswith("anthropic"):
        return messages[0]["content"][0]["input"]
    if target == "gemini":
        return messages[0]["parts"][0]["functionCall"]["args"]
    if target in {"openai", "mistral"}:
        [found] = messages[0]["tool_calls"]
        return found["custom"]["input"] if found["type"] == "custom" else json.loads(found["function"]["arguments"])
    [found] = [each for each in messages if "call_id" in each and "output" not in each]
    return found["input"] if found["type"] == "custom_tool_call" else json.loads(found["arguments"])


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("target", DIALECTS)
@pytest.mark.parametrize("source", CUSTOM_TYPES)
def test_the_text_is_the_one_argument_elsewhere(source, target, text):
    is_own = source == VARIANTS.get(target, target)
    expected = text if is_own else {"input": text}
    assert sent(target, turn_of(source, text)) == expected


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("target", DIALECTS)
@pytest.mark.parametrize("source", CUSTOM_TYPES)
def test_it_counts_what_is_sent(source, target, text):
    turn = turn_of(source, text)
    counted = dialect_named(target).format_counter(Letters()).count_part(turn.calls[0])
    wire = sent(target, turn)
    assert counted == len(wire if isinstance(wire, str) else json.dumps(wire, separators=(",", ":")))
