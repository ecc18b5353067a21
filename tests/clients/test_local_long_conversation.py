"""A conversation that is longer than the window of a real model, which answers in it and makes its summaries."""

from __future__ import annotations

import os

import pytest

from transom import Budget, Conversation, SummarySettings
from transom.conversation.worker_pool import Ticket
from transom.core.message import Failure
from transom.core.summary import NO_SUMMARY, Summary
from transom.providers.local import Local
from transom.summaries import LlmSummarizer
from transom.summaries.prompts import prompts_named

pytest.importorskip("xllamacpp")

WINDOW, RESERVE, MODEL = 1_024, 48, "local:SmolLM2-135M-Instruct.Q4_1"
IS_CAMPAIGN = bool(os.environ.get("TRANSOM_CAMPAIGN"))
TIMES, SENTENCES, ANSWER, EVERY = (4.0, 3, None, 6) if IS_CAMPAIGN else (1.1, 3, 12, 16)
"""The conversation's tokens, in windows; sentences of a message; tokens of a summary's answer; which turns are live."""

SEEN = (
    "the harbour crane CR-{0} at pier {0} lifts containers from the ship MV-{0}",
    "the report in reports/day_{0}.md lists {0} open orders",
    "the test test_lift_{0} fails with code E{0}",
)


class AtOnce:
    """A pool that does its work when it is handed in: the same summaries in every run, however fast the machine is."""

    def submit(self, work):
        ticket = Ticket(work)
        ticket.run()
        return ticket

    def abandon(self, ticket):
        pass


@pytest.fixture(scope="module")
def local():
    provider = Local(context=WINDOW, threads=1)
    yield provider
    provider.close()


def message(number: int) -> str:
    seen = (SEEN[(number + part) % 3].format(number * 7 + part) for part in range(SENTENCES))
    return f"Note {number}: " + " ".join(f"Today {one}, and the foreman wants it done." for one in seen)


def bodies(conv: Conversation, kind: type) -> list:
    return [entry.body for entry in conv.log.read() if isinstance(entry.body, kind)]


def talk(conv: Conversation, provider: Local) -> int:
    """Some windows of talk, in which the model answers now and then; how often it did."""
    said = number = live = 0
    while said < TIMES * WINDOW:
        before = conv.view.length
        if number % EVERY == 1:
            assert conv.run(message(number), provider=provider, max_tokens=RESERVE if IS_CAMPAIGN else 4).text
            live += 1
        else:
            conv.user(message(number))
            assert conv.plan_request().tokens <= WINDOW - RESERVE
            conv.observe({"role": "assistant", "content": f"The crane CR-{number * 7} is at work at its pier."})
        said += sum(sum(entry.tokens) for entry in conv.log.read(before))
        number += 1
    return live


def test_it_runs_to_the_end_and_the_log_says_whose_its_summaries_are(local):
    summarizer = LlmSummarizer(prompts=prompts_named("plain"), answer_tokens=ANSWER, retries=0 if ANSWER else 1)
    settings = SummarySettings(provider=local, summarizer=summarizer, pool=AtOnce(), deadline=600)
    budget = Budget(context=WINDOW, reserve=RESERVE)
    with Conversation.open("memory:", "c", budget=budget, policy="summary", summarizer=settings) as conv:
        assert talk(conv, local) >= 1
        made, failed = bodies(conv, Summary), bodies(conv, Failure)
        assert made
        assert {one.made_by for one in made} == {MODEL}
        assert all(one.usage is not None and one.usage.output for one in made)
        assert {one.failure for one in failed} <= {NO_SUMMARY, "overflow"}


@pytest.mark.skipif(not IS_CAMPAIGN, reason="slow: the model goes on with an answer that nobody waits for")
def test_where_the_model_does_not_answer_in_time_the_log_says_so(local):
    settings = SummarySettings(provider=local, deadline=0.001)
    with Conversation.open("memory:", "d", budget=WINDOW, policy="summary", summarizer=settings) as conv:
        for number in range(10):
            conv.user(message(number))
            conv.observe({"role": "assistant", "content": f"The crane CR-{number * 7} is at work at its pier."})
        done = conv.compact()
        assert done.failure.startswith(MODEL)
        assert bodies(conv, Summary) == []
        assert [(one.failure, one.model) for one in bodies(conv, Failure)] == [(NO_SUMMARY, MODEL)]
        assert conv.window().tokens <= WINDOW
