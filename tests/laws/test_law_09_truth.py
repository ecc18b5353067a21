"""Laws 9 and 12 in the core: facts never change and stay reachable; text stays text, JSON stays JSON."""

from __future__ import annotations

import json
from itertools import pairwise

from hypothesis import given

from transom.core.codec import encode
from transom.core.entry import Entry
from transom.core.message import Assistant, Fact, Opaque, Text, User, addressed_parts
from transom.core.reducer import apply, build_view
from transom.core.tokens import replace_surrogates, text_bytes
from transom.core.view import View
from transom.testing.fakes import Entries
from transom.testing.random_logs import COUNTER, LogBuilder, Step, logs, steps
from transom.testing.view_appearance import REASONS, appearance_of


@given(logs())
def test_every_fact_is_in_its_unit_whole_or_reported(log: list[Entry]) -> None:
    before = [encode(entry) for entry in log]
    view = build_view(Entries(log), COUNTER)
    appearance_of(view)
    for entry in log:
        if not isinstance(entry.body, Fact):
            assert view.slot_of(entry.seq) is None
        elif view.slot_of(entry.seq) is None:
            assert view.unit_of[entry.seq] in REASONS
        else:
            unit = view.unit(view.unit_of[entry.seq])
            assert view.entries_of(unit)[unit.seqs.index(entry.seq)] == entry
    assert [encode(entry) for entry in log] == before


@given(logs())
def test_the_units_that_show_are_whole_turns_in_key_order(log: list[Entry]) -> None:
    view = build_view(Entries(log), COUNTER)
    keys = [unit.key for unit in view.visible_units()]
    assert keys == sorted(set(keys))
    assert all(view.is_visible(key) for key in keys)
    assert all(a.last < b.first for a, b in pairwise(view.slots))
    for unit in view.visible_units():
        calls = unit.head.calls if isinstance(unit.head, Assistant) else ()
        assert sorted((*unit.answered_calls, *unit.open_calls)) == list(range(len(calls)))


@given(logs())
def test_arguments_that_were_json_stay_json(log: list[Entry]) -> None:
    for unit in build_view(Entries(log), COUNTER).visible_units():
        for was, now in zip(unit.facts, unit.shown_facts(), strict=True):
            if isinstance(was, Assistant):
                for call, shown in zip(was.calls, now.calls, strict=True):
                    assert _is_json(shown.args) or not _is_json(call.args)
                    assert (shown.id, shown.name) == (call.id, call.name)


@given(logs())
def test_texts_are_cut_between_characters_and_counted_as_they_are_sent(log: list[Entry]) -> None:
    for unit in build_view(Entries(log), COUNTER).visible_units():
        for fact in unit.shown_facts():
            for _, part in addressed_parts(fact):
                if isinstance(part, Text):
                    sent = replace_surrogates(part.text).encode("utf-8")  # raises if a lone surrogate is left
                    assert (len(sent), replace_surrogates(sent.decode())) == (
                        text_bytes(part.text),
                        replace_surrogates(part.text),
                    )


@given(logs(), steps("fold", "trim", "undo", "reply", "result"), steps("user", "pin", "undo", "fold", "synthetic"))
def test_two_futures_leave_their_past_alone(log: list[Entry], some: list[Step], others: list[Step]) -> None:
    past = build_view(Entries(log), COUNTER)
    before = appearance_of(past)
    for written in (some, others, some):
        future = [*log, *LogBuilder(log).write(written)]
        extended = apply(past.with_log(Entries(future)), future[len(log) :])
        assert appearance_of(extended) == appearance_of(build_view(Entries(future), COUNTER))
        assert appearance_of(past) == before


@given(logs())
def test_views_of_every_length_live_side_by_side(log: list[Entry]) -> None:
    views = [View.empty(Entries(log), COUNTER)]
    for entry in log:
        views.append(apply(views[-1], [entry]))
    for upto, view in enumerate(views):
        alone = build_view(Entries(log), COUNTER, upto)
        assert appearance_of(view) == appearance_of(alone)
        assert places(view) == places(alone)


@given(logs())
def test_futures_that_begin_otherwise_share_no_places(log: list[Entry]) -> None:
    past = build_view(Entries(log), COUNTER)
    before = places(past)
    user = User(parts=(Text("and now?"),))
    for unseen in (0, 1, 2):  # entries without a slot, so that the same slot has another key in each future
        bodies = (*[Opaque(raw={"kind": "?"})] * unseen, user, user)
        future = [*log, *(Entry(seq=seq, at=0.0, body=body) for seq, body in enumerate(bodies, len(log)))]
        extended = apply(past.with_log(Entries(future)), future[len(log) :])
        assert places(extended) == places(build_view(Entries(future), COUNTER))
    assert places(past) == before


def places(view: View) -> list[int]:
    """The slot of every key there is, and of some beyond."""
    return [view.slot_index(key) for key in range(-1, view.length + 8)]


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
