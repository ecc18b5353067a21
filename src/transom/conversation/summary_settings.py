"""Who makes a conversation's summaries: the settings, and what `Conversation.open` takes in their place."""

from __future__ import annotations

import threading
from typing import cast

from msgspec import Struct
from msgspec.structs import force_setattr

from transom.conversation.worker_pool import SHARED, Pool
from transom.core.summary_limits import SummaryLimits
from transom.errors import InvalidSetting, quote
from transom.providers import Provider, provider_named
from transom.providers.models import TokenPrices
from transom.summaries.base import Summarizer

DEADLINE = 60.0
"""Seconds that a request waits for a summary, if it waits at all."""


class SummarySettings(Struct, frozen=True, kw_only=True, eq=False):
    """Who makes a conversation's summaries, and when not.

    `summarizer`: an object with `steps` (docs/summaries.md); None: `LlmSummarizer()` with a provider, with the prompts
    "plain" if its context window has fewer than 8,000 tokens; else `Extractive()`. `provider`: the model that answers
    it, a name or a provider; "run": the model of the run. `deadline`: seconds that a request waits for a summary, where
    it waits; and the timeout of each request to the summary's model, in the background too. `limits`: when none is
    asked for. `prices`: of the model. `context`: the tokens of its context window, if they are not known otherwise.
    `pool`: the threads for the background. Raises InvalidSetting.
    """

    summarizer: Summarizer | None = None
    provider: str | Provider | None = None
    deadline: float = DEADLINE
    limits: SummaryLimits = SummaryLimits()
    prices: TokenPrices | None = None
    context: int | None = None
    pool: Pool = SHARED

    def __post_init__(self) -> None:
        deadline = cast("object", self.deadline)
        if (
            isinstance(deadline, bool)
            or not isinstance(deadline, (int, float))
            or not 0 < deadline < threading.TIMEOUT_MAX
        ):
            raise InvalidSetting(f"summarizer: deadline must be seconds above 0, not {quote(deadline)}")
        if self.provider is not None and self.provider != "run":
            try:
                force_setattr(self, "provider", provider_named(self.provider))
            except InvalidSetting as error:
                raise InvalidSetting(f"summarizer: {error}") from None
        if self.summarizer is not None and not callable(getattr(self.summarizer, "steps", None)):
            raise InvalidSetting(f"summarizer: must have a method steps, not {quote(self.summarizer)}")
        least = cast("object", getattr(self.summarizer, "least_tokens", 0))
        if type(least) is not int or least < 0:
            raise InvalidSetting(f"summarizer: least_tokens must be a whole number of at least 0, not {quote(least)}")


SummarizedBy = str | Provider | Summarizer | SummarySettings
"""Who makes summaries, as `Conversation.open` takes it."""


_SUMMARIZERS = '"extractive", "run", a model as provider:model, a provider, a Summarizer or SummarySettings'


def summary_settings(given: object) -> SummarySettings | None:
    """Settings of whatever `Conversation.open` takes. Raises InvalidSetting."""
    if given is None or isinstance(given, SummarySettings):
        return given
    if given == "extractive":
        return SummarySettings()
    if callable(getattr(given, "steps", None)):
        return SummarySettings(summarizer=cast("Summarizer", given))
    if given == "run":
        return SummarySettings(provider="run")
    if isinstance(given, str) or callable(getattr(given, "complete", None)):
        try:
            return SummarySettings(provider=provider_named(cast("str | Provider", given)))
        except InvalidSetting as error:
            is_model = not isinstance(given, str) or ":" in given
            raise InvalidSetting(f"summarizer: {'' if is_model else f'must be {_SUMMARIZERS}; '}{error}") from None
    raise InvalidSetting(f"summarizer: must be {_SUMMARIZERS}, not {quote(given)}")
