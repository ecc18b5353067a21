"""A sample of the campaign over lists that fit; all of it is `make unchanged`."""

from __future__ import annotations

from pathlib import Path

import pytest
from unchanged import judge

from transom.importers import read


@pytest.mark.parametrize("family", ["aider", "api_cassettes", "swe_agent", "tau2", "toolbench"])
def test_a_recorded_conversation_that_fits_is_not_changed(data: Path, family: str) -> None:
    compared = 0
    for record in [*read(data / "conversations" / f"{family}.jsonl.gz")][::120]:
        seen, wrong = judge(record, 200_000)
        assert wrong == []
        compared += seen["compared"]
    assert compared > 0
