"""The error for a request that does not fit: what takes the room, and the ways out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import ceil
from operator import attrgetter

from transom.core.plan_draft import due_size, pin_by_hand
from transom.core.plan_request import PlanRequest
from transom.core.tokens import Size
from transom.core.view import View
from transom.errors import BudgetImpossible

NO_UNITS: Mapping[int | None, str] = {}

PINNED = "pinned"
"""The line of the bill for units that somebody has pinned."""

MAX_NAMED_PINS = 3
"""How many pinned entries the error names, at most."""


def impossible(
    request: PlanRequest,
    view: View,
    used: Size,
    listed: Mapping[int | None, str] = NO_UNITS,
    kind: type[BudgetImpossible] = BudgetImpossible,
) -> BudgetImpossible:
    """Make the error that says that a request does not fit; the caller raises it. Its bill says what takes the room, in
    the unit of the first limit that is exceeded (tokens, bytes, images or messages; tokens are calibrated). It also
    names the ways out.

    - `view`: what the draft of the plan shows. `used`: the raw size that the request would have; it must exceed a
      limit.
    - `listed`: the units that get a line of the bill: their keys, each with the name of the line. Units with the same
      name share a line. A key of None or below 0, and a unit that the window does not show, gets none.
    - Empty `listed` means that the head alone does not fit: then `used` must be its size. Otherwise there is also a
      line for the due notes of the state, and one for the units that somebody has pinned.
    - `kind`: the class of the error.
    """
    budget = request.budget
    limit = budget.limits(view.calibration)
    which = next(name for name in Size.__struct_fields__ if getattr(used, name) > getattr(limit, name))
    scale, of = view.calibration if which == "tokens" else 1.0, attrgetter(which)
    bill = {"head": of(view.head_and_request_size)}
    if which == "tokens" and view.head_entry is not None:
        bill["tools"] = view.counter.count_tools(view.head.tools)
        bill["head"] -= bill["tools"]
    pins: dict[int, int] = {}
    if listed:
        bill["notes"] = of(due_size(view, request.options.state))
        pins = {unit.key: round(of(unit.size) * scale) for unit in view.visible_units() if _is_spared(view, unit.key)}
    for key, name in {**dict.fromkeys(pins, PINNED), **listed}.items():
        if key is not None and key >= 0 and view.is_visible(key):
            bill[name] = bill.get(name, 0) + of(view.unit(key).size)
    bill["other"] = of(used) - sum(bill.values())
    scaled = {name: round(value * scale) for name, value in bill.items() if value}
    most = budget.usable if which == "tokens" else of(limit)
    scaled = {"need": ceil(of(used) * scale), "limit": most, **scaled}
    return kind(scaled, which, tuple(_ways_out(request, view, scaled, which, pins, is_head_alone=not listed)))


def _is_spared(view: View, key: int) -> bool:
    """Whether only the pin of somebody keeps this unit in the window."""
    return key not in view.required and key != view.newest_unit and pin_by_hand(view, key) is not None


def _ways_out(
    request: PlanRequest,
    view: View,
    bill: Mapping[str, int],
    unit: str,
    pins: Mapping[int, int],
    *,
    is_head_alone: bool,
) -> Iterator[str]:
    """What the caller can do, each as a clause with its number. `is_head_alone`: the messages come on top."""
    budget, policy = request.budget, request.policy
    excess = bill["need"] - bill["limit"]
    least, most = ("more than", "less than") if is_head_alone else ("at least", "at most")
    if unit != "tokens":
        yield f"give a budget with max_{unit} of {least} {bill['need']:,}"
    elif request.is_model_limit:
        yield f"take a model with a context window of {least} {bill['need'] + budget.reserve:,} tokens"
    else:
        yield f"give a budget of {least} {bill['need'] + budget.reserve:,} tokens"
    if unit == "tokens" and budget.reserve >= excess + is_head_alone:
        yield f"keep {most} {budget.reserve - excess:,} tokens for the answer (reserve) instead of {budget.reserve:,}"
    if not is_head_alone and not policy.pressure and not policy.last_resort:
        yield "take a policy that makes room, such as default"
    elif sum(pins.values()) >= excess:
        yield _without_pins(request, view, pins, excess)
    if unit in {"tokens", "bytes"} and (part := _largest_part(view, bill, excess)):
        yield f"shorten {part} by {least} {excess:,} {unit}"


def _without_pins(request: PlanRequest, view: View, pins: Mapping[int, int], excess: int) -> str:
    """The clause that names the pinned entries to give up: the largest, and no more than it takes."""
    named: list[str] = []
    for key in sorted(pins, key=lambda key: -pins[key]):
        if excess <= 0 or len(named) == MAX_NAMED_PINS:
            break
        named.append(f"{request.ref(key)} ({pins[key]:,}, undo {pin_by_hand(view, key)})")
        excess -= pins[key]
    return f"unpin {' and '.join(named)}" + (" and more" if excess > 0 else "")


def _largest_part(view: View, bill: Mapping[str, int], excess: int) -> str:
    """The largest part of head and state, or all of them, if shortening it is enough; empty if it is not."""
    head = [*(["the system prompt"] if view.head.messages else [])]
    if view.head.tools and "tools" not in bill:
        head.append("the tool definitions")
    sizes = {" and ".join(head): bill.get("head", 0)} if head else {}
    sizes |= {"the tool definitions": bill.get("tools", 0), "the state": bill.get("notes", 0)}
    sizes = {name: size for name, size in sizes.items() if size}
    largest = max(sizes, key=lambda name: sizes[name], default="")
    if largest and sizes[largest] > excess:
        return largest
    return f"{' and '.join(sizes)} together" if sum(sizes.values()) > excess else ""
