"""What matters in a sentence, and what a later sentence takes out of force."""

from __future__ import annotations

import pytest

from transom.strategies.sentences.corrections import LoggedStatement, outdated
from transom.strategies.sentences.salience import statements, unit_score
from transom.testing import WordCounter, talk
from transom.testing.builders import call, result


def told(*sentences: str, role: str = "user") -> list[LoggedStatement]:
    return [LoggedStatement(at, statements(sentence)[0], role) for at, sentence in enumerate(sentences)]


@pytest.mark.parametrize(
    ("sentence", "reasons"),
    [
        ("You must run the linter before each commit.", {"required"}),
        ("Don't touch the vendor folder.", {"required"}),
        ("输出必须使用 UTF-8。", {"required"}),
        ("I'd rather have tabs, please.", {"wish", "change"}),
        ("Use the staging cluster for this.", {"request"}),
        ("We decided to go with Postgres.", {"decision"}),
        ("The limit is now 40 MB.", {"change", "amount"}),
        ("The invoice is for $1,250.50.", {"money"}),
        ("The report is due on 3 May, that is 2031-05-03.", {"date"}),
        ("The bug is in src/app/main.py.", {"place"}),
        ("It broke with `KeyError` again.", {"code"}),
        ("Next step: wire up the queue.", {"open"}),
        ("Ask Maria Lopez first.", {"person"}),
        ("Which port does it listen on?", {"question"}),
        ("It needs Node 20.11.", {"version"}),
    ],
)
def test_a_score_says_its_reasons(sentence: str, reasons: set[str]) -> None:
    (one,) = statements(sentence)
    assert reasons <= set(one.reasons)
    assert one.value > 0


@pytest.mark.parametrize("chat", ["Okay.", "Noted, thanks.", "Looking at the logs of src/app.py.", "The sky was grey."])
def test_chat_scores_less_than_any_rule(chat: str) -> None:
    assert statements(chat)[0].value < statements("Never delete the backups.")[0].value / 2


def test_reasons_add_up_less_and_less():
    once = statements("You must stop.")[0].value
    many = statements("You must stop if, and only if, it is wished, please, from now on.")[0].value
    assert once < many < 2 * once


def test_sentences_are_whole_and_not_too_long():
    text = "The first one is here. The second must stay.\n- a point\n\n" + "x" * 500 + "\n" + "y " * 90
    assert [one.text for one in statements(text)] == [
        "The first one is here.",
        "The second must stay.",
        "a point",
        "y " * 89 + "y",
    ]


def test_a_unit_gains_by_shared_names_and_loses_by_a_large_output():
    log = talk(
        "fix it",
        call("read", '{"path": "src/engine/loader.py"}'),
        result("def load(): ..."),
        call("read", '{"path": "src/engine/loader.py"}'),
        result("data " * 4_000),
        counter=WordCounter(),
    )
    small, large = tuple(log[1:3]), tuple(log[3:5])
    names = frozenset(["src/engine/loader.py"])
    assert unit_score(small) == (0.0, ())
    value, reasons = unit_score(small, names)
    assert value > 0
    assert reasons == ("shared",)
    assert unit_score(small, names, age=1.0)[0] < value
    less, why = unit_score(large, names)
    assert less == pytest.approx(value * 1_000 / sum(log[4].tokens))
    assert why == ("shared", "large")


REPLACED = [
    ("The ticket budget is 300 dollars.", "Actually, make the ticket budget four hundred dollars."),
    ("Put the hotel limit at €120 a night.", "New hotel limit: €150 a night."),
    ("The demo is on 2031-03-04.", "The demo was moved to March 11."),
    ("Show timestamps in UTC.", "Please show them in Eastern time."),
    ("Always give weights in imperial units.", "Use metric for all weights."),
    ("Maria Lopez reviews the parser.", "John Smith reviews the parser now."),
    ("We work on feature/cache-2.", "We switched over to feature/index-7, the cache is done."),
    ("The door code is kestrel-41.", "The door code has changed to osprey-77."),
    ("I want short answers.", "I would rather have long answers with examples."),
    ("The timeout is 30 seconds.", "The timeout is 45 seconds."),
    ("It runs on Python 3.10.", "It runs on Python 3.12."),
    ("预算上限是 800 元。", "现在预算上限改为 500 元。"),
]


@pytest.mark.parametrize(("old", "new"), REPLACED)
def test_a_correction_supersedes_what_it_corrects(old: str, new: str) -> None:
    assert outdated(told(old, "The lift is out of order.", new)) == {0}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The travel budget is $300.", "The training budget is $400."),  # nobody says that anything changed
        ("The demo is on 2031-03-04.", "The invoice now comes to $90."),  # another kind of value
        ("The demo is on 2031-03-04.", "Payroll was moved to March 11."),  # about something else
        ("Never delete the backups.", "Now clean the backups folder."),  # a rule is not a wish
        ("The logs are in UTC.", "The shop opens at nine Eastern time."),  # nobody asked for either
        ("Case AB-101 fails.", "Case AB-102 fails."),  # the same words about two things
        ("On 2031-03-04 we paid $20.", "On 2031-04-04 we paid $30."),  # two values: another event
    ],
)
def test_what_merely_looks_alike_stays(old: str, new: str) -> None:
    assert outdated(told(old, new)) == frozenset()


def test_the_nearest_of_several_is_replaced():
    sentences = told(
        "The hotel limit is $90.", "The hotel taxi limit is $20.", "The hotel taxi limit is now twenty dollars."
    )
    assert outdated(sentences[:2]) == frozenset()
    assert outdated(sentences) == {1}


def test_a_value_that_changed_twice_is_replaced_twice():
    assert outdated(told("The cap is $5.", "The cap is now $6.", "The cap has changed to $7.")) == {0, 1}


def test_said_twice_counts_once_and_the_newest():
    assert outdated(told("Never push to main.", "Use tabs.", "never push to main.")) == {0}


def test_the_model_does_not_correct_the_user():
    user, model = told("The cap is $5."), told("Fine.", "The cap is now $6.", role="assistant")
    assert outdated([*user, *model]) == frozenset()
    assert outdated([*model, LoggedStatement(7, statements("The cap is now $7.")[0])]) == {1}


@pytest.mark.parametrize(
    ("old", "new", "gone"),
    [
        (
            "The project kickoff is on 2031-04-01.",
            "The project deadline is now May 5.",
            {0},
        ),  # one word too few is shared
        ("The cap on spending is $5.", "Spend at most $6.", set()),  # other words, and none that say it changed
    ],
)
def test_known_gaps(old: str, new: str, gone: set[int]) -> None:
    """Without a thesaurus, both are guesses. If one of these gets better, so much the better: change it."""
    assert outdated(told(old, new)) == gone
