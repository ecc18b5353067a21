"""One way to shorten parts of turns: `Shorten(which, form)`.

A *selector* says which parts: old results, copies, arguments of failed calls, old reasoning (`selectors.py`). A *form*
says what is left of them: both ends, a stub, a line, a marker, nothing (`forms.py`). Both are plain functions, or
callable objects with settings, so that users can write their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from transom.core.budget import fits
from transom.core.edit import Edit, Trim
from transom.core.message import Text
from transom.core.policy import Target
from transom.core.ranges import Count, Share, check_ranges
from transom.core.tokens import ZERO, Size, part_bytes, text_bytes
from transom.core.trims import effective_trim, find_part, trimmed_text
from transom.core.view import View
from transom.errors import InvalidSetting, quote
from transom.strategies.candidates import is_worth_a_batch
from transom.strategies.text.shown_parts import ShownPart

Selector = Callable[[View, Target], Iterable[ShownPart]]
"""A function that names the parts that may be shortened, the least useful first."""

Form = Callable[[View, Target, Sequence[ShownPart]], Iterable[Trim]]
"""A function that makes a trim for each of these parts that gets smaller: what is left of the part. `Shorten` fills in
the reason."""

Worth = Callable[[View, Target, Size], bool]
"""A function that says whether it is worth a break of the cached prefix to save this much."""

MIN_SAVING = 20
"""Tokens that a note must save to be worth an entry of the log, where all trims are made together."""


class Shorten(Struct, frozen=True):
    """Shortens the parts that `which` names to what `form` leaves of them.

    Without `worth` the trims are proposed one by one, and the planner stops when the target is reached. With `worth`
    all trims are made or none: `worth` gets what they save together and decides. A trim that leaves a note, but saves
    less than 20 tokens, is then left out.

    A form may have a method `estimate(part)`, the size that a trim of this part saves, about. Then `worth` decides by
    the sum of the estimates, before any trim is made; if it agrees, the trims are proposed one by one.

    Raises InvalidSetting if `which`, `form` or `worth` cannot be called, or `why` is no text.
    """

    which: Selector
    """Which parts: a selector of `transom.strategies`, or a function of your own."""
    form: Form
    """What is left of them: a form of `transom.strategies`, or a function of your own."""
    why: str = "shortened"
    """The reason that `explain` shows."""
    worth: Worth | None = None
    """`Together`, `Enough`, or a function of your own."""

    def __post_init__(self) -> None:
        for name in ("which", "form"):
            if not callable(given := getattr(self, name)):
                raise InvalidSetting(f"shorten: {name} must be a function, not {quote(given)}")
        if self.worth is not None and not callable(self.worth):
            raise InvalidSetting(f"shorten: worth must be a function or None, not {quote(self.worth)}")
        if not isinstance(cast("object", self.why), str):
            raise InvalidSetting(f"shorten: why must be text, not {quote(self.why)}")
        for step in (self.which, self.form, self.worth):
            check_ranges(step)

    def __call__(self, view: View, target: Target) -> Iterator[Edit]:
        parts = list(self.which(view, target))
        estimate: Callable[[ShownPart], Size] | None = getattr(self.form, "estimate", None)
        about = None if estimate is None else reduce(Size.plus, map(estimate, parts), ZERO)
        if self.worth is not None and about is not None and not (parts and self.worth(view, target, about)):
            return
        made = self.form(view, target, parts)
        trims = (replace(trim, why=self.why) for trim in made)
        if self.worth is None or estimate is not None:
            yield from trims
            return
        together, saved = list[Trim](), ZERO
        for trim in trims:
            saving = _saved(view, target, trim)
            if not trim.note or (saving.tokens >= MIN_SAVING and saving.bytes > 0):
                together.append(trim)
                saved = saved.plus(saving)
        if together and self.worth(view, target, saved):
            yield from together


class Together(Struct, frozen=True):
    """The trims are worth a break of the cached prefix if they save some of what the window has too much of (tokens,
    bytes, images or messages), and at least the share `least` of the limit, in tokens or in bytes.

    Raises InvalidSetting for a share that is not from 0 to 1.
    """

    least: Share = 0.05

    def __post_init__(self) -> None:
        check_ranges(self)

    def __call__(self, view: View, target: Target, saved: Size) -> bool:
        return is_worth_a_batch(view, target, saved, self.least)


class Enough(Struct, frozen=True, kw_only=True):
    """The trims are worth a break of the cached prefix if with them the window meets the goal, and they save at least
    min(`tokens`, `share` of the usable tokens) tokens.

    If they do not meet the goal, a fold must follow, and it breaks the prefix again. Raises InvalidSetting for a share
    that is not from 0 to 1, or for tokens below 0.
    """

    tokens: Count = 20_000
    share: Share = 0.15

    def __post_init__(self) -> None:
        check_ranges(self)

    def __call__(self, view: View, target: Target, saved: Size) -> bool:
        is_enough = fits(view.total.minus(saved), target.goal)
        return is_enough and saved.tokens >= target.budget.share(self.tokens, self.share)


def _saved(view: View, target: Target, trim: Trim) -> Size:
    """What a trim saves, compared with the part as the window shows it now; nothing if there is no such part."""
    found = find_part(view.fetch(trim.entry), trim.part)
    if found is None:
        return ZERO
    part, tokens = found
    last = effective_trim(view.unit(view.unit_of[trim.entry]).trims, (trim.entry, trim.part))
    shown = Size(tokens, part_bytes(part)) if last is None else Size(last.tokens, last.bytes)
    left = trimmed_text(part.text, trim.keep, trim.note) if isinstance(part, Text) else trim.note
    return shown.minus(Size(target.counter.count(left), text_bytes(left)))
