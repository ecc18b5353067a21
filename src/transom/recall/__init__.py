"""Automatic recall: old entries that the newest message refers to are quoted at the end of the window.

`Recall` is the step that a policy has under `recall`; `DropRecalled` is the strategy that folds recalled text, before
any other turn. The policy `recall` has both.
"""

from transom.recall.recall import DropRecalled, Recall

__all__ = ["DropRecalled", "Recall"]
