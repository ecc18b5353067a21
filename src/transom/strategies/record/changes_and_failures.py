"""What came of the calls of turns: the files and objects that they changed, and the failures that a later success
answered."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from transom import quoting
from transom.core.policy import Target
from transom.core.unit import Unit
from transom.core.view import View
from transom.strategies.actions.action import ABOUT, NO_NAMES
from transom.strategies.actions.commands import Command
from transom.strategies.actions.file_edits import SCANNED_EDIT, FileEdit, file_of, is_same_file
from transom.strategies.record.index import DoneCall, Index
from transom.strategies.text.one_line import values_in_a_line

MOST, TOKENS_PER_CHANGE = 8, 160
"""How many files or objects a list of changes has; in a large record, one for this many of its tokens."""

NEWEST = 3
"""How many of the entries that changed a file are named all."""

COMPARED = 32
"""With how many of the newest files of the same name a path is compared, so that hundreds of `__init__.py` cost little.
A path that is written as before is always found."""

NEAR = 20
"""How far to look for an edit that answers a failed one: among later edits of files of that name."""

RARE = 12
"""Characters of a line that is unlikely to stand in two places of a file, at least."""


def changed_names(
    view: View, target: Target, index: Index, units: Sequence[Unit], size: float
) -> list[tuple[str, list[str]]]:
    """The files or objects that these turns changed, the one changed last at the end, each with the turns that changed
    it. `units`: the oldest first. `size`: the tokens of the record. Names are cut and made safe for a line.

    A turn is a text: what it did, if the result shows that, and the number of its first entry, by which the model reads
    it back ("deleted 12"). Of more than three turns the first and the last are named, and how many there are:
    `["4", "…", "31", "9 times"]`.

    The list names the newest 8, or one for each 160 tokens of `size` if that is more. If there are others, they are
    counted in an item without turns, at the beginning: `("12 more before", [])`.
    """
    found: dict[str, list[str]] = {}
    by_file: dict[str, list[str]] = {}
    for unit in units:
        number = entry_number(target, unit.seqs[0])
        for made, state in made_by(view, index, unit).items():
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


def made_by(view: View, index: Index, unit: Unit) -> dict[str, str]:
    """The files and objects that the calls of a turn changed or made, by name. The value is what became of each:
    "deleted", or the state that a result shows ("booked"); empty if nothing says it. A call without a result, and one
    that was refused, changed nothing; one that failed changed what its commands before the last one did."""
    found: dict[str, str] = {}
    for done in index.calls_of(view, unit):
        made = dict(done.outcome.made if done.outcome is not None else ())
        changed, deleted = _changed_by(done), done.action.deleted
        if made and not done.action.commands and changed.isdisjoint(made):
            changed = NO_NAMES  # the call named the user or the payment; what changed is the object in the result
        found |= {name: "deleted" if name in deleted else "" for name in sorted(changed)} | made
    return found


def entry_number(target: Target, seq: int) -> str:
    """The number by which the model reads an entry back, as a text: the last word of its reference."""
    return target.reference(seq).rsplit(" ", 1)[-1]


def _changed_by(done: DoneCall) -> frozenset[str]:
    """What a call changed. An exit code is most often that of the last command: those before it succeeded."""
    if done.outcome is None or done.outcome.status == "refused":
        return NO_NAMES
    if done.outcome.failed:
        return NO_NAMES.union(*(one.changes for one in done.action.commands[:-1]))
    return done.action.changes


def answered_failures(calls: Iterable[DoneCall]) -> dict[tuple[int, int], int]:
    """Find the failed calls whose whole work succeeded later. Returns for each of them the entry of the turn that
    completed the work; the key is the entry of the failed call's turn and the call's index in it. `calls`: the newest
    first.

    In doubt a failure counts as not answered: a command is answered by the same command in the same folder, an edit by
    one that replaces the same text, or that writes the whole file. A pipe hides how a command in it ended. Then its
    success counts only if the summary of its run stands in the output, or if both calls ran the same commands.
    """
    found: dict[tuple[int, int], int] = {}
    runs: dict[object, int] = {}
    edits: dict[str, list[tuple[FileEdit, int]]] = defaultdict(list)
    for done in calls:
        ended, action, turns = done.outcome, done.action, list[int]()
        if ended is not None and action.is_edit:
            for one in action.edits or [FileEdit(name) for name in sorted(action.changes)]:
                later = edits[file_of(one.file)]
                if ended.status == "ok":
                    later.append((one, done.turn))
                turns.append(_answer(one, later[: -NEAR - 1 : -1]))
        elif ended is not None:
            main = [one for one in action.commands if _is_work(one)]
            for one in main:
                later = (runs[key] for key in (action.commands, _key(one)) if key in runs)
                turns.append(min(later, default=-1))
            if ended.status == "ok":
                seen = (one for one in main if ended.ran or (one.end in {"", "&&"} and not one.changes))
                runs |= dict.fromkeys((*map(_key, seen), action.commands), done.turn)
        if ended is not None and ended.failed and turns and min(turns) >= 0:
            found[done.turn, done.at] = max(turns)
    return found


def _is_work(one: Command) -> bool:
    """Whether a call may be about a command: it does not show, stand beside others, or run in the background."""
    return bool(one.program) and one.role not in {"beside", "shows", "finds"} and one.end != "&"


def _key(one: Command) -> object:
    return one.program, one.words, one.folder


def _answer(failed: FileEdit, later: Iterable[tuple[FileEdit, int]]) -> int:
    """The turn of the first of these edits that did what a failed one was to do, in the same file; -1 if none did. It
    wrote the whole file, it is the same change, or it replaced at least half of the lines that `failed` was to replace.
    In the last case one of the shared lines must have `RARE` characters, unless both replace the same lines."""
    for one, turn in later:
        mine, other = _lines(one.old), _lines(failed.old)
        shared = mine & other
        is_like = 2 * len(shared) >= len(other) > 0 and (mine == other or any(len(line) >= RARE for line in shared))
        is_same = one.whole or (one.old, one.new) == (failed.old, failed.new)
        if (is_same or is_like) and is_same_file(one.file, failed.file):
            return turn
    return -1


def _lines(text: str) -> set[str]:
    return {words for line in text[:SCANNED_EDIT].split("\n") if (words := line.strip())}
