"""The OpenAI Chat Completions dialect: `parse` a message to a fact, `message` a fact back, unchanged; `OPENAI_CHAT`
renders what a view shows, mended where the API would refuse it; `violations` names the rules a request breaks.
`kind_of` names what a JSON value is, for errors."""

from transom.wire.openai_chat.parse import kind_of, parse
from transom.wire.openai_chat.render import OPENAI_CHAT, OpenAIChat, message
from transom.wire.openai_chat.rules import Violation, violations

__all__ = ["OPENAI_CHAT", "OpenAIChat", "Violation", "kind_of", "message", "parse", "violations"]
