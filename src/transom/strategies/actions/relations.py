"""How actions relate: whether a later one answers an earlier one that failed, and whether an edit touches quoted text.

`pytest tests/a.py` that failed is answered by `uv run pytest tests/a.py -q` and by `pytest`, which cover it, not by
`pytest tests/b.py`, `pytest -k one_test` or `pytest --collect-only`. What is no test run, check or build is answered by
the same command only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from transom.strategies.actions.action import Action
from transom.strategies.actions.commands import Command
from transom.strategies.actions.edits import SCANNED_EDIT, FileEdit

RARE = 12
"""Characters of a line that is unlikely to stand in two places of a file, at least."""


class SameFiles:
    """Names in order, and which of them may be the same file as another name: it is equal, or one of both paths begins
    further in (`src/engine/load.py` and `load.py`). A name is looked up by its ends, so it is not compared with each of
    the names."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._names: list[str] = []
        self._places: dict[str, list[int]] = {}
        self._by_end: dict[str, list[int]] = {}
        for name in names:
            self.add(name)

    def add(self, name: str) -> None:
        """Add a name behind the others."""
        whole, place = name.removeprefix("./"), len(self._names)
        self._names.append(name)
        self._places.setdefault(whole, []).append(place)
        for end in _ends(whole):
            self._by_end.setdefault(end, []).append(place)

    def matches(self, name: str) -> list[int]:
        """The places of the names that may be the same file as this one, rising."""
        whole = name.removeprefix("./")
        equal_or_shorter = (place for end in (whole, *_ends(whole)) for place in self._places.get(end, ()))
        return sorted((*equal_or_shorter, *self._by_end.get(whole, ())))

    def first(self, name: str) -> str | None:
        """The first of the names that may be the same file as this one; None if there is none."""
        found = self.matches(name)
        return self._names[found[0]] if found else None

    def __contains__(self, name: str) -> bool:
        whole = name.removeprefix("./")
        return whole in self._by_end or any(end in self._places for end in (whole, *_ends(whole)))


def _ends(path: str) -> Iterator[str]:
    """The path of a file from each of its further folders on, down to the file alone."""
    at = path.find("/")
    while at >= 0:
        yield path[at + 1 :]
        at = path.find("/", at + 1)


def runs_of(action: Action) -> list[Command]:
    """The commands that an action is about: not those that stand beside or filter, and none whose end it does not wait
    for."""
    return [
        one
        for one in action.commands
        if one.role not in {"beside", "shows", "finds"} and one.end != "&" and one.program
    ]


def run_answers(later: Command, earlier: Command, *, by_name: bool = False, seen: bool = False) -> bool:
    """Whether a run covered what the earlier one did. `by_name`: only if it names the same targets. `seen`: how it
    ended is known, whatever its output went through."""
    folders = {later.folder, earlier.folder}
    is_elsewhere = len(folders) > 1 and ("" not in folders or max(folders)[0] not in "/~")  # "": it is not known
    if later.program != earlier.program or is_elsewhere or later.options - earlier.options:
        return False
    if later.pipes not in {"", earlier.pipes} and not seen:
        return False
    if later.targets == earlier.targets or later.role != "check" or by_name:
        return later.targets == earlier.targets
    return not later.targets or (
        bool(earlier.targets) and all(any(_covers(one, other) for one in later.targets) for other in earlier.targets)
    )


def _covers(target: str, other: str) -> bool:
    """Whether one file, folder or package has the other in it, or is the same."""
    folder = target.removesuffix("/...")
    return other in {target, folder} or other.startswith((f"{folder}/", f"{target}::"))


def edits_answer(later: Sequence[FileEdit], earlier: Sequence[FileEdit]) -> bool:
    """Whether edits of a file did what the earlier ones were to do: they replaced most lines of the same text; they
    wrote the whole file; or they are the same."""
    if any(one.whole for one in later) or later == earlier:
        return True
    mine, other = ({line for edit in edits for line in _lines(edit.old)} for edits in (later, earlier))
    shared = mine & other
    return 2 * len(shared) >= len(other) > 0 and (mine == other or any(len(line) >= RARE for line in shared))


def may_touch(edits: Sequence[FileEdit], quoted: str) -> bool:
    """Whether edits may have changed quoted text: lines that they take away stand in it, or it is not known what they
    replaced."""
    if not quoted or not edits or any(not one.old.strip() for one in edits):
        return True
    return any(line in quoted for one in edits for line in _taken_away(one))


def _taken_away(edit: FileEdit) -> list[str]:
    """The lines that an edit takes away, those that hardly stand in two places if there are any."""
    kept = set(_lines(edit.new))
    lines = [line for line in _lines(edit.old) if line not in kept]
    return [line for line in lines if len(line) >= RARE] or lines


def _lines(text: str) -> list[str]:
    return [words for line in text[:SCANNED_EDIT].split("\n") if (words := line.strip())]
