"""What the policy's recall steps bring back before the next request, and how much room it takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from transom.core.message import Recalled
from transom.core.policy import Policy, Target, name_of, naming
from transom.core.redact_derived_text import Redact, redacted_recall
from transom.core.tokens import ZERO, Size, fact_size
from transom.core.view import View
from transom.errors import InvalidEdit, quote


class DueRecall:
    """Asks the policy's recall steps for the fact to recall before the next request. There is at most one for
    each new unit: a message of the user, or a turn of the model. The steps are asked once for each view; the answer is
    remembered.

    The size of the fact counts towards the pressure like a note that is due, so that a compaction makes room for it. It
    never counts towards the limit: the last resort removes nothing to make room for it.
    """

    def __init__(self, policy: Policy, redact: Redact | None) -> None:
        self._policy, self._redact = policy, redact
        self._asked: View | None = None
        self._recalled: Recalled | None = None
        self._size = ZERO

    def of(self, view: View, target: Callable[[], Target]) -> Recalled | None:
        """The fact to recall into this view. None if no step gives one, or if something was recalled for its newest
        unit already.

        `target`: makes the target of recall steps. Only called if the steps are asked. (Kept in this object, it would
        make a circle of references, and the plan would be freed late.) Raises InvalidEdit if a step gives a value that
        is not a Recalled with a text.
        """
        if self._asked is not view:
            self._asked, self._size = view, ZERO
            self._recalled = None if _has_recall_for_newest_unit(view) else self._ask(view, target())
            if self._recalled is not None:
                self._size = fact_size(self._recalled, view.counter.count_body(self._recalled))
        return self._recalled

    def size(self, view: View, target: Callable[[], Target]) -> Size:
        """The size of the fact to recall; zero if there is none."""
        self.of(view, target)
        return self._size

    def _ask(self, view: View, target: Target) -> Recalled | None:
        """The first fact that a step gives, redacted; None if no step gives one."""
        for step in self._policy.recall:
            with naming(step, self._policy):
                recalled = next(step(view, target), None)
                if recalled is None:
                    continue
                if not isinstance(cast("object", recalled), Recalled) or not recalled.text:
                    found = quote(recalled)
                    raise InvalidEdit(f"recall step {name_of(step)} must give a Recalled with a text, not {found}")
                redact = self._redact
                return recalled if redact is None else redacted_recall(view, recalled, redact, target.indexes)
        return None


def _has_recall_for_newest_unit(view: View) -> bool:
    """Whether a Recalled, of a plan or of the caller, stands after the beginning of the newest unit
    (`View.newest_unit`): a message of the user, or a turn of the model.

    Also true if there is no such unit yet: then nothing is recalled.
    """
    newest = view.newest_unit
    return newest < 0 or any(isinstance(view.fetch(seq).body, Recalled) for seq in range(newest + 1, view.length))
