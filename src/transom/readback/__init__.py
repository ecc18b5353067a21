"""Reads back what the log holds and a window does not show: functions that read, search and list entries, and the same
as tools for a model.

`read`, `grep` and `list_entries` take a log and return an answer of limited size; `str(answer)` is its text. `TOOLS`
has these three and `Conversation.search` as tools for a model; `answer_call` answers a call of one of them. `mirror`
writes tool results to files.
"""

from transom.readback.grep_log import GrepResult, grep
from transom.readback.mirror import mirror
from transom.readback.pages import EntryList, Page, list_entries, read
from transom.readback.references import Reference, parse_reference
from transom.readback.tools import TOOLS, answer_call, answer_limit

__all__ = [
    "TOOLS",
    "EntryList",
    "GrepResult",
    "Page",
    "Reference",
    "answer_call",
    "answer_limit",
    "grep",
    "list_entries",
    "mirror",
    "parse_reference",
    "read",
]
