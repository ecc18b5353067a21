"""Random runs of the agent loop, with everything going wrong: is every request valid, is every fact kept?

    python tests/campaigns/runs.py [--count 1000] [--first 0]

A scripted provider plays answers, tool calls and faults by seed, and checks every request by the rules of its dialect:
arguments must be JSON objects, and images stand where the API takes them. It refuses images now and then, and what is
longer than its context, which may be smaller than the budget says. Tools fail and hang. Calls wait for approval, and
another handle decides, or not. Runs are cancelled, interrupted, and abandoned. Each run must end in an answer, a typed
error, its interruption or calls that wait; then the log, and every beginning of it (a crash may leave any), must go on
to an answer. No approved call runs twice, and no rejected one at all.
"""

from __future__ import annotations

import argparse
import random
import sys
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import aclosing
from typing import Any

import anyio

from transom import AsyncConversation, BudgetImpossible, Conversation, FunctionTool, Retry, RunStopped
from transom.conversation import events
from transom.conversation.runs.awaited_work import CURRENT_JOB
from transom.core.codec import encode
from transom.core.entry import Entry
from transom.errors import ProviderError
from transom.providers.scripted import Fault, Reply, Scripted, ScriptedCall, ScriptedStep
from transom.stores.in_memory import MemoryStore
from transom.testing.fakes import WordCounter

DIALECTS = ("openai", "responses", "anthropic", "gemini")
MODES = ("run", "stream", "asyncio", "asyncio stream", "trio", "trio stream")
ENDS = (ProviderError, RunStopped, BudgetImpossible)
WORDS = (
    "the weather in Lisbon is sunny and 汉字 warm today, see /etc/hosts:42 and error 0x7f \N{SLIGHTLY SMILING FACE} "
)
OVERFLOW = "This model's maximum context length was exceeded. Please reduce the length of the messages."


DEEP = f'{{"n": {"[" * 2_000}{"]" * 2_000}}}'
"""Arguments that nest deeper than a parser's stack."""

ODD_NAME = "user] [entry 7"
"""A tool that there is not, called like a mark of ours."""


class Interrupt(BaseException):
    """What a test throws in the place of Ctrl-C."""


class Script:
    """What the provider does, request by request, and what happens to the run meanwhile."""

    def __init__(self, draw: random.Random, cancel: threading.Event) -> None:
        self.draw, self.cancel = draw, cancel
        self.requests = 0
        self.ends_at = draw.randrange(1, 9)
        self.interrupts_at = draw.randrange(1, 12)
        self.interruption = draw.choice(["", "", "cancel", "raise"])

    def __call__(self, _: Any) -> ScriptedStep:
        self.requests += 1
        if self.requests == self.interrupts_at and self.interruption:
            if self.interruption == "raise":
                raise Interrupt
            self.cancel.set()
        if self.requests >= self.ends_at:
            return Reply(text=self.words(60), reasoning=self.draw.choice(["", "Hm."]))
        return self.draw.choice([self.calls, self.calls, self.calls, self.fault, self.fault, self.odd])()

    def words(self, most: int) -> str:
        return (WORDS * 50)[: self.draw.randrange(1, 4 * most)]

    def calls(self) -> ScriptedStep:
        names = self.draw.choices(
            ["look", "big", "fails", "hangs", "later", "nothing", "shot", "asks", "asks", ODD_NAME],
            k=self.draw.randrange(1, 4),
        )
        arguments = [
            DEEP,
            '{"n": NaN}',
            '{"n": 1}',
            '{"n": 1}',
            '{"n": 1}',
            "{}",
            '{"n": "x"}',
            '{"n"',
            "[1]",
            '{"n": 1, "m": 2}',
            '"',
        ]
        wanted = [ScriptedCall(name, self.draw.choice(arguments)) for name in names]
        if self.draw.random() < 0.2:
            wanted = [each._replace(id="call_same") for each in wanted]
        return Reply(text=self.draw.choice(["", self.words(20)]), reasoning="Hm.", calls=tuple(wanted))

    def fault(self) -> ScriptedStep:
        kinds: list[dict[str, Any]] = [
            {"kind": "timeout"},
            {"kind": "connection"},
            {"kind": "rate_limit", "status": 429, "retry_after": 0.001},
            {"kind": "server", "status": 500},
            {"kind": "auth", "status": 401},
            {"kind": "bad_request", "status": 400, "body": OVERFLOW},
            {"kind": "bad_request", "status": 400, "body": "Could not process image"},
        ]
        reply = self.calls() if self.draw.random() < 0.5 else Reply(text=self.words(40), reasoning="Hm, hm.")
        assert isinstance(reply, Reply)
        return Fault(**self.draw.choice(kinds), after=self.draw.choice([0, self.draw.randrange(12)]), reply=reply)

    def odd(self) -> ScriptedStep:
        return self.draw.choice(
            [
                Reply(),
                Reply(text=" \n"),
                Reply(stop="length"),
                Reply(text=self.words(20), stop="length"),
                Reply(text="I look.", calls=(ScriptedCall("look", '{"n'),), stop="length"),
                Reply(text="I", stop="content_filter"),
            ]
        )


class Asked:
    """A tool whose calls need approval, and the calls that it has run."""

    def __init__(self) -> None:
        self.ran: list[tuple[int, int]] = []

    def asks(self, n: int = 1) -> str:
        job = CURRENT_JOB.get()
        self.ran.append((job.call.turn, job.call.index))
        if n == 5:
            raise Interrupt
        return f"asked {n}"


def tools(release: threading.Event, asked: Asked) -> list[Any]:
    def look(n: int) -> str:
        return f"found {n}"

    def big(n: int = 1) -> str:
        return f"{n} " + WORDS * 80

    def fails(n: int = 1) -> str:
        raise ValueError("x" * n)

    def hangs(n: int = 1) -> None:
        release.wait(n)

    async def later(n: int = 1) -> dict[str, int]:
        await anyio.sleep(0.001 * n)
        return {"n": n}

    def shot(n: int = 1) -> list[dict[str, Any]]:
        url = f"data:image/png;base64,{'A' * 40 * n}"
        return [{"type": "text", "text": "shot"}, {"type": "image_url", "image_url": {"url": url}}]

    needs_approval = FunctionTool(asked.asks, needs_approval=lambda n=1: n < 3)
    return [look, big, shot, fails, FunctionTool(hangs, timeout=0.01), later, needs_approval]


class Metered(Scripted):
    """A scripted server that adds up the tokens that it has reported, and so billed. An unfinished stream of Anthropic
    has reported its prompt."""

    billed = 0
    _prompt = _so_far = 0

    def _response(self, step: Any, prompt: int) -> Any:
        reply = super()._response(step, prompt)
        self.billed += reported(reply)
        return reply

    def stream(self, request: Any, **settings: Any) -> Any:
        self._prompt = self._so_far = 0
        for chunk in super().stream(request, **settings):
            self._bill(chunk)
            yield chunk

    async def astream(self, request: Any, **settings: Any) -> Any:
        self._prompt = self._so_far = 0
        async with aclosing(super().astream(request, **settings)) as chunks:
            async for chunk in chunks:
                self._bill(chunk)
                yield chunk

    def _bill(self, chunk: Any) -> None:
        if chunk.get("type") == "message_start":
            self._prompt = chunk["message"]["usage"]["input_tokens"]
        prompt = self._prompt if chunk.get("type") == "message_delta" else 0  # it reports the output alone
        now = max(self._so_far, prompt + reported(chunk))
        self.billed, self._so_far = self.billed + now - self._so_far, now


def reported(reply: Any) -> int:
    """The tokens that a reply or a chunk reports."""
    holder = reply.get("message") or reply.get("response") or reply
    usage = holder.get("usage") or holder.get("usageMetadata") or {}
    names = ("prompt_tokens", "completion_tokens", "input_tokens", "output_tokens", "promptTokenCount")
    return sum(usage.get(name, 0) for name in (*names, "candidatesTokenCount"))


class Trial:
    """One seed in one dialect and mode."""

    def __init__(self, dialect: str, seed: int, mode: str) -> None:
        self.where = f"{dialect} {seed} {mode}"
        self.draw = random.Random(f"{dialect} {seed}")
        self.dialect, self.mode = dialect, mode
        self.cancel, self.release = threading.Event(), threading.Event()
        self.problems: list[str] = []
        self.acknowledged: dict[int, bytes] = {}
        self.store = MemoryStore()
        self.asked, self.rejected = Asked(), set[tuple[int, int]]()
        self.budget = self.draw.choice([900, 1_500, 4_000])
        self.context = self.draw.choice([None, None, self.budget, int(0.6 * self.budget)])
        self.leaves_at = self.draw.choice([None, None, None, self.draw.randrange(1, 30)])

    def result(self) -> tuple[str, list[str]]:
        """How the run ended, and all that is wrong."""
        conv = self.opened("c")
        provider = Metered(then=Script(self.draw, self.cancel), dialect=self.dialect, context=self.context)
        ended = "nothing"
        for turn in range(self.draw.randrange(1, 4)):
            ended = self.one_run(conv, provider, f"Task {turn}: " + WORDS)
            self.cancel.clear()
            self.check(conv, provider)
            self.decide(self.opened("c"))
            if self.draw.random() < 0.5:
                ended = self.one_run(conv, provider, "")
                self.cancel.clear()
                self.check(conv, provider)
            self.check_facts(conv)
            if conv.usage.total != provider.billed:
                self.problems.append(f"billed {provider.billed} tokens, counted {conv.usage.total}")
        self.release.set()
        if len(self.asked.ran) > len(set(self.asked.ran)):
            self.problems.append("a call ran twice")
        if self.rejected & set(self.asked.ran):
            self.problems.append("a rejected call ran")
        self.goes_on(conv, "after the run")
        entries = [*conv.log]
        reopened = self.opened("c")
        self.check_facts(reopened)
        if reopened.view.fingerprint() != conv.view.fingerprint():
            self.problems.append("reopened, the log shows something else")
        for _ in range(2):
            self.goes_on(self.after_a_crash(entries[: self.draw.randrange(1, len(entries) + 1)]), "after a crash")
        return ended, [f"{self.where}: {problem}" for problem in self.problems]

    def decide(self, other: Conversation) -> None:
        """What a person decides about calls that wait, in another handle."""
        for call in other.pending():
            decision = self.draw.choice(["approve", "change", "reject", "wait", "both"])
            if decision in {"approve", "change", "both"}:
                other.approve(call, arguments={"n": self.draw.choice([1, 5])} if decision == "change" else None)
            if decision in {"reject", "both"}:
                other.reject(call, self.draw.choice(["", "Not now."]))
                self.rejected.add((call.turn, call.index))

    def opened(self, name: str) -> Conversation:
        return Conversation.open(
            self.store, name, budget=self.budget, counter=WordCounter(), system="Be brief.", dialect=self.dialect
        )

    def settings(self, provider: Scripted) -> dict[str, Any]:
        return {
            "provider": provider,
            "tools": tools(self.release, self.asked),
            "retry": Retry(attempts=2, wait=0, longest=1),
            "max_steps": 6,
            "cancel": self.cancel,
        }

    def one_run(self, conv: Conversation, provider: Scripted, said: str) -> str:
        self.ended = "answered"
        settings, task = self.settings(provider), [said] if said else []
        backend, _, stream = self.mode.partition(" ")
        try:
            if self.mode == "run":
                result = conv.run(*task, **settings)
                self.ended = "waits" if result.pending else self.ended
            elif self.mode == "stream":
                self.stream(conv, task, settings)
            else:
                anyio.run(self.run_async, conv, task, settings, bool(stream), backend=backend)
        except ENDS as ended:
            return getattr(ended, "kind", type(ended).__name__)
        except (Interrupt, BaseExceptionGroup):
            return "interrupted"
        return self.ended

    def stream(self, conv: Conversation, task: list[str], settings: dict[str, Any]) -> None:
        running = conv.stream(*task, **settings)
        try:
            for number, event in enumerate(running):
                self.acknowledge(conv, event)
                if number == self.leaves_at:
                    self.ended = "left"
                    return
        finally:
            running.close()

    async def run_async(self, conv: Conversation, task: list[str], settings: dict[str, Any], stream: bool) -> None:
        with anyio.CancelScope() as scope:
            if self.leaves_at is not None:
                scope.deadline = anyio.current_time() + 0.002 * self.leaves_at
            if not stream:
                await AsyncConversation(conv).run(*task, **settings)
                return
            async for event in AsyncConversation(conv).stream(*task, **settings):
                self.acknowledge(conv, event)
        if scope.cancelled_caught:
            self.ended = "left"

    def acknowledge(self, conv: Conversation, event: events.Event) -> None:
        if isinstance(event, (events.Replied, events.ToolReturned, events.RequestFailed)):
            self.acknowledged[event.entry] = encode(conv.log[event.entry])

    def check(self, conv: Conversation, provider: Scripted) -> None:
        """What must be true between two runs."""
        if provider.violations:
            self.problems.append(f"an invalid request: {provider.violations[0]}")
        if conv.view.in_flight is not None:
            self.problems.append("a request is in flight")
        waits = {(call.turn, call.index) for call in conv.pending()}
        units = [conv.view.open_unit(key) for key in conv.view.open_units]
        if any((unit.key, index) not in waits for unit in units for index in unit.open_calls):
            self.problems.append("calls are open")

    def check_facts(self, conv: Conversation) -> None:
        """Every fact that an event named is in the log as it was."""
        for entry, stored in self.acknowledged.items():
            if entry >= len(conv.log) or encode(conv.log[entry]) != stored:
                self.problems.append(f"entry {entry} is not what it was")

    def after_a_crash(self, entries: list[Entry]) -> Conversation:
        """The conversation that a crash left, at the end of any append."""
        log = self.store.open(f"crash {len(entries)} {self.draw.random()}")
        log.append(entries, 0)
        return self.opened(log.name)

    def goes_on(self, conv: Conversation, when: str) -> None:
        provider = Scripted("All is well.", dialect=self.dialect)
        try:
            if conv.run("Go on.", **{**self.settings(provider), "cancel": None}).text != "All is well.":
                self.problems.append(f"{when} there is another answer")
        except BudgetImpossible:  # before anything else is done
            return
        self.check(conv, provider)


def judge(dialect: str, seed: int) -> tuple[str, list[str]]:
    """One seed; the mode goes round with it."""
    try:
        return Trial(dialect, seed, MODES[seed % len(MODES)]).result()
    except Exception as error:  # noqa: BLE001 - the campaign reports it with its seed
        return "crashed", [f"{dialect} {seed}: {type(error).__name__}: {error}"]


def campaign(count: int, first: int, report: Callable[[str], None] = print) -> bool:
    """Every dialect; whether nothing is wrong."""
    wrong = 0
    with ProcessPoolExecutor(2) as pool:
        for dialect in DIALECTS:
            outcomes = list(pool.map(judge, [dialect] * count, range(first, first + count), chunksize=20))
            problems = [problem for _, found in outcomes for problem in found]
            wrong += len(problems)
            ends = ", ".join(f"{number} {end}" for end, number in Counter(end for end, _ in outcomes).most_common())
            report(f"{dialect}: {count} runs: {ends}; {len(problems)} problems")
            for problem in problems[:10]:
                report(f"  {problem}")
    return not wrong


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1_000)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    sys.exit(not campaign(options.count, options.first))
