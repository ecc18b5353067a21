"""The dialect of Google's Gemini API. `GEMINI` is the dialect; `violations` checks a request by the API's rules."""

from transom.wire.gemini.dialect import GEMINI, GeminiDialect
from transom.wire.gemini.rules import violations

__all__ = ["GEMINI", "GeminiDialect", "violations"]
