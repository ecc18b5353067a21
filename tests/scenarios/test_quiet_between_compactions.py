"""Every limit has hysteresis: a compaction goes deep, and the windows after it begin with the whole one before."""

from __future__ import annotations

from itertools import groupby

import pytest

from transom.conversation.conversation import Conversation
from transom.core.budget import Budget
from transom.policies import POLICIES, policy_named
from transom.stores import MemoryStore
from transom.testing import WordCounter

TURNS = 80
BUDGETS = {
    "messages": Budget(context=100_000, max_messages=24),
    "bytes": Budget(context=100_000, max_bytes=8_000),
    "tokens": Budget(context=1_200),
}


def breaks_in(policy: str, budget: Budget) -> list[bool]:
    """For each window of a conversation, whether it broke the prefix of the one before."""
    conversation = Conversation(
        MemoryStore().open("x"), budget=budget, policy=policy_named(policy), counter=WordCounter(), system="Be brief."
    )
    conversation.user("fix the tests in src/app.py")
    broke: list[bool] = []
    for turn in range(TURNS):
        broke.append(conversation.request().window.breaks is not None)
        if turn % 12 == 11:
            conversation.observe({"role": "assistant", "content": f"done with step {turn}"})
            conversation.user(f"now do step {turn} with file_{turn}.py please" + " and more words" * 10)
        else:
            function = {"name": "sh", "arguments": f'{{"cmd": "cat file_{turn}.py"}}'}
            calls = [{"id": f"c{turn}", "type": "function", "function": function}]
            conversation.observe({"role": "assistant", "content": None, "tool_calls": calls})
            conversation.tool_result(f"c{turn}", f"line {turn} of the file\n" * (5 + turn % 7))
    return broke


@pytest.mark.parametrize("limit", BUDGETS)
@pytest.mark.parametrize("policy", [name for name in POLICIES if name != "passthrough"])
def test_breaks_do_not_follow_each_other(policy: str, limit: str) -> None:
    """Sliding cuts little at a time by design: about every second turn. Policies that mask results first do so a few
    times in a row, before they fold."""
    broke = breaks_in(policy, BUDGETS[limit])
    assert 0 < sum(broke) <= TURNS * (0.5 if policy == "sliding" else 0.36)
    assert max(len(list(run)) for value, run in groupby(broke) if value) <= 6
