"""A run on an event loop that is cancelled while the SDK of its model is imported for the first time."""

from __future__ import annotations

import asyncio

import anyio
import pytest

from transom import AsyncConversation
from transom.core.message import User
from transom.providers import PROVIDERS
from transom.providers.scripted import Scripted
from transom.stores import MemoryStore

SLOW_SDK = """
import time
from transom.providers.scripted import Scripted
time.sleep(0.3)
def make(model, base_url=None):
    return Scripted("never asked for")
"""


async def by_task(run):
    """Cancelled as asyncio does it."""
    task = asyncio.create_task(run)
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert task.cancelled()


async def by_timeout(run):
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await run


async def by_scope(run):
    """Cancelled as anyio does it."""
    with anyio.move_on_after(0.05) as scope:
        await run
    assert scope.cancelled_caught


@pytest.mark.parametrize("cancelled", [by_task, by_timeout, by_scope])
def test_the_input_is_logged(tmp_path, monkeypatch, cancelled):
    module = f"slow_sdk_{cancelled.__name__}"
    (tmp_path / f"{module}.py").write_text(SLOW_SDK)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(PROVIDERS, "slow", f"{module}:make")

    async def main():
        conv = await AsyncConversation.open(MemoryStore(), "trip", budget=1_000)
        await cancelled(conv.run("Book a train to Rome.", provider="slow:model"))
        kinds = [type(entry.body) for entry in conv.log.read()]
        assert kinds.count(User) == 1
        result = await conv.run("And back.", provider=Scripted("Both are booked."))
        assert result.text == "Both are booked."

    asyncio.run(main())
