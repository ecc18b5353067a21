"""A sample of the runs with reasoning that is bound to its prefix; `make reasoning` makes them under every policy."""

from __future__ import annotations

import pytest
from bound_reasoning import APIS, TURNS, outcome


@pytest.mark.parametrize("api", APIS)
def test_no_request_has_stale_reasoning_and_a_refusal_is_recovered_from(api: str) -> None:
    whole = outcome(api, "default")
    assert (whole.requests, whole.stale, whole.refused) == (TURNS, 0, 0)
    assert whole.folds > 0, "nothing was compacted"
    assert whole.heads > 2, "the system prompt did not change"
    assert whole.reasoning > 2 * TURNS, "a server that gets no reasoning finds none that is stale"
    once = outcome(api, "passthrough", turns=12, refuse_at=8)
    assert (once.requests, once.stale, once.refused) == (13, 0, 1)
    assert once.explained > 0
