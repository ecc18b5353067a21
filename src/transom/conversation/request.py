"""What a request holds of a conversation: an SDK's keyword arguments, or the body of the HTTP request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from transom.core.log import IndexCache
from transom.core.unit import FoldedSlot
from transom.core.window import Window
from transom.wire import rendering
from transom.wire.dialect import Dialect
from transom.wire.dialects import dialect_named
from transom.wire.frameworks import FORMATS
from transom.wire.frameworks.sources import sources_of


class Request(dict[str, Any]):
    """The keyword arguments of the SDK's call: `client.chat.completions.create(model=…, **request)`.

    A plain dict, the caller's to change. `window` is the window that it renders.
    """

    def __init__(self, arguments: Mapping[str, Any], window: Window) -> None:
        super().__init__(arguments)
        self._window = window

    @property
    def window(self) -> Window:
        """The window that this request sends."""
        return self._window

    def __reduce__(self) -> tuple[Any, ...]:
        """Support copying and pickling as the plain dict that it is for everybody else."""
        return dict, (dict(self),)


def render(
    window: Window, dialect: str | Dialect = "openai", *, cache: bool = False, originals: Sequence[object] | None = None
) -> dict[str, Any]:
    """The body of a provider's request, by the API's own keys: messages, what stands beside them, tools if any.

    With the name of a framework in place of a dialect ("langchain", "pydantic_ai", "openai_agents"), the body has only
    `messages`: a list of the framework's message objects, for the OpenAI Agents SDK of input items. `originals`: the
    framework's messages that the conversation was given. One that the window does not change is the same object in the
    list, so that its id and its metadata survive.

    A window is valid and within its budget in the dialect its conversation was opened in. In another dialect it counts
    other tokens, and it may end with the model's own words where that API wants the user's. The dicts are fresh, and
    the caller's to change.

    `cache`: set Anthropic's cache marks at the end of the system prompt, of the message that holds the last fold, and
    of the history, as far as the marks of the tools leave any. Other providers cache without marks. Raises
    InvalidSetting for an unknown dialect.
    """
    if isinstance(dialect, str) and dialect in FORMATS:
        framework = FORMATS[dialect]
        return {"messages": framework.write(window.view, sources_of(window.view, framework.read(originals or ())))}
    return render_body(window, dialect_named(dialect), cache=cache)


def render_body(
    window: Window, dialect: Dialect, *, cache: bool = False, indexes: IndexCache | None = None
) -> dict[str, Any]:
    """As `render`; `indexes` keeps what was rendered for the next time."""
    body = rendering.render(window, dialect, indexes)
    return _with_cache_marks(window, body, dialect, indexes) if cache and dialect.name.startswith("anthropic") else body


def shared_body(
    window: Window, dialect: Dialect, *, cache: bool = False, indexes: IndexCache | None = None
) -> dict[str, Any]:
    """As `render_body`, without a copy: encode it, and change nothing in it."""
    body = rendering.shared_body(window.view, dialect, indexes)
    return _with_cache_marks(window, body, dialect, indexes) if cache and dialect.name.startswith("anthropic") else body


def _with_cache_marks(
    window: Window, body: dict[str, Any], dialect: Dialect, indexes: IndexCache | None
) -> dict[str, Any]:
    from transom.wire.anthropic import breakpoints  # noqa: PLC0415 - loaded only where it is needed

    folds = [at for at, slot in enumerate(window.slots) if isinstance(slot, FoldedSlot)]
    messages = rendering.message_count(window.view, dialect, folds[-1] + 1, indexes) if folds else 0
    return breakpoints(body, [-1, *([messages - 1] if messages else [])])
