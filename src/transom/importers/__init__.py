"""Recorded conversations: `read(path)` yields them one at a time, `import_file` stores them, `export` writes them.

OpenAI Chat, OpenAI Responses, Anthropic and Gemini request bodies and lists of messages, session files of Claude Code,
Codex and pi, message histories of LangChain, pydantic-ai and the OpenAI Agents SDK, and the unified context layout; as
one JSON document, one conversation or one message a line, packed with gzip or not, in a folder or from a stream. The
content decides which format it is.
"""

from __future__ import annotations

from transom.importers.export import Export, Exported, export, export_unified
from transom.importers.import_file import Imported, import_file
from transom.importers.reader import Reader, read
from transom.importers.recorded import FORMATS, Format, LabelledQuestion, Recorded

__all__ = [
    "FORMATS",
    "Export",
    "Exported",
    "Format",
    "Imported",
    "LabelledQuestion",
    "Reader",
    "Recorded",
    "export",
    "export_unified",
    "import_file",
    "read",
]
