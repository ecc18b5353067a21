"""The policies that the laws are tried on: the named ones, the same with less room, and one for each other strategy."""

from __future__ import annotations

from msgspec.structs import replace

from transom import Budget, Policy
from transom.policies import POLICIES as NAMES
from transom.policies import policy_named
from transom.policies.plain import LAST_RESORT
from transom.strategies.arrival import Clip, Stub
from transom.strategies.dedupe import Dedupe, ErrorPurge, Superseded
from transom.strategies.elide import DropMedia
from transom.strategies.head_tail import HeadTail, Rounds
from transom.strategies.observation_masking import Mask
from transom.strategies.omission import Omit
from transom.strategies.rolling_digest import RollingRecord
from transom.strategies.stale_results import StubStale

STRATEGIES = {
    "dedupe": Dedupe(tokens=20, least=0.0),
    "superseded": Superseded(least=0.0),
    "error purge": ErrorPurge(turns=1, tokens=1, least=0.0),
    "mask": Mask(last=1, polling=2),
    "head and tail": HeadTail(first=1, last=2, least=0.0),
    "head and tail in tokens": HeadTail(first=60, last=90, tokens=True, least=0.0),
    "rounds": Rounds(last=1, least=0.0),
}
"""Strategies that no policy is named after, with settings that let them act on small logs."""

NAMED = tuple(map(policy_named, NAMES))
FEW = Budget(context=300, max_messages=6)
ROLLING = RollingRecord(first=1, tail=30, last=2, rounds=2, least=0.0)

POLICIES = (
    *(
        Policy(name=name, pressure=(strategy,), last_resort=LAST_RESORT, trigger=0.4, target=0.1)
        for name, strategy in STRATEGIES.items()
    ),
    *NAMED,
    *(replace(policy, name=f"{policy.name} early", trigger=0.3, target=0.1, own_limits=FEW) for policy in NAMED),
    Policy(name="one digest", pressure=(ROLLING,), last_resort=LAST_RESORT, trigger=0.3, target=0.2),
    Policy(name="stubs", arrival=(Stub(characters=300),), pressure=(Omit(),), last_resort=LAST_RESORT),
    Policy(
        name="clips",
        arrival=(Clip(tokens=40),),
        pressure=(StubStale(keep=50, free=20),),
        last_resort=LAST_RESORT,
        trigger=0.5,
    ),
    Policy(
        name="media",
        pressure=(DropMedia(only_as_needed=True), Omit()),
        last_resort=LAST_RESORT,
        trigger=0.3,
        target=0.1,
    ),
)
