"""Each adapter with its real framework against a server on the loopback: a sample of `make adapters`.

Strands, ADK and agent-framework are in another environment than the developers': `make frameworks` runs these tests
there.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from framework_runs import BUDGET, LIMIT, PACKAGES, RUNS, Files, set_environment
from scripted_api import ANSWER, report, scripted_api


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.filterwarnings("ignore")  # of the frameworks
def test_a_run_with_an_overflow_a_crash_and_a_resume(name: str, tmp_path: Path) -> None:
    pytest.importorskip(PACKAGES[name])
    set_environment()
    steps = 24
    with scripted_api(steps, budget=BUDGET, limit=LIMIT) as api:
        assert RUNS[name](api, tmp_path, Files(crash_at=27)) == ANSWER
    row = report(name, api)
    assert (row["invalid"], row["over budget"], row["without task"]) == (0, 0, 0)
    assert row["requests"] == steps + 1
    assert row["refused"] >= 1
    assert row["most tokens"] <= LIMIT
