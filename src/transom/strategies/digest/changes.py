"""What turns changed, as a record says it: files and objects, quotes that are no longer true, marks on a line."""

from __future__ import annotations

from collections.abc import Sequence

from transom import texts
from transom.core.edit import Fold
from transom.core.policy import Target
from transom.core.unit import Folded, Unit
from transom.core.view import View
from transom.strategies.digest.index import Index, is_one_of
from transom.strategies.digest.record import in_same_folder
from transom.strategies.digest.tool_lines import NO_NAMES, path_text
from transom.strategies.digest.tool_outcomes import own_code
from transom.strategies.digest.visible import Visible

TEMPORARY = ("/tmp/", "/private/", "/var/")  # noqa: S108 (only compared)
"""How the paths of files begin that a list of changes leaves out first."""

MOST, TOKENS_PER_CHANGE = 8, 160
"""How many files or objects a list of changes has; in a large record, one for so many of its tokens."""


class Changes:
    """Answers from the index what calls changed. An entry is named by its number."""

    def __init__(self, view: View, target: Target, index: Index) -> None:
        self.view, self.target, self.index = view, target, index

    def named(self, units: Sequence[Unit], size: float = 0) -> list[tuple[str, list[str]]]:
        """The files or objects that these turns changed, the newest last, each with the entries that did. Of many
        entries the first and the last, and how many there are. A folder that neighbours share is named once. `size`:
        tokens of the record."""
        found: dict[str, list[str]] = {}
        paths: dict[str, list[str]] = {}
        for unit in units:
            restored = self._restored(unit)
            for made in sorted(self.made_by(unit)):
                same = paths.setdefault(made.rpartition("/")[2], [])
                name = next((path for path in same if is_one_of(made, [path])), made)
                same.append(name)
                before = found.pop(name, [])
                if made in restored:
                    found |= {name: [*before, texts.put_back(self.number(unit.seqs[0]))]} if before else {}
                else:
                    found[name] = [*before, self.number(unit.seqs[0])]
        in_order = sorted(found.items(), key=lambda one: not one[0].startswith(TEMPORARY))
        newest = in_order[-max(MOST, int(size / TOKENS_PER_CHANGE)) :]
        shown = [
            path_text(name) if (last := in_same_folder(name, before)) == name else last
            for before, (name, _) in zip(["", *(name for name, _ in newest)], newest, strict=False)
        ]
        changed = [
            (texts.in_a_line(name), at if len(at) <= 3 else [at[0], "…", at[-1], f"{len(at)} times"])
            for name, (_, at) in zip(shown, newest, strict=True)
        ]
        more = len(found) - len(newest)
        return [*([(f"{more} more before", [])] if more else []), *changed]

    def made_by(self, unit: Unit) -> frozenset[str]:
        """What the calls of a turn changed: those that were neither refused nor failed. An exit code that a command
        echoes may be that of a check after the change; one that a shell states is most often that of its last
        command."""
        results = dict(zip(unit.answered_calls, unit.seqs[1:], strict=True))
        changed = set[str]()
        for at, call in enumerate(self.index.at(self.view, unit.seqs[0]).calls):
            ended = self.index.at(self.view, results[at]).result if at in results and call.changes else None
            if ended is not None and not ended.refused:
                changed |= call.first if ended.failed or own_code(call, ended) else call.changes
        return frozenset(changed)

    def _restored(self, unit: Unit) -> frozenset[str]:
        """The files that the calls of a turn put back as they were."""
        return NO_NAMES.union(*(call.restored for call in self.index.at(self.view, unit.seqs[0]).calls))

    def stale(self, units: Sequence[Unit], beside: Sequence[Visible]) -> list[tuple[str, list[str]]]:
        """What an earlier record beside them quotes and these turns changed, each with the entries that did."""
        changes = {unit.seqs[0]: self.made_by(unit) for unit in units}
        found: list[tuple[str, list[str]]] = []
        for slot in beside:
            for seq in quoted_by(self.view, slot) if isinstance(slot, Folded) else ():
                turn = self.view.unit(self.view.unit_of[seq]).seqs[0]
                about = self.index.at(self.view, turn).about if seq != turn else frozenset[str]()
                by = [
                    self.number(at)
                    for at, changed in changes.items()
                    if at > turn and any(is_one_of(name, about) for name in changed)
                ]
                if by:
                    found.append((self.target.reference(turn), by[-3:]))
        return list(dict(found).items())[-MOST:]

    def since(self, names: frozenset[str], turn: int) -> tuple[str, ...]:
        """The turns after this one that changed any of these, the newest three."""
        later = (self.view.unit(self.view.unit_of[seq]) for seq in self.index.changed(names, turn))
        changed = [unit for unit in later if any(is_one_of(name, names) for name in self.made_by(unit))]
        return tuple(self.number(unit.seqs[0]) for unit in changed[-3:])

    def number(self, seq: int) -> str:
        """The number by which the model reads an entry back."""
        return self.target.reference(seq).rsplit(" ", 1)[-1]


def quoted_by(view: View, slot: Folded) -> tuple[int, ...]:
    """The entries that the text of a fold quotes."""
    fold = view.fetch(slot.seq).body
    return fold.quotes if isinstance(fold, Fold) else ()
