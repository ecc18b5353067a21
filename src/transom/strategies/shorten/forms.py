"""Forms: what is left of a part that is shortened.

Each takes the parts that a selector names, and gives a trim for each that gets smaller.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

from transom import texts
from transom.core.edit import Trim
from transom.core.message import ToolResult
from transom.core.policy import Target
from transom.core.ranges import Count, Share
from transom.core.tokens import Size, text_bytes
from transom.core.view import View
from transom.errors import InvalidSetting
from transom.strategies.candidates import stub_size
from transom.strategies.text.shown_parts import ShownPart
from transom.strategies.text.stubs import outcome, stub
from transom.strategies.text.truncation import excerpt, level, shorten

ClipUnit = Literal["tokens", "bytes", "none"]

TOKEN_BYTES = 4
"""Bytes of UTF-8 that count as one token where bytes are counted."""

LEAST_IF_DEEP = 200
"""Tokens that `ClipToFit(deep=True)` leaves of each text, at least."""


class Clip(Struct, frozen=True, kw_only=True):
    """The start and the end of a long tool result, half and half, with a marker between (as codex does).

    A result is long if it has more than `allowance` times min(`tokens`, `fraction` of the usable tokens); it is clipped
    to that minimum. The texts of one result share it, and the longest are clipped first. Images stay.

    `unit`: what is counted: "tokens"; "bytes" of UTF-8, four for a token; or "none", which clips nothing. `header`:
    whether the marker also says how many lines the text has. (The number is in the marker, because a line of ours above
    a result would look like the tool's own.) Raises InvalidSetting for another `unit`.
    """

    tokens: Count = 5_000
    fraction: Share = 0.25
    allowance: float = 1.2
    unit: ClipUnit = "tokens"
    header: bool = True

    def __post_init__(self) -> None:
        if self.unit not in get_args(ClipUnit):
            raise InvalidSetting(f"clip: unit must be tokens, bytes or none, not {self.unit!r}")

    def __call__(self, view: View, target: Target, parts: Sequence[ShownPart]) -> Iterator[Trim]:  # noqa: ARG002
        if self.unit == "none":
            return
        size = target.budget.share(self.tokens, self.fraction) * (TOKEN_BYTES if self.unit == "bytes" else 1)
        for _, result in groupby(parts, attrgetter("entry")):
            yield from self._clip(target, list(result), size)

    def _clip(self, target: Target, parts: list[ShownPart], size: int) -> Iterator[Trim]:
        """The trims that bring the texts of one result down to `size`, if they are too long."""
        sizes = [text_bytes(part.text) if self.unit == "bytes" else part.tokens for part in parts]
        if sum(sizes) <= size * self.allowance:
            return
        most = level(sizes, size)
        for part, part_size in zip(parts, sizes, strict=True):
            if part_size > most:
                yield self._clip_text(target, part, part_size, int(most))

    def _clip_text(self, target: Target, part: ShownPart, size: int, most: int) -> Trim:
        reference, lines = target.reference(part.entry), part.text.count("\n") + 1
        named_lines = lines if self.header and lines > 1 else 0
        keep, note = shorten(
            replace(part, tokens=size),
            most,
            text_bytes if self.unit == "bytes" else target.counter.count,
            lambda removed: texts.clip_marker(reference, removed * part.tokens // size, named_lines),
            texts.bare_marker(reference),
        )
        return Trim(entry=part.entry, part=part.part, keep=keep, note=note)


class ClipToFit(Struct, frozen=True):
    """The start and the end of each text, as much of them as the goal leaves. The longest texts are clipped first, to
    one length. A text that is short enough stays whole.

    `deep`: clip to the deep goal (`Target.deep_goal`), so that the next request need not clip the same texts again; but
    leave at least 200 tokens of each. `keep`: what all texts together keep at least, even if the goal leaves less, as a
    share of the limit without the head.
    """

    deep: bool = False
    keep: Share = 0.0

    def __call__(self, view: View, target: Target, parts: Sequence[ShownPart]) -> Iterator[Trim]:
        goal, least = (target.deep_goal, LEAST_IF_DEEP) if self.deep else (target.goal, 0)
        over, over_bytes = view.total.tokens - goal.tokens, view.total.bytes - goal.bytes
        sizes = [text_bytes(part.text) * part.shown_tokens // max(1, part.tokens) for part in parts]
        room = target.limit.minus(view.head_size)
        left = max(sum(part.shown_tokens for part in parts) - max(0, over), int(self.keep * room.tokens))
        left_bytes = max(sum(sizes) - max(0, over_bytes), int(self.keep * room.bytes))
        most, most_bytes = level([part.shown_tokens for part in parts], left), level(sizes, left_bytes)
        for part, size in zip(parts, sizes, strict=True):
            share = min(1.0, most / max(1, part.shown_tokens), most_bytes / max(1, size))
            tokens = max(least, int(part.shown_tokens * share))
            if share < 1.0 and tokens < part.shown_tokens:
                yield excerpt(target, part, tokens)


class Stub(Struct, frozen=True):
    """A marker with the reference of a tool result and its outcome, and `preview` tokens of its most informative
    lines."""

    preview: Count = 200

    def __call__(self, view: View, target: Target, parts: Sequence[ShownPart]) -> Iterator[Trim]:
        return (stub(view, target, part, self.preview) for part in parts)

    def estimate(self, part: ShownPart) -> Size:
        """About how much a stub of this part saves, before it is made."""
        tokens = part.shown_tokens - stub_size(self.preview)
        return Size(tokens, text_bytes(part.text) * tokens // max(1, part.tokens))


def line(view: View, target: Target, parts: Sequence[ShownPart]) -> Iterator[Trim]:
    """One line for a tool result: the tool, how many lines it gave, and how it ended. Parts of anything else stay as
    they are."""
    for part in parts:
        unit, result = view.unit(view.unit_of[part.entry]), view.fetch(part.entry).body
        call = view.call_of(unit, part.entry)
        if call is not None and isinstance(result, ToolResult):
            count, reference = part.text.count("\n") + 1, target.reference(part.entry)
            note = texts.masked_marker(reference, call.name, count, outcome(result, call.name))
            yield Trim(entry=part.entry, part=part.part, note=note)


def marker(view: View, target: Target, parts: Sequence[ShownPart]) -> Iterator[Trim]:  # noqa: ARG001
    """What the selector says in the part's place (`ShownPart.marker`); if it says nothing, a marker with the reference,
    which is JSON for arguments."""
    for part in parts:
        yield Trim(entry=part.entry, part=part.part, note=part.marker or _bare(target, part))


def marked_arguments(view: View, target: Target, parts: Sequence[ShownPart]) -> Iterator[Trim]:  # noqa: ARG001
    """For the arguments of each call a marker that is still JSON, the longest arguments first. Then, for all of them
    again, the shortest marker there is: the target may not be reached before."""
    longest_first = sorted(parts, key=lambda part: (-part.tokens, part.entry, part.part))
    for part in longest_first:
        note = texts.trimmed_arguments(target.reference(part.entry), part.tokens)
        yield Trim(entry=part.entry, part=part.part, note=note)
    for part in longest_first:
        yield Trim(entry=part.entry, part=part.part, note=_bare(target, part))


def gone(view: View, target: Target, parts: Sequence[ShownPart]) -> Iterator[Trim]:  # noqa: ARG001
    """Of reasoning nothing; of any other part a marker with its reference alone (JSON for arguments), since what is
    left out must be named (law 9)."""
    for part in parts:
        note = "" if part.part[0] == "reasoning" else _bare(target, part)
        yield Trim(entry=part.entry, part=part.part, note=note)


def _bare(target: Target, part: ShownPart) -> str:
    reference = target.reference(part.entry)
    return texts.bare_arguments(reference) if part.part[0] == "args" else texts.bare_marker(reference)
