"""Selectors of what is repeated or out of date: copies, superseded reads and writes, arguments of failed calls."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from transom import texts
from transom.core.message import Assistant
from transom.core.policy import Target
from transom.core.ranges import Count
from transom.core.trims import effective_trim, find_part
from transom.core.view import View
from transom.strategies.actions.arguments import PATHS
from transom.strategies.shorten.visible_results import VisibleResult, visible_results
from transom.strategies.text.parts import ShownPart
from transom.strategies.text.stubs import ending, tool_words

FILE_ARGUMENTS = (*PATHS, "uri")
"""Names of arguments that hold the file of a call."""


class Duplicates(Struct, frozen=True):
    """Texts of results that are equal to a text of a newer result, if they have `tokens` or more. Their markers name
    the newest result with this text. A text is left out if the window shows more of it than of that newest one."""

    tokens: Count = 100

    def __call__(self, view: View, target: Target) -> Iterator[ShownPart]:
        newest: dict[str, ShownPart] = {}
        for one in reversed(list(visible_results(view, target))):
            for part in reversed(one.parts):
                copy = newest.setdefault(part.text, part)
                shown = copy.shown_tokens >= part.shown_tokens
                if one.free and copy.entry != one.entry and part.tokens >= self.tokens and shown:
                    marker = texts.duplicate_marker(target.reference(part.entry), target.reference(copy.entry))
                    yield replace(part, marker=marker)


class Superseded(Struct, frozen=True, kw_only=True):
    """Results of reads, and arguments of writes, that later calls have made useless.

    - The result of a read is useless if the same call with the same arguments was made again; but not if the later
      result has less than half of its tokens, such as "unchanged". It is useless too if its file was written and then
      read again. Two reads of one file without a write between them both stay, since each may have its own range.
    - The arguments of a write or a change are useless if its file was later written as a whole.
    - Failed calls are ignored: they have done nothing.

    Whether a call reads (`reads`), writes a whole file (`writes`) or changes one (`changes`) is decided by the words in
    the name of its tool, or in its argument `command` if that is one word (an editor's "view"). Its file is the first
    of `paths` among its arguments.
    """

    reads: tuple[str, ...] = ("read", "view", "cat", "open", "get", "show", "fetch", "load")
    writes: tuple[str, ...] = ("write", "create", "save", "overwrite")
    changes: tuple[str, ...] = ("edit", "update", "patch", "replace", "insert", "append", "delete", "move", "rename")
    paths: tuple[str, ...] = FILE_ARGUMENTS

    def __call__(self, view: View, target: Target) -> Iterator[ShownPart]:
        # from the newest call back, so that it is known what was done later
        newest: dict[tuple[str, str], tuple[int, int]] = {}  # by call, the entry that answered it last, and its tokens
        read: dict[str, int] = {}  # by path, the entry that read it last
        rewritten, whole = set[str](), set[str]()  # paths: written after a read and before another; written as a whole
        for one in reversed(list(visible_results(view, target))):
            args = _object(one.call.args)
            verb, path = self._verb(one, args), next(iter(_path_arguments(args, self.paths).values()), "")
            if not verb or ending(one.result, one.call.name)[1]:
                continue
            if verb == "read":
                call, tokens = (one.call.name, one.call.args), sum(part.tokens for part in one.parts)
                later, size = newest.get(call, (None, 0))
                if later is None or 2 * size < tokens:  # the later answer was something like "unchanged"
                    newest[call], later = (one.entry, tokens), read[path] if path in rewritten else None
                if one.free and later is not None:
                    note = texts.outdated_marker(target.reference(one.entry), target.reference(later))
                    yield from (replace(part, marker=note) for part in one.parts)
                read.setdefault(path, one.entry)
            elif path:
                if one.free and path in whole:
                    yield _arguments(view, target, one, self.paths)
                if path in read:
                    rewritten.add(path)
                if verb == "write":
                    whole.add(path)

    def _verb(self, one: VisibleResult, args: dict[str, Any]) -> str:
        """What a call does: "read", "write" (a whole file) or "change"; empty for anything else. A write that appends
        is a change."""
        command = args.get("command")
        name = tool_words(command if isinstance(command, str) and command.isidentifier() else one.call.name)
        if name & {*self.writes}:
            return "change" if args.get("append") or str(args.get("mode")) in {"a", "append"} else "write"
        return "change" if name & {*self.changes} else "read" if name & {*self.reads} else ""


class FailedArguments(Struct, frozen=True, kw_only=True):
    """The arguments of failed calls, if they have `tokens` or more and at least `turns` newer turns of the model
    follow.

    The result stays and says what went wrong. The marker in place of the arguments names the file.
    """

    turns: Count = 4
    tokens: Count = 100
    paths: tuple[str, ...] = FILE_ARGUMENTS
    """Names of arguments that hold the file; these stay."""

    def __call__(self, view: View, target: Target) -> Iterator[ShownPart]:
        turns = [unit.key for unit in view.visible_units() if isinstance(unit.first_fact, Assistant)]
        border = turns[-self.turns] if len(turns) >= self.turns else -1
        for one in visible_results(view, target):
            if one.unit.key < border and one.free and ending(one.result, one.call.name)[1]:
                part = _arguments(view, target, one, self.paths)
                if part.tokens >= self.tokens:
                    yield part


def _arguments(view: View, target: Target, one: VisibleResult, paths: tuple[str, ...]) -> ShownPart:
    """The arguments of a call, as a part whose marker names the file."""
    turn, address = view.entries_of(one.unit)[0], ("args", one.index)
    _, tokens = find_part(turn, address) or (None, 0)
    trim = effective_trim(one.unit.trims, (turn.seq, address))
    kept = _path_arguments(_object(one.call.args), paths)
    marker = texts.trimmed_arguments_but(kept, target.reference(turn.seq), tokens)
    return ShownPart(turn.seq, address, one.call.args, tokens, tokens if trim is None else trim.tokens, marker)


def _object(args: str) -> dict[str, Any]:
    """Parse arguments. Returns an empty dict if they are no JSON object."""
    try:
        read: Any = json.loads(args)
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", read) if isinstance(read, dict) else {}


def _path_arguments(args: dict[str, Any], paths: tuple[str, ...]) -> dict[str, str]:
    """Those of the arguments `paths` that are texts of 1 to 299 characters, in the order of `paths`."""
    return {name: args[name] for name in paths if isinstance(args.get(name), str) and 0 < len(args[name]) < 300}
