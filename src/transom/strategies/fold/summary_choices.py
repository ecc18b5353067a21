"""Two ways to run a `Digest`, for a policy that compares the prices of both (`Policy.choices`): with the newest summary
that there is, or with a new one."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from transom.core.budget import Budget
from transom.core.edit import Edit
from transom.core.log import IndexCache
from transom.core.policy import Target
from transom.core.summary import Summarise
from transom.core.view import View
from transom.strategies.fold.layered_records import Digest
from transom.strategies.summary.folds import shows_summary


class OldSummary(Struct, frozen=True):
    """Runs a digest without its `wants`: no summary is asked for, and the records show the newest one that there is."""

    digest: Digest
    """The digest that it runs."""

    def prepare(self, view: View, budget: Budget, indexes: IndexCache) -> None:
        """Index the entries that came since the last call, as the digest does."""
        self.digest.prepare(view, budget, indexes)

    def __call__(self, view: View, target: Target) -> Iterator[Edit]:
        return self.digest(view, target)


class NewSummary(Struct, frozen=True):
    """Runs a digest that wants a new summary. It proposes no edit until there is a summary that no fold of the window
    shows."""

    digest: Digest
    """The digest that it runs."""

    def prepare(self, view: View, budget: Budget, indexes: IndexCache) -> None:
        """Index the entries that came since the last call, as the digest does."""
        self.digest.prepare(view, budget, indexes)

    def wants(self, view: View, target: Target) -> Iterator[Summarise]:
        """Yield the want for the summary that the digest wants, or nothing."""
        return self.digest.wants(view, target)

    def __call__(self, view: View, target: Target) -> Iterator[Edit]:
        newest = view.summary
        if newest is not None and not any(shows_summary(view, slot, newest[0]) for slot in view.slots):
            yield from self.digest(view, target)
