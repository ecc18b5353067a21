"""`tessera-transcript` as a second oracle: it objects to things that APIs accept; every objection is explained here."""

from __future__ import annotations

import gzip
import json
import os

import pytest
import tessera
from random_histories import HISTORIES

import transom
from transom.core.budget import Budget

SEEDS = 300 if os.environ.get("TRANSOM_CAMPAIGN") else 30


def unexplained(messages: list[dict], findings) -> list[str]:
    """Findings that are not one of: an id used again in a later turn (chat allows it, C13; Anthropic has accepted it);
    a legacy `function_call` or a text in parts, which this oracle does not see."""
    out = []
    for finding in findings:
        message = messages[finding.message_index]
        if finding.defect.name in {"DUPLICATE_CALL_ID", "DUPLICATE_RESULT"} and again(messages, finding):
            continue
        if finding.defect.name == "EMPTY_ASSISTANT_TURN" and (
            message.get("function_call") or any(part.get("text") for part in message.get("content") or ())
        ):
            continue
        out.append(f"{finding.defect.name} at {finding.message_index}: {finding.detail}")
    return out


def again(messages: list[dict], finding) -> bool:
    """Whether the id is used in more than one turn, and once in each."""
    turns = [ids(message) for message in messages if message["role"] == "assistant"]
    using = [turn.count(finding.call_id) for turn in turns if finding.call_id in turn]
    return len(using) > 1 and set(using) == {1}


def ids(message: dict) -> list[str]:
    blocks = message["content"] if isinstance(message.get("content"), list) else ()
    used = [block["id"] for block in blocks if block.get("type") == "tool_use"]
    return used + [call["id"] for call in message.get("tool_calls") or ()]


@pytest.mark.filterwarnings("ignore:fit. .* left out")  # results without a call are in these histories
@pytest.mark.parametrize("dialect", HISTORIES)
def test_every_objection_to_a_window_is_explained(dialect: str) -> None:
    objections = 0
    for seed in range(SEEDS):
        system, messages = HISTORIES[dialect](seed, bool(seed % 2))
        if messages:
            budget, most = (600, 4_000, 16_000)[seed % 3], 20 + seed % 21
            window = transom.fit(
                messages, budget=Budget(context=budget, max_messages=most), dialect=dialect, system=system
            )
            findings = tessera.inspect(window, adapter=dialect).findings
            assert unexplained(window, findings) == []
            objections += len(findings)
    assert objections or dialect == "anthropic"


def test_every_objection_to_an_accepted_request_is_explained(data) -> None:
    objections = 0
    with gzip.open(data / "provider_exchanges.jsonl.gz", "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            chat, anthropic = "chat/completions" in row["path"], row["path"].startswith("/v1/messages")
            if row["status"] == 200 and (chat or anthropic):
                dialect, messages = "openai" if chat else "anthropic", row["request"]["messages"]
                findings = tessera.inspect(messages, adapter=dialect).findings
                assert unexplained(messages, findings) == []
                objections += len(findings)
    assert objections == 11


def test_what_is_broken_is_not_explained_away() -> None:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    turn = {"role": "assistant", "content": None, "tool_calls": [call]}
    answer = {"role": "tool", "tool_call_id": "a", "content": "x"}
    broken = (
        [turn],
        [answer],
        [turn, answer, answer],
        [{**turn, "tool_calls": [call, call]}, answer],
        [{"role": "assistant", "content": ""}],
    )
    for messages in broken:
        assert unexplained(messages, tessera.inspect(messages, adapter="openai").findings) != []
