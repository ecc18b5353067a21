"""The strategies that come with Transom, in the suite that others inherit from."""

from __future__ import annotations

import os
from time import sleep

from hypothesis import settings
from msgspec.structs import replace

from transom.policies import policy_named
from transom.policies.default import OLD_MEDIA, OLD_REASONING
from transom.recall import Recall
from transom.strategies import (
    Clip,
    ClipNew,
    Digest,
    Duplicates,
    Enough,
    FreshResults,
    HeadTail,
    LargeOldResults,
    OldResults,
    Omit,
    RollingRecord,
    Shorten,
    Stub,
    Together,
    line,
    marker,
)
from transom.testing import PolicyConformance, StrategyConformance

FEW = None if os.environ.get("HYPOTHESIS_PROFILE") else 12
"""Random logs for each test; `make laws` tries as many as its profile says."""


class TestClip(StrategyConformance):
    strategy, arrival, examples = Shorten(FreshResults(), Clip(tokens=40), "clip"), True, FEW


class TestClipNew(StrategyConformance):
    strategy, arrival, examples = ClipNew(), True, FEW


def test_a_slow_machine_is_not_a_mistake_of_a_strategy():
    """Also without a Hypothesis profile: its own limit for an example is 0.2 seconds."""

    class Slow(StrategyConformance):
        strategy, examples = staticmethod(lambda *_: sleep(0.25) or []), 1

    ours = settings()
    settings.register_profile("as-it-comes", settings.get_profile("ci"), deadline=200, database=None)
    settings.load_profile("as-it-comes")
    try:
        Slow().test_what_it_proposes_saves_something_and_spares_what_must_stay(over_limit=False)
    finally:
        settings.register_profile("before", ours)
        settings.load_profile("before")


class TestStub(StrategyConformance):
    strategy, arrival, examples = Shorten(FreshResults(characters=300), Stub(), "stub"), True, FEW


class TestDuplicates(StrategyConformance):
    strategy, examples = Shorten(Duplicates(tokens=20), marker, "duplicate", Together(0.0)), FEW


class TestDigest(StrategyConformance):
    strategy, examples = Digest(), FEW


class TestMedia(StrategyConformance):
    strategy, examples = OLD_MEDIA, FEW


class TestReasoning(StrategyConformance):
    strategy, examples = OLD_REASONING, FEW


class TestHeadTail(StrategyConformance):
    strategy, examples = HeadTail(first=1, last=2, least=0.0), FEW


class TestOldResults(StrategyConformance):
    strategy, examples = Shorten(OldResults(last=1, polling=2), line, "mask", Together(0.0)), FEW


class TestOmit(StrategyConformance):
    strategy, examples = Omit(), FEW


class TestRolling(StrategyConformance):
    strategy, examples = RollingRecord(first=1, tail=30, last=2, rounds=2, least=0.0), FEW


class TestLargeOldResults(StrategyConformance):
    strategy, examples = Shorten(LargeOldResults(keep=50), Stub(60), "stale", Enough(tokens=20)), FEW


class TestDefault(PolicyConformance):
    policy, examples = "default", FEW
    dialects = ("openai", "mistral", "responses", "anthropic", "gemini")


class TestSummary(PolicyConformance):
    """Its random logs hold summaries of all kinds."""

    policy = "summary"


class TestEagerRecall(PolicyConformance):
    """Without gates it recalls at nearly every turn, also where random logs give little reason to."""

    policy = replace(policy_named("recall"), recall=(Recall(asked=0, said=0, talk=0, least=0, share=0.9),))
    examples = FEW
