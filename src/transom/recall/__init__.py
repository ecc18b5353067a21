"""Reading back what the log holds and a window does not show: read, grep, list; as functions and as a model's tools."""

from transom.recall.finding import Found, grep
from transom.recall.listing import list_entries
from transom.recall.mirror import mirror
from transom.recall.reading import Page, read
from transom.recall.references import Reference, parse
from transom.recall.tools import TOOLS, answer, bound, tools_in

__all__ = [
    "TOOLS",
    "Found",
    "Page",
    "Reference",
    "answer",
    "bound",
    "grep",
    "list_entries",
    "mirror",
    "parse",
    "read",
    "tools_in",
]
