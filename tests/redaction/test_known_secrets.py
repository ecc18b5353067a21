"""The secrets that a log tells: each fact is searched once, and a log that is opened again knows the same."""

from __future__ import annotations

import re

from transom import Budget, Conversation
from transom.core import redact_derived_text, secret_index
from transom.core.log import IndexCache
from transom.core.message import Recalled
from transom.core.redact_derived_text import known_secrets, redacted_want
from transom.core.summary import SourceTurn, Summarise
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
            assert continued == again
            assert redact(f"key-{number:04}", continued) == redact(f"key-{number:04}", again)
            assert f"key-{number // 2:04}" in continued
        assert "key-0000" not in continued
        assert known_secrets(views[9], redact, indexes) == known_secrets(views[9], redact, IndexCache())


def test_a_part_of_two_secrets_has_the_same_name_in_a_log_that_is_opened_again(monkeypatch):
    monkeypatch.setattr(redact_derived_text, "MAX_SOURCE_CHARACTERS", 400)
    kinds = {"N": "new key", "O": "old key"}
    redact = Redactor(lambda text: [(*m.span(), kinds[m[1]]) for m in re.finditer(r"KEY(.)=\w+", text)])
    new, old, indexes = ("KEYN=aaaaaaaaaaaaCOMMONCOMMON", "KEYO=bbbbbbbbbbbbCOMMONCOMMON", IndexCache())
    with opened(redact) as conv:
        for text in (new + " x" * 80, old + " y" * 60, new + " z" * 60, "w" * 110):
            conv.user(text)
            known = known_secrets(conv.view, redact, indexes)
        again = known_secrets(conv.view, redact, IndexCache())
        assert redact("«COMMONCOMMON»", known) == redact("«COMMONCOMMON»", again) == "«[redacted: new key]»"


def test_the_redaction_of_a_summary_does_not_grow_with_the_secrets_of_the_log(monkeypatch):
    taken_apart: list[str] = []
    pieces = secret_index._pieces
    monkeypatch.setattr(secret_index, "_pieces", lambda value: taken_apart.append(value) or pieces(value))
    redact, indexes, counts = CountingRedactor(), IndexCache(), []
    with opened(redact) as conv:
        for length in (40, 160):
            for number in range(len(conv.log), length):
                conv.user(f"the password of day {number} is key-{number:04}")
            known_secrets(conv.view, redact, indexes)
            taken_apart.clear()
            turns = [SourceTurn(key=seq, facts=(conv.log[seq].body,)) for seq in range(length - 20, length)]
            want = redacted_want(conv.view, Summarise(last=length - 1, turns=(*turns,)), redact, indexes)
            assert "key-" not in str(want.turns)
            counts.append(len(taken_apart))
    assert counts == [20, 20]
