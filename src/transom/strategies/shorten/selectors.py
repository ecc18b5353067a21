"""Selectors: which parts may be shortened. Repeated results and useless arguments: `repeated.py`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from transom import texts
from transom.core.message import Assistant
from transom.core.policy import Target
from transom.core.ranges import Count, Share
from transom.core.unit import Unit
from transom.core.view import View
from transom.strategies.candidates import is_large, is_user_pinned, may_trim, unsent_units
from transom.strategies.shorten.visible_results import visible_results
from transom.strategies.text.parts import PartKind, ShownPart, is_read_back, result_texts, shown_parts

Where = Literal["newest", "required", "required before newest", "others"]


class FreshResults(Struct, frozen=True, kw_only=True):
    """Results that no request has carried yet, if they have more characters than `characters`. In a small window the
    number is smaller: `fraction` × the usable tokens. By default all results that have a text are named.

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

    The number of results is rounded down to a multiple of `polling` (SWE-agent's word). Of that many results, all but
    the last `last` are old. So the border between old and new moves `polling` results at a time, and the prefix stays
    cached in between. The first `first` results are never named, nor those of the tools `tools`.
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
    does), the newest first.

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
    """The reasoning of turns before the newest user message; with `current`, or if there is no user message, of all
    turns but the newest.

    It is named also of a protected turn, but not of one that a person pinned or restored, nor where it is hidden
    already. What the model concluded is in what it did afterwards. Providers that want reasoning back want it byte for
    byte, and only that of the turns since the newest user message.
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
    """Images and files, the oldest first. Those of units that a person pinned come last.

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
