"""A call that needs approval waits in the log: decided later, by another handle, in another process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from oracle import appearance
from transom import AsyncConversation, Conversation, FunctionTool, RunResult, SubAgent, quoting, texts
from transom.conversation import events
from transom.core.entry import Approval, Entry
from transom.core.message import Assistant, Note, Text, ToolResult
from transom.errors import ConversationBusy, InvalidMessage, InvalidSetting
from transom.providers.scripted import Reply, Scripted, calls
from transom.stores.in_memory import MemoryStore
from transom.stores.snapshot import decode_view, encode_view
from transom.testing import WordCounter
from transom.testing.view_appearance import appearance_of
from transom.wire.dialects import DIALECTS

PROCESS = Path(__file__).parent / "approval_process.py"
ASKS = calls(("pay", {"amount": 50}), ("look", {}), ("pay", {"amount": 5}), ("pay", {"amount": 70}))


class Till:
    """Tools, and what was paid."""

    def __init__(self) -> None:
        self.paid: list[int] = []

    def pay(self, amount: int) -> str:
        """Pays."""
        self.paid.append(amount)
        return f"paid {amount}"

    @staticmethod
    def look() -> str:
        """Looks."""
        return "seen"

    @property
    def tools(self) -> list[Any]:
        return [FunctionTool(self.pay, needs_approval=lambda amount: amount > 10), self.look]


def opened(store: Any, dialect: str = "openai", name: str = "c") -> Conversation:
    return Conversation.open(store, name, budget=9_000, counter=WordCounter(), dialect=dialect)


def run_sync(conv: Conversation, *given: str, **settings: Any) -> RunResult:
    return conv.run(*given, **settings)


def run_asyncio(conv: Conversation, *given: str, **settings: Any) -> RunResult:
    return anyio.run(lambda: AsyncConversation(conv).run(*given, **settings), backend="asyncio")


RUNS = [run_sync, run_asyncio]


def shown(conv: Conversation) -> list[str]:
    """The results and notes that the window has, in order."""
    facts = [fact for unit in conv.window().view.visible_units() for fact in unit.shown_facts()]
    results = {id(fact): fact.parts for fact in facts if isinstance(fact, ToolResult)}
    return [
        fact.text if isinstance(fact, Note) else "".join(part.text for part in results[id(fact)])  # type: ignore[union-attr]
        for fact in facts
        if isinstance(fact, ToolResult) or (isinstance(fact, Note) and fact.text != texts.CONTINUE)
    ]


def steps(conv: Conversation) -> list[tuple[int, str]]:
    """The approvals of the log: the index of the call, and the state."""
    return [(entry.body.place[1], entry.body.state) for entry in conv.log if isinstance(entry.body, Approval)]


def must_be_as_defined(conv: Conversation) -> None:
    """The view knows of the calls what the oracle does."""
    slow, view = appearance(list(conv.log), conv.view.counter), appearance_of(conv.view)
    assert (view.approvals, view.late_results) == (slow.approvals, slow.late_results)


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_some_calls_wait_and_all_others_run_at_once(dialect: str, run: Callable[..., RunResult]) -> None:
    store, till, provider = MemoryStore(), Till(), Scripted(ASKS, "Done.", dialect=dialect)
    result = run(opened(store, dialect), "Go", provider=provider, tools=till.tools)
    assert (result.stop, [call.index for call in result.pending], till.paid) == ("tool_calls", [0, 3], [5])
    later = opened(store, dialect)
    first, last = later.pending()
    assert [later.approve(first), later.reject(last.id, "Too much.")] == [8, 10]
    result = run(later, provider=provider, tools=till.tools)
    assert (result.text, result.pending, till.paid) == ("Done.", (), [5, 50])
    assert steps(later) == [(0, "pending"), (3, "pending"), (0, "approved"), (3, "rejected"), (0, "started")]
    assert sorted(shown(later)) == [texts.rejected("Too much."), "paid 5", "paid 50", "seen"]
    assert provider.violations == []
    must_be_as_defined(later)


def test_a_run_goes_on_only_when_all_is_decided_or_the_user_speaks() -> None:
    conv, till, provider = opened("memory:"), Till(), Scripted(ASKS, "I wait.", "Done.")
    settings: Any = {"provider": provider, "tools": till.tools}
    first, last = conv.run("Go", **settings).pending
    conv.approve(first)
    result = conv.run(**settings)
    assert (result.text, result.pending, len(provider.requests), till.paid) == ("", (last,), 1, [5, 50])
    conv.user("What now?")  # says something, in another process perhaps
    assert conv.run(**settings).text == "I wait."
    assert texts.PENDING in shown(conv)
    assert conv.pending() == [last]
    conv.approve(last)
    result = conv.run(**settings)
    assert (result.text, result.pending, till.paid) == ("Done.", (), [5, 50, 70])
    # two calls of the reply pay: the note says which of them it is about
    told = f"{texts.call_with(last.arguments)}\npaid 70"
    (note,) = [entry.body for entry in conv.log if isinstance(entry.body, Note)]
    assert note.text == texts.approved_result_note(f"entry {note.refs[0]}", "pay", told) == shown(conv)[-1]
    assert provider.violations == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_window_says_that_a_call_waits(dialect: str) -> None:
    conv = opened("memory:", dialect)
    conv.run("Go", provider=Scripted(ASKS, dialect=dialect), tools=Till().tools)
    length = len(conv.log)
    assert shown(conv) == ["seen", "paid 5", texts.PENDING, texts.PENDING]
    why = next(row.why for row in conv.explain() if row.role == "assistant")
    assert why.count("is waiting for approval") == 2
    assert conv.compact().edits == ()
    assert len(conv.log) == length, "to look changes nothing"
    request = conv.request()
    assert conv.dialect.violations({**request}) == []
    assert len(conv.pending()) == 2, "a call waits also after a request of one's own"


def test_changed_arguments_are_logged_and_told() -> None:
    conv, till, provider = opened("memory:"), Till(), Scripted(ASKS, "Done.")

    def shot(amount: int) -> list[dict[str, Any]]:
        return [{"type": "text", "text": f"shot {amount}"}]

    settings: Any = {"provider": provider, "tools": till.tools}
    first, last = conv.run("Go", **settings).pending
    conv.approve(first, arguments={"amount": 40}, why="less")
    conv.approve(last, arguments='{"amount": 70}')
    stored = [entry.body for entry in conv.log if isinstance(entry.body, Approval)][2:]
    assert stored == [
        Approval(place=(first.turn, 0), state="approved", arguments='{"amount":40}', why="less"),
        Approval(place=(first.turn, 3), state="approved"),
    ]
    tools = [FunctionTool(shot, name="pay", needs_approval=True), till.look]
    result = conv.run(provider=provider, tools=tools)
    told = texts.arguments_changed('{"amount":40}')
    parts = [entry.body.parts for entry in conv.log if isinstance(entry.body, ToolResult)][2:]
    assert sorted(parts, key=len) == [(Text("shot 70"),), (Text(told), Text("shot 40"))]
    turn = next(entry.body for entry in conv.log if isinstance(entry.body, Assistant))
    assert (result.text, turn.calls[0].args) == ("Done.", '{"amount": 50}'), "the call stays as the model wrote it"
    assert provider.violations == []


def test_the_first_decision_counts() -> None:
    store = MemoryStore()
    conv, other = opened(store), opened(store)
    first, last = conv.run("Go", provider=Scripted(ASKS), tools=Till().tools).pending
    other.approve(first)
    again = "the call 'call00001' was approved already; it runs with the next run"
    with pytest.raises(InvalidSetting, match=again):
        conv.approve(first)
    conv.reject(first, "I have thought better of it.")  # nothing has started
    with pytest.raises(InvalidSetting, match="was rejected already"):
        other.reject(first)
    assert other.pending() == conv.pending() == [last]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"call": "nobody"}, "the call 'nobody' does not wait for approval; those that do: 'call00001', 'call00004'"),
        ({"call": 7}, r"must be a call of pending\(\) or approved\(\), or its id, not 7"),
        ({"call": "call00001", "arguments": "[1]"}, "arguments: must be a JSON object"),
        ({"call": "call00001", "arguments": '{"n": NaN}'}, "arguments: "),
        ({"call": "call00001", "arguments": {"n": object()}}, "arguments: no JSON: "),
        ({"call": "call00001", "arguments": 5}, "arguments must be a dict or the JSON of an object, not 5"),
    ],
)
def test_a_wrong_decision_is_refused_and_logs_nothing(given: dict[str, Any], says: str) -> None:
    conv = opened("memory:")
    conv.run("Go", provider=Scripted(ASKS), tools=Till().tools)
    length = len(conv.log)
    with pytest.raises(InvalidSetting, match=f"approve: {says}"):
        conv.approve(**given)
    assert len(conv.log) == length


def test_approve_may_let_a_call_wait_and_sees_whether_it_needs_approval() -> None:
    conv, till, seen = opened("memory:"), Till(), list[events.ToolCalled]()

    def approve(call: events.ToolCalled) -> bool | None:
        seen.append(call)
        return None if call.index == 3 else True

    result = conv.run("Go", provider=Scripted(ASKS, "Done."), tools=till.tools, approve=approve)
    assert [call.needs_approval for call in seen] == [True, False, False, True]
    assert ([call.index for call in result.pending], sorted(till.paid)) == ([3], [5, 50])


def test_an_async_rule_is_refused() -> None:
    async def rule(amount: int) -> bool:
        return amount > 10

    class Rule:
        async def __call__(self, amount: int) -> bool:
            return amount > 10

    for one in (rule, partial(rule), Rule()):
        with pytest.raises(InvalidSetting, match="needs_approval: the function must not be async"):
            FunctionTool(Till().pay, needs_approval=one)


def test_a_rule_that_fails_means_that_a_call_needs_approval(caplog: pytest.LogCaptureFixture) -> None:
    till = Till()
    tool = FunctionTool(till.pay, needs_approval=lambda limit: limit > 1)
    result = opened("memory:").run("Go", provider=Scripted(calls(("pay", {"amount": 1}))), tools=[tool])
    assert ([call.name for call in result.pending], till.paid) == (["pay"], [])
    assert "needs_approval of the tool pay failed" in caplog.text


def test_an_approved_call_needs_its_function() -> None:
    conv, provider = opened("memory:"), Scripted(ASKS, "Done.")
    for call in conv.run("Go", provider=provider, tools=Till().tools).pending:
        conv.approve(call)
    for tools in ([Till().look], None):
        with pytest.raises(InvalidSetting, match="a call of 'pay' was approved: give the function in tools="):
            conv.run(provider=provider, tools=tools)
    assert conv.run(provider=provider, tools=Till().tools).text == "Done."


def test_an_approved_call_that_takes_too_long_is_reported_and_its_late_result_too() -> None:
    import threading  # noqa: PLC0415

    release, conv = threading.Event(), opened("memory:")
    tool = FunctionTool(lambda: release.wait(5) and "at last", name="slow", timeout=0.05, needs_approval=True)
    provider = Scripted(calls(("slow", {})), "I wait.", "Too long.", "Thanks.")
    settings: Any = {"provider": provider, "tools": [tool]}
    conv.run("Go", **settings)
    conv.run("Meanwhile?", **settings)
    conv.approve(*conv.pending())
    assert conv.run(**settings).text == "Too long."
    release.set()
    while not conv.view.late_results:
        threading.Event().wait(0.005)
    assert conv.run("And now?", **settings).text == "Thanks."
    said = shown(conv)
    assert [texts.PENDING in said, "timed out" in said[1], "at last" in said[2], len(said)] == [True, True, True, 3]
    assert provider.violations == []


def test_a_fork_asks_again() -> None:
    conv, till = opened("memory:"), Till()
    first, last = conv.run("Go", provider=Scripted(ASKS), tools=till.tools).pending
    conv.approve(first)
    with conv.fork() as fork:
        assert fork.pending() == [first, last]
        assert fork.run(provider=Scripted(), tools=till.tools).pending == (first, last)
    assert till.paid == [5]


@pytest.mark.parametrize("deep", [False, True], ids=["sub-agent", "of a sub-agent"])
def test_a_fork_goes_on_with_the_sub_agent_that_waits(deep: bool) -> None:
    store, till = MemoryStore(), Till()
    agent = SubAgent("banker", "Pays.", provider=Scripted(ASKS, "Paid.", "Paid."), tools=till.tools)
    if deep:
        boss = Scripted(calls(("banker", {"task": "pay"})), "Paid.", "Paid.")
        agent = SubAgent("boss", "Asks.", provider=boss, tools=[agent])
    settings: Any = {"provider": Scripted(calls((agent.name, {"task": "pay"})), "Fine.", "Fine."), "tools": [agent]}
    with opened(store) as conv:
        (call,) = conv.run("Go", **settings).pending
        with conv.fork(name="fork") as fork:
            fork.approve(*fork.pending())
            assert fork.run(**settings).text == "Fine."
        assert till.paid == [5, 50, 70], "what had run before the fork is not run again"
        assert conv.pending() == [call], "the source waits as before"
        early = conv.fork(at=0, name="early")
        assert [name for name in store.names() if name.startswith("early")] == [early.log.name]
        store.open("other/" + call.conversation.partition("/")[2]).append(list(conv.log.read(0, 1)), 0)
        with pytest.raises(InvalidSetting, match="already"):
            conv.fork(name="other")
        assert "other" not in store.names()


def test_a_fork_has_the_sub_agents_that_wait_at_its_entry() -> None:
    store, till = MemoryStore(), Till()
    agent = SubAgent("banker", "Pays.", provider=Scripted(ASKS, "Paid.", "Paid."), tools=till.tools)
    settings: Any = {"provider": Scripted(calls((agent.name, {"task": "pay"})), "Fine.", "Fine."), "tools": [agent]}
    with opened(store) as conv:
        (call,) = conv.run("Go", **settings).pending
        conv.approve(call)
        conv.run(**settings)
        steps = {e.body.state: e.seq for e in conv.log.read() if isinstance(e.body, Approval)}
        for state, at in (*steps.items(), ("answered", None)):
            conv.fork(at=at, name=state)
        forks = [name for name in store.names() if not name.startswith(conv.log.name)]
        rest = call.conversation.partition("/")[2]
        assert sorted(forks) == ["answered", "approved", f"approved/{rest}", "pending", f"pending/{rest}", "started"]


def test_a_fork_that_fails_leaves_nothing() -> None:
    store, till = MemoryStore(), Till()
    agent = SubAgent("banker", "Pays.", provider=Scripted(ASKS, ASKS), tools=till.tools)
    settings: Any = {"provider": Scripted(calls(*[(agent.name, {"task": "pay"})] * 2)), "tools": [agent]}
    with opened(store) as conv:
        _, last = conv.run("Go", **settings).pending
        taken = "fork/" + last.conversation.partition("/")[2]
        store.open(taken).append(list(conv.log.read(0, 1)), 0)
        with pytest.raises(InvalidSetting, match="already"):
            conv.fork(name="fork")
        assert [name for name in store.names() if name.startswith("fork")] == [taken]


@pytest.mark.parametrize("deep", [False, True], ids=["sub-agent", "of a sub-agent"])
def test_a_sub_agent_waits_for_the_approval_of_calls_in_it(deep: bool) -> None:
    store, till = MemoryStore(), Till()
    script = Scripted(ASKS, calls(("pay", {"amount": 300})), "Paid.")
    agent = SubAgent("banker", "Pays.", provider=script, tools=till.tools)
    if deep:
        agent = SubAgent("boss", "Asks.", provider=Scripted(calls(("banker", {"task": "pay"})), "Paid."), tools=[agent])
    provider = Scripted(calls((agent.name, {"task": "pay"}), ("look", {})), "Fine.")
    settings: Any = {"provider": provider, "tools": [agent, till.look]}
    with opened(store) as conv:
        (call,) = conv.run("Go", **settings).pending
        assert (call.name, till.paid) == (agent.name, [5])
    with opened(store) as conv:  # another process
        conv.approve(*conv.pending())
        (again,) = conv.run(**settings).pending
        assert (again.turn, again.index, till.paid) == (call.turn, call.index, [5, 50, 70])
        conv.approve(again)
        result = conv.run(**settings)
        assert (result.text, result.pending) == ("Fine.", ())
        assert result.usage.agents == conv.view.usage.agents
        assert "Paid." in shown(conv)
    assert till.paid[-1] == 300
    assert (provider.violations, script.violations) == ([], [])


def test_a_call_in_a_sub_agent_is_decided_in_its_conversation() -> None:
    store, till = MemoryStore(), Till()
    agent = SubAgent("banker", "Pays.", provider=Scripted(ASKS, "Paid one."), tools=till.tools)
    settings: Any = {"provider": Scripted(calls(("banker", {"task": "pay"})), "Fine."), "tools": [agent]}
    with opened(store) as conv:
        (call,) = conv.run("Go", **settings).pending
        assert conv.pending() == [call]
        with pytest.raises(InvalidSetting, match="has begun its task"):
            conv.approve(call, arguments={"task": "pay less"})
        with Conversation.open(store, call.conversation, budget=8_000) as inner:
            first, last = inner.pending()
            inner.reject(first, "too much")
            inner.approve(last, arguments={"amount": 7})
        conv.approve(call)
        assert conv.run(**settings).text == "Fine."
    assert till.paid == [5, 7]


def test_a_sub_agent_whose_call_is_rejected_does_not_go_on() -> None:
    store, till = MemoryStore(), Till()
    agent = SubAgent("banker", "Pays.", provider=Scripted(ASKS), tools=till.tools)
    settings: Any = {"provider": Scripted(calls(("banker", {"task": "pay"})), "Pity."), "tools": [agent]}
    with opened(store) as conv:
        conv.reject(*conv.run("Go", **settings).pending, "no")
        assert conv.run(**settings).text == "Pity."
    assert till.paid == [5]


def test_a_sub_agent_of_a_conversation_without_a_store_does_not_wait() -> None:
    till, log = Till(), MemoryStore().open("c")
    conv = Conversation(log, budget=8_000)
    inner = SubAgent("banker", "Pays.", provider=Scripted(ASKS), tools=till.tools)
    result = conv.run("Go", provider=Scripted(calls(("banker", {"task": "pay"})), "Pity."), tools=[inner])
    assert (result.text, result.pending, till.paid) == ("Pity.", (), [5])
    assert shown(conv) == [texts.agent_needs_approval(["pay", "pay"])]


def test_a_crash_at_any_entry_leaves_a_log_that_goes_on_and_pays_once() -> None:
    store, till, provider = MemoryStore(), Till(), Scripted(ASKS, "I wait.", "Done.")
    conv = opened(store)
    settings: Any = {"tools": till.tools}
    first, last = conv.run("Go", provider=provider, **settings).pending
    conv.approve(first)
    conv.run("Meanwhile?", provider=provider, **settings)
    conv.approve(last)
    conv.run(provider=provider, **settings)
    entries: list[Entry] = list(conv.log)
    for stop in range(1, len(entries) + 1):
        name, till.paid = f"crash {stop}", []
        store.open(name).append(entries[:stop], 0)
        started = {entry.body.place for entry in entries[:stop] if _is(entry.body, "started")}
        with opened(store, name=name) as left:
            for call in left.pending():
                left.approve(call)
            again = Scripted(then=lambda _: Reply(text="Fine."))
            assert left.run("Go on.", provider=again, **settings).text == "Fine."
            assert again.violations == []
            assert left.pending() == []
            assert len(till.paid) == len(set(till.paid))
            wanted = {entry.body.place for entry in entries[:stop] if _is(entry.body, "pending")}
            assert {(first.turn, {50: 0, 70: 3}[amount]) for amount in till.paid if amount != 5} == wanted - started
            must_be_as_defined(left)
            view = left.view
            assert decode_view(encode_view(view), left.log, view.counter).approvals == view.approvals


def _is(body: object, state: str) -> bool:
    return isinstance(body, Approval) and body.state == state


def test_two_runs_at_once_start_an_approved_call_once() -> None:
    store, till = MemoryStore(), Till()
    conv, other = opened(store), opened(store)
    first, last = conv.run("Go", provider=Scripted(ASKS), tools=till.tools).pending
    conv.approve(first)
    conv.reject(last)
    events_of = conv.stream(provider=Scripted("Done."), tools=till.tools)
    assert isinstance(next(events_of), events.ToolCalled)
    with pytest.raises(ConversationBusy):
        other.run(provider=Scripted(), tools=till.tools)
    assert [*events_of]
    assert other.run("More?", provider=Scripted("No."), tools=till.tools).text == "No."
    assert till.paid == [5, 50]


def test_another_process_decides_after_the_first_one_died(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/agent.db"
    subprocess.run([sys.executable, PROCESS, url], check=True, timeout=60)
    till = Till()
    with opened(url) as conv:
        first, last = conv.pending()
        assert [call.arguments for call in (first, last)] == ['{"amount": 50}', '{"amount": 60}']
        conv.approve(first)
    assert subprocess.run([sys.executable, PROCESS, url, "start"], check=False, timeout=60).returncode == 7
    with opened(url) as conv:  # who started it died within the tool: it is not run again
        conv.approve(last.id)
        provider = Scripted("Done.")
        assert conv.run(provider=provider, tools=till.tools, wait=60).text == "Done."
        assert (till.paid, conv.pending(), provider.violations) == ([60], [], [])
        assert sorted(shown(conv)) == [texts.ABORTED, "paid 60", "seen"]


def test_a_rejection_that_comes_after_a_message_is_told_as_one() -> None:
    till = Till()
    settings: dict[str, Any] = {"provider": Scripted(ASKS, "Wait.", "I see."), "tools": till.tools}
    with opened("memory:") as conv:
        conv.run("Pay.", **settings)
        first, last = conv.pending()
        conv.run("Hurry.", **settings)
        conv.approve(first)
        conv.reject(last, "Done by card.")
        conv.run(**settings)
        notes = [entry.body.text for entry in conv.log if isinstance(entry.body, Note)]
        assert [texts.rejected("Done by card.") in text for text in notes] == [True, False]
        assert [texts.call_with(call.arguments) in text for call, text in zip((last, first), notes, strict=True)] == [
            True,
            True,
        ]


def waiting(*script: Any, **open_settings: Any) -> tuple[Conversation, Till, Scripted]:
    conv, till, provider = opened("memory:", **open_settings), Till(), Scripted(ASKS, *script)
    conv.run("Pay.", provider=provider, tools=till.tools)
    return conv, till, provider


def test_an_approved_call_is_listed_until_a_run_starts_it() -> None:
    conv, till, provider = waiting("Done.")
    first, last = conv.pending()
    conv.approve(first, arguments={"amount": 40})
    assert [(call.id, call.arguments) for call in conv.approved()] == [(first.id, '{"amount":40}')]
    assert conv.pending() == [last]
    conv.reject(last)
    conv.run(provider=provider, tools=till.tools)
    assert (conv.approved(), till.paid) == ([], [5, 40])


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({}, "'amount' is missing"),
        ({"amount": "many"}, "'amount' must be integer, not 'many'"),
        ({"amount": True}, "'amount' must be integer, not True"),
    ],
)
@pytest.mark.parametrize("dialect", ["openai", "gemini"])
def test_changed_arguments_must_fit_the_schema(dialect: str, arguments: dict[str, Any], why: str) -> None:
    till = Till()
    conv = opened("memory:", dialect)
    conv.run("Pay.", provider=Scripted(ASKS, dialect=dialect), tools=till.tools)
    with pytest.raises(InvalidSetting, match=why):
        conv.approve(conv.pending()[0], arguments=arguments)
    assert len(conv.pending()) == 2


STRICT = {
    "type": "object",
    "properties": {"n": {"type": "integer"}, "limit": {"anyOf": [{"type": "integer"}, {"type": "null"}]}},
    "additionalProperties": False,
}


def asked_with(parameters: dict[str, Any]) -> Conversation:
    """A conversation in which a call of the tool `buy` waits."""
    conv = opened("memory:")
    conv.user("Buy.")
    conv.request(tools=[{"name": "buy", "parameters": parameters}])
    asked = [{"id": "c1", "type": "function", "function": {"name": "buy", "arguments": "{}"}}]
    conv.observe({"role": "assistant", "content": None, "tool_calls": asked})
    conv.require_approval("c1")
    return conv


def test_only_what_the_schema_plainly_excludes_is_refused() -> None:
    with pytest.raises(InvalidSetting, match="'sum' is unknown; the tool takes: n, limit"):
        asked_with(STRICT).approve("c1", arguments={"sum": 1})
    with pytest.raises(InvalidSetting, match="'n' must be integer, not 5\\.5"):
        asked_with(STRICT).approve("c1", arguments={"n": 5.5})
    asked_with(STRICT).approve("c1", arguments={"n": 5.0, "limit": "many"})  # the rest is the tool's
    others = {key: value for key, value in STRICT.items() if key != "additionalProperties"}
    asked_with(others).approve("c1", arguments={"n": 5, "sum": 1})


def test_a_second_decision_says_what_was_decided() -> None:
    conv, till, provider = waiting("Done.")
    first, last = conv.pending()
    conv.approve(first, why="fine")
    conv.reject(last, "too much")
    for call in (first, first.id):
        with pytest.raises(InvalidSetting, match="was approved already \\('fine'\\); it runs with the next run"):
            conv.approve(call)
    with pytest.raises(InvalidSetting, match="was rejected already \\('too much'\\)"):
        conv.approve(last)
    conv.run(provider=provider, tools=till.tools)
    with pytest.raises(InvalidSetting, match="was approved already, and a run has started it"):
        conv.reject(first)


def test_a_call_of_approved_is_known_by_its_place() -> None:
    conv, _, _ = waiting()
    first, last = conv.pending()
    conv.approve(first, arguments={"amount": 40})
    (changed,) = conv.approved()
    with pytest.raises(InvalidSetting, match="was approved already; it runs with the next run"):
        conv.approve(changed)
    conv.reject(changed)
    conv.tool_result(last.id, "paid by hand")
    with pytest.raises(InvalidSetting, match="approve: the call 'call00004' has a result already"):
        conv.approve(last)


def test_a_run_with_nothing_to_answer_asks_no_model() -> None:
    conv, till, provider = waiting("Done.")
    for call in conv.pending():
        conv.approve(call)
    assert conv.run(provider=provider, tools=till.tools).text == "Done."
    again = conv.run(provider=provider, tools=till.tools)
    assert (again.text, again.stop, again.usage.requests) == ("Done.", "stop", 0)
    assert len(provider.requests) == 2


def test_a_rejection_after_the_answer_is_told_by_a_run_without_input() -> None:
    conv, till, provider = waiting("I wait.", "I see.")
    settings: dict[str, Any] = {"provider": provider, "tools": till.tools}
    assert conv.run("Hurry.", **settings).text == "I wait."
    for call in conv.pending():
        conv.reject(call, "Done by card.")
    assert conv.run(**settings).text == "I see."
    assert [texts.rejected("Done by card.") in text for text in shown(conv)[-2:]] == [True, True]
    assert conv.run(**settings).usage.requests == 0
    assert provider.violations == []


def test_a_call_of_ones_own_loop_waits_and_is_run_once() -> None:
    store = MemoryStore()
    conv = opened(store)
    conv.user("Pay.")
    conv.request(tools=[Till().pay])
    asked = [{"id": "c1", "type": "function", "function": {"name": "pay", "arguments": '{"amount": 50}'}}]
    conv.observe({"role": "assistant", "content": None, "tool_calls": asked})
    with pytest.raises(InvalidMessage, match="no open call has the id 'c2'; open calls: 'c1'"):
        conv.require_approval("c2")
    conv.require_approval("c1")
    with pytest.raises(InvalidMessage, match="the call 'c1' has an approval already: pending"):
        conv.require_approval("c1")
    conv.close()
    there = opened(store)
    assert [call.id for call in there.pending()] == ["c1"]
    there.approve("c1", arguments={"amount": 20})
    assert [call.arguments for call in there.take_approved()] == ['{"amount":20}']
    assert (there.take_approved(), there.approved()) == ([], [])
    there.tool_result("c1", "paid 20")
    told = texts.arguments_changed('{"amount":20}')
    assert there.request()["messages"][-1] == {"role": "tool", "tool_call_id": "c1", "content": f"{told}\npaid 20"}


def test_a_result_after_the_users_question_says_what_was_changed() -> None:
    conv, _, provider = waiting("I wait.")
    conv.run("Hurry.", provider=provider, tools=Till().tools)
    first, last = conv.pending()
    conv.approve(first, arguments={"amount": 40})
    conv.approve(last)
    for call in conv.take_approved():
        conv.tool_result(call.id, [{"type": "text", "text": f"paid by {call.arguments}"}])
    conv.request()
    changed, same = shown(conv)[-2:]
    told = texts.arguments_changed('{"amount":40}')
    assert quoting.disarmed(told + '\npaid by {"amount":40}') in changed
    assert "changed the arguments" not in same
