"""The calls of a turn with their results, as the index caches them."""

from __future__ import annotations

import transom
from transom.core.log import IndexCache
from transom.strategies.record.index import Index


def test_a_result_that_comes_after_the_calls_were_looked_at_is_found() -> None:
    calls = [
        {"id": label, "type": "function", "function": {"name": "read", "arguments": f'{{"path": "{label}.py"}}'}}
        for label in ("a", "b")
    ]
    indexes = IndexCache()
    with transom.Conversation.open("memory:", "c", budget=10_000) as conv:
        conv.user("Read both.")
        conv.observe({"role": "assistant", "content": None, "tool_calls": calls})

        def found() -> list[tuple[int, bool]]:
            view = conv.view
            unit = next(unit for unit in view.visible_units() if len(unit.seqs) > 1)
            done = Index.of(view, 10_000, indexes).calls_of(view, unit)
            return [(one.result, one.outcome is not None) for one in done]

        second = conv.tool_result("b", "b = 2")
        assert found() == [(-1, False), (second, True)]
        first = conv.tool_result("a", "a = 1")
        assert found() == [(first, True), (second, True)]
