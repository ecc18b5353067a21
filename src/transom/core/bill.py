"""The bill of a window that cannot be made to fit: what takes the room."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from operator import attrgetter

from transom.core.budget import Budget
from transom.core.draft import due_size
from transom.core.tokens import Size
from transom.core.view import View
from transom.errors import BudgetImpossible

NO_UNITS: Mapping[int | None, str] = {}


def impossible(
    view: View,
    used: Size,
    budget: Budget,
    state: Mapping[str, str],
    listed: Mapping[int | None, str] = NO_UNITS,
    kind: type[BudgetImpossible] = BudgetImpossible,
) -> BudgetImpossible:
    """The error that says that a request does not fit, with a bill: what takes the room, line by line, in the unit of
    the first limit that is exceeded (tokens, bytes, images or messages; tokens are calibrated).

    `used`: the raw size that the request would have; it must exceed a limit. `listed`: for units that get a line of
    their own, their keys with the names of these lines. A key of None or below 0, and a unit that the window does not
    show, gets none. If any units are listed, the due notes of `state` get a line too. `kind`: the class of the error.
    """
    limit = budget.limits(view.calibration)
    which = next(name for name in Size.__struct_fields__ if getattr(used, name) > getattr(limit, name))
    scale, of = view.calibration if which == "tokens" else 1.0, attrgetter(which)
    bill = {"head": of(view.head_and_request_size)}
    if which == "tokens" and view.head_entry is not None:
        bill["tools"] = view.counter.count_tools(view.head.tools)
        bill["head"] -= bill["tools"]
    if listed:
        bill["notes"] = of(due_size(view, state))
    for key, name in listed.items():
        if key is not None and key >= 0 and view.is_visible(key):
            bill[name] = bill.get(name, 0) + of(view.unit(key).size)
    bill["other"] = of(used) - sum(bill.values())
    scaled = {name: round(value * scale) for name, value in bill.items() if value}
    most = budget.usable if which == "tokens" else of(limit)
    return kind({"need": ceil(of(used) * scale), "limit": most, **scaled}, which)
