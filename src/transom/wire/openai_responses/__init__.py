"""The OpenAI Responses dialect: `read` items to facts, `shown` a slot's items, mended where the API would refuse them;
`RESPONSES` is the dialect, `violations` names the rules a request breaks."""

from transom.wire.openai_responses.dialect import DEEPSEEK_RESPONSES, RESPONSES, OpenAIResponses
from transom.wire.openai_responses.read import read
from transom.wire.openai_responses.render import shown
from transom.wire.openai_responses.rules import violations

__all__ = ["DEEPSEEK_RESPONSES", "RESPONSES", "OpenAIResponses", "read", "shown", "violations"]
