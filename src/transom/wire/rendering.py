"""Renders a view as the body of a request in the format of a dialect, and a window as the arguments of an SDK's call
(`Request`). Each slot is rendered once and cached."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from msgspec import to_builtins

from transom.core.log import IndexCache
from transom.core.unit import FoldedSlot, Slot
from transom.core.view import View
from transom.core.window import Window
from transom.errors import InvalidSetting, quote
from transom.wire.dialect import Dialect, Rendered
from transom.wire.dialects import dialect_named

_SPARE_SLOTS = 1_000
"""How many slots that are no longer in the window may stay in the cache, beside as many as the window has."""

_LISTS = ("messages", "input", "contents")
"""The keys under which the body of an API has the list of messages."""


class _RenderedSlots(dict[Dialect, dict[Slot, tuple[Rendered, ...]]]):
    """A cache of rendered messages, by dialect and slot object. A slot never changes, so its messages do not
    either.

    They are in tuples: Python's garbage collector does not look at tuples that hold nothing but structs.
    """


class Request(dict[str, Any]):
    """The keyword arguments of the SDK's call: `client.chat.completions.create(model=…, **request)`.

    It is a dict, which the caller may change. A copy, also a pickled one, is a plain dict without `window`.
    """

    def __init__(self, arguments: Mapping[str, Any], window: Window) -> None:
        super().__init__(arguments)
        self._window = window

    @classmethod
    def of(cls, window: Window, dialect: Dialect, *, cache: bool = False, indexes: IndexCache | None = None) -> Request:
        """Make the request that sends a window, in a dialect. `cache`: with Anthropic's cache marks; ignored for other
        APIs. `indexes`: keeps what is rendered, so that the next request is rendered faster; None: nothing is kept."""
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
    shown: Window | View, dialect: str | Dialect = "openai", indexes: IndexCache | None = None
) -> dict[str, Any]:
    """Render a window as a request's body without the model and the settings, under the API's own keys.

    The result is new dicts and lists, which the caller may change. A window that was planned for a request is valid and
    within the budget in the dialect of its conversation. In another dialect it has other tokens, and may end with the
    model's message where that API wants the user's. `indexes`: where the rendered slots are kept for the next call;
    None: nothing is kept. Raises InvalidSetting for anything but a window or a view, and for an unknown dialect.
    """
    return to_builtins(shared_body(shown_view(shown), dialect_named(dialect), indexes=indexes))


def shown_view(shown: Window | View) -> View:
    """The view of a window; a view is returned as it is. Raises InvalidSetting for anything else."""
    view = shown.view if isinstance(shown, Window) else shown
    if not isinstance(cast("object", view), View):
        raise InvalidSetting(f"render: needs a window or a view, not {quote(shown)}")
    return view


def shared_body(
    view: View, dialect: Dialect, *, cache: bool = False, indexes: IndexCache | None = None
) -> dict[str, Any]:
    """The body that `render` gives, but not copied. Most of it belongs to `indexes`: encode it, and change nothing in
    it.

    `cache`: with Anthropic's cache marks, at the end of the system prompt, of the message that holds the last fold, and
    of the history; ignored for other APIs. `indexes`: keeps what is rendered for the next request; None: nothing is
    kept.
    """
    indexes = indexes or IndexCache()
    messages = dialect.join(_rendered(view, dialect, view.slots, indexes))
    body = {**dialect.body(view.head, messages, view.head.tools), **dialect.continuation(view.slots)}
    if not cache or not dialect.name.startswith("anthropic"):
        return body
    from transom.wire.anthropic import breakpoints  # noqa: PLC0415 - loaded only where it is needed

    folds = [at for at, slot in enumerate(view.slots) if isinstance(slot, FoldedSlot)]
    before = len(dialect.join(_rendered(view, dialect, view.slots[: folds[-1] + 1], indexes))) if folds else 0
    return breakpoints(body, [-1, *([before - 1] if before else [])])


def only_rendered(indexes: IndexCache, view: View, dialect: Dialect) -> IndexCache:
    """Return a new index cache with nothing but what `indexes` has rendered of this view's slots in this dialect."""
    rendered = indexes.of(_RenderedSlots).get(dialect, {})
    only = IndexCache()
    only.of(_RenderedSlots)[dialect] = {slot: rendered[slot] for slot in view.slots if slot in rendered}
    return only


def render_messages(view: View, dialect: Dialect) -> list[dict[str, Any]]:
    """The messages of the body that `render` gives, without its other fields, as new dicts. Cache marks that the API
    would not take beside those of the system prompt and the tools are left out here too."""
    body = shared_body(view, dialect)
    return to_builtins(next(body[key] for key in _LISTS if key in body))


def _rendered(view: View, dialect: Dialect, slots: Sequence[Slot], indexes: IndexCache) -> list[Rendered]:
    """The messages of the head and of these slots. They belong to the cache: copy them before handing them out."""
    caches = indexes.of(_RenderedSlots)
    cache = caches.setdefault(dialect, {})
    if len(cache) > 2 * len(view.slots) + _SPARE_SLOTS:
        cache = caches[dialect] = {slot: cache[slot] for slot in view.slots if slot in cache}
    out = [] if view.head_entry is None else dialect.render_head(view.head)
    for slot in slots:
        rendered = cache.get(slot)
        if rendered is None:
            rendered = cache[slot] = tuple(dialect.render_slot(slot))
        out += rendered
    return out
