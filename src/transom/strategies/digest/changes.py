"""What turns changed, as a record says it: files and objects, quotes that are no longer true, marks on a line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from transom import texts
from transom.core.edit import Fold
from transom.core.message import Assistant, Fact
from transom.core.policy import Target
from transom.core.unit import FoldedSlot, Unit
from transom.core.view import View
from transom.strategies.actions.action import ABOUT, NO_NAMES
from transom.strategies.actions.relations import Lines, is_one_of, may_touch, spans_of_quotes, whole_lines
from transom.strategies.digest.index import Index
from transom.strategies.digest.message_quotes import Spans
from transom.strategies.digest.passages import call_text, readable
from transom.strategies.digest.record import in_same_folder
from transom.strategies.digest.visible import Visible
from transom.strategies.text.one_line import values_in_a_line

TEMPORARY = ("/tmp/", "/private/", "/var/")  # noqa: S108 (only compared)
"""How the paths of files begin that a list of changes leaves out first."""

MOST, TOKENS_PER_CHANGE = 8, 160
"""How many files or objects a list of changes has; in a large record, one for this many of its tokens."""


IN_A_ROW = frozenset(("read", "fetch"))
"""Kinds of calls whose results have lines that follow each other in a file."""

NEWEST = 3
"""How many of the entries that changed a quote are named: the newest."""


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
            changed, states = sorted(self.made_by(unit)), self._states(unit)
            calls = self.index.at(self.view, unit.seqs[0]).calls
            restored = NO_NAMES.union(*(call.restored for call in calls))
            deleted = NO_NAMES.union(*(call.deleted for call in calls))
            number = self.number(unit.seqs[0])
            for made in (*changed, *(name for name in states if name not in changed)):
                same = paths.setdefault(made.rpartition("/")[2], [])
                name = next((path for path in same if is_one_of(made, [path])), made)
                same.append(name)
                before = found.pop(name, [])
                if made in restored:
                    found |= {name: [*before, texts.put_back(number)]} if before else {}
                else:
                    found[name] = [
                        *before,
                        texts.deleted(number) if made in deleted else f"{states.get(made, '')} {number}".strip(),
                    ]
        in_order = sorted(found.items(), key=lambda one: not one[0].startswith(TEMPORARY))
        newest = in_order[-max(MOST, int(size / TOKENS_PER_CHANGE)) :]
        shown = [
            values_in_a_line([name], ABOUT) if (last := in_same_folder(name, before)) == name else last
            for before, (name, _) in zip(["", *(name for name, _ in newest)], newest, strict=False)
        ]
        lines = [
            (texts.name_in_a_line(name), at if len(at) <= 3 else [at[0], "…", at[-1], f"{len(at)} times"])
            for name, (_, at) in zip(shown, newest, strict=True)
        ]
        more = len(found) - len(newest)
        return [*([(f"{more} more before", [])] if more else []), *lines]

    def _states(self, unit: Unit) -> dict[str, str]:
        """What the results of a turn show of what was made or changed: commits, and objects with their state."""
        results = (self.index.at(self.view, seq).result for seq in unit.seqs[1:])
        return dict(one for ended in results if ended is not None for one in ended.made)

    def made_by(self, unit: Unit) -> frozenset[str]:
        """What the calls of a turn changed: those that were neither refused nor failed."""
        return NO_NAMES.union(*(changed for _, changed in self._made_by_calls(unit)))

    def _made_by_calls(self, unit: Unit) -> Iterator[tuple[int, frozenset[str]]]:
        """The index of each call that changed something, and what. An exit code that a command echoes may be that of a
        check after the change; one that a shell states is most often that of its last command."""
        calls = self.index.at(self.view, unit.seqs[0]).calls
        results = dict(zip(unit.answered_calls, unit.seqs[1:], strict=True)) if calls else {}
        for at, call in enumerate(calls):
            ended = self.index.at(self.view, results[at]).result if at in results and call.changes else None
            if ended is not None and ended.status != "refused":
                yield at, call.first if ended.failed and not ended.is_echoed else call.changes

    def stale(self, units: Sequence[Unit], beside: Sequence[Visible]) -> list[tuple[str, list[str]]]:
        """What an earlier record beside them quotes and these turns changed, each with the entries that did."""
        changes = [(unit, changed) for unit in units if (changed := self.made_by(unit))]
        found: list[tuple[str, list[str]]] = []
        for slot in beside if changes else ():
            quotes = texts.quotes_in(slot.text) if isinstance(slot, FoldedSlot) else []
            for seq in quoted_by(self.view, slot) if isinstance(slot, FoldedSlot) else ():
                turn = self.view.unit(self.view.unit_of[seq])
                names = self._shown(turn, seq)
                later = [
                    unit
                    for unit, changed in changes
                    if unit.key > turn.key and any(is_one_of(name, names) for name in changed)
                ]
                lines = self._lines_of_quotes(turn, seq, quotes) if later else []
                by = [self.number(unit.seqs[0]) for unit in later if not self._leaves(unit, names, lines)]
                if by:
                    found.append((self.target.reference(turn.seqs[0]), by[-NEWEST:]))
        return list(dict(found).items())[-MOST:]

    def since(self, unit: Unit, at: int, spans: Spans) -> tuple[str, ...]:
        """The later turns that changed what is quoted of a call of this turn, the newest three: what its result shows
        of files or objects, or what an edit put in."""
        head = unit.seqs[0]
        action = self.index.at(self.view, head).calls[at]
        result = dict(zip(unit.answered_calls, unit.seqs[1:], strict=True)).get(at, head)
        fact = self.view.fetch(head).body
        assert isinstance(fact, Assistant)
        names, lines = NO_NAMES, list[Lines]()
        if result in spans and result != head and (names := self._shown(unit, result)):
            sources, in_a_row = readable(self._fact(result)), action.kind in IN_A_ROW
            for number, one in spans[result].items():
                lines += whole_lines(sources[number][0], one, in_a_row=in_a_row)
        elif action.is_edit and (names := dict(self._made_by_calls(unit)).get(at, NO_NAMES)):
            number = len(readable(fact)) - len(fact.calls) + at
            lines = list(whole_lines(call_text(fact.calls[at]), spans.get(head, {}).get(number, ()), in_a_row=True))
        later = (self.view.unit(self.view.unit_of[seq]) for seq in (self.index.changed(names, head) if names else ()))
        changed = [one for one in later if not self._leaves(one, names, lines)]
        return tuple(self.number(one.seqs[0]) for one in changed[-NEWEST:])

    def _shown(self, unit: Unit, seq: int) -> frozenset[str]:
        """The files or objects whose text a result of this turn is; none if it says that the call failed."""
        answered = dict(zip(unit.seqs[1:], unit.answered_calls, strict=True))
        ended = self.index.at(self.view, seq).result
        if seq not in answered or ended is None or ended.status == "refused":
            return NO_NAMES
        call = self.index.at(self.view, unit.seqs[0]).calls[answered[seq]]
        return NO_NAMES if not call.is_run and ended.failed else call.shown

    def _leaves(self, unit: Unit, names: frozenset[str], quoted: Sequence[Lines]) -> bool:
        """Whether what the calls of a turn changed of these files or objects is not among the quoted lines."""
        calls = self.index.at(self.view, unit.seqs[0]).calls
        return not any(
            any(is_one_of(name, names) for name in changed) and may_touch(calls[at].edits, quoted)
            for at, changed in self._made_by_calls(unit)
        )

    def _lines_of_quotes(self, unit: Unit, seq: int, quotes: Sequence[str]) -> list[Lines]:
        """The lines of a result of a turn that are among these quotes."""
        call = unit.answered_calls[unit.seqs.index(seq) - 1]
        in_a_row = self.index.at(self.view, unit.seqs[0]).calls[call].kind in IN_A_ROW
        return [
            run
            for text, _ in readable(self._fact(seq))
            for run in whole_lines(text, spans_of_quotes(text, quotes), in_a_row=in_a_row)
        ]

    def _fact(self, seq: int) -> Fact:
        fact = self.view.fetch(seq).body
        assert isinstance(fact, Fact)
        return fact

    def number(self, seq: int) -> str:
        """The number by which the model reads an entry back."""
        return self.target.reference(seq).rsplit(" ", 1)[-1]


def quoted_by(view: View, slot: FoldedSlot) -> tuple[int, ...]:
    """The entries that the text of a fold quotes."""
    fold = view.fetch(slot.seq).body
    return fold.quotes if isinstance(fold, Fold) else ()
