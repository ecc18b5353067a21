"""Summaries through whole conversations: chained compactions, summarizers that fail in every way, injected text."""

from __future__ import annotations

from pathlib import Path

import pytest
from summary_kit import echo_sections, strings_of
from test_golden_prompts import HOSTILE, boundary_in, is_fenced
from test_llm_summaries import HOSTILE as BAD_ANSWERS

import transom
from transom.conversation.appending.parse_messages import split_head
from transom.core.message import Failure
from transom.core.summary import UNUSED_SUMMARY, Summary
from transom.core.summary_limits import SummaryLimits
from transom.importers import read
from transom.providers.scripted import Scripted
from transom.testing import WordCounter
from transom.wire.dialects import dialect_named

ROUNDS, FACTS = 10, 300
LIMITS = SummaryLimits(strikes=1_000, spend=9.0)


def settings(provider: Scripted) -> transom.SummarySettings:
    return transom.SummarySettings(provider=provider, context=100_000, limits=LIMITS)


@pytest.mark.parametrize("policy", ["summary", "codex"])
@pytest.mark.parametrize("name", ["claude_code2", "codex"])
def test_ten_chained_compactions_of_a_recorded_conversation(data: Path, name: str, policy: str) -> None:
    recorded = next(one for one in read(data / "conversations" / f"{name}.jsonl.gz") if len(one.messages) > FACTS)
    _, facts = split_head(recorded.messages, "", dialect_named(recorded.dialect))
    provider = Scripted(then=echo_sections)
    pins, notes, exact = list[str](), list[str](), list[str]()
    conv = transom.Conversation.open(
        "memory:", "c", budget=16_000, policy=policy, counter=WordCounter(), summarizer=settings(provider)
    )
    with conv:
        for n in range(ROUNDS):
            for _, fact in facts[n * FACTS // ROUNDS : (n + 1) * FACTS // ROUNDS]:
                conv.append(fact)
            pins.append(f"Pin {n}: the door code is D-{n * 7_919 + 11}.")
            notes.append(f"note {n} of `file_{n}.py`")
            exact.append(f"zq/order_{n * 31}_{n}.toml")
            conv.pin(conv.user(pins[-1]))
            conv.user(f"Please remember {exact[-1]}, we need it later.")
            conv.observe({"role": "assistant", "content": "Noted."})
            conv.request()
            assert conv.compact(notes=[notes[-1]]).failure == ""
        shown = str(transom.render(conv.window()))
        assert [value for value in (*pins, *notes, *exact) if value not in shown] == []
        assert [value for value in notes if value not in conv.summary.text] == []
        assert conv.window().tokens <= 16_000
        failures = {entry.body.failure for entry in conv.log.read() if isinstance(entry.body, Failure)}
        assert failures <= {UNUSED_SUMMARY}  # one in the background that `compact` did not wait for
        assert sum(isinstance(entry.body, Summary) for entry in conv.log.read()) >= ROUNDS


@pytest.mark.parametrize("answer", [answer for answer, _ in BAD_ANSWERS.values()], ids=list(BAD_ANSWERS))
@pytest.mark.parametrize("policy", ["summary", "codex"])
def test_a_summarizer_that_fails_leaves_a_whole_window(policy: str, answer: object) -> None:
    if isinstance(answer, str):  # under a heading that this policy's prompts have
        answer = answer.replace("## User intent", "## intent")
    provider = Scripted(then=answer)
    conv = transom.Conversation.open(
        "memory:", "c", budget=6_000, policy=policy, counter=WordCounter(), summarizer=settings(provider)
    )
    with conv:
        for n in range(12):
            about = "about src/crane_1.py" if n == 1 else ""
            conv.user(f"Question {n} {about}? " + f"The harbour has a crane at pier {n}. " * 12)
            conv.request()
            conv.observe({"role": "assistant", "content": f"The crane of pier {n} is red. " * 12})
        done = conv.compact(notes="Door code 4711.")
        conv.user("And now?")
        text = str(conv.request())
        assert done.failure
        failures = [entry.body for entry in conv.log.read() if isinstance(entry.body, Failure)]
        assert failures
        assert all(one.failure == "summary" and one.error for one in failures)
        assert [one for one in ("Question 0 ", "And now?", "src/crane_1.py") if one not in text] == []
        assert conv.window().tokens <= 6_000
        assert not provider.violations


def test_an_injected_text_stays_within_the_fences_for_ten_rounds() -> None:
    provider, hostile = Scripted(then=echo_sections), HOSTILE
    conv = transom.Conversation.open(
        "memory:", "c", budget=9_000, policy="summary", counter=WordCounter(), summarizer=settings(provider)
    )
    with conv:
        conv.user("Read the manual.")
        fenced = 0
        for n in range(10):
            call = {"id": f"c{n}", "type": "function", "function": {"name": "fetch", "arguments": f'{{"page": {n}}}'}}
            conv.request()
            conv.observe({"role": "assistant", "content": None, "tool_calls": [call]})
            conv.tool_result(f"c{n}", hostile)
            conv.request()
            conv.observe({"role": "assistant", "content": f"Page {n} is read. " + "It says little. " * 60})
            conv.user(f"Go on with page {n + 1}. " + "Be careful. " * 60)
            before = len(provider.requests)
            conv.compact(notes=f"Page {n} is done.")
            for request in provider.requests[before:]:
                text = strings_of(request)[-1]
                if hostile in text:
                    assert is_fenced(text, hostile, "turn ", "turns end")
                    fenced += 1
                hostile = HOSTILE.replace("0123456789", boundary_in(text))
        assert len(provider.requests) >= 10
        assert fenced >= 10
        assert conv.summary.text.count("\n[end of the summary]") == 1
