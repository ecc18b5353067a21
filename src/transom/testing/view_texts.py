"""The texts of a view and those of a request made from it, to compare what a dialect sends with what the log shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

from transom.core.budget import Budget
from transom.core.entry import Entry
from transom.core.frame import Frame
from transom.core.message import Assistant, Raw, Text, own_text
from transom.core.plan import plan
from transom.core.plan_request import PlanRequest
from transom.core.reducer import apply, build_view
from transom.core.tokens import replace_surrogates
from transom.core.unit import FoldedSlot
from transom.core.view import View
from transom.policies import policy_named
from transom.testing.fakes import Entries, WordCounter
from transom.wire.dialect import Dialect


def closed_view(log: Sequence[Entry], dialect: Dialect) -> View:
    """The view of a log when a request for this dialect leaves: open calls are closed, and a required user message
    follows the model's.
    """
    view = build_view(Entries(list(log)), dialect.format_counter(WordCounter()))
    frame = Frame(head=view.head, required_user_turn=dialect.required_user_turn)
    done = plan(PlanRequest(view, frame, Budget(context=10**9), policy_named("passthrough")))
    return apply(done.before, done.entries[-1:])


def shown_texts(view: View) -> list[str]:
    """The texts that a view shows and the names of its calls, in order."""
    out: list[str] = []
    for slot in view.slots:
        units = slot.pinned_units if isinstance(slot, FoldedSlot) else (slot,)
        out += [slot.text] if isinstance(slot, FoldedSlot) else []
        for unit in units:
            for fact in unit.shown_facts():
                out += [own_text(fact), *(part.text for part in fact.parts if isinstance(part, Text))]
                out += [call.name for call in fact.calls] if isinstance(fact, Assistant) else []
    return [text for text in (replace_surrogates(text).strip() for text in out) if text.strip()]


def strings_in(value: object, without: Sequence[str] | frozenset[str] = ()) -> Iterator[str]:
    """The strings in a JSON value, in order, without those under the keys `without`."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in cast("Raw", value).items():
            if key not in without:
                yield from strings_in(inner, without)
    elif isinstance(value, list):
        for inner in cast("list[object]", value):
            yield from strings_in(inner, without)
