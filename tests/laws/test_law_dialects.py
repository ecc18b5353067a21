"""One log in every dialect: the same content in the same order, each valid by its own check."""

from __future__ import annotations

import json

from hypothesis import given

from transom.core.budget import Budget
from transom.core.entry import Entry
from transom.core.frame import Frame
from transom.core.message import Assistant, Head, Text, own_text
from transom.core.plan import plan
from transom.core.reducer import apply, build_view
from transom.core.tokens import replace_surrogates
from transom.core.unit import Folded
from transom.core.view import View
from transom.policies import policy_named
from transom.testing import Entries, WordCounter
from transom.testing.random_logs import logs
from transom.wire.dialects import DIALECTS, dialect_named
from transom.wire.rendering import render_messages


def closed(log: list[Entry], dialect: str) -> View:
    """The view of a log when a request for this dialect leaves: calls closed, the last word not the model's."""
    spoken = dialect_named(dialect)
    view = build_view(Entries(log), spoken.format_counter(WordCounter()))
    head = view.head_entry.body if view.head_entry is not None else Head()
    frame = Frame(head=head, required_user_turn=spoken.required_user_turn)
    done = plan(view, frame, Budget(context=10**9), policy_named("passthrough"), at=0.0)
    return apply(done.before, done.entries[-1:])


def contents(view: View) -> list[str]:
    """What the view says, in order: the texts that show, and the names of the calls."""
    out: list[str] = []
    for slot in view.slots:
        units = slot.surfaced_units if isinstance(slot, Folded) else (slot,)
        out += [slot.text] if isinstance(slot, Folded) else []
        for unit in units:
            for fact in unit.shown_facts():
                out += [own_text(fact), *(part.text for part in fact.parts if isinstance(part, Text))]
                out += [call.name for call in fact.calls] if isinstance(fact, Assistant) else []
    return [text for text in (replace_surrogates(text).strip() for text in out) if text.strip()]


def strings(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for item in inner for text in strings(item)]


@given(logs())
def test_one_log_in_every_dialect(log: list[Entry]) -> None:
    for name in DIALECTS:
        spoken, view = dialect_named(name), closed(log, name)
        messages = render_messages(view, spoken)
        head = view.head_entry.body if view.head_entry is not None else Head()
        request = spoken.body(head, messages)
        if messages:
            assert spoken.violations(request) == [], name
        everything = json.dumps(strings(messages), ensure_ascii=False)
        at = 0
        for text in contents(view):
            quoted = json.dumps(text, ensure_ascii=False)[1:-1]
            at = everything.find(quoted, at)
            assert at >= 0, (name, text)
            at += len(quoted)
