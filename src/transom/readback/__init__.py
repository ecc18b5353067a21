"""Reading back what the log holds and a window does not show: read, grep, list; as functions and as a model's tools."""

from transom.readback.entry_list import list_entries
from transom.readback.matches import Found, grep
from transom.readback.mirror import mirror
from transom.readback.pages import Page, read
from transom.readback.references import Reference, parse
from transom.readback.tools import TOOLS, answer, bound

__all__ = ["TOOLS", "Found", "Page", "Reference", "answer", "bound", "grep", "list_entries", "mirror", "parse", "read"]
