"""A process that runs an agent is killed: every fact that an event named is on disk, and the conversation goes on."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from transom import Conversation
from transom.core.codec import encode
from transom.providers.scripted import Scripted
from transom.testing.fakes import WordCounter

CHILD = """
import hashlib, sys, time
import anyio
from transom import AsyncConversation, Conversation, FunctionTool
from transom.core.codec import encode
from transom.providers.scripted import Fault, Scripted, calls
from transom.testing.fakes import WordCounter

def read(n: int) -> str:
    time.sleep(0.002 * n)
    return f"line {n} " * 30

asked = calls(*[("read", {"n": n}) for n in range(3)], text="I read.")
steps = iter([asked, Fault(status=500), asked, Fault(kind="connection", after=4), "Done."] * 1_000)
provider = Scripted(then=lambda _: next(steps))
settings = {"provider": provider, "tools": [read], "retry": __import__("transom").Retry(wait=0)}
conv = Conversation.open(sys.argv[1], "c", budget=1_500, counter=WordCounter())

def tell(event):
    if hasattr(event, "entry"):
        body = hashlib.sha256(encode(conv.log[event.entry])).hexdigest()
        print(event.entry, body, flush=True)

async def main():
    while True:
        async for event in AsyncConversation(conv).stream("Go on.", **settings):
            tell(event)

if sys.argv[2] == "async":
    anyio.run(main)
while True:
    for event in conv.stream("Go on.", **settings):
        tell(event)
"""


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("after", [1, 7, 30])
def test_nothing_acknowledged_is_lost(mode: str, after: int, tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/a.db"
    told: dict[int, str] = {}
    with subprocess.Popen([sys.executable, "-c", CHILD, store, mode], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        for _ in range(after):
            entry, body = child.stdout.readline().split()
            told[int(entry)] = body
        child.kill()
        for line in child.stdout:  # what had been printed already
            if line.endswith("\n"):
                told[int(line.split()[0])] = line.split()[1]
    with Conversation.open(store, "c", budget=1_500, counter=WordCounter()) as conv:
        for entry, body in told.items():
            assert hashlib.sha256(encode(conv.log[entry])).hexdigest() == body
        provider = Scripted("All is well.")
        assert conv.run("Go on.", provider=provider).text == "All is well."
        assert provider.violations == []
        assert conv.view.open_units == ()
