"""The OpenAI Chat Completions dialect: `parse` a message to a fact, `message` a fact back, unchanged; `OPENAI_CHAT`
renders what a view shows, repaired where the API would refuse it; `violations` names the rules a request breaks."""

from transom.wire.dialect import Violation
from transom.wire.openai.dialect import OPENAI_CHAT, OpenAIChat
from transom.wire.openai.parse import parse
from transom.wire.openai.render import message
from transom.wire.openai.rules import violations

__all__ = ["OPENAI_CHAT", "OpenAIChat", "Violation", "message", "parse", "violations"]
