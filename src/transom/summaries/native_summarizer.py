"""The provider's own compaction as a summarizer: it asks for one of the very messages that were sent last."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from transom.core.summary import Summarise, Summary
from transom.core.tokens import TokenCounter
from transom.errors import ProviderError, SummaryFailed
from transom.summaries.base import Ask, Model, Steps
from transom.wire.dialects import dialect_named

PLACEHOLDER = "[the provider's own compaction of the conversation, up to entry {last}]"
"""The text of such a summary in the log. No window shows it."""


class NativeSummarizer(Struct, frozen=True):
    """Asks the provider to compact the request that was sent last (Anthropic on demand, OpenAI's `responses.compact`).

    Its summary has the compaction as the API returned it, to be sent back byte for byte; no text of it is shown.
    """

    def steps(self, want: Summarise, counter: TokenCounter, model: Model | None) -> Steps:  # noqa: ARG002 - as the protocol has it
        """Make the compaction with one request. Raises SummaryFailed if nothing was sent yet, if the API has no
        compaction or refuses it, or if it returns none."""
        if model is None:
            raise SummaryFailed("there is no provider to ask: name one as `summarizer`, or use `run`")
        if want.request is None:
            raise SummaryFailed("there is no request to compact: none was sent by this process, or all is redacted")
        request = dialect_named(model.dialect).compaction_request(want.request, want.focus)
        if request is None:
            raise SummaryFailed(f"the API of {model.name} has no compaction of its own")
        answer = yield Ask(request=request, compacts=True)
        if isinstance(answer, ProviderError):
            raise SummaryFailed(str(answer))
        turn = answer.turn
        if turn is None or not turn.is_compaction:
            raise SummaryFailed("the provider's answer has no compaction")
        return Summary(
            last=want.last,
            text=PLACEHOLDER.format(last=want.last),
            compaction=replace(turn, usage=None),
            usage=turn.usage,
        )
