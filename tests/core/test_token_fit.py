"""A fit learns how another model counts, from the usage that it reports."""

from __future__ import annotations

import gzip
import json
import random
import re

import pytest
from cl100k import cl100k

from counting import _texts
from families import FAMILIES
from transom import Conversation
from transom.cli.conversations import conversations_in
from transom.cli.locate import find_name
from transom.core.message import Note
from transom.providers.scripted import Scripted, call
from transom.stores import open_store
from transom.token_fit import LOG, ZERO, Features, TokenFit, load_fit, save_fit, text_features

CALLS = 40
Steps = list[tuple[Features, int]]


def plus(a: Features, b: Features) -> Features:
    return tuple(x + y for x, y in zip(a, b, strict=True))


def steps_of(messages: list[dict], most: int = 30) -> Steps:
    """What each call of a conversation adds, as sums and as a provider with cl100k and 3 a message counts it."""
    found: Steps = []
    sums, tokens = ZERO, 3
    for message in messages:
        if message["role"] == "assistant" and sums[-1]:
            found.append((sums, tokens))
            sums, tokens = ZERO, 0
            if len(found) == most:
                break
        for text in _texts(message):
            sums, tokens = plus(sums, text_features(text)), tokens + cl100k(text)
        sums, tokens = (*sums[:-1], sums[-1] + 1), tokens + 3
    return found


@pytest.fixture(scope="module")
def recorded(data) -> list[Steps]:
    """Six conversations of each family."""
    found: list[Steps] = []
    for family in FAMILIES:
        with gzip.open(data / "conversations" / f"{family}.jsonl.gz", "rt", encoding="utf-8") as lines:
            talks = [json.loads(line)["messages"] for _, line in zip(range(40), lines, strict=False)]
        found += [
            steps for talk in random.Random(family).sample(talks, min(6, len(talks))) if (steps := steps_of(talk))
        ]
    return found


@pytest.mark.parametrize("seed", range(4))
def test_after_40_calls_its_error_is_small_and_no_request_is_above_its_margin(recorded, seed):
    talks = list(recorded)
    random.Random(seed).shuffle(talks)
    fit, errors, above = TokenFit(), [], []
    for steps in talks:
        sums, tokens = ZERO, 0
        for added, more in steps:
            sums, tokens = plus(sums, added), tokens + more
            if fit.calls >= CALLS:
                found = fit.estimate(sums)
                errors.append(abs(found.tokens - tokens) / tokens)
                if tokens > found.tokens + found.margin:
                    above.append((tokens, found))
            fit = fit.learn(added, more)
    assert len(errors) > 1_000
    assert sum(errors) / len(errors) < 0.02
    assert above == []


def test_before_it_has_learned_anything_it_counts_as_o200k_with_a_wide_margin():
    sums = plus(text_features("a word " * 2_000), (*ZERO[:-1], 1.0))
    found = TokenFit().estimate(sums)
    assert found.tokens == sums[0] + 4
    assert found.margin == 64 + found.tokens / 2


def words_and_marks(text: str) -> int:
    """A tokenizer like no other: two tokens a word, one for each other character."""
    return 2 * len(re.findall("[A-Za-z]+", text)) + len(re.findall(r"[^A-Za-z\s]", text))


def body_tokens(body: dict) -> int:
    return 7 + sum(3 + sum(map(words_and_marks, _texts(message))) for message in body["messages"])


def look(place: str) -> str:
    """Look at a place."""
    return f"{place}: 3 doors, 17 windows (2 are open), and a note: 'back at 5!'"


def test_a_log_teaches_what_its_provider_reported():
    rng = random.Random(5)
    script = [
        call("look", place=f"house {n}, street {rng.randrange(999)}") if n % 2 else f"Done {n}." for n in range(60)
    ]
    provider = Scripted(*script, then="Yes, it is so.", count=body_tokens)
    with Conversation.open("memory:", "c", budget=100_000, system="Be brief, and exact.") as conv:
        for n in range(30):
            said = " ".join(rng.choices(("look", "at", "the", "window", "and", "note", "17", "(2)", "!", "?"), k=5 * n))
            conv.run(f"Number {n}: {said}", provider=provider, tools=[look])
        fit = TokenFit().learn_from(conv.log)
        text = "What does the note at the door say, and which of the 17 windows is open?"
        assert fit.calls >= CALLS
        assert fit.estimate(text_features(text)).tokens == pytest.approx(words_and_marks(text), rel=0.15)
        assert TokenFit().learn_from(conv.log, start=conv.view.length // 2).calls < fit.calls
        counted = sum(fit.counter().count(words) for words in (text, "one", ""))
    assert counted == pytest.approx(words_and_marks(text) + 2, abs=5)


def test_a_conversation_counts_with_a_fit():
    fit = TokenFit()
    for n in range(1, 60):
        text = "some words, and others " * n
        fit = fit.learn(text_features(text), words_and_marks(text))
    text = "some words, and others " * 100
    with Conversation.open("memory:", "c", budget=100_000, counter=fit.counter()) as conv:
        conv.user(text)
        assert conv.usage.used == pytest.approx(words_and_marks(text), rel=0.02)
    assert fit.counter().name == fit.counter().name != TokenFit().counter().name
    assert [fit.counter().count(text) for text in ("", "\ud800", " ")] == [0, 1, 1]


@pytest.mark.parametrize("url", ["memory:", "sqlite:///fits.db", "jsonl:///fits"])
def test_a_fit_is_kept_in_the_store(url, tmp_path):
    store = open_store(url.replace("///", f"///{tmp_path}/"))
    assert load_fit(store, "a:m") == TokenFit()
    one, other = TokenFit().learn(text_features("Hello, world"), 9), TokenFit().learn(text_features("x"), 1)
    save_fit(store, "a:m", TokenFit())
    save_fit(store, "b:m", other)
    save_fit(store, "a:m", one)
    assert (load_fit(store, "a:m"), load_fit(store, "b:m"), load_fit(store, "c:m")) == (one, other, TokenFit())
    assert all(isinstance(entry.body, Note) for entry in store.open(LOG).read())
    assert list(conversations_in(store)) == [], "it is no conversation"
    assert find_name(["trip", *store.names()], "t", "memory:") == "trip"
    store.close()
