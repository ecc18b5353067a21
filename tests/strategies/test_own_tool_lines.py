"""Users extend the table by which the lines of a record are written."""

from __future__ import annotations

from msgspec.structs import replace

import transom
from transom.policies import policy_named
from transom.strategies import TOOLS, Digest, ToolRow

DEPLOY = ToolRow(words=frozenset(("deploy",)), about=("service",), kind="edit")


def history(turns):
    yield {"role": "user", "content": "Deploy what I name."}
    for turn in range(turns):
        arguments = f'{{"region": "eu-{turn}", "service": "billing_{turn}"}}'
        call = {"id": f"c{turn}", "type": "function", "function": {"name": "deploy", "arguments": arguments}}
        yield {"role": "assistant", "content": None, "tool_calls": [call]}
        yield {"role": "tool", "tool_call_id": f"c{turn}", "content": f"rollout {turn} finished\n" + "step done\n" * 60}


def record(policy):
    short = transom.fit(list(history(60)), budget=3_000, policy=policy)
    return next(message["content"] for message in short if "a record of" in (message["content"] or ""))


def test_an_entry_of_ones_own_comes_before_the_others():
    default = policy_named("default")
    steps = [replace(one, tools=(DEPLOY, *TOOLS)) if isinstance(one, Digest) else one for one in default.pressure]
    own, usual = record(replace(default, pressure=tuple(steps))), record(default)
    assert "deploy billing_0" in own
    assert "deploy eu-0, billing_0" in usual
