"""The look at every request for a summary finds what it is there for."""

from __future__ import annotations

from msgspec.structs import replace
from summary_kit import drive, turns_of, want_of

from summary_requests import FOUND, wrong_request, wrong_want
from transom.providers.scripted import Scripted
from transom.summaries import Ask, LlmSummarizer
from transom.testing import says

FIRST = "## User intent\n- the crane of the harbour\n## Progress\n- [done] it was described"
TURNS = turns_of("Tell me about the crane of the harbour.", says("It is red and it was built in 1931. " * 9))
MORE = turns_of(*["-"] * 3, "And the ships?", says("There are four of them at pier nine. " * 9))[3:]


def test_requests_that_are_as_they_must_be() -> None:
    asked: list[Ask] = []
    first = drive(LlmSummarizer(), want_of(TURNS, notes=("Door 4711.",)), Scripted(FIRST), asked=asked)
    want = want_of(MORE, first)
    drive(LlmSummarizer(), want, Scripted(FIRST), asked=asked)
    assert list(wrong_want(want)) == []
    assert FOUND == []
    assert len(asked) == 2


def test_covered_turns_and_a_missing_summary_are_found() -> None:
    asked: list[Ask] = []
    drive(LlmSummarizer(), want_of(TURNS), Scripted(FIRST), asked=asked)
    [ask] = asked
    first = drive(LlmSummarizer(), want_of(TURNS, notes=("Door 4711.",)), Scripted(FIRST))
    (covered,) = wrong_want(replace(want_of(TURNS), prior=first))
    assert covered == "turns of [0, 1] are covered by the summary up to 1"
    outside, missing = wrong_request(want_of(MORE, first), ask, is_first=True)
    assert outside == "turns [0, 1] are in a request and not in its want"
    assert missing == "the earlier summary is not in a request"
    other = replace(first, notes=("Door 4712.",))
    drive(LlmSummarizer(), want_of(MORE, other), Scripted(FIRST), asked=asked)
    found = list(wrong_request(want_of(MORE, first), asked[1], is_first=True))
    assert found == ["not in the earlier summary of a request: ['Door 4711.']"]


def test_the_look_is_in_the_way_of_every_summarizer() -> None:
    first = drive(LlmSummarizer(), want_of(TURNS), Scripted(FIRST))
    drive(LlmSummarizer(), replace(want_of(TURNS), prior=replace(first, last=0)), Scripted(FIRST))
    assert FOUND == ["turns of [0, 1] are covered by the summary up to 0"]
    FOUND.clear()
