"""What `StrategyConformance` says of a strategy that breaks a law, and how often it runs the strategy again."""

from __future__ import annotations

import pytest

from transom.core.edit import Trim
from transom.strategies import result_texts
from transom.testing import StrategyConformance

CALLS: list[int] = []


def cut_everything(view, target):
    """Shortens each result, also the newest."""
    CALLS.append(view.length)
    for unit in view.visible_units():
        for parts in result_texts(view, unit):
            for part in parts:
                if part.tokens > target.counter.count("[cut]"):
                    yield Trim(entry=part.entry, part=part.part, note="[cut]", why="cut")


class OfAFailure(StrategyConformance):
    """Not collected: its tests are called here."""

    strategy = staticmethod(cut_everything)
    examples = 50


def notes_of(error: BaseException) -> list[str]:
    """The conformance tests' own notes: where `CI` is set, Hypothesis adds one that says how to run the case again."""
    return [note for note in error.__notes__ if "@reproduce_failure" not in note]


def test_a_failure_is_reported_as_found_with_its_log() -> None:
    CALLS.clear()
    with pytest.raises(AssertionError, match=r"^Trim\(entry=\d+, .*\) (trims|saves) ") as caught:
        OfAFailure().test_what_it_proposes_saves_something_and_spares_what_must_stay(over_limit=False)
    assert len(CALLS) < 200, "50 logs, two looks at each: it was not run again for a smaller log"
    lines = notes_of(caught.value)[0].splitlines()
    assert lines[0].startswith("the log, an entry a line (")
    assert [int(line.split()[0]) for line in lines[1:]] == list(range(len(lines) - 1))
    assert max(map(len, lines[1:])) < 130
    entry = str(caught.value).partition("entry=")[2].partition(",")[0]
    assert any(line.split()[:2] == [entry, "tool:"] for line in lines), "the entry that it names is listed"


def test_a_failure_of_a_plan_says_what_is_wrong_and_names_the_budget() -> None:
    with pytest.raises(AssertionError) as caught:
        OfAFailure().test_every_plan_obeys_the_laws()
    assert str(caught.value)
    lines = notes_of(caught.value)[0].splitlines()
    assert [line.partition(":")[0] for line in lines[-3:]] == ["budget", "state", "dialect"]


def test_the_smallest_log_is_looked_for_if_that_is_wanted() -> None:
    class Smallest(OfAFailure):
        shrink = True
        examples = 20

    CALLS.clear()
    with pytest.raises(AssertionError) as caught:
        Smallest().test_what_it_proposes_saves_something_and_spares_what_must_stay(over_limit=False)
    assert len(CALLS) > 2 * 20, "more than 20 logs and two looks at each"
    assert len(notes_of(caught.value)[0].splitlines()) < 15
