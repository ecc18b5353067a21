"""`SummarizationConfig`: the names its users know, as a policy and a budget."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from transom.core.budget import Budget
from transom.core.edit import Edit
from transom.core.policy import Policy, Strategy, Target
from transom.core.unit import Unit
from transom.core.view import View
from transom.errors import InvalidSetting
from transom.history.diff import runs
from transom.policies.plain import LADDER, PASSTHROUGH
from transom.strategies.omission import omission
from transom.strategies.text.parts import result_texts
from transom.strategies.text.stubs import stub

ENOUGH = 0.8
"""References that bring it down to this share of the trigger are enough; less is not worth a break of the cache."""

PREVIEW = 40
"""Tokens that are left of a result beside its reference."""

TAIL = 0.4
"""The most of what is usable that the preserved tokens take in small windows."""

Whole = Annotated[int, Meta(ge=0)]
Ratio = Annotated[float, Meta(gt=0, le=1)]


class SummarizationConfig(Struct, frozen=True, kw_only=True):
    """When history is compacted, and what stays verbatim.

    No model is asked yet: where these names promised a summary, the older turns are left out behind one marker that
    names them, and stay in the log. So `incremental` and `token_budget_ratio`, which shape the summariser's work,
    change nothing for now.

    - `enabled`: false sends everything, and refuses what does not fit.
    - `max_token_context_length`: compaction at so many tokens, if that is earlier than
    - `context_usage_ratio`: compaction at this share of the model's context window. The engine measures how full the
      room is beside what must stay (system, first task, newest user message), so it may come a little later.
    - `preserve_last_messages`: at least so many of the newest messages stay, whole turns taken.
    - `max_preserved_tokens`: the newest turns within so many tokens stay; in small windows at most 40% of it.
    - `compaction_enabled`, `compaction_token_threshold`: before anything is left out, larger tool results that are not
      among the preserved messages show as a reference, which may be enough.

    Raises InvalidSetting.
    """

    enabled: bool = False
    max_token_context_length: Annotated[int, Meta(ge=1)] | None = None
    context_usage_ratio: Ratio = 0.8
    preserve_last_messages: Whole = 2
    max_preserved_tokens: Whole = 10_000
    token_budget_ratio: Ratio = 0.75
    incremental: bool = True
    compaction_enabled: bool = True
    compaction_token_threshold: Whole = 500

    def __post_init__(self) -> None:
        for field in msgspec.structs.fields(self):
            try:
                msgspec.convert(getattr(self, field.name), field.type)
            except msgspec.ValidationError as problem:
                raise InvalidSetting(f"{field.name}: {problem}") from problem

    def to_budget(self, context: int = 128_000, *, reserve: int = 0) -> Budget:
        """The limits of a model with this context window, `reserve` of it for the answer. Raises InvalidSetting."""
        return Budget(context=context, reserve=reserve)

    def to_policy(self, budget: Budget | None = None) -> Policy:
        """The policy for this budget (`to_budget()` if not given): the trigger depends on the context window."""
        if not self.enabled:
            return PASSTHROUGH
        limits = budget or self.to_budget()
        tokens = min(self.context_usage_ratio * limits.context, self.max_token_context_length or float("inf"))
        trigger = min(1.0, tokens / limits.usable)
        steps: tuple[Strategy, ...] = (self.compact, self.cut) if self.compaction_enabled else (self.cut,)
        return Policy(name="summarization", pressure=steps, hard=LADDER, trigger=trigger, target=ENOUGH * trigger)

    def compact(self, view: View, target: Target) -> Iterator[Edit]:
        """A strategy: large results before the preserved messages show as a reference."""
        for slot in view.slots[: self._preserved(view)]:
            if isinstance(slot, Unit) and not slot.pins and not view.user_restored(slot):
                for parts in result_texts(view, slot):
                    if sum(part.shown_tokens for part in parts) > max(self.compaction_token_threshold, 4 * PREVIEW):
                        yield from (stub(view, slot, target, part, PREVIEW, "compaction") for part in parts)

    def cut(self, view: View, target: Target) -> Iterator[Edit]:
        """A strategy: what is before the preserved tokens, the preserved messages and the newest turn is left out."""
        tokens = list(accumulate(slot.size.tokens for slot in reversed(view.slots)))
        newest = bisect_right(tokens, target.budget.share(self.max_preserved_tokens, TAIL))
        stop = min(len(view.slots) - newest, self._preserved(view), view.slot_index(view.newest_unit))
        return (omission(view, target, run) for run in runs(view, lambda at: at < stop))

    def _preserved(self, view: View) -> int:
        """The slot from which on the preserved messages stand, whole turns taken."""
        # how many messages the newest 0, 1, 2 … slots hold
        messages = list(accumulate((slot.size.messages for slot in reversed(view.slots)), initial=0))
        return max(0, len(view.slots) - bisect_left(messages, self.preserve_last_messages))
