"""A log whose appends stay in memory."""

from __future__ import annotations

import pytest

from transom import Conversation
from transom.errors import Conflict
from transom.stores import MemoryStore
from transom.stores.in_memory import ScratchLog
from transom.testing import WordCounter


def conversation(log):
    return Conversation(log, budget=300, policy="default", counter=WordCounter())


def test_everything_works_and_nothing_reaches_the_store():
    store = MemoryStore()
    conv = conversation(store.open("trip"))
    for turn in range(6):
        conv.user(f"question {turn} " + "about the trip " * 10)
        conv.request()
        conv.observe({"role": "assistant", "content": "an answer " * 10})
    before = [*conv.log.read()]
    scratch = ScratchLog(store.open("trip"))
    tried = conversation(scratch)
    tried.compact()
    tried.user("and now?")
    tried.request()
    tried.undo()
    assert [*store.open("trip").read()] == before
    assert [*scratch.read()] == [*before, *scratch.appended]
    assert [*scratch.read(len(before) - 1, len(before) + 1)] == [before[-1], scratch.appended[0]]
    assert [scratch[seq] for seq in range(len(scratch))] == [*scratch.read()]
    assert [entry.seq for entry in scratch.appended] == [*range(len(before), len(scratch))]


def test_it_stays_as_it_was_while_others_append():
    store = MemoryStore()
    conv = conversation(store.open("trip"))
    conv.user("one")
    scratch = ScratchLog(conv.log)
    conv.user("two")
    assert (len(scratch), scratch.refresh(), [entry.seq for entry in scratch.read()]) == (1, 1, [0])
    with pytest.raises(IndexError):
        scratch[1]
    with pytest.raises(Conflict):
        scratch.append([conv.log[1]], 0)
    scratch.append([conv.log[1]], 1)
    assert len(scratch) == 2
