"""A ratio goes up at once, and down only where reports cannot be those of the uncached part alone."""

from __future__ import annotations

import pytest

from transom.core.calibration import MIN_RATIO, Calibration
from transom.core.entry import Sent
from transom.core.message import Usage


def learned(*replies: tuple[int, int, int, int]) -> float:
    """The ratio after replies: tokens sent, tokens shared with the request before, prompt and cached as reported."""
    calibration = Calibration()
    for tokens, shared, prompt, cached in replies:
        sent = Sent(fingerprint="", limit=10**6, tokens=tokens, messages=1, shared_tokens=shared)
        calibration = calibration.learn(sent, Usage(prompt=prompt, cached=cached))
    return calibration.ratio


SIZES = [1_000 + 400 * turn for turn in range(20)]


def test_dearer_tokens_are_learned_from_the_first_reply() -> None:
    assert learned((1_000, 0, 1_500, 0)) == pytest.approx(1.1)
    assert learned(*((size, size - 400, 3 * size, 0) for size in SIZES)) > 1.9


def test_who_reports_only_the_uncached_part_teaches_nothing() -> None:
    assert learned(*((size, size - 400, 400, 0) for size in SIZES)) == 1.0
    assert learned(*((size, size // 2, size // 2, 0) for size in SIZES)) == 1.0, "not even if the ratio is steady"
    assert learned((1_000, 0, 1_000, 0), *((size, size - 400, 400, size - 400) for size in SIZES)) == 1.0


def test_cheaper_tokens_are_learned_where_reports_agree_and_name_what_was_cached() -> None:
    ratio = learned(*((size, size - 400, int(0.9 * size), size // 2) for size in SIZES))
    assert 0.9 <= ratio < 0.91


def test_one_size_is_no_evidence() -> None:
    assert learned(*[(1_000, 600, 900, 500)] * 20) == 1.0


def test_reports_that_do_not_agree_are_no_evidence() -> None:
    assert learned(*((size, 0, int(size * (0.6 + 0.2 * (size % 800 == 200))), 9) for size in SIZES)) == 1.0


def test_a_reply_that_is_no_evidence_lowers_nothing_after_others_that_were() -> None:
    agreeing = [(size, size - 400, size, size // 2) for size in SIZES[:8]]
    assert learned(*agreeing, *((size, size - 400, 400, 0) for size in SIZES[8:14])) == 1.0


def test_there_is_a_floor() -> None:
    assert learned(*((size, 0, size // 2, 0) for size in SIZES)) >= MIN_RATIO


def test_no_usage_teaches_nothing() -> None:
    assert learned((1_000, 0, 0, 0), (0, 0, 10, 0)) == 1.0


@pytest.mark.parametrize(
    ("reported", "ratio"), [([], 1.04), ([0.99, 1.0, 0.98], 1.04), ([0.9, 0.9, 0.91], 0.91), ([1.1, 1.1, 1.12], 1.12)]
)
def test_at_a_learned_limit_the_ratio_of_the_refusal_holds_unless_replies_agree_on_another(
    reported: list[float], ratio: float
) -> None:
    reports = tuple((1_000 * at, each) for at, each in enumerate(reported, 1))
    assert Calibration(ratio=0.95, reports=reports).at_limit(1.04) == ratio


def test_the_ratio_of_a_refusal_stays_when_replies_lower_the_calibration() -> None:
    def sent(tokens: int) -> Sent:
        return Sent(fingerprint="", limit=10**6, tokens=tokens, messages=1, shared_tokens=tokens // 2)

    calibration = Calibration().refused(sent(1_000), 1_040)
    for size in SIZES:
        calibration = calibration.learn(sent(size), Usage(prompt=size, cached=size // 2))
    assert (calibration.ratio < 1.03, calibration.of_refusal, calibration.at_limit(1.04)) == (True, 1.04, 1.04)
