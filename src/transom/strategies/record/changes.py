"""What turns changed, as a record says it: files and objects, and marks on a line."""

from __future__ import annotations

from collections.abc import Sequence

from transom import quoting
from transom.core.edit import Fold
from transom.core.policy import Target
from transom.core.unit import FoldedSlot, Unit
from transom.core.view import View
from transom.strategies.actions.action import ABOUT, NO_NAMES
from transom.strategies.actions.edits import file_of, is_same_file
from transom.strategies.record.index import DoneCall, Index
from transom.strategies.text.one_line import values_in_a_line

MOST, TOKENS_PER_CHANGE = 8, 160
"""How many files or objects a list of changes has; in a large record, one for this many of its tokens."""

NEWEST = 3
"""How many of the entries that changed a file are named all."""

COMPARED = 32
"""With how many of the newest files of the same name a path is compared, so that hundreds of `__init__.py` cost little.
A path that is written as before is always found."""


class Changes:
    """Says which files and objects the calls of some turns changed. It reads that from `index`, which must be that of
    `view`."""

    def __init__(self, view: View, target: Target, index: Index) -> None:
        self.view, self.target, self.index = view, target, index

    def named(self, units: Sequence[Unit], size: float = 0) -> list[tuple[str, list[str]]]:
        """The files or objects that these turns changed, the newest last, each with the entries that did.

        An entry is a text: what it did, if the result shows that, and the number by which the model reads it back
        ("deleted 12"). Of many entries the first and the last are named, and how many there are.

        If there are more than a list may have, the first item counts the others ("12 more before") and has no entries.
        `size`: tokens of the record; in a large one the list may be longer.
        """
        found: dict[str, list[str]] = {}
        by_file: dict[str, list[str]] = {}
        for unit in units:
            number = self.number(unit.seqs[0])
            for made, state in self.made_by(unit).items():
                like = by_file.setdefault(file_of(made), [])
                name = made if made in found else next((x for x in like[-COMPARED:] if is_same_file(x, made)), "")
                if not name:
                    like.append(name := made)
                found[name] = found.pop(name, [])  # now it is the newest
                found[name].append(f"{state} {number}".strip())
        newest = list(found.items())[-max(MOST, int(size / TOKENS_PER_CHANGE)) :]
        lines = [
            (
                quoting.name_in_a_line(values_in_a_line([name], ABOUT)),
                at if len(at) <= NEWEST else [at[0], "…", at[-1], f"{len(at)} times"],
            )
            for name, at in newest
        ]
        more = len(found) - len(newest)
        return [*([(f"{more} more before", [])] if more else []), *lines]

    def made_by(self, unit: Unit) -> dict[str, str]:
        """The files and objects that the calls of a turn changed or made, by name. The value is what became of each:
        "deleted", or the state that a result shows ("booked"); empty if nothing says it."""
        found: dict[str, str] = {}
        for done in self.index.calls_of(self.view, unit):
            made = dict(done.outcome.made if done.outcome is not None else ())
            changed, deleted = _changed_by(done), done.action.deleted
            if made and not done.action.commands and changed.isdisjoint(made):
                changed = NO_NAMES  # the call named the user or the payment; what changed is the object in the result
            found |= {name: "deleted" if name in deleted else "" for name in sorted(changed)} | made
        return found

    def number(self, seq: int) -> str:
        """The number by which the model reads an entry back."""
        return self.target.reference(seq).rsplit(" ", 1)[-1]


def _changed_by(done: DoneCall) -> frozenset[str]:
    """What a call changed. An exit code is most often that of the last command: those before it succeeded."""
    if done.outcome is None or done.outcome.status == "refused":
        return NO_NAMES
    if done.outcome.failed:
        return NO_NAMES.union(*(one.changes for one in done.action.commands[:-1]))
    return done.action.changes


def quoted_by(view: View, slot: FoldedSlot) -> tuple[int, ...]:
    """The seqs of the entries that the text of a fold quotes; empty if the slot was made by no fold."""
    fold = view.fetch(slot.seq).body
    return fold.quotes if isinstance(fold, Fold) else ()
