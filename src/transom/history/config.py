"""`SummarizationConfig`: the names its users know, as a policy and a budget of today's strategies."""

from __future__ import annotations

from msgspec import Struct

from transom.core.budget import Budget
from transom.core.policy import Policy, Strategy
from transom.errors import InvalidSetting
from transom.history.tail import CompactResults, KeepTail
from transom.policies.plain import LADDER, PASSTHROUGH

ENOUGH = 0.8
"""References that bring it down to this share of the trigger are enough; less is not worth a break of the cache."""


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
    max_token_context_length: int | None = None
    context_usage_ratio: float = 0.8
    preserve_last_messages: int = 2
    max_preserved_tokens: int = 10_000
    token_budget_ratio: float = 0.75
    incremental: bool = True
    compaction_enabled: bool = True
    compaction_token_threshold: int = 500

    def __post_init__(self) -> None:
        if self.max_token_context_length is not None:
            _whole("max_token_context_length", self.max_token_context_length, 1)
        for name in ("preserve_last_messages", "max_preserved_tokens", "compaction_token_threshold"):
            _whole(name, getattr(self, name), 0)
        for name in ("context_usage_ratio", "token_budget_ratio"):
            ratio: object = getattr(self, name)
            if not isinstance(ratio, (int, float)) or isinstance(ratio, bool) or not 0 < ratio <= 1:
                raise InvalidSetting(f"{name} must be above 0 and at most 1, not {ratio!r}")

    def to_budget(self, context: int = 128_000, *, reserve: int = 0) -> Budget:
        """The limits of a model with this context window, `reserve` of it for the answer. Raises InvalidSetting."""
        return Budget(context=context, reserve=reserve)

    def to_policy(self, budget: Budget | None = None) -> Policy:
        """The policy for this budget (`to_budget()` if not given): the trigger depends on the context window."""
        if not self.enabled:
            return PASSTHROUGH
        limits = budget or self.to_budget()
        tokens = self.context_usage_ratio * limits.context
        if self.max_token_context_length is not None:
            tokens = min(tokens, self.max_token_context_length)
        trigger = min(1.0, tokens / limits.usable)
        compact = CompactResults(threshold=self.compaction_token_threshold, messages=self.preserve_last_messages)
        tail = KeepTail(tokens=self.max_preserved_tokens, messages=self.preserve_last_messages)
        steps: tuple[Strategy, ...] = (compact, tail) if self.compaction_enabled else (tail,)
        return Policy(name="summarization", pressure=steps, hard=LADDER, trigger=trigger, target=ENOUGH * trigger)


def _whole(name: str, value: object, least: int) -> None:
    if type(value) is not int or value < least:
        raise InvalidSetting(f"{name} must be a whole number of at least {least}, not {value!r}")
