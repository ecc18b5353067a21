"""What must be in every window, and how much room it takes."""

from __future__ import annotations

from transom.core.tokens import Size
from transom.core.view import View


def between(low: Size, high: Size, share: float) -> Size:
    """The size at `share` of the way from `low` to `high`, for each of its numbers; `high` where that is not above
    `low`."""
    return Size(*(int(a + share * (b - a)) if b > a else b for a, b in zip(low, high, strict=True)))


def required_keys(view: View) -> tuple[int, ...]:
    """The keys of the first task and the newest user message, each once, rising."""
    newest = view.newest_user
    return view.first_task if newest is None or newest in view.first_task else (*view.first_task, newest)


def head_and_request_size(view: View) -> Size:
    """The size of the head and of the request beside its messages."""
    return view.head_size.plus(Size(view.counter.request))


def fixed_size(view: View) -> Size:
    """The size that no compaction can take away: the head, and the required units that are visible."""
    size = head_and_request_size(view)
    for key in required_keys(view):
        if view.is_visible(key):
            size = size.plus(view.unit(key).size)
    return size
