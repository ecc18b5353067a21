"""A window as the body of a provider's request, or as the messages of an agent framework."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import to_builtins

from transom.core.view import View
from transom.core.window import Window
from transom.wire.dialect import Dialect
from transom.wire.dialects import dialect_named
from transom.wire.frameworks import FORMATS
from transom.wire.frameworks.framework_format import sources_of
from transom.wire.rendering import shared_body, shown_view


def render(
    window: Window | View,
    dialect: str | Dialect = "openai",
    *,
    cache: bool = False,
    originals: Sequence[object] | None = None,
) -> dict[str, Any]:
    """The body of a provider's request, by the API's own keys: messages, what stands beside them, tools if any.

    With the name of a framework in place of a dialect ("langchain", "pydantic_ai", "openai_agents"), the body has only
    `messages`: a list of the framework's message objects, for the OpenAI Agents SDK of input items. `originals`: the
    framework's messages that the conversation was given. A message that the window does not change is the same object
    in the list, so that its id and its metadata survive.

    A window is valid and within its budget in the dialect its conversation was opened in. In another dialect it counts
    other tokens, and it may end with the model's own words where that API wants the user's. The dicts are fresh, and
    the caller's to change.

    `cache`: set Anthropic's cache marks at the end of the system prompt, of the message that holds the last fold, and
    of the history, as far as the marks of the tools leave any. Other providers cache without marks. Raises
    InvalidSetting for an unknown dialect, and for anything but a window or a view.
    """
    view = shown_view(window)
    if isinstance(dialect, str) and dialect in FORMATS:
        framework = FORMATS[dialect]
        return {"messages": framework.write(view, sources_of(view, framework.read(originals or ())))}
    return to_builtins(shared_body(view, dialect_named(dialect), cache=cache))
