"""Results that are large against the budget."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from transom import Conversation
from transom.strategies.record.index import Index


def test_an_entry_is_read_a_few_times_for_each_plan_however_large_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    read = Index._read
    times = Counter[int]()

    def counted(index: Index, view: Any, entry: Any) -> Any:
        times[entry.seq] += 1
        return read(index, view, entry)

    monkeypatch.setattr(Index, "_read", counted)
    output = "\n".join(f"line {number} ok id_{number * 7919}" for number in range(2_900))
    with Conversation.open("memory:", "large", budget=4_000) as conv:
        for number in range(4):
            conv.user(f"Task {number}: look at src/mod_{number}.py")
            conv.request()
            call = {"id": f"c{number}", "type": "function", "function": {"name": "read", "arguments": "{}"}}
            conv.observe({"role": "assistant", "content": None, "tool_calls": [call]})
            conv.tool_result(f"c{number}", output.replace("line", f"line{number}"))
            conv.request()
            conv.observe({"role": "assistant", "content": f"Done {number}. " + "word and more " * 100})
    assert max(times.values()) < 20
