"""A sample of the campaign: two families whole, every eighth conversation replayed."""

from __future__ import annotations

from pathlib import Path

import pytest
from exchange import exchanged


@pytest.mark.parametrize("family", ["deerflow", "memorybank"])
def test_recorded_conversations_come_out_with_the_same_messages(data: Path, family: str):
    seen = exchanged(data / "conversations" / f"{family}.jsonl.gz", budget=8_000, every=8)
    wrong = {key: seen[key] for key in ("other messages", "invalid", "over")}
    assert wrong == {"other messages": 0, "invalid": 0, "over": 0}
    assert seen["calls"] > 10
