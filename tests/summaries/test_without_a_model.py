"""Without a model `policy="summary"` shows what the record says: no summary is made unless one is asked for."""

from __future__ import annotations

import transom
from transom.testing import WordCounter


def windows_of(policy: str) -> list[str]:
    found: list[str] = []
    with transom.Conversation.open("memory:", "c", budget=2_000, policy=policy, counter=WordCounter()) as conv:
        for number in range(60):
            conv.user(f"Load crane CR-{number} at pier {number}, and do not touch CR-{number + 1}. " * 4)
            found.append(str(conv.request()["messages"]))
            conv.observe({"role": "assistant", "content": f"CR-{number} is loaded; pier {number} is free. " * 6})
        assert conv.summary is None
    return found


def test_the_windows_without_a_model_are_those_of_the_record_alone() -> None:
    assert windows_of("summary") == windows_of("default")


def test_compact_makes_a_summary_that_keeps_the_notes_also_without_a_model() -> None:
    with transom.Conversation.open("memory:", "c", budget=2_000, policy="summary", counter=WordCounter()) as conv:
        for number in range(12):
            conv.user(f"Load crane CR-{number} at pier {number}. " * 8)
            conv.observe({"role": "assistant", "content": f"CR-{number} is loaded. " * 8})
        conv.compact(notes="The crane CR-7 is broken.")
        assert conv.summary is not None
        assert "- The crane CR-7 is broken." in conv.summary.text
