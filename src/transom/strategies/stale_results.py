"""Old tool results become stubs, all at once, and only if that is enough."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from transom.core.budget import fits
from transom.core.edit import Edit
from transom.core.policy import Target
from transom.core.tokens import ZERO, Size, text_bytes
from transom.core.unit import Unit
from transom.core.view import View
from transom.strategies.candidates import is_large, may_trim, stub_size
from transom.strategies.text.parts import TextPart, is_read_back, text_parts
from transom.strategies.text.stubs import stub


class StubStale(Struct, frozen=True, kw_only=True):
    """Replaces results by stubs of `preview` tokens, but for the newest `keep` tokens of results (opencode).

    The newest of them go first, only as many as the goal needs, so that the prefix before them stays cached. Nothing
    happens unless `free` tokens can be freed at once and the goal is reached: a break that does not save the fold is
    one too many. In small windows `keep` and `free` shrink to the shares `keep_share` and `free_share` of the usable
    tokens.
    """

    keep: int = 40_000
    keep_share: float = 0.4
    free: int = 20_000
    free_share: float = 0.15
    preview: int = 60

    def __call__(self, view: View, target: Target) -> Iterator[Edit]:
        stale = list(self._stale(view, target))
        saved = ZERO
        for _, part in stale:
            tokens = part.shown_tokens - stub_size(self.preview)
            saved = saved.plus(Size(tokens, text_bytes(part.text) * tokens // max(1, part.tokens)))
        is_enough = fits(view.total.minus(saved), target.goal)
        if is_enough and saved.tokens >= target.budget.share(self.free, self.free_share):
            yield from (stub(view, unit, target, part, self.preview, "stale") for unit, part in stale)

    def _stale(self, view: View, target: Target) -> Iterator[tuple[Unit, TextPart]]:
        """The large results before the newest `keep` tokens of results, newest first."""
        newer, keep = 0, target.budget.share(self.keep, self.keep_share)
        for slot in reversed(view.slots):
            if not isinstance(slot, Unit) or len(slot.seqs) == 1:
                continue
            parts = list(text_parts(view, slot, of_results=True))
            if newer > keep and may_trim(view, target, slot):
                for part in parts:
                    if is_large(part, self.preview) and not is_read_back(view, slot, part.entry):
                        yield slot, part
            newer += sum(part.shown_tokens for part in parts)
