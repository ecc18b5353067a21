"""Which reasoning is bound to its prefix, and which errors say that a provider does not take it back."""

from __future__ import annotations

import pytest

from transom.core.message import Assistant
from transom.wire.anthropic import ANTHROPIC, ANTHROPIC_BEDROCK, AnthropicDialect
from transom.wire.bound_reasoning import is_bound, is_refusal
from transom.wire.dialect import Dialect
from transom.wire.responses import DEEPSEEK_RESPONSES, RESPONSES

ANYWHERE = (
    *("claude-2.1", "claude-3-7-sonnet-latest", "claude-sonnet-4-20250514", "claude-haiku-4-5@20251001"),
    *("us.anthropic.claude-opus-4-1-20250805-v1:0", "anthropic/claude-sonnet-4.5", "claude-opus-5", "claude-fable-5"),
    *("gpt-5", "gpt-5.4-codex", "gpt-6", "gpt-6.1-mini", "o3-mini", "openai/o4-mini", "gpt-oss-120b"),
    *("deepseek-chat", "kimi-k2", "MiniMax-M2"),
)
BOUND = (
    *("claude-opus-5-5-20260801", "claude-haiku-5.5", "claude-sonnet-6", "claude-fable-5-1", "claude-mythos-5.1"),
    *("eu.anthropic.claude-sonnet-5-5-v1:0", "gpt-6.2", "gpt-6.2-mini-2026-09-01", "gpt-7"),
    *("a model that nobody knows", "", None),
)


@pytest.mark.parametrize("model", ANYWHERE)
def test_old_models_take_their_reasoning_back_anywhere(model: str) -> None:
    assert not is_bound(model)


@pytest.mark.parametrize("model", BOUND)
def test_new_and_unknown_models_bind_it(model: str | None) -> None:
    assert is_bound(model)


THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
UNSIGNED = {"type": "thinking", "thinking": "hm"}
REDACTED = {"type": "redacted_thinking", "data": "ZGF0YQ=="}
ITEM = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}
PLAIN = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]}


def bound_in(turn: object) -> list[bool]:
    assert isinstance(turn, Assistant)
    return [thought.bound for thought in turn.reasoning]


@pytest.mark.parametrize("dialect", [ANTHROPIC, ANTHROPIC_BEDROCK])
def test_signed_and_redacted_blocks_are_bound(dialect: Dialect) -> None:
    message = {"role": "assistant", "content": [THOUGHT, REDACTED, UNSIGNED, {"type": "text", "text": "well"}]}
    assert bound_in(dialect.parse([message])[0][1]) == [True, True, False]
    assert bound_in(dialect.parse_reply(message)) == [True, True, False]
    reply = {**message, "type": "message", "stop_reason": "end_turn"}
    assert bound_in(dialect.parse_reply({**reply, "model": "claude-opus-5-5"})) == [True, True, False]
    assert bound_in(dialect.parse_reply({**reply, "model": "claude-sonnet-4-5"})) == [False, False, False]


def test_a_stream_says_whose_reasoning_it_is() -> None:
    for model, bound in (("claude-opus-5-5", True), ("claude-opus-4-1", False)):
        stream = ANTHROPIC.accumulator()
        stream.feed({"type": "message_start", "message": {"model": model, "usage": {}}})
        for at, block in enumerate((THOUGHT, {"type": "text", "text": "well"})):
            stream.feed({"type": "content_block_start", "index": at, "content_block": block})
            stream.feed({"type": "content_block_stop", "index": at})
        stream.feed({"type": "message_delta", "delta": {"stop_reason": "end_turn"}})
        assert bound_in(stream.turn()) == [bound]


def test_items_are_bound_where_the_provider_keeps_them() -> None:
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "well"}]}
    output = [ITEM, PLAIN, said]
    assert bound_in(RESPONSES.parse(output)[0][1]) == [True, False]
    assert bound_in(RESPONSES.parse_reply({"output": output, "model": "gpt-6.2"})) == [True, False]
    assert bound_in(RESPONSES.parse_reply({"output": output, "model": "gpt-5.4"})) == [False, False]
    assert bound_in(DEEPSEEK_RESPONSES.parse_reply({"output": output})) == [False, False]
    ended = {"type": "response.completed", "response": {"output": output, "model": "gpt-5.4"}}
    assert bound_in(RESPONSES.parse_reply([ended])) == [False, False]


def test_a_setting_switches_it_off() -> None:
    message = {"role": "assistant", "content": [THOUGHT, {"type": "text", "text": "well"}]}
    assert bound_in(AnthropicDialect(bound=False).parse([message])[0][1]) == [False]
    assert bound_in(AnthropicDialect(bound=False).parse_reply(message)) == [False]


def test_what_the_provider_changed_in_the_request_is_kept_with_the_reply() -> None:
    changes = [{"type": "reasoning", "id": "rs_1", "reason": "prefix_mismatch"}]
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "well"}]}
    response = {"output": [said], "input_transformations": changes}
    assert RESPONSES.parse_reply(response).input_transformations == tuple(changes)
    ended = {"type": "response.completed", "response": response}
    assert RESPONSES.parse_reply([ended]).input_transformations == tuple(changes)
    item = {"type": "response.output_item.done", "output_index": 0, "item": said}
    ended = {"type": "response.completed", "response": {**response, "output": []}}
    assert RESPONSES.parse_reply([item, ended]).input_transformations == tuple(changes)


REFUSALS = (
    "messages.3.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation.",
    "messages.1.content.0: Invalid `signature` in `thinking` block",
    "messages.5.content.0: Invalid `data` in `redacted_thinking` block",
    "messages.7.content.0: `thinking` or `redacted_thinking` blocks in the latest message cannot be modified.",
    "The encrypted content for item rs_68 could not be verified. Reason: Encrypted content could not be decrypted.",
    '{"error": {"message": "Bad input.", "code": "invalid_encrypted_content"}}',
    "Item 'rs_68' of type 'reasoning' was provided without its required following item.",
    "Item 'msg_68' of type 'message' was provided without its required 'reasoning' item: 'rs_68'.",
    "Item with id 'rs_68' not found. Items are not persisted when `store` is set to false.",
)
OTHERS = (
    "`max_tokens` must be greater than `thinking.budget_tokens`.",
    "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
    "messages.1.content.0: Expected `thinking` or `redacted_thinking`, but found `tool_use`.",
    "Invalid signature for the request",
    "Item with id 'msg_68' not found.",
    "thinking.block_binding.prefix_mismatch_behavior: must be one of error, drop_block",
)


@pytest.mark.parametrize("text", REFUSALS)
def test_a_refusal_of_reasoning_is_recognised(text: str) -> None:
    assert is_refusal(400, text)
    assert not is_refusal(500, text)
    assert not is_refusal(None, text)


@pytest.mark.parametrize("text", OTHERS)
def test_other_errors_about_reasoning_are_no_refusal(text: str) -> None:
    assert not is_refusal(400, text)
