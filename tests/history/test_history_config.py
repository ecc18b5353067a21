"""`SummarizationConfig`: known names, mapped to a policy and a budget."""

from __future__ import annotations

import pytest
from message_lists import assistant, assistant_call, history, tool_result, user

import transom
from transom.conversation.request import render
from transom.core.edit import Fold, Trim
from transom.core.message import ToolResult
from transom.history import SummarizationConfig
from transom.policies import policy_named
from transom.testing import WordCounter
from transom.wire.openai import parse, violations

CONTEXT = 6_000


def replayed(config, messages, context=CONTEXT):
    """Replay messages. Returns the conversation and, for each call, the tokens before and in the window, and the
    window."""
    budget = config.to_budget(context)
    conv = transom.Conversation.open(
        "memory:", "c", budget=budget, policy=config.to_policy(budget), system="Be brief.", counter=WordCounter()
    )
    steps = []
    for message in messages[1:]:
        if message["role"] == "assistant":
            before = conv.view.total.tokens
            window = conv.plan_request()
            out = render(window)["messages"]
            assert not violations(out)
            steps.append((before, window.tokens, out))
        conv.append(parse(message))
    return conv, steps


def edits_of(conv, kind):
    return [entry.body for entry in conv.log.read() if isinstance(entry.body, kind)]


def test_the_defaults():
    config = SummarizationConfig()
    assert {name: getattr(config, name) for name in config.__struct_fields__} == {
        "enabled": False,
        "max_token_context_length": None,
        "context_usage_ratio": 0.8,
        "preserve_last_messages": 2,
        "max_preserved_tokens": 10_000,
        "token_budget_ratio": 0.75,
        "incremental": True,
        "compaction_enabled": True,
        "compaction_token_threshold": 500,
    }


def test_disabled_sends_everything_or_refuses():
    assert SummarizationConfig().to_policy() is policy_named("passthrough")
    with pytest.raises(transom.BudgetImpossible):
        replayed(SummarizationConfig(), history(100))


def test_one_deep_compaction_at_the_ratio_and_none_below():
    conv, steps = replayed(SummarizationConfig(enabled=True, max_preserved_tokens=1_000), history(100))
    fired = [before for before, after, _ in steps if after < before]
    assert 3 <= len(fired) <= len(edits_of(conv, Fold)) <= 12
    room = 0.8 * CONTEXT
    assert all(room <= before <= room + 500 for before in fired)
    assert all(after <= 1_000 + 300 for before, after, _ in steps if before in fired)
    assert all(after == before for before, after, _ in steps[1:] if before not in fired), "the first brings the head"


def test_the_earlier_of_length_and_ratio_is_the_trigger():
    for length, ratio, at in ((2_000, 0.8, 2_000), (5_900, 0.5, 3_000)):
        config = SummarizationConfig(
            enabled=True, max_token_context_length=length, context_usage_ratio=ratio, max_preserved_tokens=500
        )
        _, steps = replayed(config, history(60))
        fired = [before for before, after, _ in steps if after < before]
        assert all(at <= before <= at + 500 for before in fired)
        assert len(fired) >= 3


def test_the_preserved_messages_stay_verbatim_and_the_request_is_pinned():
    messages = history(100)
    config = SummarizationConfig(enabled=True, max_preserved_tokens=0, preserve_last_messages=5)
    _, steps = replayed(config, messages)
    fired = 0
    turns = [at for at, message in enumerate(messages) if message["role"] == "assistant"]
    for at, (before, after, out) in zip(turns, steps, strict=True):
        assert out[1] == messages[1]
        if after < before:
            fired += 1
            assert out[-5:] == messages[at - 5 : at]
            assert "left out" in out[2]["content"]
            assert len(out) <= 3 + 7, "no more than whole turns ask for"
    assert fired >= 3


def test_results_become_references_before_turns_are_left_out():
    messages = [{"role": "system", "content": "x"}, user("Read the long files.")]
    for n in range(6):
        messages += [assistant_call(f"c{n}"), tool_result(f"c{n}", f"long file {n}\n" * (400 if n < 3 else 10))]
        messages += [assistant(f"read {n}"), user(f"next {n}")]
    messages.append(assistant("done"))
    config = SummarizationConfig(enabled=True, max_token_context_length=3_000)
    conv, steps = replayed(config, messages)
    assert not edits_of(conv, Fold)
    long = {entry.seq for entry in conv.log.read() if isinstance(entry.body, ToolResult) and entry.tokens[1] > 500}
    assert {trim.entry for trim in edits_of(conv, Trim)} <= long
    assert len(edits_of(conv, Trim)) == 2, "the last one is not needed"
    assert max(after for _, after, _ in steps) < 3_100
    off = SummarizationConfig(enabled=True, max_token_context_length=3_000, compaction_enabled=False)
    conv, _ = replayed(off, messages)
    assert edits_of(conv, Fold)
    assert not edits_of(conv, Trim)


def test_an_edit_that_was_undone_is_not_made_again():
    config = SummarizationConfig(enabled=True, max_token_context_length=2_000, max_preserved_tokens=500)
    conv, _ = replayed(config, history(40), context=50_000)
    before = {row.entry for row in conv.explain() if row.state == "folded"}
    assert before
    while folded := [row.edits[0] for row in conv.explain() if row.state == "folded"]:
        conv.undo(folded[0])
    conv.user("go on")
    assert conv.plan_request().tokens > 2_000
    assert not before & {row.entry for row in conv.explain() if row.state == "folded"}


@pytest.mark.parametrize(
    "setting",
    [
        {"context_usage_ratio": 0},
        {"context_usage_ratio": 1.2},
        {"token_budget_ratio": True},
        {"max_token_context_length": 0},
        {"max_preserved_tokens": -1},
        {"preserve_last_messages": 1.5},
        {"compaction_token_threshold": "many"},
    ],
)
def test_invalid_settings_raise(setting):
    with pytest.raises(transom.InvalidSetting, match=next(iter(setting))):
        SummarizationConfig(enabled=True, **setting)
