"""Provider APIs: reading, rendering, counting and checking their requests. Each dialect is a package of its own.

To write a dialect, subclass `Dialect`. The page `docs/write-your-own-dialect.md` shows a whole one, and
`transom.testing.DialectConformance` tests it.
"""

from transom.wire.dialect import Dialect, Placed, Rendered, Violation
from transom.wire.dialect_counter import DialectCounter
from transom.wire.dialects import DIALECTS, dialect_named
from transom.wire.rendering import render
from transom.wire.translate import translate_fact, unique_calls

__all__ = [
    "DIALECTS",
    "Dialect",
    "DialectCounter",
    "Placed",
    "Rendered",
    "Violation",
    "dialect_named",
    "render",
    "translate_fact",
    "unique_calls",
]
