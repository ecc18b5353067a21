"""The Gemini dialect: `GEMINI` reads contents, and renders what a view shows, repaired where the API would refuse it;
`violations` names the rules a request breaks."""

from transom.wire.gemini.dialect import GEMINI, Gemini
from transom.wire.gemini.rules import violations

__all__ = ["GEMINI", "Gemini", "violations"]
