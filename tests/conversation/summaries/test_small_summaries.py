"""Summaries where there is little room: a small window lets them hold something, and a small model is asked plainly."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from test_summary_scheduler import NowPool

import transom
from transom.core.message import Failure
from transom.core.summary import Summarise, Summary
from transom.errors import InvalidSetting
from transom.providers.scripted import Scripted
from transom.strategies.summary.when_to_summarise import summary_cap
from transom.summaries import Ask, LlmSummarizer
from transom.summaries.prompts import PROMPTS
from transom.testing import WordCounter

ANSWER = "The user asks about the cranes of the harbour, and which of the containers each of them lifts from the ship."


class Small(Scripted):
    """A model that knows how many tokens its context window has."""

    context_size = 1_024


def talk(conv: transom.Conversation, times: float) -> None:
    """So many times as much talk as the window's room."""
    number, room = 0, times * conv.window_usage.budget
    while room > 0:
        conv.user(f"Question {number}: which containers does the crane at pier {number} lift from the ship? " * 2)
        conv.request()
        conv.observe({"role": "assistant", "content": f"The crane at pier {number} lifts boxes from the ship. " * 3})
        room -= sum(sum(conv.log[seq].tokens) for seq in (conv.view.length - 1, conv.view.length - 2))
        number += 1


def bodies(conv: transom.Conversation, kind: type) -> list:
    return [entry.body for entry in conv.log.read() if isinstance(entry.body, kind)]


def opened(summarizer: object, budget: int = 1_024, policy: str = "summary") -> transom.Conversation:
    return transom.Conversation.open(
        "memory:", "c", budget=budget, policy=policy, counter=WordCounter(), system="Brief.", summarizer=summarizer
    )


def prompts_of(request: dict) -> str:
    return next(name for name, one in PROMPTS.items() if request["messages"][0]["content"] == one.system)


@pytest.mark.parametrize("policy", ["summary", "codex"])
def test_a_model_with_a_small_window_is_asked_for_plain_sentences(policy: str) -> None:
    provider = Small(then=ANSWER)
    with opened(provider, policy=policy) as conv:
        talk(conv, 4)
        made = bodies(conv, Summary)
        assert {prompts_of(request) for request in provider.requests} == {"plain"}
        assert len(made) >= 2
        assert {summary.made_by for summary in made} == {"scripted:scripted"}
        assert not bodies(conv, Failure)
        assert not provider.violations


@pytest.mark.parametrize("size", [7_999, 8_000, None])
def test_only_a_small_window_changes_the_prompts(size: int | None) -> None:
    provider = Scripted(then="## intent\n- the cranes of the harbour")
    settings = transom.SummarySettings(provider=provider, context=size)
    with opened(settings, policy="codex", budget=2_000) as conv:
        talk(conv, 2)
        assert {prompts_of(request) for request in provider.requests} == {"plain" if size == 7_999 else "codex"}


def test_prompts_of_the_user_are_asked_as_they_are() -> None:
    provider = Small(then=f"Conversation:\n- {ANSWER}")
    settings = transom.SummarySettings(provider=provider, summarizer=LlmSummarizer(prompts=PROMPTS["letta"]))
    with opened(settings, budget=3_000) as conv:
        talk(conv, 2)
        assert provider.requests
        assert PROMPTS["plain"].system not in {request["messages"][0]["content"] for request in provider.requests}


def piers(request: dict) -> str:
    """A model that names the piers of its input, the newest first."""
    found = re.findall(r"pier \d+", request["messages"][-1]["content"])
    return "Cranes: " + ", ".join([*dict.fromkeys(reversed(found))][:45])


def test_a_small_window_shows_a_summary_that_holds_more_than_the_record_would() -> None:
    with opened(transom.SummarySettings(provider=Small(then=piers), pool=NowPool())) as conv:
        talk(conv, 4)
        sizes = [WordCounter().count(one.text) for one in bodies(conv, Summary)]
        assert len(sizes) > 5
        assert max(sizes) <= summary_cap(0.06, conv.budget.usable)
        assert not bodies(conv, Failure)
        text = str(transom.render(conv.window()))
        assert any(one.state["items"][0]["text"] in text for one in bodies(conv, Summary)[-2:])
        assert conv.window().tokens <= conv.budget.usable


def paraphrase(request: dict) -> str:
    """A model that says what the turns are about in words of its own, as sections where it is asked for them."""
    text = request["messages"][-1]["content"]
    number = re.findall(r"Question (\d+)", text)[-1]
    if "## User intent" in text or '"intent"' in text:
        return (
            f"## User intent\n- someone asks which lifting gear serves berth {number}\n## Next steps\n- berth {number}"
        )
    return f"Somebody studies which lifting gear of the docks serves berth {number}; boxes are mentioned throughout."


@pytest.mark.parametrize("budget", [1_000, 4_000, 16_000])
def test_a_summary_in_a_models_own_words_is_shown_in_every_room(budget: int) -> None:
    provider = Scripted(then=paraphrase)
    settings = transom.SummarySettings(provider=provider, pool=NowPool(), context=6_000 if budget == 1_000 else None)
    with opened(settings, budget=budget) as conv:
        talk(conv, 1.5 if budget == 16_000 else 2.5)
        assert provider.requests
        conv.user("And at pier 7?")
        done = conv.compact()
        assert (done.failure, conv.explain().no_summary) == ("", "")
        assert conv.summary is not None
        assert conv.summary.text in str(transom.render(conv.window())["messages"][1:]).replace("\\n", "\n")


def test_a_summary_that_waits_for_the_next_compaction_is_told() -> None:
    provider = Scripted(then=paraphrase)
    with opened(transom.SummarySettings(provider=provider, pool=NowPool()), budget=4_000) as conv:
        while conv.summary is None:
            talk(conv, 0.05)
        seq = conv.view.summary[0]
        told = f"the newest summary, entry {seq}, is not in the window: the next compaction will show it"
        assert conv.explain().no_summary == told
        conv.compact()
        assert conv.explain().no_summary == ""


@pytest.mark.parametrize("policy", ["summary", "codex"])
def test_no_model_is_asked_where_no_summary_fits(policy: str) -> None:
    provider = Small(then=ANSWER)
    with opened(provider, budget=600, policy=policy) as conv:
        reasons = set[str]()
        for _ in range(12):
            talk(conv, 0.4)
            reasons.add(conv.explain().no_summary)
        done = conv.compact(notes="The crane is CR-7.")
        assert (bodies(conv, Summary), bodies(conv, Failure), provider.requests) == ([], [], [])
        why = r"no summary is asked for: it may have \d\d tokens in this room, and needs 80 to hold anything"
        assert re.match(why, done.failure)
        assert any(re.match(why, reason) for reason in reasons)
    with opened(provider, budget=6_000, policy=policy) as conv:
        talk(conv, 1)
        assert not conv.explain().no_summary.startswith("no summary is asked for")


class Counting:
    """Somebody's own summarizer, which keeps what it was asked."""

    def __init__(self) -> None:
        self.wants: list[Summarise] = []

    def steps(self, want: Summarise, counter: object, model: object) -> Iterator[Ask]:
        self.wants.append(want)
        return Summary(last=want.last, text=f"[{len(want.turns)} turns]", made_by="counting")
        yield


class Short(Counting):
    least_tokens = 4


class Long(Counting):
    least_tokens = 500


@pytest.mark.parametrize("policy", ["summary", "codex"])
@pytest.mark.parametrize(("kind", "budget"), [(Counting, 600), (Long, 1_024)])
def test_nobody_is_asked_for_a_summary_that_would_have_fewer_tokens_than_it_needs(
    kind: type[Counting], budget: int, policy: str
) -> None:
    summarizer = kind()
    with opened(summarizer, budget=budget, policy=policy) as conv:
        talk(conv, 4)
        failure = conv.compact(notes="The crane is CR-7.").failure
        assert (summarizer.wants, bodies(conv, Summary), bodies(conv, Failure)) == ([], [], [])
        assert f"and needs {getattr(summarizer, 'least_tokens', 80)} to hold anything" in failure


@pytest.mark.parametrize(("kind", "budget"), [(Short, 600), (Counting, 6_000)])
def test_somebody_elses_summarizer_is_asked_where_it_has_what_it_needs(kind: type[Counting], budget: int) -> None:
    summarizer = kind()
    with opened(summarizer, budget=budget) as conv:
        talk(conv, 2)
        assert {one.made_by for one in bodies(conv, Summary)} == {"counting"}
        assert min(want.max_tokens for want in summarizer.wants) >= getattr(summarizer, "least_tokens", 80)


@pytest.mark.parametrize("least", [-1, 1.5, "80", True])
def test_least_tokens_that_are_no_whole_number_are_refused(least: object) -> None:
    summarizer = Counting()
    summarizer.least_tokens = least
    with pytest.raises(InvalidSetting, match="summarizer: least_tokens must be a whole number of at least 0, not"):
        opened(summarizer)


@pytest.mark.parametrize(("room", "most"), [(100, 6), (639, 38), (640, 160), (2_600, 160), (10_000, 600)])
def test_the_cap_of_a_summary_by_its_room(room: int, most: int) -> None:
    assert summary_cap(0.06, room) == pytest.approx(most, abs=0.5)


@pytest.mark.parametrize("context", [0, -1, 1.5, True, "32k"])
def test_a_context_that_is_no_number_of_tokens_is_refused(context: Any) -> None:
    with pytest.raises(transom.InvalidSetting, match="summarizer: context must be a whole number of at least 1"):
        transom.SummarySettings(provider="run", context=context)
