"""Law 16: views and windows may be read, applied and planned on in any thread while the conversation goes on."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TypeVar

import pytest

from transom.core.budget import Budget
from transom.core.edit import Fold, Pin, Trim, Undo
from transom.core.entry import Entry
from transom.core.plan import plan
from transom.core.plan_request import PlanRequest, WindowOptions
from transom.core.reducer import apply, build_view
from transom.core.view import View
from transom.policies import policy_named
from transom.testing import Entries, WordCounter, call, result, says, talk
from transom.testing.view_appearance import appearance_of

THREADS = 4
COUNTER = WordCounter()
T = TypeVar("T")


@pytest.fixture(autouse=True)
def _threads_take_turns_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def conversation(turns: int) -> list[Entry]:
    log: list[Entry] = []
    for turn in range(turns):
        log = talk(f"go on {turn}", call("sh"), result("line\n" * 40), says(f"done {turn}"), after=log)
    return talk(Fold(first=0, last=3, text="[the beginning]"), Pin(entry=0), after=log)


def branch(log: list[Entry], name: int) -> list[Entry]:
    """A future of the log that only this thread has."""
    words = f"thread {name} " * (name + 1)
    for _ in range(6):
        log = talk(words, call("sh"), result(words * 10), says(words), after=log)
        log = talk(Trim(entry=len(log) - 2, part=("text", 0), note=f"[{name}]"), Pin(entry=name), after=log)
        log = talk(Undo(edit=len(log) - 1), after=log)
    return log


def at_once(work: Callable[[int], T]) -> list[T]:
    """What the work gives in each of some threads that begin together."""
    start = Barrier(THREADS)

    def begin(name: int) -> T:
        start.wait()
        return work(name)

    with ThreadPoolExecutor(THREADS) as threads:
        return list(threads.map(begin, range(THREADS)))


def grown(view: View, log: list[Entry], stop: int) -> View:
    """The view after the rest of a log, one entry at a time."""
    for seq in range(view.length, stop):
        view = apply(view.with_log(Entries(log)), log[seq : seq + 1])
    return view


@pytest.mark.parametrize("_", range(10))
def test_threads_that_apply_to_one_view_do_not_disturb_each_other(_: int) -> None:
    log = conversation(30)
    view = build_view(Entries(log), COUNTER)
    before = appearance_of(build_view(Entries(log), COUNTER))
    futures = [branch(log, name) for name in range(THREADS)]
    views = at_once(lambda name: grown(view, futures[name], len(futures[name])))
    for future, found in zip(futures, views, strict=True):
        expected = build_view(Entries(future), COUNTER)
        assert appearance_of(found) == appearance_of(expected)
        assert (list(found.unit_of), list(found.live_edits)) == (list(expected.unit_of), list(expected.live_edits))
        assert found.fingerprint() == expected.fingerprint()
    assert appearance_of(view) == before


@pytest.mark.parametrize("_", range(5))
def test_a_view_is_read_and_planned_on_while_the_conversation_goes_on(_: int) -> None:
    log = conversation(40)
    view, future = build_view(Entries(log), COUNTER), branch(branch(log, 1), 2)
    budget, policy = Budget(context=900), policy_named("default")
    expected = plan(PlanRequest(build_view(Entries(log), COUNTER), WindowOptions(), budget, policy))

    def work(name: int) -> object:
        if name == 0:
            return grown(view, future, len(future)).fingerprint()
        done = plan(PlanRequest(view, WindowOptions(), budget, policy))
        return done.entries, done.window.fingerprint, [slot.fingerprint() for slot in view.slots], appearance_of(view)

    live, *planned = at_once(work)
    assert live == build_view(Entries(future), COUNTER).fingerprint()
    slots = [slot.fingerprint() for slot in build_view(Entries(log), COUNTER).slots]
    appearance = appearance_of(build_view(Entries(log), COUNTER))
    assert planned == [(expected.entries, expected.window.fingerprint, slots, appearance)] * (THREADS - 1)
