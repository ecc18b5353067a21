"""What opening a long conversation costs: 100,000 entries in SQLite, most of them under folds that nest.

Run: python benchmarks/open_log.py [entries]. Everything is CPU time of this process (user and system), in seconds.
"""

from __future__ import annotations

import gc
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

from transom.core.edit import Fold
from transom.core.entry import Body, Entry, Sent
from transom.core.message import Assistant, Call, Text, ToolResult, User
from transom.core.reducer import apply
from transom.core.tokens import FormatCounter
from transom.core.view import View
from transom.core.window import assemble
from transom.stores import SqliteStore, open_view
from transom.stores.snapshot import encode_view
from transom.testing import WordCounter

EVERY, TAIL, BATCH = 50, 120, 500
COUNTER = WordCounter()


def bodies(n: int) -> Iterator[Body]:
    """A coding agent at work: a request, then turns with a call and its answer, each after its `Sent`, and every 50
    entries a fold of all but the tail, over the folds before it."""
    fold_at, turns = TAIL + EVERY, [0]
    yield User(parts=(Text("Fix the build. " * 20),))
    seq = 1
    while seq < n:
        if seq >= fold_at:
            last = max(key for key in turns if key < seq - TAIL)
            yield Fold(first=0, last=last, text=f"[entries 0 to {last}: earlier turns are left out of this window]")
            turns, seq, fold_at = [key for key in turns if key > last], seq + 1, fold_at + EVERY
        yield Sent(fingerprint="0" * 32, limit=64_000, tokens=30_000, messages=80)
        call = Call(f"call_{seq}", "shell", '{"cmd": "' + "make test " * 10 + '"}')
        yield Assistant(parts=(Text("I look at the output. " * 8),), calls=(call,), answers=seq)
        yield ToolResult(parts=(Text(f"line {seq}: all is well\n" * 60),), call=call.id)
        turns.append(seq)
        seq += 3


def entries(n: int) -> Iterator[Entry]:
    for seq, body in enumerate(bodies(n)):
        yield Entry(
            seq=seq, at=1e9 + seq, body=body, tokens=FormatCounter(COUNTER).count_body(body), counter=COUNTER.name
        )


def build(path: str, n: int) -> None:
    store = SqliteStore(path, synchronous="normal")
    log, batch, appending = store.open("long"), [], 0.0
    for entry in entries(n):
        batch.append(entry)
        if len(batch) == BATCH:
            begun = time.process_time()
            log.append(batch, len(log))
            appending += time.process_time() - begun
            batch = []
    log.append(batch, len(log))
    begun = time.process_time()
    view = apply(View.empty(log, COUNTER), log.read())
    folding = time.process_time() - begun
    begun = time.process_time()
    snapshot = encode_view(view)
    freezing = time.process_time() - begun
    log.save_snapshot(view.length, snapshot)
    store.close()
    print(f"{len(log):,} entries, {Path(path).stat().st_size / 1e6:.0f} MB: appended in {appending:.2f} s")
    print(f"folded from the start in {folding:.2f} s, frozen in {freezing:.3f} s to {len(snapshot) / 1e6:.1f} MB")


def opened(path: str) -> float:
    """CPU seconds from nothing to a window."""
    begun = time.process_time()
    store = SqliteStore(path)
    view = open_view(store.open("long"), COUNTER)
    window = assemble(view, 64_000)
    taken = time.process_time() - begun
    depth, slot = 0, window.slots[0]
    while hasattr(slot, "kids"):
        depth, slot = depth + 1, slot.children[0]
    found = f"{len(window.slots)} slots, {depth:,} folds deep, fingerprint {window.fingerprint[:8]}"
    print(f"opened in {taken:.3f} s: {found}")
    store.close()
    return taken


def small_appends(path: str, rounds: int = 2_000) -> None:
    """Two small entries an append, each on disk before the next."""
    store = SqliteStore(path)
    log, call = store.open("small"), Call("call_1", "shell", "{}")
    begun = time.process_time()
    for seq in range(0, 2 * rounds, 2):
        turn = Assistant(parts=(Text("a short turn " * 8),), calls=(call,))
        log.append([Entry(seq=seq, at=1e9, body=turn), Entry(seq=seq + 1, at=1e9, body=ToolResult(call="call_1"))], seq)
    each = (time.process_time() - begun) / rounds
    begun = time.process_time()
    for seq in range(rounds):
        log[seq]
    read = (time.process_time() - begun) / rounds
    print(f"append of 2 entries {each * 1e6:.0f} µs, one entry read {read * 1e6:.1f} µs")
    store.close()


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "long.db")
        build(path, n)
        gc.collect()
        best = min(opened(path) for _ in range(5))
        tracemalloc.start()
        store = SqliteStore(path)
        view = open_view(store.open("long"), COUNTER)
        held, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        print(f"the open view holds {held / 1e6:.1f} MB (peak {peak / 1e6:.1f}) for {view.length:,} entries")
        store.close()
        small_appends(path)
        print(f"opening: {best:.3f} s of CPU (must be under 1)")


if __name__ == "__main__":
    main()
