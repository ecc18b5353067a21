"""Runs one conversation many times in a process of its own: `python lease_process.py URL NAME RUNS`, or holds its lease
until it is killed: `python lease_process.py URL NAME hold`."""

from __future__ import annotations

import sys
import time
from typing import Any

from transom import Conversation
from transom.providers.scripted import Scripted, ScriptedStep, call
from transom.testing import WordCounter


def look() -> str:
    """A tool that takes its time."""
    time.sleep(0.001)
    return "REAL"


def step(body: dict[str, Any]) -> ScriptedStep:
    last = body["messages"][-1]["role"]
    assert last in {"user", "tool"}, f"a window ends with {last}"
    return call("look") if last == "user" else "done"


def run_often(store: Any, name: str, runs: int) -> list[str]:
    """The violations of the requests of these runs."""
    provider = Scripted(then=step)
    with Conversation.open(store, "c", budget=200_000, counter=WordCounter()) as conv:
        for number in range(runs):
            assert conv.run(f"{name} {number}", provider=provider, tools=[look], wait=60).text == "done"
    return provider.violations


if __name__ == "__main__":
    url, name, runs = sys.argv[1:]
    if runs == "hold":
        with Conversation.open(url, "c", budget=9_000) as conv, conv.lease():
            print("held", flush=True)
            time.sleep(600)
    else:
        assert run_often(url, name, int(runs)) == []
