"""The table of `make costs`, on one recorded conversation: a priced trigger against a fixed one, summaries included."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from benchmarks.costs import FIXED, Row, replay_one, rows, table

from transom.cache_prices import PRICES
from transom.importers import read

FOLDER = Path(os.environ.get("TRANSOM_DATA", "../shared/data")) / "conversations"


def test_every_policy_is_played_full_fixed_and_with_each_price_list():
    assert [row.label for row in rows()][4:] == [
        "summary, full",
        "summary, 0.8 → 0.5",
        "summary, anthropic prices",
        "summary, openai prices",
    ]


@pytest.mark.skipif(not FOLDER.is_dir(), reason="no recorded conversations")
def test_priced_summaries_cost_less_than_a_fixed_trigger():
    records = (one for one in read(FOLDER / "claude_code2.jsonl.gz") if 151 <= len(one.messages) <= 400)
    record = min(records, key=lambda one: len(one.messages))
    fixed, priced = (
        replay_one((record, row, 16_000))
        for row in (Row(policy="summary" + FIXED), Row(policy="summary", prices="openai"))
    )
    assert fixed.made > priced.made > 0
    assert priced.share("openai") < fixed.share("openai")
    assert priced.compared.grounding.shares[0] >= fixed.compared.grounding.shares[0]
    lines = list(table("claude_code2", 16_000, {Row(policy="summary", prices="openai"): priced}, 1))
    assert lines[-1].startswith("| summary, openai prices | – | 0.")
    assert set(fixed.summaries) == set(PRICES)
    assert all(paid > 0 for paid in fixed.summaries.values())
