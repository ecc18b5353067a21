"""A summary is an entry of the log: it shows nothing, it can be undone, and failures to make one are counted."""

from __future__ import annotations

from transom.core.edit import Undo
from transom.core.message import Failure, Usage
from transom.core.reducer import apply, build_view
from transom.core.summary import NO_SUMMARY, Summary
from transom.core.view import View
from transom.stores.snapshot import decode_view, encode_view
from transom.testing import Entries, WordCounter, talk
from transom.testing.builders import Item, says


def view_of(*items: Item) -> View:
    log = talk(*items)
    return build_view(Entries(log), WordCounter())


FAILED = Failure(failure=NO_SUMMARY, error="nothing")
FIRST = Summary(last=1, text="first")
SECOND = Summary(last=3, text="second", prior=2, usage=Usage(prompt=100, cached=60, output=7))


def test_the_window_is_the_same_with_a_summary_in_the_log() -> None:
    bare, view = view_of("a", says("b")), view_of("a", says("b"), FIRST, FAILED)
    assert (len(view.slots), view.total, view.fingerprint()) == (len(bare.slots), bare.total, bare.fingerprint())


def test_the_newest_summary_that_was_not_undone() -> None:
    items: tuple[Item, ...] = ("a", says("b"), FIRST, says("c"), SECOND)
    assert view_of("a").summary is None
    assert view_of(*items).summary == (4, SECOND)
    assert view_of(*items, Undo(edit=4)).summary == (2, FIRST)
    assert list(view_of(*items, Undo(edit=2)).newest_summaries()) == [(4, SECOND)]
    assert view_of(*items, Undo(edit=4)).refusal(Undo(edit=4)) == "entry 4 is no live edit"


def test_strikes_are_counted_until_a_model_makes_one() -> None:
    degraded = Summary(last=1, text="by hand", degraded=True)
    view = view_of("a", says("b"), FAILED, degraded, FAILED)
    assert (view.summaries.strikes, view.summaries.failed_at) == (2, 4)
    assert view_of("a", says("b"), FAILED, degraded, FAILED, FIRST).summaries.strikes == 0


def test_what_summaries_cost_is_counted_without_what_was_cached() -> None:
    assert view_of("a", FIRST, SECOND).summaries.spent == 47


def test_a_snapshot_has_the_summaries() -> None:
    log = talk("a", says("b"), FIRST, FAILED, SECOND, Undo(edit=4))
    view = build_view(Entries(log), WordCounter())
    again = decode_view(encode_view(view), Entries(log), WordCounter())
    assert again.summaries.strikes == view.summaries.strikes == 0
    assert list(again.newest_summaries()) == [(2, FIRST)]
    more = talk(SECOND, after=log)
    assert apply(again.with_log(Entries(more)), more[-1:]).summary == (6, SECOND)
