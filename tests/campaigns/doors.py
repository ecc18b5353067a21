"""Long runs of the real SDKs through `transom.wrap` and through the proxy, against a strict server.

    python tests/campaigns/doors.py [--steps 300] [--api anthropic]

A run has parallel tools, long outputs and reasoning; the model's true limit is below the budget; the agent is killed in
the middle of a streamed reply, and another process goes on with the messages that it had saved. No request may break a
rule of its API or have reasoning on another prefix. None may be over the limit after that was said, and each has the
task.

Then 500 requests at once, a body of 50 MB, and the CPU time of a request with 1,000 messages, in a store with 10
conversations and with 100,000.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx2

import transom

sys.path.append(str(Path(__file__).parents[1]))
from sdk_agents import AGENTS
from strict_provider import ANSWER, TASK, StrictProvider, strict_provider
from transom.core.entry import Sent
from transom.core.message import Failure
from transom.http import Gateway
from transom.http.exchange import ClientRequest, ServerAnswer, exchange_of
from transom.http.send import drive
from transom.proxy.app import ProxySettings
from transom.proxy.serve import serving
from transom.stores import open_store
from transom.stores.prefix_index import KnownPrefix

BUDGET, LIMIT = 30_000, 20_000
DOORS = ("wrap", "proxy")
KEPT = {"openai": "messages", "responses": "items", "anthropic": "messages", "gemini": "contents"}
REASONING = ("responses", "anthropic", "gemini")
"""The APIs whose replies have reasoning that is bound to its prefix."""
MOST_CPU_MS = 5.0


class Outcome(NamedTuple):
    """What came of one run. All but the first four must be 0."""

    requests: int
    refused: int
    conversations: int
    reasoned: int
    """Parts with a signature that were sent."""
    invalid: int
    stale: int
    over: int
    lost: int
    unanswered: int
    breaks_unsaid: int
    """Requests that do not begin with the one before, and whose `Sent` says no break."""
    unproven: int
    """1 if no reasoning was sent over an API that has it: then `stale` says nothing."""

    @property
    def faults(self) -> int:
        return sum(self[4:])


def child(api: str, url: str, store: str, saved: Path) -> None:
    """An agent that saves its messages after each step, and goes on with those that are there."""
    agent_class, client_of = AGENTS[api]
    client = client_of(url)
    if store:
        client = transom.wrap(client, store=store, budget=BUDGET)
    agent = agent_class(client, stream=True)
    if saved.exists():
        setattr(agent, KEPT[api], json.loads(saved.read_text()))
    answer = ""
    while not answer:
        answer = agent.step()
        text = json.dumps(getattr(agent, KEPT[api]), default=lambda each: each.model_dump(exclude_none=True))
        saved.with_suffix(".new").write_text(text)
        saved.with_suffix(".new").replace(saved)
    print(answer)


def outcome(api: str, door: str, steps: int) -> Outcome:
    """One run of so many steps, whose agent is killed in the middle."""
    with tempfile.TemporaryDirectory() as folder, strict_provider(steps, limit=LIMIT, stalls_at=steps // 2) as server:
        url, saved = f"sqlite:///{folder}/agent.db?synchronous=normal", Path(folder) / "messages.json"
        with reached(server, door, url) as (address, store):
            line = [sys.executable, __file__, "--child", api, "--url", address, "--store", store, "--saved", str(saved)]
            first = subprocess.Popen(line, stdout=subprocess.DEVNULL)
            while server.turn < steps // 2 and first.poll() is None:
                time.sleep(0.02)
            time.sleep(0.2)
            first.kill()
            first.wait()
            server.go_on.set()
            last = subprocess.run(line, capture_output=True, text=True, timeout=60 + 10 * steps, check=False)
        opened = open_store(url)
        names = opened.names()
        bodies = [entry.body for name in names for entry in opened.open(name).read()]
        said = sum(isinstance(body, Sent) and body.breaks is not None for body in bodies)
        killed = sum(isinstance(body, Failure) and body.failure != "overflow" for body in bodies)
        return Outcome(
            requests=len(server.requests),
            refused=server.refused,
            conversations=len(names),
            reasoned=server.reasoned,
            invalid=len(server.invalid),
            stale=server.stale,
            over=server.over,
            lost=server.lost,
            unanswered=int(last.stdout.strip() != ANSWER),
            breaks_unsaid=max(0, server.breaks - said - killed),
            unproven=int(api in REASONING and not server.reasoned),
        )


@contextmanager
def reached(server: StrictProvider, door: str, store: str) -> Iterator[tuple[str, str]]:
    """The address that an agent calls, and the store that it wraps its client with."""
    if door == "wrap":
        yield server.url, store
        return
    with serving(Gateway(store, budget=BUDGET), ProxySettings(upstream=server.url)) as url:
        yield url, ""


def at_once(requests: int) -> str:
    """So many requests at once through one proxy, of as many conversations."""
    with tempfile.TemporaryDirectory() as folder, strict_provider(1) as server:
        store = f"sqlite:///{folder}/agent.db?synchronous=normal"
        gateway = Gateway(store, budget=BUDGET)
        limits = httpx2.Limits(max_connections=requests)
        with (
            serving(gateway, ProxySettings(upstream=server.url, concurrency=requests)) as url,
            httpx2.Client(limits=limits, timeout=300) as client,
            ThreadPoolExecutor(requests) as pool,
        ):

            def ask(number: int) -> int:
                messages = [{"role": "user", "content": f"{TASK} {number}"}]
                body = {"model": "m", "messages": messages}
                return client.post(f"{url}/v1/chat/completions", json=body).status_code

            begun = time.perf_counter()
            statuses = list(pool.map(ask, range(requests)))
            seconds = time.perf_counter() - begun
        good = statuses.count(200)
        assert good == requests == len(open_store(store).names()), (good, requests)
        assert not server.invalid
        return f"{requests} requests at once: all answered, in {seconds:.1f} s, one log each"


def large_body(megabytes: int) -> str:
    with strict_provider(1) as server:
        gateway = Gateway("memory:", budget=10**9)
        with serving(gateway, ProxySettings(upstream=server.url, max_body=megabytes << 21)) as url:
            image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * (megabytes << 20)}}
            body = {"model": "m", "messages": [{"role": "user", "content": [{"type": "text", "text": TASK}, image]}]}
            begun = time.perf_counter()
            status = httpx2.post(f"{url}/v1/chat/completions", json=body, timeout=300).status_code
        assert status == 200
        return f"a body of {megabytes} MB: {time.perf_counter() - begun:.1f} s"


class _Upstream:
    """Answers in this process, so that nothing but our own work is measured."""

    def __init__(self) -> None:
        self.turn = 0

    def send(self, body: bytes | None) -> ServerAnswer:
        self.turn += 1
        call = {"type": "tool_use", "id": f"toolu_{self.turn}", "name": "look", "input": {"at": self.turn}}
        content = [{"type": "text", "text": f"Step {self.turn}. " * 20}, call]
        whole = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": content}
        usage = {"input_tokens": 9, "output_tokens": 9}
        return ServerAnswer(200, json.dumps({**whole, "stop_reason": "tool_use", "usage": usage}).encode())

    def next_chunk(self) -> bytes | None:
        return None


def cpu(messages: int, stored: int) -> float:
    """The median CPU time of a request, in ms, at so many messages in a store with so many conversations."""
    with tempfile.TemporaryDirectory() as folder:
        gateway = Gateway(f"sqlite:///{folder}/agent.db?synchronous=normal", budget=10**8)
        index = gateway.store.prefix_index()  # type: ignore[attr-defined]
        for first in range(0, stored, 10_000):
            some = range(first, min(first + 10_000, stored))
            index.add([(n.to_bytes(16, "big"), KnownPrefix(f"call-{n // 60}", n % 60)) for n in some])
        upstream, talk, times = _Upstream(), [{"role": "user", "content": TASK}], []
        while len(talk) < messages + 40:
            body = json.dumps({"model": "m", "max_tokens": 9, "messages": talk}).encode()
            if len(talk) >= messages or len(talk) < 3:
                begun = time.process_time()
                exchange = exchange_of(gateway, ClientRequest("POST", "/v1/messages", {}, body))
                assert exchange is not None
                drive(exchange, upstream)
                times.append(1_000 * (time.process_time() - begun))
            else:  # the first request with many messages: they are imported
                upstream.turn += 1
            use = {"type": "tool_use", "id": f"toolu_{upstream.turn}", "name": "look", "input": {"at": upstream.turn}}
            said = [{"type": "text", "text": f"Step {upstream.turn}. " * 20}, use]
            result = {"type": "tool_result", "tool_use_id": use["id"], "content": f"line {upstream.turn} " * 100}
            talk += [{"role": "assistant", "content": said}, {"role": "user", "content": [result]}]
        gateway.close()
        return statistics.median(times[3:])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--api", action="append", choices=AGENTS)
    for name in ("child", "url", "store", "saved"):
        parser.add_argument(f"--{name}", default="")
    options = parser.parse_args()
    if options.child:
        child(options.child, options.url, options.store, Path(options.saved))
        return 0
    wrong = 0
    for api in options.api or AGENTS:
        for door in DOORS:
            found = outcome(api, door, options.steps)
            print(f"{api:<10} {door:<6} {found}", flush=True)
            wrong += found.faults
    print(at_once(500), flush=True)
    print(large_body(50), flush=True)
    few, many = cpu(1_000, 600), cpu(1_000, 6_000_000)
    print(f"CPU at 1,000 messages: {few:.1f} ms with 10 conversations stored, {many:.1f} ms with 100,000", flush=True)
    print(f"{wrong} wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
