"""Recorded conversations from the files that people have: `read(path)` yields them one at a time.

OpenAI Chat, OpenAI Responses, Anthropic and Gemini request bodies and lists of messages, session files of Claude Code,
Codex and pi, LangChain's messages; as one JSON document, one conversation or one message a line, packed with gzip or
not, in a folder or from a stream. The content decides which format it is.
"""

from __future__ import annotations

from transom.importers.reader import Reader, read
from transom.importers.recorded import FORMATS, Format, LabelledQuestion, Recorded

__all__ = ["FORMATS", "Format", "LabelledQuestion", "Reader", "Recorded", "read"]
