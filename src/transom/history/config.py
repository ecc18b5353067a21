"""`SummarizationConfig`: settings for when history is compacted, and the policy and budget that they make."""

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
from transom.history.diff import removed_runs
from transom.policies.plain import LAST_RESORT, PASSTHROUGH
from transom.strategies.fold.omission import omission
from transom.strategies.shorten.forms import Stub
from transom.strategies.shorten.shorten import Shorten
from transom.strategies.text.parts import ShownPart, result_texts

TARGET_SHARE = 0.8
"""A compaction ends at this share of the trigger. A smaller gain would not be worth a break of the cached prefix."""

PREVIEW_TOKENS = 40
"""Tokens of a shortened result that stay beside its reference."""

MAX_PRESERVED_SHARE = 0.4
"""The preserved tokens are at most this share of the usable tokens. It counts in a small window."""

WholeNumber = Annotated[int, Meta(ge=0)]
Ratio = Annotated[float, Meta(gt=0, le=1)]


class SummarizationConfig(Struct, frozen=True, kw_only=True):
    """When history is compacted, and what stays verbatim.

    No model is called: in place of a summary there is one marker that names the older turns. They stay in the log.
    `incremental` and `token_budget_ratio` are accepted and have no effect.

    - `enabled`: false sends everything, and refuses a window that is over the budget.
    - `max_token_context_length`: compact at this number of tokens, if that is earlier than `context_usage_ratio`.
    - `context_usage_ratio`: compact at this share of the model's context window. The system prompt, the first task and
      the newest user message are not counted, so the compaction may come a little later.
    - `preserve_last_messages`: at least this number of the newest messages stays. Turns stay whole.
    - `max_preserved_tokens`: the newest turns within this number of tokens stay; in a small window at most 40% of it.
    - `compaction_enabled`, `compaction_token_threshold`: first, tool results with more tokens than the threshold become
      references, unless they are preserved. Turns are left out only if that is not enough.

    Raises InvalidSetting if a value has the wrong type, a share is not above 0 and at most 1, or a number is below 0
    (`max_token_context_length`: below 1).
    """

    enabled: bool = False
    max_token_context_length: Annotated[int, Meta(ge=1)] | None = None
    context_usage_ratio: Ratio = 0.8
    preserve_last_messages: WholeNumber = 2
    max_preserved_tokens: WholeNumber = 10_000
    token_budget_ratio: Ratio = 0.75
    incremental: bool = True
    compaction_enabled: bool = True
    compaction_token_threshold: WholeNumber = 500

    def __post_init__(self) -> None:
        for field in msgspec.structs.fields(self):
            try:
                msgspec.convert(getattr(self, field.name), field.type)
            except msgspec.ValidationError as problem:
                raise InvalidSetting(f"{field.name}: {problem}") from problem

    def to_budget(self, context: int = 128_000, *, reserve: int = 0) -> Budget:
        """The limits of a model with this context window, in tokens, of which `reserve` stay free for the reply.

        Raises InvalidSetting if either is not a whole number, or `reserve` leaves nothing of `context`.
        """
        return Budget(context=context, reserve=reserve)

    def to_policy(self, budget: Budget | None = None) -> Policy:
        """The policy that compacts as these settings say. Its trigger depends on the context window of `budget` (None:
        `to_budget()`)."""
        if not self.enabled:
            return PASSTHROUGH
        limits = budget or self.to_budget()
        tokens = min(self.context_usage_ratio * limits.context, self.max_token_context_length or float("inf"))
        trigger = min(1.0, tokens / limits.usable)
        steps: tuple[Strategy, ...] = (self.leave_out,)
        if self.compaction_enabled:
            steps = (self.shorten_results, *steps)
        return Policy(
            name="summarization",
            pressure=steps,
            last_resort=LAST_RESORT,
            trigger=trigger,
            target=TARGET_SHARE * trigger,
        )

    def shorten_results(self, view: View, target: Target) -> Iterator[Edit]:
        """A strategy: replace large tool results before the preserved messages by a reference with a short preview.

        Pinned turns, and turns that the user has restored, stay whole.
        """
        return Shorten(self._large_results, Stub(PREVIEW_TOKENS), "compaction")(view, target)

    def _large_results(self, view: View, target: Target) -> Iterator[ShownPart]:  # noqa: ARG002 - as every selector's
        threshold = max(self.compaction_token_threshold, 4 * PREVIEW_TOKENS)
        for slot in view.slots[: self._preserved(view)]:
            if isinstance(slot, Unit) and not slot.pins and not view.user_restored(slot):
                for parts in result_texts(view, slot):
                    if sum(part.shown_tokens for part in parts) > threshold:
                        yield from parts

    def leave_out(self, view: View, target: Target) -> Iterator[Edit]:
        """A strategy: fold the turns before the preserved ones into a marker, and before the newest turn in any
        case."""
        tokens = list(accumulate(slot.size.tokens for slot in reversed(view.slots)))
        newest = bisect_right(tokens, target.budget.share(self.max_preserved_tokens, MAX_PRESERVED_SHARE))
        stop = min(len(view.slots) - newest, self._preserved(view), view.slot_index(view.newest_unit))
        return (omission(view, target, run) for run in removed_runs(view, lambda index: index < stop))

    def _preserved(self, view: View) -> int:
        """The index of the first slot that `preserve_last_messages` keeps."""
        # the number of messages in the newest 0, 1, 2 … slots
        messages = list(accumulate((slot.size.messages for slot in reversed(view.slots)), initial=0))
        return max(0, len(view.slots) - bisect_left(messages, self.preserve_last_messages))
