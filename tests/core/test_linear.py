"""Every step is linear in its input: four times as much takes about four times as long, never sixteen times."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import pytest

from transom.tokenizer import BLANKS, O200k

SLACK = 0.15
"""Seconds by which a measurement may be off on a busy machine."""


def seconds(run: Callable[[], object]) -> float:
    """CPU time of a run, the better of two."""
    times = []
    for _ in range(2):
        begin = time.process_time()
        run()
        times.append(time.process_time() - begin)
    return min(times)


def assert_linear(make: Callable[[int], object], run: Callable[[object], object], n: int) -> None:
    """`run` of what `make` gives for n, 2n and 4n."""
    inputs = [make(size) for size in (n, 2 * n, 4 * n)]
    once, twice, four_times = (seconds(partial(run, given)) for given in inputs)
    assert twice <= 3 * once + SLACK, (once, twice, four_times)
    assert four_times <= 6 * once + SLACK, (once, twice, four_times)


@pytest.fixture(scope="module", autouse=True)
def _loaded():
    O200k().count("the encoder loads at first use")


@pytest.mark.parametrize("blank", [" ", "\n", "\t", "\u3000", " \t"])
def test_runs_of_blanks_below_the_limit(blank):
    """Runs of n blanks in a text of one length: what they cost must not depend on how long each is."""

    def text(n: int) -> str:
        run = "x" + (blank * n)[:n]
        return run * (2 * BLANKS // len(run))

    once, four_times = (seconds(lambda n=n: O200k().count(text(n))) for n in (BLANKS // 5, BLANKS * 4 // 5))
    assert four_times <= 2 * once + SLACK, (once, four_times)


@pytest.mark.parametrize("unit", ["a", " ", "\n", "0", "汉", "-", "word ", "ab1_", '{"a": "b"}, '])
def test_one_long_line(unit):
    assert_linear(lambda n: unit * (n // len(unit)), O200k().count, 100_000)
