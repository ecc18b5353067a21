"""A process that asks for approval and dies: `python approval_process.py URL` runs until a call waits; with `start`
behind the URL it dies within the tool that was approved."""

from __future__ import annotations

import os
import sys

from transom import Conversation, FunctionTool
from transom.providers.scripted import Scripted, calls
from transom.testing import WordCounter


def pay(amount: int) -> str:
    """Pays."""
    os._exit(7)


def look() -> str:
    """Looks."""
    return "seen"


def opened(url: str) -> Conversation:
    return Conversation.open(url, "c", budget=9_000, counter=WordCounter())


if __name__ == "__main__":
    tools = [FunctionTool(pay, needs_approval=True), look]
    conv = opened(sys.argv[1])
    if sys.argv[2:] == ["start"]:
        conv.run(provider=Scripted(), tools=tools)
    else:
        asks = calls(("pay", {"amount": 50}), ("look", {}), ("pay", {"amount": 60}))
        assert len(conv.run("Pay", provider=Scripted(asks), tools=tools).pending) == 2
    os._exit(0)
