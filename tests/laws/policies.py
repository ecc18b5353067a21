"""The policies that the laws are tried on: the named ones, the same with less room, and one for each other strategy."""

from __future__ import annotations

from msgspec.structs import replace

from transom import Budget, Policy
from transom.policies import POLICIES as NAMES
from transom.policies import policy_named
from transom.policies.default import OLD_MEDIA
from transom.policies.last_resort import LAST_RESORT
from transom.strategies import (
    Clip,
    Duplicates,
    Enough,
    FailedArguments,
    FreshResults,
    LargeOldResults,
    OldResults,
    Shorten,
    Stub,
    Superseded,
    Together,
    line,
    marker,
)
from transom.strategies.fold.omission import HeadTail, Omit, Rounds
from transom.strategies.fold.rolling_record import RollingRecord

STRATEGIES = {
    "dedupe": Shorten(Duplicates(tokens=20), marker, "duplicate", Together(0.0)),
    "superseded": Shorten(Superseded(), marker, "superseded", Together(0.0)),
    "error purge": Shorten(FailedArguments(turns=1, tokens=1), marker, "failed call", Together(0.0)),
    "mask": Shorten(OldResults(last=1, polling=2), line, "mask", Together(0.0)),
    "head and tail": HeadTail(first=1, last=2, least=0.0),
    "head and tail in tokens": HeadTail(first=60, last=90, tokens=True, least=0.0),
    "rounds": Rounds(last=1, least=0.0),
}
"""Strategies that no policy is named after, with settings that let them act on small logs."""

NAMED = tuple(map(policy_named, NAMES))
FEW = Budget(context=300, max_messages=6)
ROLLING = RollingRecord(first=1, tail=30, last=2, rounds=2, least=0.0)

STUBS = Shorten(FreshResults(characters=300), Stub(), "stub")

POLICIES = (
    *(
        Policy(name=name, pressure=(strategy,), last_resort=LAST_RESORT, trigger=0.4, target=0.1)
        for name, strategy in STRATEGIES.items()
    ),
    *NAMED,
    *(
        replace(policy, name=f"{policy.name} early", trigger=0.3, target=0.1, own_limits=FEW)
        for policy in NAMED
        if policy.last_resort  # `passthrough` has no strategy that a trigger would wake
    ),
    Policy(name="one digest", pressure=(ROLLING,), last_resort=LAST_RESORT, trigger=0.3, target=0.2),
    Policy(
        name="stubs",
        arrival=(Shorten(FreshResults(characters=300), Stub(), "stub"),),
        pressure=(Omit(),),
        last_resort=LAST_RESORT,
    ),
    Policy(
        name="clips",
        arrival=(Shorten(FreshResults(), Clip(tokens=40), "clip"),),
        pressure=(Shorten(LargeOldResults(keep=50), Stub(60), "stale", Enough(tokens=20)),),
        last_resort=LAST_RESORT,
        trigger=0.5,
    ),
    Policy(name="media", pressure=(OLD_MEDIA, Omit()), last_resort=LAST_RESORT, trigger=0.3, target=0.1),
)
