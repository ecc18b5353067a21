"""What the window says twice or no longer rightly: copies, overtaken reads and writes, what failed calls were given."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, cast

from msgspec import Struct

from transom import texts
from transom.core.edit import Edit
from transom.core.message import Assistant
from transom.core.policy import Target
from transom.core.trims import find_part
from transom.core.view import View
from transom.strategies.observation_masking import Observation, Offer, observations, worthwhile
from transom.strategies.text.stubs import ending, tool_words
from transom.strategies.text.truncation import Spot

PATHS = ("file_path", "path", "filepath", "filename", "file_name", "file", "target_file", "notebook_path", "uri")


class Dedupe(Struct, frozen=True, kw_only=True):
    """Of results with the very same text, `tokens` or more, the newest stays and the older ones name it. In one batch,
    and only if it frees `least` of the limit."""

    tokens: int = 100
    least: float = 0.05

    def __call__(self, view: View, target: Target) -> Iterator[Edit]:
        return worthwhile(target, self._copies(view, target), self.least, "duplicate")

    def _copies(self, view: View, target: Target) -> Iterator[Offer]:
        newest: dict[str, Spot] = {}
        for one in reversed(list(observations(view, target.protected))):
            for spot in reversed(one.spots):
                copy = newest.setdefault(spot.text, spot)
                if one.free and copy.entry != one.entry and spot.tokens >= self.tokens and copy.shown >= spot.shown:
                    yield one.unit, spot, texts.duplicate(target.reference(spot.entry), target.reference(copy.entry))


class Superseded(Struct, frozen=True, kw_only=True):
    """A read gives way if the very same call was made again, or if its file was written and then read again; the
    arguments of a write or an edit, if its file was later written as a whole.

    Two reads of one file without a write between are two texts: each may have its own range. What a call does is told
    by words in the tool's name, or in the command it is given (an editor's "view"); its file is the first of `paths`
    among its arguments. What failed has done nothing. In one batch, and only if it frees `least` of the limit.
    """

    reads: tuple[str, ...] = ("read", "view", "cat", "open", "get", "show", "fetch", "load")
    writes: tuple[str, ...] = ("write", "create", "save", "overwrite")
    changes: tuple[str, ...] = ("edit", "update", "patch", "replace", "insert", "append", "delete", "move", "rename")
    paths: tuple[str, ...] = PATHS
    least: float = 0.05

    def __call__(self, view: View, target: Target) -> Iterator[Edit]:
        return worthwhile(target, self._overtaken(view, target), self.least, "superseded")

    def _overtaken(self, view: View, target: Target) -> Iterator[Offer]:
        """From the newest call back: what was done later is known."""
        again: dict[tuple[str, str], tuple[int, int]] = {}  # by call, the entry that answered it last, and its tokens
        read: dict[str, int] = {}  # by path, the entry that read it last
        stale, whole = set[str](), set[str]()  # paths: of what was read before a write, and of what was written whole
        for one in reversed(list(observations(view, target.protected))):
            args = _object(one.call.args)
            verb, path = self._verb(one, args), next(iter(_places(args, self.paths).values()), "")
            if not verb or ending(one.result)[1]:
                continue
            if verb == "read":
                call, tokens = (one.call.name, one.call.args), sum(spot.tokens for spot in one.spots)
                by, size = again.get(call, (None, 0))
                if by is None or 2 * size < tokens:  # it said "unchanged", or something of the kind
                    again[call], by = (one.entry, tokens), read[path] if path in stale else None
                if one.free and by is not None:
                    note = texts.outdated(target.reference(one.entry), target.reference(by))
                    yield from ((one.unit, spot, note) for spot in one.spots)
                read.setdefault(path, one.entry)
            elif path:
                if one.free and path in whole:
                    yield _arguments(view, target, one, self.paths)
                if path in read:
                    stale.add(path)
                if verb == "write":
                    whole.add(path)

    def _verb(self, one: Observation, args: dict[str, Any]) -> str:
        """What a call does: read, write (a whole file) or change; empty for anything else."""
        command = args.get("command")
        name = tool_words(command if isinstance(command, str) and command.isidentifier() else one.call.name)
        if name & {*self.writes}:
            return "change" if args.get("append") or str(args.get("mode")) in {"a", "append"} else "write"
        return "change" if name & {*self.changes} else "read" if name & {*self.reads} else ""


class ErrorPurge(Struct, frozen=True, kw_only=True):
    """The arguments of failed calls, of `tokens` or more, are left out (all but the file) once `turns` newer turns of
    the model stand behind them: what went wrong is in the result. In one batch, if it frees `least` of the limit."""

    turns: int = 4
    tokens: int = 100
    paths: tuple[str, ...] = PATHS
    least: float = 0.02

    def __call__(self, view: View, target: Target) -> Iterator[Edit]:
        turns = [unit.key for unit in view.visible_units() if isinstance(unit.head, Assistant)]
        border = turns[-self.turns] if len(turns) >= self.turns else -1
        old = (
            one
            for one in observations(view, target.protected)
            if one.unit.key < border and one.free and ending(one.result)[1]
        )
        offers = (_arguments(view, target, one, self.paths) for one in old)
        return worthwhile(target, (o for o in offers if o[1].tokens >= self.tokens), self.least, "failed call")


def _arguments(view: View, target: Target, one: Observation, paths: tuple[str, ...]) -> Offer:
    """The arguments of a call, and the marker for them that still names the file."""
    turn, part = view.entries_of(one.unit)[0], ("args", one.index)
    (_, tokens), cut = find_part(turn, part) or (None, 0), one.unit.effective_trims().get((turn.seq, part))
    spot = Spot(turn.seq, part, one.call.args, tokens, tokens if cut is None else cut.tokens)
    kept = _places(_object(one.call.args), paths)
    return one.unit, spot, texts.arguments_but(kept, target.reference(turn.seq), tokens)


def _object(args: str) -> dict[str, Any]:
    """Arguments as an object; empty if they are none."""
    try:
        read: Any = json.loads(args)
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", read) if isinstance(read, dict) else {}


def _places(args: dict[str, Any], paths: tuple[str, ...]) -> dict[str, str]:
    """The arguments that name a file."""
    return {name: args[name] for name in paths if isinstance(args.get(name), str) and 0 < len(args[name]) < 300}
