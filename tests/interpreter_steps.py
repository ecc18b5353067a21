"""Counts work, for tests of what a change costs: the counts are the same on a busy machine."""

from __future__ import annotations

import sys
from collections.abc import Callable


def interpreter_steps(run: Callable[[], object]) -> int:
    """How many bytecodes `run` executes. To copy a tuple is one step, to look at each of its items is not.

    It is run twice and counted the second time, so it must do the same each time: Python 3.12 and later count only
    from the second trace on.
    """
    count, before = 0, sys.gettrace()

    def step(frame, event, _):
        nonlocal count
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += event == "opcode"
        return step

    for _ in range(2):
        count = 0
        sys.settrace(step)
        try:
            run()
        finally:
            sys.settrace(before)
    return count


def function_calls(run: Callable[[], object]) -> int:
    """How many functions `run` calls, built-in ones too, and how often it goes on in a generator. It takes a few times
    as long as `run` alone, where `interpreter_steps` takes about fifty times as long."""
    count, before = 0, sys.getprofile()

    def called(_frame, event, _argument):
        nonlocal count
        count += event in {"call", "c_call"}

    sys.setprofile(called)
    try:
        run()
    finally:
        sys.setprofile(before)
    return count
