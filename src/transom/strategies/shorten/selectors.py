"""Selectors: which parts may be shortened."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Literal, cast

from msgspec import Struct
from msgspec.structs import replace

from transom import texts
from transom.core.message import Assistant, Call, ToolResult
from transom.core.policy import Target
from transom.core.ranges import Count, Share
from transom.core.trims import effective_trim, find_part
from transom.core.unit import Unit
from transom.core.view import View
from transom.strategies.actions.arguments import PATHS
from transom.strategies.candidates import is_large, is_user_pinned, may_trim, unsent_units
from transom.strategies.text.shown_parts import PartKind, ShownPart, is_read_back, result_texts, shown_parts
from transom.strategies.text.stubs import ending, tool_words

Where = Literal["newest", "required", "required before newest", "others"]

FILE_ARGUMENTS = (*PATHS, "uri")
"""Names of arguments that hold the file of a call."""


class VisibleResult(Struct, frozen=True):
    """A tool result in the window, with its call and the unit of both.

    `entry`: the seq of the result. `index`: of the call in its turn. `parts`: the texts of the result. `free`: whether
    a strategy may trim the result (see `may_trim`); never one that was read back from the log.
    """

    unit: Unit
    entry: int
    result: ToolResult
    call: Call
    index: int
    parts: tuple[ShownPart, ...]
    free: bool


def visible_results(view: View, target: Target) -> Iterator[VisibleResult]:
    """Yield the tool results of all units outside folds, the oldest first, also those that may not be trimmed (see
    `VisibleResult.free`). The results of a pinned unit that a fold covers are left out."""
    for unit in view.slots:
        if isinstance(unit, Unit) and isinstance(unit.first_fact, Assistant) and len(unit.seqs) > 1:
            free = may_trim(view, target, unit)
            parts: dict[int, list[ShownPart]] = {}
            for part in shown_parts(view, unit, "results"):
                parts.setdefault(part.entry, []).append(part)
            for seq, index, result in zip(unit.seqs[1:], unit.answered_calls, unit.facts[1:], strict=True):
                call, own = unit.first_fact.calls[index], tuple(parts.get(seq, ()))
                assert isinstance(result, ToolResult)
                yield VisibleResult(unit, seq, result, call, index, own, free and call.name not in texts.READ_BACK)


class FreshResults(Struct, frozen=True, kw_only=True):
    """Each result that no request has carried yet, if its texts together have more than min(`characters`, `fraction` ×
    the usable tokens) characters. By default, with `characters` of 0, all results that have a text are named.

    For `Policy.arrival`: these results are in no cached prefix, so a trim breaks none.
    """

    characters: Count = 0
    fraction: Share = 0.5

    def __call__(self, view: View, target: Target) -> Iterator[ShownPart]:
        most = target.budget.share(self.characters, self.fraction)
        for unit in unsent_units(view, target):
            for parts in result_texts(view, unit):
                if sum(len(part.text) for part in parts) > most:
                    yield from parts


class OldResults(Struct, frozen=True, kw_only=True):
    """The texts of old results, the oldest first. Images are not named; `Media` names them.

    The number of results is rounded down to a multiple of `polling` (SWE-agent's word). Of that many, counted from the
    oldest, all but the last `last` are old. So the border moves `polling` results at a time, and the prefix stays
    cached in between; a `polling` of 0 counts as 1. Never named are the first `first` results, those of the tools
    `tools`, and those that may not be trimmed (see `may_trim`).
    """

    last: Count = 5
    polling: Count = 10
    first: Count = 1
    tools: frozenset[str] = frozenset()

    def __call__(self, view: View, target: Target) -> Iterator[ShownPart]:
        found = list(visible_results(view, target))
        stop = len(found) // max(1, self.polling) * self.polling - self.last
        for one in found[self.first : max(stop, 0)]:
            if one.free and one.call.name not in self.tools:
                yield from one.parts


class LargeOldResults(Struct, frozen=True, kw_only=True):
    """Results that are more than twice as long as a stub with a preview of `preview` tokens would be (as opencode
    does), those of the newest turn first.

    A turn is left out if the results behind it have no more than min(`keep`, `keep_share` of the usable tokens) tokens
    together, or if it may not be trimmed (see `may_trim`); a result if its tool reads the log back.
    """

    keep: Count = 40_000
    keep_share: Share = 0.4
    preview: Count = 60

    def __call__(self, view: View, target: Target) -> Iterator[ShownPart]:
        newer, keep = 0, target.budget.share(self.keep, self.keep_share)
        for slot in reversed(view.slots):
            if not isinstance(slot, Unit) or len(slot.seqs) == 1:
                continue
            parts = list(shown_parts(view, slot, "results"))
            if newer > keep and may_trim(view, target, slot):
                for part in parts:
                    if is_large(part, self.preview) and not is_read_back(view, slot, part.entry):
                        yield part
            newer += sum(part.shown_tokens for part in parts)


class OldReasoning(Struct, frozen=True, kw_only=True):
    """The reasoning of all turns before the newest user message. With `current`, or without a user message: of all
    turns but the newest.

    Left out are turns with open calls, turns that a person pinned or restored, and reasoning that is hidden already.
    Protected turns are not left out. What the model concluded is in what it did afterwards. Providers that want
    reasoning back want it byte for byte, and only that of the turns since the newest user message.
    """

    current: bool = False

    def __call__(self, view: View, target: Target) -> Iterator[ShownPart]:
        stop = view.length if self.current or view.newest_user is None else view.newest_user
        for unit in view.visible_units():
            # a protected unit keeps its text and calls, not its reasoning; a person's pin keeps everything
            if (
                unit.key < stop
                and not unit.signature_stale  # hidden already
                and isinstance(unit.first_fact, Assistant)
                and may_trim(view, target, unit, protected=(), implied_pins=False)
            ):
                yield from shown_parts(view, unit, "reasoning")


class Media(Struct, frozen=True):
    """Images and files, the oldest first. Those of units that a person pinned come last. What is left out already is
    not named.

    With `old`, none are named unless the window has too many images or bytes, and those of the newest, the protected
    and the pinned units never are.
    """

    old: bool = False

    def __call__(self, view: View, target: Target) -> Iterator[ShownPart]:
        if self.old and view.total.images <= target.goal.images and view.total.bytes <= target.goal.bytes:
            return
        for unit in sorted(view.visible_units(), key=lambda unit: is_user_pinned(view, unit)):
            if not self.old or may_trim(view, target, unit):
                for part in shown_parts(view, unit, "media"):
                    kind = "file" if part.part[0] == "file" else "image"
                    yield replace(part, marker=texts.media_marker(target.reference(part.entry), kind))


class PartsOf(Struct, frozen=True):
    """All parts of one kind in some units, also of protected ones: for the last resort.

    `kind`: "results" are the texts of tool results, "text" all other texts, "arguments" those of calls, "media" images
    and files, "reasoning" the reasoning of the model.

    `where`: in which units. "newest" is the newest unit; "required" the first task and the newest user message;
    "required before newest" these without the newest unit; "others" all units but these and the newest. While the
    newest unit belongs to a first task of several messages, "newest" and "required before newest" are empty: the
    messages of the task are shortened together, as "required".

    No part is named if only messages or images are too many: shorter texts would not help.
    """

    kind: PartKind
    where: Where

    def __call__(self, view: View, target: Target) -> Iterator[ShownPart]:
        if view.total.tokens > target.goal.tokens or view.total.bytes > target.goal.bytes:
            for unit in self._units(view, target):
                yield from shown_parts(view, unit, self.kind)

    def _units(self, view: View, target: Target) -> Iterator[Unit]:
        # The last message of a long task is no less than those before it: they are shortened together.
        is_of_long_task = len(view.first_task) > 1 and target.newest_unit in view.first_task
        if self.where == "newest":
            slot = view.slots[view.slot_index(target.newest_unit)]
            yield from (slot,) if isinstance(slot, Unit) and not is_of_long_task else ()
            return
        if self.where == "required before newest" and is_of_long_task:
            return
        for unit in view.visible_units():
            is_wanted = (unit.key in target.required) is (self.where != "others")
            if is_wanted and (self.where == "required" or unit.key != target.newest_unit):
                yield unit


class Duplicates(Struct, frozen=True):
    """Texts of results that are equal to a text of a newer result, if they have `tokens` or more, the newest first.
    Their markers name the newest result with this text. A text is left out if the window shows more of it than of that
    newest one, or if it may not be trimmed (see `may_trim`)."""

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
    """Results of reads, and arguments of writes, that later calls have made useless, the newest first.

    - The result of a read is useless if the same call with the same arguments was made again; but not if the later
      result has less than half of its tokens, such as "unchanged". It is useless too if its file was written and then
      read again. Two reads of one file without a write between them both stay, since each may have its own range.
    - The arguments of a write or a change are useless if its file was later written as a whole.
    - Failed calls are ignored: they have done nothing. What may not be trimmed (see `may_trim`) is not named.

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
        """What a call does: "read", "write" (a whole file) or "change"; empty for anything else."""
        command = args.get("command")
        name = tool_words(command if isinstance(command, str) and command.isidentifier() else one.call.name)
        if name & {*self.writes}:
            return "change" if args.get("append") or str(args.get("mode")) in {"a", "append"} else "write"
        return "change" if name & {*self.changes} else "read" if name & {*self.reads} else ""


class FailedArguments(Struct, frozen=True, kw_only=True):
    """The arguments of failed calls, if they have `tokens` or more and at least `turns` newer turns of the model
    follow. What may not be trimmed (see `may_trim`) is not named.

    The result stays and says what went wrong. The marker in place of the arguments names the file: those of the
    arguments `paths` that are short texts.
    """

    turns: Count = 4
    tokens: Count = 100
    paths: tuple[str, ...] = FILE_ARGUMENTS
    """Names of arguments that hold the file; these stay."""

    def __call__(self, view: View, target: Target) -> Iterator[ShownPart]:
        turns = [unit.key for unit in view.visible_units() if isinstance(unit.first_fact, Assistant)]
        newest = turns[-self.turns :] if self.turns else [view.length]
        border = newest[0] if len(turns) >= self.turns else -1
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
