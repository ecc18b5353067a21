"""The failed calls that a later success answered."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from transom.strategies.actions.relations import Work, answers, work_of
from transom.strategies.digest.index import DoneCall

NEAR = 20
"""How far to look for a success that answers a failure: runs of the same program, or edits of files of that name."""


def answered_failures(calls: Iterable[DoneCall]) -> dict[tuple[int, int], int]:
    """Map each failed call whose work succeeded later, by the entry of its turn and its index, to the entry of the turn
    by which all of it had. `calls`: from the newest to the oldest."""
    found: dict[tuple[int, int], int] = {}
    later: dict[str, list[tuple[Work, DoneCall]]] = defaultdict(list)
    for done in calls:
        works = work_of(done.action)
        if done.outcome is not None and done.outcome.status == "ok":
            for name, work in works:
                later[name].append((work, done))
        elif done.outcome is not None and done.outcome.failed:
            turns = [_answer(later[name][-NEAR:], work, done) for name, work in works]
            if turns and min(turns) >= 0:
                found[done.turn, done.at] = max(turns)
    return found


def _answer(later: Sequence[tuple[Work, DoneCall]], work: Work, failed: DoneCall) -> int:
    """The first turn that did what a failed call was to do; -1 if none of these did. `later`: the newest first."""
    found = (done.turn for one, done in reversed(later) if answers(one, done.outcome, work, failed.outcome))
    return next(found, -1)
