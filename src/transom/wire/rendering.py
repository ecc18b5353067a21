"""From a view to the body of a request, in the format of a dialect. Each slot is rendered once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import to_builtins

from transom.core.derived import Derived
from transom.core.unit import Slot
from transom.core.view import View
from transom.core.window import Window
from transom.wire.dialect import Dialect, Rendered
from transom.wire.dialects import dialect_named

_SPARE_SLOTS = 1_000
"""How many slots that no longer show may stay in the cache."""


class _RenderedSlots(dict[Dialect, dict[Slot, list[Rendered]]]):
    """The messages of slots, by dialect. Keyed by slot object: a slot never changes, so its messages do not."""


def render(shown: Window | View, dialect: str | Dialect = "openai", derived: Derived | None = None) -> dict[str, Any]:
    """What a request to a provider API holds of the conversation, under the API's own keys.

    The body is made of plain dicts and lists that are the caller's to change: nothing in it is shared with the log or
    with another body. It is valid and within the budget in the dialect that the conversation was opened in. In another
    dialect it has another number of tokens, and it may end with the model's message where that API wants the user's.
    `derived` keeps what was rendered for the next call. Raises InvalidSetting for an unknown dialect.
    """
    view = shown.view if isinstance(shown, Window) else shown
    spoken = dialect_named(dialect)
    rendered = _rendered(view, spoken, view.slots, derived or Derived())
    return to_builtins(spoken.body(view.head, spoken.join(rendered), view.head.tools))


def render_messages(view: View, dialect: Dialect, derived: Derived | None = None) -> list[dict[str, Any]]:
    """The messages of a body alone; as for `render`."""
    return to_builtins(dialect.join(_rendered(view, dialect, view.slots, derived or Derived())))


def message_count(view: View, dialect: Dialect, slots: int, derived: Derived | None = None) -> int:
    """How many messages the head and the first `slots` slots render to."""
    return len(dialect.join(_rendered(view, dialect, view.slots[:slots], derived or Derived())))


def _rendered(view: View, dialect: Dialect, slots: Sequence[Slot], derived: Derived) -> list[Rendered]:
    """The messages of the head and of these slots. They are shared with the cache: copy before handing out."""
    caches = derived.of(_RenderedSlots)
    cache = caches.setdefault(dialect, {})
    if len(cache) > 2 * len(view.slots) + _SPARE_SLOTS:
        cache = caches[dialect] = {slot: cache[slot] for slot in view.slots if slot in cache}
    out = [] if view.head_entry is None else dialect.render_head(view.head)
    for slot in slots:
        rendered = cache.get(slot)
        if rendered is None:
            rendered = cache[slot] = dialect.render_slot(slot)
        out += rendered
    return out
