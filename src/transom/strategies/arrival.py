"""Strategies for arrival: they trim results that no request has carried yet. No cache knows these, so it is free."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

from transom import texts
from transom.core.edit import Edit, Trim
from transom.core.policy import Target
from transom.core.tokens import text_bytes
from transom.core.view import View
from transom.errors import InvalidSetting
from transom.strategies.candidates import unsent_units
from transom.strategies.text.parts import TextPart, result_texts
from transom.strategies.text.stubs import stub
from transom.strategies.text.truncation import level, shorten

ClipUnit = Literal["tokens", "bytes", "none"]

TOKEN_BYTES = 4
"""Bytes of UTF-8 that count as one token where bytes are counted."""


class _ByteCounter:
    """Sizes in UTF-8 bytes."""

    def count(self, text: str, /) -> int:
        return text_bytes(text)


_BYTES = _ByteCounter()


class Clip(Struct, frozen=True, kw_only=True):
    """Keeps the start and the end of a long tool result, half and half, with a marker between (as codex does).

    A result is long if it has more than `allowance` times min(`tokens`, `fraction` of the usable tokens); it is clipped
    to that size. The texts of one result share the size, and the longest are clipped first. Images stay.

    `unit`: what is counted: "tokens"; "bytes" of UTF-8, four for a token; or "none", which clips nothing. `header`: the
    marker also names the number of lines. It is part of the marker, because a line of ours before the first line of a
    result would look like the tool's own.
    """

    tokens: int = 5_000
    fraction: float = 0.25
    allowance: float = 1.2
    unit: ClipUnit = "tokens"
    header: bool = True

    def __post_init__(self) -> None:
        if self.unit not in get_args(ClipUnit):
            raise InvalidSetting(f"clip: unit must be tokens, bytes or none, not {self.unit!r}")

    def __call__(self, view: View, target: Target) -> Iterator[Edit]:
        if self.unit == "none":
            return
        size = target.budget.share(self.tokens, self.fraction)
        least = size * self.allowance
        if self.unit == "bytes":
            size, least = size * TOKEN_BYTES, 0
        for unit in unsent_units(view, target, over=least):
            for parts in result_texts(view, unit):
                yield from self._clip(target, parts, size)

    def _clip(self, target: Target, parts: list[TextPart], size: int) -> Iterator[Trim]:
        """The trims that bring the texts of one result down to `size`, if they are too long."""
        sizes = [text_bytes(part.text) if self.unit == "bytes" else part.tokens for part in parts]
        if sum(sizes) <= size * self.allowance:
            return
        most = level(sizes, size)
        for part, part_size in zip(parts, sizes, strict=True):
            if part_size > most:
                yield self._clip_text(target, part, part_size, int(most))

    def _clip_text(self, target: Target, part: TextPart, size: int, most: int) -> Trim:
        reference, lines = target.reference(part.entry), part.text.count("\n") + 1
        named_lines = lines if self.header and lines > 1 else 0
        keep, note = shorten(
            replace(part, tokens=size),
            most,
            _BYTES if self.unit == "bytes" else target.counter,
            lambda removed: texts.clip_marker(reference, removed * part.tokens // size, named_lines),
            texts.bare_marker(reference),
        )
        return Trim(entry=part.entry, part=part.part, keep=keep, note=note, why="clip")


class Stub(Struct, frozen=True, kw_only=True):
    """Replaces a long tool result by a stub: a reference to it, and a `preview` of so many tokens with its most telling
    lines.

    Long means over min(`characters`, `fraction` × usable tokens) characters.
    """

    characters: int = 7_000
    fraction: float = 0.5
    preview: int = 200

    def __call__(self, view: View, target: Target) -> Iterator[Edit]:
        most = target.budget.share(self.characters, self.fraction)
        for unit in unsent_units(view, target):
            for parts in result_texts(view, unit):
                if sum(len(part.text) for part in parts) > most:
                    yield from (stub(view, unit, target, part, self.preview, "stub") for part in parts)
