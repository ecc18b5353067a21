"""The OpenAI Responses dialect: `RESPONSES` is the dialect, `violations` names the rules a request breaks."""

from transom.wire.responses.dialect import DEEPSEEK_RESPONSES, RESPONSES
from transom.wire.responses.rules import violations

__all__ = ["DEEPSEEK_RESPONSES", "RESPONSES", "violations"]
