"""Summaries in the background take a few threads, however many are asked for."""

from __future__ import annotations

import threading

from transom.conversation.worker_pool import WorkerPool


def test_work_that_waits_has_no_thread_of_its_own() -> None:
    pool, gate, before = WorkerPool(2), threading.Event(), threading.active_count()
    tickets = [pool.submit(gate.wait) for _ in range(50)]
    assert threading.active_count() - before <= 2
    for ticket in tickets[2:]:
        pool.abandon(ticket)
    assert threading.active_count() - before <= 2
    gate.set()
    assert all(ticket.done.wait(10) for ticket in tickets[:2])
    assert not any(ticket.done.is_set() for ticket in tickets[2:])


def test_work_that_hangs_and_was_given_up_keeps_no_other_work_waiting() -> None:
    pool, gate = WorkerPool(1), threading.Event()
    hanging = pool.submit(gate.wait)
    after = pool.submit(lambda: "made")
    pool.abandon(hanging)
    assert after.done.wait(10)
    assert after.result == "made"
    gate.set()


def test_work_that_raises_takes_no_other_work_with_it() -> None:
    pool, gate = WorkerPool(1), threading.Event()
    first = pool.submit(gate.wait)
    failing, after = pool.submit(lambda: 1 / 0), pool.submit(lambda: "made")
    gate.set()
    assert all(ticket.done.wait(10) for ticket in (first, failing, after))
    assert (failing.result, after.result) == (None, "made")
