"""What each way to compact a window costs, which one is taken, and when a new summary is worth its price."""

from __future__ import annotations

from math import sqrt

import pytest
from msgspec.structs import replace

from transom import Budget, Conversation, InvalidSetting, Prices
from transom.cache_prices import ANTHROPIC, CompactionCosts, SinceBreak
from transom.conversation.summary_job import SummarySettings
from transom.conversation.worker_pool import Ticket
from transom.core.edit import Fold, Trim
from transom.core.entry import Sent
from transom.core.message import Usage
from transom.core.policy import Choice, Policy
from transom.core.priced_choices import PricedWindow, choice_cost, price_of_summary, stand_in
from transom.core.reducer import since_break_with
from transom.core.summary import Summarise, Summary
from transom.policies import policy_named
from transom.policies.default import LAST_RESORT
from transom.stores import MemoryStore
from transom.strategies import OldResults, Omit, Shorten, Together, line
from transom.testing.fakes import FakeClock, WordCounter


class Brief:
    """A summarizer that writes a few words, at a model's price."""

    def steps(self, want: Summarise, counter: object, model: object):
        yield from ()
        return Summary(last=want.last, text=f"[the turns up to {want.last}]", made_by="stand-in")


class AtOnce:
    """A pool without threads."""

    def submit(self, work) -> Ticket:
        ticket = Ticket(work)
        ticket.run()
        return ticket

    def abandon(self, ticket: Ticket) -> None:
        raise AssertionError("nothing is waited for")


def conversation(policy, *, budget=1_000, prices=ANTHROPIC, summarizer=None, state=None) -> Conversation:
    return Conversation(
        MemoryStore().open("chat"),
        budget=Budget(context=budget, prices=prices),
        policy=policy,
        counter=WordCounter(),
        clock=FakeClock(),
        summarizer=summarizer,
        state=state,
    )


def work(conv: Conversation, calls: int, words: int = 60) -> list[Sent]:
    """An agent that reads one file after the other; what was sent at each call."""
    conv.user("fix it")
    for at in range(calls):
        conv.request()
        body = {"id": f"c{at}", "type": "function", "function": {"name": "sh", "arguments": "{}"}}
        conv.observe({"role": "assistant", "content": None, "tool_calls": [body]})
        conv.tool_result(f"c{at}", " ".join(f"word_{at}_{n}" for n in range(words)))
    return [entry.body for entry in conv.log.read() if isinstance(entry.body, Sent)]


def sums(sent: list[Sent]) -> list[CompactionCosts]:
    return [one.costs for one in sent if one.costs is not None]


OMIT = Choice(name="omit", strategies=(Omit(least=0.0),))
MASK = Choice(name="mask", strategies=(Shorten(OldResults(last=2, polling=1, first=0), line, "mask", Together(0.0)),))
BOTH = Policy(
    name="both", pressure=OMIT.strategies, last_resort=LAST_RESORT, trigger=1.0, target=0.3, choices=(OMIT, MASK)
)


def test_growth_is_that_of_a_window_that_grows_steadily():
    since = SinceBreak()
    for at in range(21):
        request = Sent(fingerprint="", limit=0, tokens=1_000 + 50 * at, messages=1)
        since = since_break_with(request, since)
    assert since.growth(1_000 + 50 * 20) == pytest.approx(50, rel=0.1)
    assert SinceBreak().growth(700) == 700
    assert SinceBreak(first_tokens=900).growth(800) == 1.0


def test_a_choice_costs_what_is_written_again_and_what_each_call_reads():
    conv = conversation("passthrough", prices=None)
    work(conv, 5)
    units = [slot.first for slot in conv.view.slots]
    conv.edit(Fold(first=units[1], last=conv.view.slots[2].last, text="[two turns]"))
    view, window = conv.view, PricedWindow(ANTHROPIC, tokens=1_000, growth=20.0, limit=100_000)
    left = view.total.tokens
    rewritten = sum(slot.size.tokens for slot in view.slots[view.shared_slots :])
    found = choice_cost("fold", view, left, window, summary=100.0)
    once = 1.15 * rewritten + 100
    calls = sqrt(2 * once / (20 * 0.1))
    assert (found.name, found.tokens, found.saved_tokens, found.summary) == ("fold", left, 1_000 - left, 100.0)
    assert found.once == pytest.approx(once, abs=0.1)
    assert found.calls == pytest.approx(calls, abs=0.1)
    assert found.per_call == pytest.approx(once / calls + 0.1 * (left + 20 * calls / 2), abs=0.1)
    full = choice_cost("fold", view, left, window._replace(limit=left + 100))
    assert full.calls == 5.0


def test_the_cheapest_choice_is_taken_and_the_request_keeps_the_costs():
    conv = conversation(BOTH)
    found = sums(work(conv, 60))
    assert len(found) > 2
    for costs in found:
        prices = [one.per_call for one in costs.choices]
        assert prices == sorted(prices)
        assert costs.taken == costs.choices[0].name
        assert costs.why in {"full", "price"}
        if costs.why == "price":
            assert costs.excess >= costs.compaction
    assert {one.name for costs in found for one in costs.choices} == {"omit", "mask"}
    edits = [entry.body for entry in conv.log.read() if isinstance(entry.body, (Fold, Trim))]
    assert {type(one) for one in edits} == {Fold if one.taken == "omit" else Trim for one in found}


def test_the_tokens_of_a_choice_are_those_that_are_sent_with_the_state_that_is_due():
    number = iter(range(10_000))
    conv = conversation(BOTH, budget=3_000, state={"todo": lambda: f"todo_{next(number)} " * 300})
    sent = [one for one in work(conv, 60) if one.costs is not None]
    assert len(sent) > 2
    for one in sent:
        taken = next(choice for choice in one.costs.choices if choice.name == one.costs.taken)
        assert (taken.tokens, taken.saved_tokens) == (one.tokens, one.costs.tokens - one.tokens)


def test_without_prices_the_pressure_strategies_run_and_no_costs_are_kept():
    plain, choosing = conversation(replace(BOTH, choices=()), prices=None), conversation(BOTH, prices=None)
    assert work(plain, 40) == work(choosing, 40)
    assert not sums(work(conversation(BOTH, prices=None), 40))


def test_a_policy_without_choices_has_the_costs_of_what_it_did():
    found = sums(work(conversation(replace(BOTH, choices=())), 40))
    assert found
    assert {(len(one.choices), one.taken) for one in found} == {(1, "both")}


def test_a_new_summary_is_asked_for_where_it_is_cheapest_and_then_shown():
    made_by = SummarySettings(summarizer=Brief(), pool=AtOnce())
    conv = conversation("summary", budget=3_000, summarizer=made_by)
    sent = work(conv, 120)
    asked = [one for one in sums(sent) if one.why == "soon"]
    assert asked
    for costs in asked:
        new = next(one for one in costs.choices if one.name == costs.taken)
        assert costs.taken == "summary"
        assert new.summary > 0
        assert all(one.summary == 0 for one in costs.choices if one is not new)
    bodies = [entry.body for entry in conv.log.read()]
    made = [one for one in bodies if isinstance(one, Summary)]
    assert len(made) == len(asked) > 4
    texts = [one.text for one in bodies if isinstance(one, Fold)]
    shown = [one for one in made if any(text.startswith(one.text + "\n") for text in texts)]
    assert len(shown) >= len(made) - 1  # the last one waits for its compaction
    taken = [one.taken for one in sums(sent) if one.why != "soon"]
    assert taken.count("summary") >= len(made) - 1


def test_no_summary_is_asked_for_where_its_answer_costs_too_much():
    dear = replace(ANTHROPIC, output=1_000.0)
    made_by = SummarySettings(summarizer=Brief(), pool=AtOnce())
    conv = conversation("summary", budget=3_000, prices=dear, summarizer=made_by)
    found = sums(work(conv, 80))
    assert {one.taken for one in found} <= {"digest", "stub old results"}
    assert conv.summary is None


def test_what_a_summary_costs():
    assert ANTHROPIC.of_summary(window=10_000, source=50_000, answer=100) == 0.1 * 10_000 + 1.25 * 400 + 5 * 100
    assert ANTHROPIC.of_summary(window=90_000, source=600, answer=100) == 1_000 + 500
    summary, counter = Summary(last=3, text="seven words " * 5, made_by="openai:small"), WordCounter()
    words = counter.count(summary.text)
    assert price_of_summary(summary, ANTHROPIC, counter, window=1_000) == 100 + 500 + 5 * words
    assert price_of_summary(replace(summary, made_by=""), ANTHROPIC, counter, window=1_000) == 0
    billed = replace(summary, usage=Usage(prompt=1_000, cached=600, output=50))
    assert price_of_summary(billed, ANTHROPIC, counter, window=9) == 1.25 * 400 + 0.1 * 600 + 5 * 50


def test_a_stand_in_is_as_long_as_the_summary_may_be():
    want = Summarise(last=7, turns=(), max_tokens=120)
    assert 110 <= WordCounter().count(stand_in(want, WordCounter()).text) <= 120
    assert stand_in(want, WordCounter()).last == 7


@pytest.mark.parametrize(
    ("choices", "why"),
    [
        ((Omit(),), "choices must be a tuple of Choice"),
        ((OMIT, OMIT), "each of the choices needs a name of its own, not omit, omit"),
        ((Choice(name="x", strategies=(Omit,)),), "needs Omit\\(\\), with its settings, not the class"),
    ],
)
def test_what_are_no_choices_is_refused(choices, why):
    with pytest.raises(InvalidSetting, match=why):
        Policy(name="x", choices=choices)


def test_a_policy_with_settings_of_its_own_has_no_choices():
    assert policy_named("summary").choices
    assert not policy_named("summary:trigger=0.8:target=0.5").choices


def test_a_price_of_output_is_checked():
    with pytest.raises(InvalidSetting, match="output must be a finite number of at least 0, not -1"):
        Prices(output=-1)
