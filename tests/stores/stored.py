"""What the store tests keep: one entry of every kind, and a writer that runs as a process of its own."""

from __future__ import annotations

import os
import random
import resource
import signal
import sys
from collections.abc import Sequence

from transom.core.edit import Fold, Pin, Trim, Undo
from transom.core.entry import Body, Entry, Meta, Sent
from transom.core.message import (
    Assistant,
    Call,
    Failure,
    Handoff,
    Head,
    Instruction,
    Media,
    Note,
    Opaque,
    Other,
    Reasoning,
    Recalled,
    Text,
    ToolResult,
    Usage,
    User,
)
from transom.errors import Conflict, TransomError
from transom.stores import open_store
from transom.stores.blobs import LIMIT

EVERY_KIND: tuple[Body, ...] = (
    Head(messages=(Instruction(parts=(Text("You book trips."),)),), tools=({"type": "function", "n": 1},)),
    User(parts=(Text("Lisbon\n\u2028\0", {"cache_control": {"type": "ephemeral"}}), Media("image", {"url": "data:"}))),
    User(parts=(Text("lone \ud800 surrogate"),), extra={"name": "\udfff", "unknown": [None, {"deep": [1.5, True]}]}),
    User(parts=(Other({"type": "future", "n": 2**70}),), shape="parts", extra={"big": -(2**200)}),
    Instruction(role="developer", parts=(Text("Be brief."),)),
    Sent(digest="d1", limit=9, tokens=5, messages=2, kept=1, breaks=(0, 1, "head")),
    Assistant(
        parts=(Text("I look."),),
        calls=(Call("a", "search", "{not json"), Call("", "old", "{}", {"x": 1}, legacy=True)),
        reasoning=(Reasoning("hm", "thinking", bound=True, extra={"signature": "s"}),),
        answers=5,
        usage=Usage(prompt=10, cached=3, output=2),
    ),
    ToolResult(call="a", parts=(Text("found"),)),
    ToolResult(call="", place=(6, 1), made=True, legacy=True, parts=(Text("[aborted]"),)),
    Note(key="mode", text="quick", refs=(1, 2)),
    Recalled(text="once", refs=(1,)),
    Failure(failure="interrupted", text="t", shown="s", answers=5),
    Handoff(text="done", source="scout"),
    Fold(first=1, last=4, text="[folded]", why="room"),
    Trim(entry=7, part=("text", 0), keep=((0, 2), (3, 4)), note="…", why="long"),
    Pin(entry=1, why="asked", implied=True),
    Undo(edit=13, why="no"),
    Opaque(raw={"kind": "from_the_future", "n": 2**100, "s": "\udc00", "list": [{}]}),
)

META = Meta(
    evaluation_id="e",
    sequence=1,
    mode="m",
    run_id="r",
    workflow_id="w",
    agent_id="a",
    tool_name="t",
    duration=0.5,
    source=3,
    extra={"k": "\ud83d"},
)


def log_of(bodies: Sequence[Body], start: int = 0) -> list[Entry]:
    """Entries numbered from `start`, the odd ones with everything an entry can carry."""
    return [
        Entry(seq=seq, at=seq / 7, body=body, tokens=(4, seq), counter="words", meta=META)
        if seq % 2
        else Entry(seq=seq, at=float(seq), body=body)
        for seq, body in enumerate(bodies, start=start)
    ]


def said(start: int, count: int, size: int = 40) -> list[Entry]:
    """User messages whose text follows from their number."""
    return log_of(
        [User(parts=(Text(f"message {seq} ".ljust(size, "x")),)) for seq in range(start, start + count)], start
    )


def batch(number: int) -> list[Entry]:
    """The writer's append with this number: three entries, the second too large for a line."""
    first = 3 * number
    large = User(parts=(Text(f"large {number} " * 10_000),))
    return [*said(first, 1, 500), *log_of([large], first + 1), *said(first + 2, 1, 3_000)]


def write(url: str) -> None:
    """Append without end; print the number of each append that was acknowledged."""
    log = open_store(url).open("killed")
    for number in range(100_000):
        log.append(batch(number), 3 * number)
        print(number, flush=True)


def share(url: str) -> None:
    """Append 20 pairs among other writers, each again until nobody was faster."""
    log = open_store(url).open("shared")
    for _ in range(20):
        while True:
            try:
                log.append(said(len(log), 2), len(log))
                break
            except Conflict:
                log.refresh()


def fill(url: str) -> None:
    """Append until the file system takes no more, make room, and append again."""
    log = open_store(url).open("full")
    log.append(said(0, 3), 0)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
    try:
        while True:
            log.append(said(len(log), 3, 9_000), len(log))
    except TransomError as problem:
        print(str(problem).replace("\n", "\\n"))
    acknowledged = len(log)
    print(repr(open_store(url).open("full").mended))
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    log.append(said(acknowledged, 3, 9_000), acknowledged)
    print(acknowledged)


SECRET = "xyzzy"


def keep_secrets(url: str) -> None:
    """Conversations `xyzzy 0` to `xyzzy 2` and `other`, written in turns, of all sizes, with snapshots."""
    chance, store = random.Random(1), open_store(url)
    words = {f"{SECRET} {n}": f"{SECRET} {n} " for n in range(3)} | {"other": "plain "}
    logs = {name: store.open(name) for name in words}
    for turn in range(200):
        name = chance.choice(list(words))
        log, size = logs[name], LIMIT + turn if turn % 10 == 0 else chance.choice([20, 150, 500, 1_500, 6_000])
        log.append(log_of([User(parts=(Text((words[name] * size)[:size]),))], len(log)), len(log))
        if turn % 9 == 0:
            log.save(len(log), words[name].encode() * size)
    store.close()


def forget(url: str, steps: str) -> None:
    """Forget a secret, killed before the step with this number: a statement, a file removed, a wait for the disk."""
    left = int(steps)

    def count(_: object, event: str, called: object) -> None:
        nonlocal left
        if event == "c_call" and getattr(called, "__name__", "") in {"execute", "unlink", "fsync"}:
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)

    store = open_store(url)
    sys.setprofile(count)
    store.forget(f"{SECRET} 0")


if __name__ == "__main__":
    {"write": write, "share": share, "fill": fill, "forget": forget}[sys.argv[1]](*sys.argv[2:])
