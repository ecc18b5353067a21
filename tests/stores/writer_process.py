"""Writers that the store tests run as processes of their own, to kill them or to fill the disk."""

from __future__ import annotations

import os
import random
import resource
import signal
import sys

from transom.core.entry import Entry
from transom.core.message import Text, User
from transom.errors import Conflict, TransomError
from transom.stores import open_store
from transom.stores.blobs import SPLIT_ABOVE
from transom.testing import entries_of, user_entries


def batch(number: int) -> list[Entry]:
    """The writer's append with this number: three entries, the second too large for a line."""
    first = 3 * number
    large = User(parts=(Text(f"large {number} " * 10_000),))
    return [*user_entries(first, 1, 500), *entries_of([large], first + 1), *user_entries(first + 2, 1, 3_000)]


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
                log.append(user_entries(len(log), 2), len(log))
                break
            except Conflict:
                log.refresh()


def fill(url: str) -> None:
    """Append until the file system takes no more, make room, and append again."""
    log = open_store(url).open("full")
    log.append(user_entries(0, 3), 0)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
    try:
        while True:
            log.append(user_entries(len(log), 3, 9_000), len(log))
    except TransomError as problem:
        print(str(problem).replace("\n", "\\n"))
    acknowledged = len(log)
    print(repr(open_store(url).open("full").repaired))
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    log.append(user_entries(acknowledged, 3, 9_000), acknowledged)
    print(acknowledged)


SECRET = "xyzzy"


def keep_secrets(url: str) -> None:
    """Conversations `xyzzy 0` to `xyzzy 2` and `other`, written in turns, of all sizes, with snapshots."""
    chance, store = random.Random(1), open_store(url)
    words = {f"{SECRET} {n}": f"{SECRET} {n} " for n in range(3)} | {"other": "plain "}
    logs = {name: store.open(name) for name in words}
    for turn in range(200):
        name = chance.choice(list(words))
        log, size = logs[name], SPLIT_ABOVE + turn if turn % 10 == 0 else chance.choice([20, 150, 500, 1_500, 6_000])
        log.append(entries_of([User(parts=(Text((words[name] * size)[:size]),))], len(log)), len(log))
        if turn % 9 == 0:
            log.save_snapshot(len(log), words[name].encode() * size)
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


def forget_all(url: str, *names: str) -> None:
    """Forget these conversations one after the other."""
    store = open_store(url)
    for name in names:
        store.forget(name)


if __name__ == "__main__":
    {"write": write, "share": share, "fill": fill, "forget": forget, "forget_all": forget_all}[sys.argv[1]](
        *sys.argv[2:]
    )
