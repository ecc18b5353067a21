"""Recorded conversations in files: `read(path)` yields them one at a time, `import_file` stores them.

The formats: request bodies and lists of messages of OpenAI Chat, OpenAI Responses, Anthropic and Gemini; session files
of Claude Code, Codex and pi; message histories of LangChain, pydantic-ai and the OpenAI Agents SDK; and, to be read
only, messages of other libraries, exports of chats, logs of evaluations and traces. A file is one JSON document, or has
one conversation or one message a line; it may be packed with gzip or zip, in a folder, or a stream. The content decides
which format it is.

`open_file.py` opens files, `read.py` finds out how a file is laid out, `recognise.py` recognises the format of a value
and finds the conversations in it. The folders: `sessions` reads the lines of session files, `formats` translates
messages and opens containers, `logs` stores what was read.
"""

from __future__ import annotations

from transom.importers.import_into_store import Imported, import_file
from transom.importers.read import Reader, read
from transom.importers.recorded import FORMATS, Format, Recorded

__all__ = ["FORMATS", "Format", "Imported", "Reader", "Recorded", "import_file", "read"]
