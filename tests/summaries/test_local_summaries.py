"""A summary by the model of this machine: it comes back, or says that it failed; never another error."""

from __future__ import annotations

import pytest
from summary_kit import COUNTER, drive, turns_of, want_of

from transom.errors import SummaryFailed
from transom.providers.local import Local
from transom.summaries import Answer, LlmSummarizer
from transom.summaries.prompts import prompts_named
from transom.testing import says

pytest.importorskip("xllamacpp")


def test_a_real_model_makes_a_summary_or_fails():
    provider = Local(context=640, threads=1)
    turns = turns_of(
        "Please add a --reverse flag to the sort command in tools/sort.py. It must keep the order of equal lines.",
        says("The flag is added. One test fails, because equal lines change places. " * 4),
        "Make the test pass.",
        says("The test passes now: the lines are sorted twice. " * 4),
    )
    want = want_of(turns, max_tokens=200, exact=("tools/sort.py",))
    summarizer = LlmSummarizer(prompts=prompts_named("plain"), answer_tokens=24, retries=0)
    asked, answers = [], []
    try:
        summary = drive(summarizer, want, provider, context=640, asked=asked, answers=answers)
    except SummaryFailed:
        summary = None
    finally:
        provider.close()
    assert len(asked) == len(answers) >= 1
    assert isinstance(answers[0], Answer)
    assert answers[0].usage.output > 0
    if summary is not None:
        assert summary.made_by == "local:SmolLM2-135M-Instruct.Q4_1"
        assert "tools/sort.py" in summary.text
        assert COUNTER.count(summary.text) <= 200
