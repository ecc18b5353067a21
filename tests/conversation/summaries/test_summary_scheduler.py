"""Summaries are made in the background or waited for; whatever goes wrong with them, the next request leaves."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Callable, Iterator

import pytest

import transom
from transom.conversation.events import Compacted, ToolReturned
from transom.conversation.runs.own_tools import CONTEXT_MANAGER
from transom.conversation.worker_pool import Ticket, WorkerPool
from transom.core.edit import Fold
from transom.core.message import Failure
from transom.core.summary import Summarise, Summary
from transom.errors import ProviderError
from transom.providers.scripted import Fault, Scripted, call, calls
from transom.strategies.summary.when_to_summarise import WHY
from transom.summaries import Answer, Ask, Model
from transom.testing import FakeClock, WordCounter

WORDS = "The harbour of Lisbon has a crane with the number {}, which lifts containers from the ship MV-{}. "


class Counting:
    """A summarizer without a model. It counts the turns that it was given, and keeps what it was asked."""

    def __init__(self) -> None:
        self.wants: list[Summarise] = []

    def steps(self, want: Summarise, counter: object, model: Model | None) -> Iterator[Ask]:
        self.wants.append(want)
        done = want.prior.state["turns"] if want.prior is not None else 0
        turns = done + len(want.turns)
        text = f"[summary of {turns} turns]\n" + "\n".join(want.notes)
        return Summary(last=want.last, text=text, state={"turns": turns}, notes=want.notes)
        yield


class Asking:
    """A summarizer that asks its model once, and shows the answer as it is."""

    def steps(self, want: Summarise, counter: object, model: Model | None) -> Iterator[Ask]:
        messages = [{"role": "user", "content": f"Summarise {len(want.turns)} turns."}]
        answer = yield Ask(request={"messages": messages}, max_tokens=want.max_tokens)
        if isinstance(answer, ProviderError):
            raise answer
        assert isinstance(answer, Answer)
        return Summary(last=want.last, text="[tool call]" if answer.called_tools else f"[summary] {answer.text}")


class SlowPool:
    """A pool whose work is done `seconds` after it was handed in, by the clock."""

    def __init__(self, clock: FakeClock, seconds: float) -> None:
        self.clock, self.seconds = clock, seconds
        self.waiting: list[tuple[float, Ticket]] = []

    def submit(self, work: Callable[[], object]) -> Ticket:
        ticket = Ticket(work)
        self.waiting.append((self.clock.now + self.seconds, ticket))
        return ticket

    def abandon(self, ticket: Ticket) -> None:
        self.waiting = [each for each in self.waiting if each[1] is not ticket]

    def advance(self, seconds: float) -> None:
        self.clock.now += seconds
        for at, ticket in self.waiting:
            if at <= self.clock.now:
                ticket.run()
        self.waiting = [each for each in self.waiting if not each[1].done.is_set()]


class NowPool(SlowPool):
    """A pool whose work is done at once."""

    def __init__(self) -> None:
        super().__init__(FakeClock(), 0)

    def submit(self, work: Callable[[], object]) -> Ticket:
        ticket = Ticket(work)
        ticket.run()
        return ticket


def turn(conv: transom.Conversation, number: int, words: int = 8) -> None:
    conv.user(f"Question {number}? " + "".join(WORDS.format(number, n) for n in range(words)))
    conv.request()
    conv.observe({"role": "assistant", "content": "".join(WORDS.format(number, n) for n in range(words, 2 * words))})


def conversation(turns: int = 12, *, budget: int = 3_000, policy: str = "summary", **settings) -> transom.Conversation:
    conv = transom.Conversation.open(
        "memory:", "c", budget=budget, policy=policy, counter=WordCounter(), system="Be brief.", **settings
    )
    for number in range(turns):
        turn(conv, number)
    return conv


def settings(summarizer: object, **more) -> transom.SummarySettings:
    return transom.SummarySettings(summarizer=summarizer, pool=more.pop("pool", NowPool()), **more)


def bodies(conv: transom.Conversation, kind: type) -> list:
    return [entry.body for entry in conv.log.read() if isinstance(entry.body, kind)]


def shown_summaries(conv: transom.Conversation) -> list[str]:
    folds = [slot for slot in conv.view.slots if getattr(slot, "why", "") == WHY]
    return [fold.text for fold in folds]


# ---- soft


def test_a_summary_made_in_the_background_stands_in_the_newest_fold() -> None:
    maker = Counting()
    with conversation(summarizer=settings(maker)) as conv:
        assert conv.summary is not None
        (text,) = shown_summaries(conv)
        assert text.startswith("[summary of ")
        assert ", a record of " in text
        assert not bodies(conv, Failure)


def test_a_summarizer_is_given_what_no_summary_covers_and_the_one_before() -> None:
    maker = Counting()
    with conversation(turns=60, summarizer=settings(maker)) as conv:
        assert len(maker.wants) >= 3
        made = {seq: body for seq, body in enumerate(e.body for e in conv.log.read()) if isinstance(body, Summary)}
        covered = -1
        for want in maker.wants:
            keys = [turn.key for turn in want.turns]
            assert keys == sorted(keys)
            assert keys[0] > covered
            assert keys[-1] <= want.last
            assert want.prior == (made[want.prior_seq] if want.prior_seq is not None else None)
            assert (want.prior is None) == (covered == -1)
            covered = want.last
        assert conv.summary.state["turns"] == sum(len(want.turns) for want in maker.wants)


def test_no_call_waits_for_a_slow_summarizer() -> None:
    clock = FakeClock(step=0.0)
    pool = SlowPool(clock, 30)
    maker = Counting()
    with conversation(turns=0, budget=9_000, summarizer=settings(maker, pool=pool), clock=clock) as conv:
        for number in range(150):
            before = clock.now
            turn(conv, number, words=2)
            assert clock.now == before
            pool.advance(5)
        assert len(bodies(conv, Summary)) >= 2
        assert len(maker.wants) <= len(bodies(conv, Summary)) + 1
        assert shown_summaries(conv)
        assert not bodies(conv, Failure)


def test_a_summary_that_never_comes_is_given_up() -> None:
    clock = FakeClock(step=0.0)
    pool = SlowPool(clock, 1e9)
    with conversation(turns=12, summarizer=settings(Counting(), pool=pool), clock=clock) as conv:
        assert conv.summary is None
        (given_up,) = pool.waiting
        clock.now += 601
        turn(conv, 12)
        (failure,) = bodies(conv, Failure)
        assert failure.error == "no answer after 601 seconds"
        assert conv.summary is None
        assert given_up not in pool.waiting


def test_the_same_request_is_given_again_while_a_summary_is_ready() -> None:
    clock = FakeClock(step=0.0)
    pool = SlowPool(clock, 1)
    with conversation(turns=0, summarizer=settings(Counting(), pool=pool), clock=clock) as conv:
        while not pool.waiting:
            conv.user("Question? " + WORDS * 10)
            first = conv.request()
            if not pool.waiting:
                conv.observe({"role": "assistant", "content": WORDS * 8})
        pool.advance(2)
        length = conv.view.length
        assert conv.request() == first
        assert conv.view.length == length
        conv.observe({"role": "assistant", "content": "Yes."})
        assert conv.summary is not None


# ---- hard


def test_compact_waits_for_a_summary_with_focus_and_notes() -> None:
    maker = Counting()
    with conversation(turns=8, budget=20_000, summarizer=settings(maker)) as conv:
        before = transom.render(conv.window())
        done = conv.compact(focus="the crane", notes="The crane is CR-7.")
        (want,) = maker.wants
        assert (want.waits, want.focus, want.notes) == (True, "the crane", ("The crane is CR-7.",))
        assert isinstance(conv.log[done.summary].body, Summary)
        assert done.tokens_after < done.tokens_before
        (text,) = shown_summaries(conv)
        assert "The crane is CR-7." in text
        conv.undo()
        assert transom.render(conv.window()) == before
        assert conv.summary is None


def test_focus_needs_a_summary() -> None:
    with conversation(turns=2, policy="default") as conv, pytest.raises(transom.InvalidSetting, match="policy default"):
        conv.compact(focus="the crane")


def test_a_named_policy_waits_for_its_summary() -> None:
    maker = Counting()
    with conversation(turns=12, policy="codex", summarizer=settings(maker)) as conv:
        assert maker.wants
        assert all(want.waits for want in maker.wants)
        (text,) = shown_summaries(conv)
        assert text.startswith("[summary of ")
        assert "are summarised above" in text


def test_without_a_summarizer_a_named_policy_asks_nobody() -> None:
    with conversation(turns=12, policy="codex") as conv:
        assert conv.summary is None
        assert bodies(conv, Fold)


class Hanging:
    def __init__(self) -> None:
        self.released = threading.Event()

    def steps(self, want: Summarise, counter: object, model: Model | None) -> Iterator[Ask]:
        self.released.wait(10)
        raise RuntimeError("late")
        yield


def test_a_request_goes_on_at_the_deadline() -> None:
    maker = Hanging()
    one = settings(maker, pool=WorkerPool(1), deadline=0.05)
    with conversation(turns=12, policy="codex", summarizer=one) as conv:
        failures = bodies(conv, Failure)
        assert failures
        assert {failure.error for failure in failures} == {"no answer within 0.05 seconds"}
        assert conv.window().tokens <= conv.window_usage.budget
    maker.released.set()


# ---- whatever a model does


ANSWERS = {
    "nonsense": "blub " * 20,
    "nothing": "",
    "a tool call": call("rm", path="/"),
    "a hundred thousand characters": "x" * 100_000,
    "another language": "这是一个总结。" * 10,
    "an error": Fault(kind="server", status=500),
    "a broken reply": Fault(kind="malformed"),
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
@pytest.mark.parametrize("policy", ["summary", "codex"])
def test_any_answer_leaves_a_window_that_holds_what_it_must(policy: str, answer) -> None:
    provider = Scripted(then=answer)
    one = settings(Asking(), provider=provider)
    with conversation(turns=14, policy=policy, summarizer=one) as conv:
        conv.user("And now?")
        window = conv.plan_request()
        text = str(transom.render(window))
        assert "Question 0?" in text
        assert "And now?" in text
        assert window.tokens <= 3_000
        failed = [failure for failure in bodies(conv, Failure) if failure.failure == "summary"]
        usable = answer in (ANSWERS["nonsense"], ANSWERS["another language"], ANSWERS["a tool call"])
        assert bool(failed) != usable
        assert provider.requests
        assert not provider.violations


def test_three_failures_make_a_pause() -> None:
    provider = Scripted(then=Fault(kind="auth", status=401))
    with conversation(turns=0, budget=9_000, summarizer=settings(Asking(), provider=provider)) as conv:
        while len(provider.requests) < 3:
            turn(conv, 1, words=1)
        since = conv.view.length
        while len(provider.requests) == 3:
            turn(conv, 2, words=1)
        grown = sum(sum(conv.log[seq].tokens) for seq in range(since, conv.view.length))
        assert conv.view.summaries.strikes == 4
        assert 0.45 * 9_000 < grown < 9_000


# ---- on an event loop


def test_an_event_loop_is_not_blocked_by_a_summary() -> None:
    """The summarizer's own work ends only when the loop has gone on meanwhile."""
    begun, may_end = threading.Event(), threading.Event()

    class Working(Asking):
        def steps(self, want: Summarise, counter: object, model: Model | None) -> Iterator[Ask]:
            begun.set()
            assert may_end.wait(20), "the event loop is blocked"
            return (yield from super().steps(want, counter, model))

    async def go_on() -> None:
        while not begun.is_set():  # noqa: ASYNC110 - a worker thread sets it
            await asyncio.sleep(0.005)
        may_end.set()

    async def main() -> None:
        one = settings(Working(), provider=Scripted(then="Fine."))
        conv = conversation(turns=8, budget=20_000, summarizer=one)
        async with transom.AsyncConversation(conv) as both:
            compacted, _ = await asyncio.gather(both.compact(focus="x"), go_on())
            assert compacted.summary is not None
            assert compacted.failure == ""
            assert both.summary.text == "[summary] Fine."

    asyncio.run(main())


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "asyncio"])
def test_a_run_waits_for_a_summary_as_a_want(is_async: bool) -> None:
    one = settings(Asking(), provider=Scripted(then="What happened."), pool=WorkerPool(1))
    conv = conversation(turns=6, policy="codex", budget=3_400, summarizer=one)
    assert conv.summary is None
    question = "And then? " + WORDS * 48
    if is_async:

        async def main() -> None:
            async with transom.AsyncConversation(conv) as both:
                await both.run(question, provider=Scripted("Done."))

        asyncio.run(main())
    else:
        with conv:
            conv.run(question, provider=Scripted("Done."))
    assert conv.summary is not None
    assert conv.summary.made_by == "scripted:scripted"


# ---- the model's own tool


def test_the_model_compacts_its_window_after_all_other_calls() -> None:
    order: list[str] = []

    def look() -> str:
        """Look."""
        order.append("look")
        return "seen"

    maker = Counting()
    provider = Scripted(
        calls(("context_manager", {"notes": "The crane is CR-7."}), ("look", {}), ("context_manager", {})), "Done."
    )
    with conversation(turns=6, budget=8_000, summarizer=settings(maker)) as conv:
        events = list(conv.stream("Go on.", provider=provider, tools=[look, CONTEXT_MANAGER]))
        results = {event.entry: event.content for event in events if isinstance(event, ToolReturned)}
        assert order == ["look"]
        assert [str(text).split(":")[0] for _, text in sorted(results.items())] == [
            "seen",
            "[older turns are compacted",
            "not run",
        ]
        (compacted,) = [event for event in events if isinstance(event, Compacted)]
        assert compacted.summary is not None
        assert maker.wants[0].notes == ("The crane is CR-7.",)
        assert "The crane is CR-7." in str(provider.requests[-1])
        assert events[-1].result.summary == conv.summary.text
        assert not provider.violations


def test_a_small_window_has_nothing_to_summarise() -> None:
    with conversation(turns=1, budget=50_000) as conv:
        provider = Scripted(call("context_manager"), "Done.")
        conv.run("Go on.", provider=provider, tools=[CONTEXT_MANAGER])
        assert "nothing to summarize" in str(provider.requests[-1])


def test_notes_that_nobody_keeps_are_refused() -> None:
    with conversation(turns=6, budget=3_500, policy="default") as conv:
        provider = Scripted(call("context_manager", notes="x"), "Done.")
        conv.run("Go on.", provider=provider, tools=[CONTEXT_MANAGER])
        assert "this conversation makes none" in str(provider.requests[-1])


def test_what_a_summary_costs_is_part_of_the_run() -> None:
    one = settings(Asking(), provider=Scripted(then="What happened."))
    with conversation(turns=6, policy="codex", budget=3_400, summarizer=one) as conv:
        result = conv.run("And then? " + WORDS * 48, provider=Scripted("Done."))
        assert result.usage.summaries == conv.summary.usage
        assert result.usage.summaries.prompt > 0
        assert result.summary == "[summary] What happened."


def test_a_window_that_is_too_large_after_a_compaction_says_so() -> None:
    with conversation(turns=3) as conv:
        conv.budget = 30
        with pytest.raises(transom.ContextStillTooLarge) as still:
            conv.request()
        assert still.value.bill["need"] > still.value.bill["limit"] == 30
        conv.budget = 2
        with pytest.raises(transom.BudgetImpossible) as head:
            conv.request()
        assert type(head.value) is transom.BudgetImpossible


def test_a_named_policy_asks_a_model_with_its_own_prompts() -> None:
    provider = Scripted(*["## Task and constraints\n- the crane\n## Progress and decisions\n- it lifts"] * 20)
    with conversation(turns=12, policy="codex", summarizer=provider):
        asked = str(provider.requests[0])
    assert "Your summary is a hand-over" in asked
    assert "## What is needed to go on" in asked


def test_names_of_tools_and_their_arguments_are_no_exact_values() -> None:
    maker = Counting()
    arguments = '{"file_path": "src/harbour_crane.py", "changes": [{"old_string": "lift_a", "new_string": "lift_b"}]}'
    with conversation(turns=0, summarizer=settings(maker)) as conv:
        conv.user("Please repair the crane.")
        for number in range(12):
            used = {"name": "TodoWrite", "arguments": arguments}
            conv.request()
            conv.observe(
                {
                    "role": "assistant",
                    "content": WORDS.format(number, 1) * 8,
                    "tool_calls": [{"id": f"c{number}", "type": "function", "function": used}],
                }
            )
            conv.tool_result(f"c{number}", "done: " + WORDS.format(number, 2) * 8)
    exact = {value for want in maker.wants for value in want.exact}
    assert "src/harbour_crane.py" in exact
    assert not exact & {"TodoWrite", "file_path", "changes", "old_string", "new_string"}


class Echoing:
    """A summarizer that shows the sections of the summary before, the exact values and the notes that it is given."""

    def steps(self, want: Summarise, counter: object, model: Model | None) -> Iterator[Ask]:
        before = [] if want.prior is None else want.prior.state["items"]
        items = [*dict.fromkeys([*before, *want.exact])][-10:]
        notes = (*(() if want.prior is None else want.prior.notes), *want.notes)
        text = "\n".join(["[summary]", *notes, *items])
        return Summary(last=want.last, text=text, state={"items": items}, notes=notes)
        yield


def test_ten_compactions_keep_pins_and_notes_to_the_letter() -> None:
    with conversation(turns=0, budget=6_000, summarizer=settings(Echoing())) as conv:
        note, pinned = "Never unload MV-7 by night: order #4471.", "The crane's key is `kr-99-12/b`."
        conv.user("Plan the harbour.")
        conv.observe({"role": "assistant", "content": "Well."})
        conv.pin(conv.user(pinned))
        conv.observe({"role": "assistant", "content": "Noted."})
        for number in range(10):
            for part in range(4):
                turn(conv, 10 * number + part, words=6)
            conv.compact(notes=[note] if number == 0 else [])
            folds = [slot for slot in conv.view.slots if getattr(slot, "why", "") == WHY]
            assert len(folds) == 1
            shown = str(transom.render(conv.window()))
            assert pinned in shown
            assert note in shown
        assert len(bodies(conv, Summary)) >= 10
        assert all(value in shown for value in conv.summary.state["items"])


def test_fifty_rounds_of_summaries_do_not_grow() -> None:
    done = itertools.count()
    model = Scripted(then=lambda _: f"## Progress\n- [done] the crane was lifted {next(done)} times, as was wanted")
    with conversation(turns=0, summarizer=model) as conv:
        for number in range(150):
            turn(conv, number, words=4)
            if number % 6 == 5:
                conv.compact()
        sizes = [WordCounter().count(one.text) for one in bodies(conv, Summary)]
        assert len(sizes) >= 20
        assert max(sizes) <= 0.06 * 3_000
        assert conv.window().tokens <= 3_000
        assert len(shown_summaries(conv)) == 1
