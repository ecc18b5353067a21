"""The last resort: the order of the steps for a window that does not fit."""

from __future__ import annotations

from transom.core.policy import Strategy
from transom.strategies.fold import excerpt_folds
from transom.strategies.fold.omission import Omit
from transom.strategies.shorten.forms import ClipToFit, gone, marked_arguments, marker
from transom.strategies.shorten.selectors import Media, PartsOf
from transom.strategies.shorten.shorten import Form, Shorten
from transom.strategies.text.shown_parts import PartKind

_TO_FIT: tuple[tuple[PartKind, Form], ...] = (
    ("results", ClipToFit()),
    ("arguments", marked_arguments),
    ("text", ClipToFit()),
    ("reasoning", gone),
)
"""What is left of each kind of part, the first to go first."""

LAST_RESORT: tuple[Strategy, ...] = (
    # a first task larger than half of the window may not drive out all that is newer
    Shorten(PartsOf("text", "required before newest"), ClipToFit(deep=True, keep=0.5), "elide"),
    Omit(),
    Shorten(Media(), marker, "media"),
    *(Shorten(PartsOf(kind, "newest"), form, "elide") for kind, form in _TO_FIT),
    *(Shorten(PartsOf(kind, "others"), form, "elide") for kind, form in _TO_FIT),
    excerpt_folds.late_notes,
    Shorten(PartsOf("text", "required"), ClipToFit(deep=True), "elide"),
    excerpt_folds.before_newest,
    excerpt_folds.newest_turn,
    Shorten(PartsOf("text", "required"), ClipToFit(), "elide"),
    excerpt_folds.bare_omissions,
    excerpt_folds.everything,
)
"""The last resort: strategies for a window that does not fit, from what is missed least to what is missed most.

The last one always succeeds if the smallest possible window fits.
"""
