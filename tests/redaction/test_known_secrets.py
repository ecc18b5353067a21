"""The secrets that a log tells: each fact is searched once, and a log that is opened again knows the same."""

from __future__ import annotations

from transom import Budget, Conversation
from transom.core import redact_derived_text
from transom.core.log import IndexCache
from transom.core.message import Recalled
from transom.core.redact_derived_text import known_secrets
from transom.redaction import Redactor
from transom.testing import FakeClock, WordCounter


class CountingRedactor(Redactor):
    """Finds the words that begin with "key-"; `searched`: the texts in which it was asked to look."""

    def __init__(self) -> None:
        super().__init__(self._keys)
        self.searched: list[str] = []

    def secrets(self, texts):
        texts = list(texts)
        self.searched += texts
        return super().secrets(texts)

    @staticmethod
    def _keys(text: str) -> list[tuple[int, int, str]]:
        words = [word for word in text.split() if word.startswith("key-")]
        return [(text.index(word), text.index(word) + len(word), "key") for word in words]


def opened(redact: Redactor) -> Conversation:
    budget = Budget(context=4_000)
    return Conversation.open(
        "memory:", "x", budget=budget, counter=WordCounter(), clock=FakeClock(), redact=redact, policy="recall"
    )


def test_a_fact_is_searched_once_however_often_something_is_recalled():
    redact = CountingRedactor()
    with opened(redact) as conv:
        for number in range(100):
            conv.user(f"the file of day {number} is report_{number}.csv, its password is key-{number:04}")
            conv.plan_request()
            conv.observe({"role": "assistant", "content": f"I keep report_{number}.csv " + "and so on " * 60})
        searched = []
        for number in (7, 12, 21):
            before = len(redact.searched)
            conv.user(f"what is in report_{number}.csv?")
            conv.plan_request()
            recalled = [entry.body.text for entry in conv.log if isinstance(entry.body, Recalled)]
            assert "its password is [redacted: key]" in recalled[-1]
            assert "key-0" not in recalled[-1]
            searched.append(len(redact.searched) - before)
            conv.observe({"role": "assistant", "content": "numbers"})
        assert max(searched[1:]) < 20  # those that it quotes, and what is new


def test_a_log_that_is_opened_again_knows_the_same_secrets(monkeypatch):
    monkeypatch.setattr(redact_derived_text, "MAX_SOURCE_CHARACTERS", 200)
    redact, indexes, views = CountingRedactor(), IndexCache(), []
    with opened(redact) as conv:
        for number in range(30):
            conv.user(f"key-{number // 2:04} " + "word " * (number % 7) + f"key-{number % 5 + 90:04}")
            continued = known_secrets(conv.view, redact, indexes)
            views.append(conv.view)
            again = known_secrets(conv.view, redact, IndexCache())
            assert list(continued.items()) == list(again.items())  # of two with a common part, the last one names it
            assert f"key-{number // 2:04}" in continued
        assert "key-0000" not in continued
        assert known_secrets(views[9], redact, indexes) == known_secrets(views[9], redact, IndexCache())
