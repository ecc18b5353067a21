"""The failed calls that a later success answered."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from transom.strategies.actions.relations import Deed, answers, deeds_of
from transom.strategies.digest.index import DoneCall

NEAR = 20
"""How far to look for a success that answers a failure: runs of the same program, or edits of files of that name."""


def answered_failures(calls: Iterable[DoneCall]) -> dict[tuple[int, int], int]:
    """The failed ones of these calls, by the entry of their turn and their index, of which all that they were to do
    succeeded later: the entry of the turn with which it had. `calls`: from the newest to the oldest."""
    found: dict[tuple[int, int], int] = {}
    later: dict[str, list[tuple[Deed, DoneCall]]] = defaultdict(list)
    for done in calls:
        deeds = deeds_of(done.action)
        if done.outcome is not None and done.outcome.status == "ok":
            for name, deed in deeds:
                later[name].append((deed, done))
        elif done.outcome is not None and done.outcome.failed:
            turns = [_answer(later[name][-NEAR:], deed, done) for name, deed in deeds]
            if turns and min(turns) >= 0:
                found[done.turn, done.at] = max(turns)
    return found


def _answer(later: Sequence[tuple[Deed, DoneCall]], deed: Deed, failed: DoneCall) -> int:
    """The first turn that did what a failed call was to do; -1 if none of these did. `later`: the newest first."""
    found = (done.turn for one, done in reversed(later) if answers(one, done.outcome, deed, failed.outcome))
    return next(found, -1)
