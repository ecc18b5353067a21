"""The dialect of the Anthropic Messages API. `ANTHROPIC` is the dialect; `violations` checks a request by the API's
rules; `breakpoints` marks where the prompt cache may end."""

from transom.wire.anthropic.caching import breakpoints
from transom.wire.anthropic.dialect import ANTHROPIC, ANTHROPIC_BEDROCK, ANTHROPIC_UNSIGNED, AnthropicDialect
from transom.wire.anthropic.rules import violations
from transom.wire.dialect import Violation

__all__ = [
    "ANTHROPIC",
    "ANTHROPIC_BEDROCK",
    "ANTHROPIC_UNSIGNED",
    "AnthropicDialect",
    "Violation",
    "breakpoints",
    "violations",
]
