"""The views of the calls of one log, from one reading."""

from __future__ import annotations

import pytest

from transom import Conversation
from transom.core.entry import Sent
from transom.errors import InvalidSetting
from transom.evaluation import call_views
from transom.evaluation.call_figures import CallTable
from transom.evaluation.call_numbers import call_number
from transom.evaluation.call_views import CallViews
from transom.stores import MemoryStore
from transom.testing import WordCounter


def conversation(store, turns):
    conv = Conversation.open(store, "trip", budget=300, counter=WordCounter())
    for turn in range(turns):
        conv.user(f"question {turn} " + "about the trip " * 10)
        conv.request()
        conv.observe({"role": "assistant", "content": f"answer {turn} " + "to the question " * 10})
    return conv


def views_of(store, conv):
    return CallViews(store.open("trip"), conv.view.counter)


@pytest.mark.parametrize("most_kept", [2, 5, 512])
def test_every_view_is_the_one_that_the_call_saw(monkeypatch, most_kept):
    monkeypatch.setattr(call_views, "MOST_KEPT", most_kept)
    store = MemoryStore()
    conv = conversation(store, 25)
    views = views_of(store, conv)
    views.refresh()
    assert views.now.length == len(conv.log)
    assert views.calls == 25
    for call in (25, 24, 23, 1, 2, 3, 11, 10, 12, -1, -25, 25):
        seen, told = views.view(call), conv.view_at_call(call)
        assert (seen.length, seen.fingerprint()) == (told.length, told.fingerprint())
    assert views.now.fingerprint() == conv.view.fingerprint()
    assert len(views._kept) <= most_kept + 1


def test_entries_that_come_later_are_read_later():
    store = MemoryStore()
    conv = conversation(store, 3)
    views = views_of(store, conv)
    views.refresh()
    conv.user("one more")
    conv.request()
    with pytest.raises(InvalidSetting, match="there is no call 4: trip has 3"):
        views.view(4)
    views.refresh()
    assert views.now.length == len(conv.log)
    assert views.view(4).fingerprint() == conv.view_at_call(4).fingerprint()


def test_a_step_reads_few_entries(monkeypatch):
    """The work for a call does not grow with the log."""
    monkeypatch.setattr(call_views, "MOST_KEPT", 8)
    store = MemoryStore()
    conv = conversation(store, 100)
    log = store.open("trip")
    read = []
    views = CallViews(log, conv.view.counter)
    views.refresh()
    real = log.read
    log.read = lambda start=0, stop=None: read.append(stop - start) or real(start, stop)
    for call in range(100, 0, -1):
        views.view(call)
    apart = len(conv.log) * views._stride / 100
    assert max(read) <= apart + 4, "at most the entries between two kept views"


def test_the_figures_of_calls_are_those_of_their_requests():
    store = MemoryStore()
    conv = conversation(store, 12)
    table = CallTable()
    entries = [*conv.log.read()]
    for start in range(0, len(entries), 5):
        table.add(entries[start : start + 5])
    sent = [entry for entry in entries if isinstance(entry.body, Sent)]
    assert [(call.entry, call.tokens, call.limit, call.shared_tokens) for call in table.calls] == [
        (entry.seq, entry.body.tokens, entry.body.limit, entry.body.shared_tokens) for entry in sent
    ]
    assert [call.broken_by for call in table.calls] == [
        None if entry.body.breaks is None else entry.body.breaks[1] for entry in sent
    ]
    edits = [type(entry.body).__name__ for entry in entries]
    assert sum(call.folds for call in table.calls) == edits.count("Fold") > 0
    assert all(call.answered and not call.failure for call in table.calls)
    assert (table.length, table.total) == (len(entries), conv.view.usage)


@pytest.mark.parametrize("at", [True, False, 0, 4, -4, "1", 1.0, None])
def test_only_a_whole_number_in_the_log_names_a_call(at):
    with pytest.raises(InvalidSetting, match="there is no call"):
        call_number(at, 3, "trip")
