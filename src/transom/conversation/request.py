"""A window as a request: the keyword arguments of an SDK's call (`Request`), or the body of the HTTP request
(`render`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import to_builtins

from transom.core.log import IndexCache
from transom.core.unit import FoldedSlot
from transom.core.view import View
from transom.core.window import Window
from transom.wire import rendering
from transom.wire.dialect import Dialect
from transom.wire.dialects import dialect_named
from transom.wire.frameworks import FORMATS
from transom.wire.frameworks.sources import sources_of


class Request(dict[str, Any]):
    """The keyword arguments of the SDK's call: `client.chat.completions.create(model=…, **request)`.

    It is a plain dict, which the caller may change.
    """

    def __init__(self, arguments: Mapping[str, Any], window: Window) -> None:
        super().__init__(arguments)
        self._window = window

    @classmethod
    def of(cls, window: Window, dialect: Dialect, *, cache: bool = False, indexes: IndexCache | None = None) -> Request:
        """Make the request that sends a window, in a dialect. `cache`: with Anthropic's cache marks. `indexes`: keeps
        what is rendered, so that the next request is rendered faster."""
        body = to_builtins(shared_body(window.view, dialect, cache=cache, indexes=indexes))
        return cls(dialect.arguments(body), window)

    @property
    def window(self) -> Window:
        """The window that this request sends."""
        return self._window

    def __reduce__(self) -> tuple[Any, ...]:
        """Support copying and pickling as the plain dict that it is for everybody else."""
        return dict, (dict(self),)


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
    view = rendering.shown_view(window)
    if isinstance(dialect, str) and dialect in FORMATS:
        framework = FORMATS[dialect]
        return {"messages": framework.write(view, sources_of(view, framework.read(originals or ())))}
    return to_builtins(shared_body(view, dialect_named(dialect), cache=cache))


def shared_body(
    view: View, dialect: Dialect, *, cache: bool = False, indexes: IndexCache | None = None
) -> dict[str, Any]:
    """The body of a request, as `render` gives it, but not copied: parts of it are kept in `indexes` for the next
    request. So encode it, and change nothing in it. `cache`: as for `render`."""
    body = rendering.shared_body(view, dialect, indexes)
    if not cache or not dialect.name.startswith("anthropic"):
        return body
    from transom.wire.anthropic import breakpoints  # noqa: PLC0415 - loaded only where it is needed

    folds = [at for at, slot in enumerate(view.slots) if isinstance(slot, FoldedSlot)]
    messages = rendering.message_count(view, dialect, folds[-1] + 1, indexes) if folds else 0
    return breakpoints(body, [-1, *([messages - 1] if messages else [])])
