"""The message formats of agent frameworks: what their objects say, and how a window is written as such objects.

`base.py` says how a format works. `langchain_json.py` and `pydantic_ai_json.py` translate what these two libraries
store as JSON.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from transom.wire.dialect import Dialect, Placed
from transom.wire.frameworks.agent_framework_messages import AGENT_FRAMEWORK
from transom.wire.frameworks.framework_format import CHAT, FrameworkFormat, Piece, Sources
from transom.wire.frameworks.google_adk_messages import GOOGLE_ADK
from transom.wire.frameworks.langchain_messages import LANGCHAIN
from transom.wire.frameworks.openai_agents_messages import OPENAI_AGENTS
from transom.wire.frameworks.pydantic_ai_messages import PYDANTIC_AI
from transom.wire.frameworks.strands_messages import STRANDS

FORMATS: dict[str, FrameworkFormat] = {
    each.name: each for each in (LANGCHAIN, PYDANTIC_AI, OPENAI_AGENTS, STRANDS, GOOGLE_ADK, AGENT_FRAMEWORK)
}
"""The formats by name."""

__all__ = ["CHAT", "FORMATS", "FrameworkFormat", "Piece", "Sources", "format_of", "format_of_list", "parse_any"]


def format_of(value: object) -> FrameworkFormat | None:
    """The format of a framework's message or reply; None for any other value."""
    if isinstance(value, (dict, str)) or value is None:
        return None
    return next((each for each in FORMATS.values() if each.owns(value)), None)


def format_of_list(messages: Sequence[object]) -> FrameworkFormat | None:
    """The format of the first framework object in a list; None if the list has none, and for any other value."""
    if not isinstance(cast("object", messages), (list, tuple)):
        return None
    return next((found for each in messages if (found := format_of(each)) is not None), None)


def parse_any(messages: Sequence[object], dialect: Dialect, where: str = "") -> list[Placed]:
    """Read messages as facts, each with the index of its message. If one of them is an object of a framework, all are
    read in its format, and otherwise in the dialect. `where`: what errors say before the index of the message. Raises
    InvalidMessage for a message that is not in that format or dialect."""
    found = format_of_list(messages)
    if found is None:
        return dialect.parse(messages, where)
    return [(piece.at, piece.fact) for piece in found.read(messages, where)]
