"""Conversations of a store as files, in the formats that `transom.importers` reads: `export` writes them.

`export.py` writes one document, `session_lines.py` the lines of session files; `log_messages.py` renders a log as
messages for both.
"""

from __future__ import annotations

from transom.exporters.export import Export, Exported, export

__all__ = ["Export", "Exported", "export"]
