"""A PostgreSQL store of 10,000 conversations and 1,000,000 entries: what opening, a turn and a list cost.

    python benchmarks/postgres_scale.py [--conversations 10000] [--entries 100] [--url postgresql://…]

Without --url it starts a server of its own. The entries are loaded by COPY, as no application would; everything else is
done through the store. Times are of this process and the server together, on one machine, in milliseconds: the median
and the 95th percentile.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable
from typing import Any

import psycopg

from own_server import server_url
from transom.conversation.conversation import Conversation
from transom.core.entry import Entry
from transom.core.message import Assistant, Text, User
from transom.stores import encode_entry, fork_log
from transom.stores.postgres import PostgresStore

SYSTEM = "You book trips."
MANY = 40


def load(url: str, conversations: int, entries: int) -> float:
    """Fill the tables; the seconds it took."""
    begin = time.perf_counter()
    store = PostgresStore(url)
    name = url.rpartition("schema=")[2]
    with store.database.connect() as db:
        rows = [encode_entry(Entry(seq=seq, at=float(seq), body=_body(seq))) for seq in range(entries)]
        db.execute(f"SET search_path TO {name}")
        with db.cursor().copy("COPY logs (name, length) FROM STDIN") as copy:
            for number in range(conversations):
                copy.write_row((f"trip {number}".encode(), entries))
        logs = [log for (log,) in db.execute("SELECT id FROM logs ORDER BY id").fetchall()]
        with db.cursor().copy("COPY entries (log, seq, append, body) FROM STDIN (FORMAT binary)") as copy:
            copy.set_types(["int8", "int8", "int8", "bytea"])
            for log in logs:
                for seq, row in enumerate(rows):
                    copy.write_row((log, seq, seq, row))
        db.execute("ANALYZE")
    store.close()
    return time.perf_counter() - begin


def _body(seq: int) -> User | Assistant:
    text = (Text(f"the {seq}th thing that was said about the ferry to the island, at some length " * 4),)
    return Assistant(parts=text) if seq % 2 else User(parts=text)


def timed(name: str, works: list[Callable[[], Any]]) -> None:
    """Do each once, and print how long they took."""
    taken: list[float] = []
    for work in works:
        begin = time.perf_counter()
        work()
        taken.append((time.perf_counter() - begin) * 1_000)
    taken.sort()
    print(f"{name:<44} {statistics.median(taken):>10,.2f} {taken[int(len(taken) * 0.95) - 1]:>10,.2f}", flush=True)


def measure(url: str, conversations: int) -> None:
    """Every operation on conversations here and there in the store."""
    draw, store = random.Random(1), PostgresStore(url)
    names = [f"trip {number}" for number in draw.sample(range(conversations), MANY)]
    print(f"{'milliseconds':<44} {'median':>10} {'95%':>10}")
    timed("open a log, with the length", [lambda name=name: store.open(name) for name in names])
    timed("read it whole", [lambda name=name: list(store.open(name).read()) for name in names])
    talks: list[Conversation] = []
    timed("open a conversation", [lambda n=n: talks.append(_opened(store, n)) for n in names])
    for talk in talks:
        talk.user("hello")
    turns = [lambda talk=talk: _turn(talk) for talk in talks]
    timed("a turn: message, request, reply (3 appends)", turns)
    timed("the same again", turns)
    timed("an empty round trip", [lambda: store.database.fetch("SELECT 1") for _ in names])
    logs = [store.open(name) for name in names]
    one = [lambda log=log: log.append([Entry(seq=len(log), at=0.0, body=_body(0))], len(log)) for log in logs]
    timed("append one entry", one)
    timed("fork", [lambda log=log: fork_log(store, log) for log in logs])
    timed("forget the fork", [lambda log=log: store.forget(f"{log.name}@{len(log) - 1}") for log in logs])
    timed("list the names", [store.names for _ in range(10)])
    store.close()


def _opened(store: Any, name: str) -> Conversation:
    return Conversation.open(store, name, budget=32_000, system=SYSTEM)


def _turn(talk: Conversation) -> None:
    talk.user("and what about the ferry?")
    talk.request()
    talk.observe({"role": "assistant", "content": "it leaves at noon"})


def main() -> None:
    """Load, unless it is loaded; measure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--conversations", type=int, default=10_000)
    parser.add_argument("--entries", type=int, default=100)
    parser.add_argument("--url")
    options = parser.parse_args()
    url = options.url or server_url("scale")
    seconds = load(url, options.conversations, options.entries)
    print(f"{options.conversations * options.entries:,} entries loaded in {seconds:.0f} s")
    with psycopg.connect(url.replace("&schema=scale", "")) as db:
        size = db.execute("SELECT pg_total_relation_size('scale.entries')").fetchone()
        print(f"{size[0] / 1e6:,.0f} MB with the index")  # type: ignore[index]
    measure(url, options.conversations)


if __name__ == "__main__":
    main()
