"""Formats of libraries and programs, beside the APIs and the sessions of coding agents.

A format is recognised by the shape of its values, never by a file's name. There are two kinds:

- `MessageFormat`: how a library writes a message. Most are a table (`Shape`) in `message_formats.py`.
- `Container`: a file in which conversations lie within other things: `chat_exports.py`, `message_lists.py`,
  `traces.py`, `exchanges.py`.

To add one, write its table or its functions, and put it into `MESSAGE_FORMATS` or `CONTAINERS`. The list of formats,
the errors and `--format` take it from there.
"""

from __future__ import annotations

from transom.importers.formats.chat_exports import CHAT_EXPORTS
from transom.importers.formats.containers import Container
from transom.importers.formats.exchanges import EXCHANGES
from transom.importers.formats.left_out import left_out_texts
from transom.importers.formats.message_formats import LANGCHAIN, MESSAGES, PYDANTIC_AI
from transom.importers.formats.message_lists import MESSAGE_LISTS
from transom.importers.formats.openhands import OPENHANDS
from transom.importers.formats.shapes import MessageFormat
from transom.importers.formats.traces import TRACES
from transom.wire.fields import as_dict

MESSAGE_FORMATS = {each.name: each for each in (LANGCHAIN, PYDANTIC_AI, OPENHANDS, *MESSAGES)}
"""The message formats of libraries, by name. The first one that recognises a message decides its format, so those with
the most particular signs come first."""

CONTAINERS = (*CHAT_EXPORTS, *MESSAGE_LISTS, *TRACES, *EXCHANGES)
"""All kinds of containers. The first one that recognises a value opens it, so those with the most particular keys come
first."""

__all__ = [
    "CONTAINERS",
    "MESSAGE_FORMATS",
    "Container",
    "MessageFormat",
    "container_of",
    "left_out_texts",
    "message_format",
]


def message_format(value: object) -> str:
    """Return the name of the library's format in which a value, one message or event, is written. Empty for any other
    value, also for a message of an API."""
    return next((name for name, each in MESSAGE_FORMATS.items() if each.is_message(value)), "")


def container_of(value: object) -> Container | None:
    """Return the kind of container that a value is; None if it is no container."""
    fields = as_dict(value)
    return next((each for each in CONTAINERS if fields and each.is_one(fields)), None)
