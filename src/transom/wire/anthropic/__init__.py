"""The Anthropic Messages dialect: `ANTHROPIC` reads, renders and checks its requests; `breakpoints` marks where a
prompt cache may end; `violations` names the rules a request breaks."""

from transom.wire.anthropic.caching import breakpoints
from transom.wire.anthropic.dialect import ANTHROPIC, ANTHROPIC_BEDROCK, AnthropicMessages
from transom.wire.anthropic.rules import violations
from transom.wire.dialect import Violation

__all__ = ["ANTHROPIC", "ANTHROPIC_BEDROCK", "AnthropicMessages", "Violation", "breakpoints", "violations"]
