"""The laws that need no plan: any log, with any edits in it."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st
from log_laws import check_all_undone, check_kept, check_undo

from oracle import appearance, check_definition
from transom.core.entry import Entry
from transom.core.reducer import apply, build_view
from transom.core.view import View
from transom.testing import Entries, LogBuilder, Step, appearance_of, logs, steps
from transom.testing.laws import COUNTER, check_bound, check_order, check_text, check_thrift


@given(logs(), steps("fold", "trim", "pin", most=1))
def test_an_edit_and_its_undo_show_the_same_window(log: list[Entry], edit: list[Step]) -> None:
    check_undo(log, LogBuilder(log).write(edit)[-1].body)


@given(logs(), st.randoms(use_true_random=False))
def test_everything_undone_in_any_order_is_the_bare_view(log: list[Entry], random) -> None:
    check_all_undone(log, random.shuffle)


@given(logs(), steps("trim", "pin"))
def test_trims_and_pins_commute_and_twice_is_once(log: list[Entry], edits: list[Step]) -> None:
    check_order(log, [entry.body for entry in LogBuilder(log).write(edits)])


@given(logs())
def test_a_fold_saves_and_a_trim_never_costs(log: list[Entry]) -> None:
    check_thrift(log)


@given(logs())
def test_every_fact_is_in_its_unit_whole_or_reported(log: list[Entry]) -> None:
    check_kept(log)


@given(logs())
def test_text_is_cut_between_characters_and_json_stays_json(log: list[Entry]) -> None:
    check_text(build_view(Entries(log), COUNTER))


@given(logs())
def test_bound_reasoning_shows_only_on_the_prefix_it_was_made_on(log: list[Entry]) -> None:
    check_bound(log)


@given(logs())
def test_the_view_equals_the_oracle_after_every_entry(log: list[Entry]) -> None:
    check_definition(log)


@given(logs(), st.sets(st.integers(1, 40)))
def test_it_does_not_matter_how_many_entries_are_applied_at_once(log: list[Entry], cuts: set[int]) -> None:
    edges = [0, *sorted(cut for cut in cuts if cut < len(log)), len(log)]
    view = View.empty(Entries(log), COUNTER)
    for start, stop in itertools.pairwise(edges):
        view = apply(view, log[start:stop])
    assert appearance_of(view) == appearance(log, COUNTER)


@given(logs(), st.integers(0, 40))
def test_time_travel_is_the_view_of_the_first_entries(log: list[Entry], upto: int) -> None:
    upto = min(upto, len(log))
    assert appearance_of(build_view(Entries(log), COUNTER, upto)) == appearance(log[:upto], COUNTER)


def test_a_reply_that_comes_behind_the_compaction_which_its_request_precedes_has_its_place_among_what_is_hidden() -> (
    None
):
    late = [Step("user"), Step("sent"), Step("user"), Step("provider", b=0, d=6), Step("turn", d=0)]
    log = LogBuilder().write(late)
    check_definition(log)
    check_kept(log)


def test_a_started_call_of_a_sub_agent_waits_again_until_it_has_a_result() -> None:
    told = [Step("approval", b=state) for state in (0, 1, 2, 8, 1, 2)]  # waits, approved, started; twice
    builder = LogBuilder()
    builder.write([Step("user"), Step("turn", b=1), *told[:4]])
    assert [state for _, state in builder.view.approvals.values()] == ["pending"]
    builder.write([*told[4:], Step("approval", d=3), Step("approval", b=8)])
    check_definition(builder.log)
