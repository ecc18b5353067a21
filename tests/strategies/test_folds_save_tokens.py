"""A marker or a record of few and short turns may have fewer bytes than they, and still more tokens. Logs that random
runs found."""

import pytest

from transom.core.edit import Fold, Pin
from transom.strategies.fold.layered_records import Digest
from transom.strategies.fold.omission import HeadTail, Omit, Rounds
from transom.strategies.fold.rolling_record import RollingRecord
from transom.testing import says, talk
from transom.testing.laws import check_proposals
from transom.testing.random_logs import Step, write_log

STRATEGIES = [Digest(), Omit(), RollingRecord(), HeadTail(first=1, last=2), Rounds(last=2)]
USER, TURN = Step("user"), Step("turn")

RESTORED = [
    *[USER, Step("user", 0, 0, 0, 10), Step("user", 1), Step("turn", 0, 1), *[USER] * 6, *[Step("user", 2)] * 3],
    *[Step("result", 3), Step("trim", 6), *[USER] * 3, Step("undo")],
]
"""A turn that the user took back splits the old turns: two short ones stand alone."""

FOLDED = [
    *[*[USER] * 4, *[Step("user", 2)] * 2, Step("reply", 0, 1, 2), Step("synthetic"), *[USER] * 4],
    *[*[Step("user", 0, 0, 0, 10)] * 2, Step("user", 2), *[TURN] * 4],
    *[Step("fold", 0, 1), Step("fold", 0, 8), Step("fold", 2, 2)],
]
"""One short turn stands beside a fold."""

SHORT = [
    *[Step("user", 0, 0, 0, 10), Step("turn", 0, 1), USER, *[Step("turn", 0, 0, 0, 15)] * 2, *[USER] * 6],
    *[Step("user", 0, 0, 0, 10), *[Step("user", 1)] * 3, Step("user", 2), Step("result", 3), USER],
    *[*[Step("result")] * 5, Step("fold", 1, 1), Step("fold", 1, 5)],
]
"""Hardly any turn says anything."""

CARRIED = talk(
    *["Go.", "First.", says("1 2 3 " * 44), "Next.", says("understandable " * 16), "Again."],
    *[Fold(first=1, last=2, text="[entry 2: …]", excerpted=(2,)), Pin(entry=2)],
)
"""A fold carries an excerpt of a turn that the user pinned: a new fold over it shows the whole turn again."""


@pytest.mark.parametrize("log", [RESTORED, FOLDED, SHORT], ids=["restored", "folded", "short"])
@pytest.mark.parametrize("over_limit", [False, True], ids=["within the limit", "over the limit"])
@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: type(strategy).__name__)
def test_a_fold_that_saves_no_tokens_is_not_proposed(log, over_limit, strategy):
    check_proposals(write_log(log), strategy, over_limit=over_limit)


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: type(strategy).__name__)
def test_what_an_older_fold_carries_counts_as_what_shows_again(strategy):
    check_proposals(CARRIED, strategy)
