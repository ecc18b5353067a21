"""Old tool output becomes a stub, all of it at once, and only if that is enough."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from transom.core.edit import Edit
from transom.core.policy import Target
from transom.core.unit import Unit
from transom.core.view import View
from transom.strategies.text.stubs import stubbed
from transom.strategies.text.truncation import Spot, is_read_back, text_spots


class StubStale(Struct, frozen=True, kw_only=True):
    """Outside the newest `keep` tokens of tool output (opencode), results show as stubs of `preview` tokens.

    What was read back from the log stays as it is: a stub of it would only send the model round once more.

    Those nearest the border go first, as far as the goal asks, so that the prefix in front of them stays cached.

    Only if at least `free` tokens could come free at once, and only if the goal is reached by it: a break that does not
    spare the fold is a break too many. Absolute figures scale down to `keep_share` and `free_share` of usable.
    """

    keep: int = 40_000
    keep_share: float = 0.4
    free: int = 20_000
    free_share: float = 0.15
    preview: int = 60

    def __call__(self, view: View, target: Target) -> Iterator[Edit]:
        stale = list(self._stale(view, target))
        worth = self.preview + 40  # the marker's own tokens
        saved = sum(spot.shown - worth for _, spot in stale)
        needed = max(target.budget.share(self.free, self.free_share), view.total.tokens - target.goal.tokens)
        if saved >= needed:
            yield from (stubbed(view, unit, target, spot, self.preview, "stale") for unit, spot in stale)

    def _stale(self, view: View, target: Target) -> Iterator[tuple[Unit, Spot]]:
        newer, keep = 0, target.budget.share(self.keep, self.keep_share)
        for slot in reversed(view.slots):
            if not isinstance(slot, Unit) or len(slot.seqs) == 1:
                continue
            spots = list(text_spots(view, slot, of_results=True))
            spared = (
                slot.key == target.newest_unit or slot.key in target.protected or slot.pins or view.user_restored(slot)
            )
            if newer > keep and not spared:
                yield from (
                    (slot, spot) for spot in spots if self._large(spot) and not is_read_back(view, slot, spot.entry)
                )
            newer += sum(spot.shown for spot in spots)

    def _large(self, spot: Spot) -> bool:
        return spot.shown > 2 * (self.preview + 40)
