"""The dialect of the OpenAI Responses API. `RESPONSES` is the dialect; `violations` checks a request by the API's
rules."""

from transom.wire.responses.dialect import DEEPSEEK_RESPONSES, RESPONSES
from transom.wire.responses.rules import violations

__all__ = ["DEEPSEEK_RESPONSES", "RESPONSES", "violations"]
