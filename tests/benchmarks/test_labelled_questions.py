"""Labelled questions (`benchmarks/labelled_questions.py`): which evidence a window has in usable form."""

from __future__ import annotations

import pytest
from benchmarks.labelled_questions import Asked, evidence_found, usable

from transom.importers import Recorded
from transom.policies import policy_named

FLIGHT = "We talked about the weather for a long while. The flight to Lisbon leaves at nine from gate seven."
ASIDE, TOLD = FLIGHT[:46], FLIGHT[46:]


@pytest.mark.parametrize(
    ("window", "answer", "share"),
    [
        ([FLIGHT], "Lisbon", 1.0),
        (["I said: " + FLIGHT + " Right?"], "Lisbon", 1.0),
        (["…" + TOLD], "the flight to Lisbon", 1.0),
        (["…" + ASIDE], "Lisbon", 0.0),
        (["…" + TOLD[:39]], "Lisbon", 0.0),
        (["…" + TOLD[:40]], "Lisbon", 1.0),
        (["…" + TOLD[:40]], "Lisbon, gate seven", 0.0),
        (["…" + TOLD[:40]], "Lisbon, and a hotel in Porto", 1.0),
        (["…" + TOLD], "Berlin", 1.0),
        (["…" + ASIDE], "Berlin", 0.0),
        (["The flight to", "Lisbon leaves at"], "Lisbon", 0.0),
        ([], "Berlin", 0.0),
    ],
)
def test_evidence_is_usable_if_it_tells_the_answer(window, answer, share):
    assert usable([FLIGHT], answer, window) == share


def test_evidence_counts_by_its_messages():
    assert usable([FLIGHT, "Porto it is.", "Or Rome?"], "Lisbon or Porto", [FLIGHT, "Rome or Porto it is. "]) == 2 / 3


MESSAGES = [
    {"role": "user", "content": "Where do we go?"},
    {"role": "assistant", "content": FLIGHT},
    {"role": "user", "content": "Something else. " * 300},
    {"role": "assistant", "content": "I see."},
    {"role": "user", "content": "And now something else. " * 100},
    {"role": "assistant", "content": "Yes."},
]
RECORD = Recorded(id="trip", format="openai", dialect="openai", messages=MESSAGES)


def test_a_question_is_asked_in_the_window_of_its_place():
    asked = [Asked("Where to?", at, "Lisbon", (1,), "") for at in (6, 2)]
    assert evidence_found(RECORD, asked, policy_named("sliding"), 100_000) == [1.0, 1.0]
    assert evidence_found(RECORD, asked, policy_named("sliding"), 1_000) == [1.0, 0.0], "the first one is asked first"
    assert evidence_found(RECORD, asked[1:], policy_named("sliding"), 20) == [0.0], "a refused question finds nothing"
