"""Numbers among the settings of strategies, keep rules and recall steps: a policy refuses those out of range."""

from __future__ import annotations

from fractions import Fraction

import pytest
from msgspec import Struct
from msgspec.structs import fields

from transom import strategies
from transom.core.policy import Policy
from transom.core.ranges import Share
from transom.errors import InvalidSetting
from transom.recall import Recall
from transom.strategies import Clip, ClipNew, Digest, HeadTail, KeepUsers, LargeOldResults, Rounds
from transom.strategies.shorten.shorten import Shorten


class Mine(Struct, frozen=True):
    """A strategy of a user, with one setting in a range and one without."""

    part: Share = 0.5
    offset: int = 0

    def __call__(self, view, target):
        return iter(())


class Unresolved(Struct, frozen=True):
    """A strategy of a user with a type that is imported for type checkers only."""

    part: Share = 0.5
    choose: "OnlyForTypeCheckers | None" = None  # noqa: F821, UP037

    def __call__(self, view, target):
        return iter(())


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (Rounds(last=0), "Rounds: last must be a whole number, at least 1, not 0"),
        (HeadTail(first=-1), "HeadTail: first must be a whole number, at least 0, not -1"),
        (HeadTail(last="3"), "HeadTail: last must be a whole number, at least 0, not '3'"),
        (Digest(keep_recent=2), "Digest: keep_recent must be a number from 0 to 1, not 2"),
        (Digest(quiet=float("nan")), "Digest: quiet must be a number from 0 to 1, not nan"),
        (ClipNew(share=True), "ClipNew: share must be a number from 0 to 1, not True"),
        (Mine(part=-0.1), "Mine: part must be a number from 0 to 1, not -0.1"),
    ],
)
def test_a_number_out_of_range_is_refused_with_its_name(step, words):
    with pytest.raises(InvalidSetting, match="must be") as error:
        Policy(pressure=(step,))
    assert str(error.value).startswith(words)


def test_keep_rules_and_recall_steps_are_checked_too():
    with pytest.raises(InvalidSetting, match="KeepUsers: each must be"):
        Policy(keep=(KeepUsers(each=-1),), pressure=(Digest(),))
    with pytest.raises(InvalidSetting, match="Recall: share must be"):
        Policy(recall=(Recall(share=1.5),))


def test_what_a_shorten_is_made_of_is_checked_when_it_is_made():
    with pytest.raises(InvalidSetting, match="LargeOldResults: keep must be a whole number, at least 0, not -1"):
        Shorten(LargeOldResults(keep=-1), Clip())
    with pytest.raises(InvalidSetting, match="Clip: fraction must be a number from 0 to 1, not 3"):
        Shorten(LargeOldResults(), Clip(fraction=3))


class Number(float):
    """A number of another type, as NumPy's are."""


def test_numbers_of_other_types():
    assert Policy(pressure=(Digest(keep_recent=Number(0.3), quiet=Fraction(1, 5)),))
    with pytest.raises(InvalidSetting, match=r"Digest: keep_recent must be a number from 0 to 1, not 1\.5"):
        Policy(pressure=(Digest(keep_recent=Number(1.5)),))


def test_numbers_in_range_and_settings_without_a_range_are_taken():
    assert Policy(pressure=(Mine(part=1, offset=-3), Rounds(last=1), HeadTail(first=0, last=0), Digest(quiet=0)))
    assert Policy(pressure=(Unresolved(part=7),))
    assert Policy(keep=(KeepUsers(each=None),), pressure=(Shorten(LargeOldResults(keep=0), Clip(tokens=0)),))


def test_the_settings_of_every_strategy_can_be_looked_up():
    own = [one for name in strategies.__all__ if issubclass(type(one := getattr(strategies, name)), type(Struct))]
    assert own
    for one in own:
        assert fields(one) is not None
