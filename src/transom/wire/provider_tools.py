"""Recognises whose a provider's own tool is. `{"type": "web_search"}` is one of OpenAI's Responses API, and
`{"googleSearch": {}}` one of Gemini. Only the form counts, because there are new tools all the time."""

from __future__ import annotations

import re

from transom.core.message import Raw
from transom.errors import quote
from transom.wire.fields import text

CHAT_API, RESPONSES_API, ANTHROPIC_API, GEMINI_API = "chat", "responses", "anthropic", "gemini"

DECLARATIONS = ("functionDeclarations", "function_declarations")
"""The keys of Gemini's list of functions. Beside it, the same object may hold tools of Gemini's own."""

_DATED = re.compile(r"[a-z][a-z0-9_]*_20\d{6}")
"""Anthropic's types: a name and a date (`bash_20250124`)."""
_UNDATED = frozenset({"mcp_toolset", "tool_search_tool_regex", "tool_search_tool_bm25"})
"""Anthropic's types without a date."""
_RUN_BY_ANTHROPIC = re.compile(r"(?:web_search|web_fetch|code_execution|advisor|tool_search_tool_\w+)_20\d{6}")
_DATE_OF_OPENAI = re.compile(r"_20\d\d_\d\d_\d\d$")
_OF_RESPONSES = frozenset(
    {
        "apply_patch",
        "code_interpreter",
        "computer",
        "computer_use_preview",
        "file_search",
        "image_generation",
        "local_shell",
        "mcp",
        "namespace",
        "programmatic_tool_calling",
        "shell",
        "tool_search",
        "web_search",
        "web_search_preview",
    }
)
"""The types of OpenAI's Responses API, without their dates."""


def maker_of(schema: Raw) -> str:
    """The API whose own tool a schema describes: one of the four names above. Empty for a function, and for a tool that
    no form gives away: one that is new, or of a server that has its own."""
    if "type" not in schema:
        return "" if {"name", "function", "custom"} & set(schema) else GEMINI_API
    kind = text(schema, "type")
    if kind in {"", "function", "custom"}:
        return ""
    if isinstance(schema.get("function"), dict) or isinstance(schema.get(kind), dict):
        return CHAT_API  # servers that speak chat put a tool's settings under its type, as OpenAI does with functions
    if _DATED.fullmatch(kind) or kind in _UNDATED:
        return ANTHROPIC_API
    if kind == "code_interpreter" and "container" not in schema:
        return ""  # OpenAI requires the container; Groq's tool for chat has none
    return RESPONSES_API if _DATE_OF_OPENAI.sub("", kind) in _OF_RESPONSES else ""


def is_of_one_api_only(schema: Raw) -> bool:
    """Whether a tool of one of OpenAI's two APIs, Chat and Responses, is surely none of the other. Servers that speak
    Chat have tools such as `web_search` in the form of Responses, and Azure's Responses API has tools with their
    settings under their type."""
    if isinstance(schema.get("function"), dict):
        return True
    kind = text(schema, "type")
    has_settings = isinstance(schema.get(kind), dict)
    return not has_settings and _DATE_OF_OPENAI.sub("", kind) not in {"web_search", "web_search_preview", "mcp"}


def is_run_by_provider(schema: Raw) -> bool:
    """Whether a tool with a name is one that its provider runs, so that nobody else need answer its calls."""
    return _RUN_BY_ANTHROPIC.fullmatch(text(schema, "type")) is not None


def provider_tool_name(schema: Raw) -> str:
    """What people call a provider's own tool: its type, with the name of the server of an MCP tool; of Gemini its
    key."""
    if "type" not in schema:
        return ", ".join(key for key in schema if key not in DECLARATIONS)
    server = text(schema, "server_label") or text(schema, "mcp_server_name")
    return f"{text(schema, 'type')} {quote(server)}" if server else text(schema, "type")
