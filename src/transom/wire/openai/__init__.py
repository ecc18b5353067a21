"""The dialect of the OpenAI Chat Completions API. `OPENAI_CHAT` is the dialect, and `ALTERNATING`
the same for servers that refuse two messages of one role in a row; `parse` reads one message as a fact,
and `message` writes it back unchanged; `violations` checks a request by the API's rules."""

from transom.wire.dialect import Violation
from transom.wire.openai.dialect import ALTERNATING, OPENAI_CHAT, OpenAIChatDialect
from transom.wire.openai.parse import parse
from transom.wire.openai.render import message
from transom.wire.openai.rules import violations

__all__ = ["ALTERNATING", "OPENAI_CHAT", "OpenAIChatDialect", "Violation", "message", "parse", "violations"]
