"""Many processes on one PostgreSQL server, killed one after the other, while the server is restarted.

    python tests/campaigns/postgres_writers.py [--seconds 60] [--writers 16] [--conversations 4] [--restarts 2]

Each writer talks in all conversations: messages, requests, replies with calls, results, compactions. It prints what
was acknowledged. Each second one of them is killed, and another one starts. Then every log is read: is everything there
that was acknowledged, is nothing there twice, is every window what it was when it was sent, valid, within the budget?
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from transom.conversation.conversation import Conversation
from transom.core.budget import Budget
from transom.core.entry import Entry, Sent
from transom.core.reducer import apply
from transom.core.view import View
from transom.core.window import Window
from transom.errors import InvalidMessage
from transom.stores import Store, open_store
from transom.testing import WordCounter
from transom.wire.dialects import dialect_named
from transom.wire.openai import violations

BUDGET = Budget(context=1_500, reserve=100)
WORDS = ("the ferry", "to the island", "leaves at noon", "the museum", "is closed", "on mondays", "so we walk")


# ---- a writer


def write(url: str, writer: str, conversations: int, out: str) -> None:
    """Talk without end; write down the number of each entry that was acknowledged, and the mark that its text has."""
    draw, store = random.Random(writer), open_store(url)
    talks = [
        Conversation.open(store, f"trip {number}", budget=BUDGET, counter=WordCounter(), system="You book trips.")
        for number in range(conversations)
    ]
    with Path(out).open("w") as acknowledged:
        for turn in range(1_000_000):
            number = draw.randrange(conversations)
            for mark, seq in acts(talks[number], draw, f"<{writer}.{turn}"):
                print(number, seq, mark, file=acknowledged, flush=True)


def guarded(url: str, writer: str, conversations: int, out: str) -> None:
    """The same; why it ended is beside what it wrote."""
    try:
        write(url, writer, conversations, out)
    except BaseException as problem:
        Path(f"{out}.err").write_text(repr(problem))
        raise


def acts(talk: Conversation, draw: random.Random, mark: str) -> Iterator[tuple[str, int]]:
    """One turn: what was said in it, with the number of its entry."""

    def text(part: str) -> str:
        return f"{mark}.{part}> {' '.join(draw.choices(WORDS, k=draw.randrange(3, 30)))}"

    yield f"{mark}.u>", talk.user(text("u"))
    with talk.lease(wait=120):
        try:
            talk.request()
        except InvalidMessage:  # another writer's reply has answered this message, too
            return
        call = {"id": mark, "type": "function", "function": {"name": "look", "arguments": "{}"}}
        calls = [call] if draw.random() < 0.5 else []
        reply = {"role": "assistant", "content": text("a"), **({"tool_calls": calls} if calls else {})}
        yield f"{mark}.a>", talk.observe(reply)
        if calls:
            yield f"{mark}.r>", talk.tool_result(mark, text("r"))
        if draw.random() < 0.03:
            talk.compact()


# ---- what must be true


def judge(store: Store, conversations: int, acknowledged: list[tuple[int, int, str]]) -> tuple[list[str], Counter[str]]:
    """All that is wrong with the logs, and some figures."""
    problems, figures = list[str](), Counter[str](acknowledged=len(acknowledged))
    for number in range(conversations):
        log = store.open(f"trip {number}")
        view, marks, texts = View.empty(log, dialect_named("openai").format_counter(WordCounter())), Counter[str](), {}
        for entry in log.read():
            if isinstance(entry.body, Sent):
                problems += sent_problems(view, entry, number)
                figures["requests"] += 1
                figures["breaks"] += entry.body.breaks is not None
            view = apply(view, [entry])
            if (mark := mark_of(entry)) is not None:
                marks[mark] += 1
                texts[entry.seq] = mark
        figures["entries"] += len(log)
        problems += [f"trip {number}: {mark} is there {count} times" for mark, count in marks.items() if count > 1]
        mine = [(seq, mark) for where, seq, mark in acknowledged if where == number]
        problems += [f"trip {number}: {mark} was acknowledged as {seq}" for seq, mark in mine if texts.get(seq) != mark]
        problems += window_problems(view, number)
    return problems, figures


def mark_of(entry: Entry) -> str | None:
    """The mark at the beginning of a fact that a writer has said."""
    parts: Any = getattr(entry.body, "parts", ())
    text = parts[0].text if parts and hasattr(parts[0], "text") else ""
    return text.partition(" ")[0] if text.startswith("<") else None


def sent_problems(view: View, entry: Entry, number: int) -> list[str]:
    """What is wrong with a request: the view before it is what was sent."""
    where = f"trip {number}, request {entry.seq}"
    assert isinstance(entry.body, Sent)
    problems = [] if view.fingerprint() == entry.body.fingerprint else [f"{where}: the window cannot be made again"]
    if entry.body.tokens > BUDGET.context - BUDGET.reserve:
        problems.append(f"{where}: {entry.body.tokens} tokens")
    if entry.seq % 16 == 0:
        problems += [f"{where}: {problem}" for problem in found_in(apply(view, [entry]))]
    return problems


def window_problems(view: View, number: int) -> list[str]:
    """What is wrong with the window that the whole log shows, were it sent now."""
    log = view.log
    with Conversation.open("memory:", "copy", budget=BUDGET, counter=WordCounter()) as copy:
        copy.log.append(list(log.read()), 0)
        copy.user("go on")
        found = violations(copy.request()["messages"])
    return [f"trip {number}: {problem}" for problem in found]


def found_in(view: View) -> list[Any]:
    """The rules that a request in flight breaks."""
    from transom.conversation.render_window import render  # noqa: PLC0415

    return list(violations(render(Window.of_request_in_flight(view))["messages"]))


# ---- the processes

PRELOADED = ["pytest", "transom.conversation.conversation", "transom.stores.postgres", "transom.testing"]
"""What every writer needs, so that one that starts is at work at once. (This folder is not in that process's path.)"""


class Writers:
    """The running writers, and what they wrote down. They are forks of a process that has imported everything."""

    def __init__(self, url: str, count: int, conversations: int) -> None:
        self._arguments = url, conversations
        self._folder = Path(tempfile.mkdtemp(prefix="writers-"))
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(PRELOADED)
        self._running: dict[str, Any] = {}
        self.started = self.killed = 0
        self.problems: list[str] = []
        for _ in range(count):
            self.start()

    def start(self) -> None:
        """One more."""
        url, conversations = self._arguments
        name = f"w{self.started}"
        self.started += 1
        process = self._context.Process(target=guarded, args=(url, name, conversations, str(self._folder / name)))
        process.start()
        self._running[name] = process

    def kill(self, name: str | None = None) -> None:
        """Kill one, as a crash would; one that has ended by itself is a problem."""
        name = random.choice(list(self._running)) if name is None else name
        process = self._running.pop(name)
        if process.exitcode is not None:
            why = self._folder / f"{name}.err"
            self.problems.append(f"{name} ended: {why.read_text() if why.exists() else process.exitcode}")
        process.kill()
        process.join()
        self.killed += 1

    def kill_all(self) -> None:
        """The end."""
        for name in list(self._running):
            self.kill(name)

    def close(self) -> None:
        """Remove what they wrote down."""
        shutil.rmtree(self._folder)

    def acknowledged(self) -> list[tuple[int, int, str]]:
        """What all of them printed, but for a line that was cut off: conversation, entry, mark."""
        lines = [line.split(" ") for path in self._folder.glob("w*[0-9]") for line in path.read_text().split("\n")[:-1]]
        return [(int(number), int(seq), mark) for number, seq, mark in lines]


def campaign(
    server: Any, schema: str, *, seconds: float, writers: int, conversations: int, restarts: int
) -> tuple[list[str], Counter[str]]:
    """All that went wrong, and some figures."""
    url = server.url(schema)
    running = Writers(url, writers, conversations)
    begin = time.monotonic()
    due = [begin + seconds * (one + 1) / (restarts + 1) for one in range(restarts)]
    modes = ("fast", "immediate")
    try:
        while (now := time.monotonic()) < begin + seconds:
            if due and now >= due[0]:
                server.restart(modes[len(due) % 2])
                due.pop(0)
            time.sleep(1.0)
            running.kill()
            running.start()
    finally:
        running.kill_all()
    store = open_store(url)
    problems, figures = judge(store, conversations, running.acknowledged())
    store.close()
    running.close()
    figures["killed"], figures["restarts"] = running.killed, restarts
    return running.problems + problems, figures


def main() -> int:
    """Run it, and print what is wrong."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--writers", type=int, default=16)
    parser.add_argument("--conversations", type=int, default=4)
    parser.add_argument("--restarts", type=int, default=2)
    options = parser.parse_args()
    sys.path.append(str(Path(__file__).parent.parent))
    from postgres_writers import campaign as this_campaign  # noqa: PLC0415 - so that writers find it by this name

    from postgres_server import TestServer  # noqa: PLC0415 - not needed by a writer

    problems, figures = this_campaign(
        TestServer(f"w{os.getpid()}"),
        "writers",
        seconds=options.seconds,
        writers=options.writers,
        conversations=options.conversations,
        restarts=options.restarts,
    )
    print(", ".join(f"{value:,} {name}" for name, value in figures.items()))
    print("\n".join(problems[:20]) or "nothing acknowledged is lost, nothing is there twice, every window is valid")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
