"""Sub-agents: a log of their own, one result, limits on depth and budget, and failures that the caller reads."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import anyio
import pytest

from transom import AsyncConversation, Conversation, SubAgent
from transom.core.message import ToolResult, User
from transom.errors import InvalidSetting, RunStopped
from transom.providers.model_prices import TokenPrices
from transom.providers.scripted import Fault, Reply, Scripted, call, calls

ASK = call("research", task="Who built it?")


def opened(store: Any = "memory:") -> Conversation:
    return Conversation.open(store, "main", budget=10_000)


def results(conv: Conversation) -> list[tuple[str, bool]]:
    found = [entry.body for entry in conv.log if isinstance(entry.body, ToolResult)]
    return [("".join(part.text for part in each.parts), each.failed) for each in found]


def agent(**settings: Any) -> SubAgent:
    return SubAgent("research", "Finds facts.", **settings)


def search(query: str) -> str:
    """Search the library."""
    return f"found: {query}"


@pytest.mark.parametrize("backend", ["sync", "asyncio", "trio"])
def test_the_answer_is_one_result_and_the_work_is_in_a_child_log(tmp_path: Path, backend: str) -> None:
    inner = Scripted(call("search", query="tower"), "Eiffel did.")
    outer = Scripted(ASK, "It was Eiffel.")
    with opened(tmp_path / "agent.db") as conv:
        tools = [agent(provider=inner, tools=[search], system="You are a librarian.")]
        if backend == "sync":
            result = conv.run("Who?", provider=outer, tools=tools)
        else:
            result = anyio.run(
                lambda: AsyncConversation(conv).run("Who?", provider=outer, tools=tools), backend=backend
            )
        assert (result.text, results(conv)) == ("It was Eiffel.", [("Eiffel did.", False)])
        assert (result.usage.requests, result.usage.tool_calls) == (2, 1)
        assert result.usage.agents.prompt > 0
        assert result.usage.total == result.usage.tokens.prompt + result.usage.tokens.output + (
            result.usage.agents.prompt + result.usage.agents.output
        )
        (entry,) = [entry for entry in conv.log if isinstance(entry.body, ToolResult)]
        assert entry.meta is not None
        assert entry.meta.extra == {"log": "main/research 2.0"}
    with Conversation.open(tmp_path / "agent.db", "main/research 2.0", budget=10_000) as child:
        assert results(child) == [("found: tower", False)]
        assert [part.text for entry in child.log if isinstance(entry.body, User) for part in entry.body.parts] == [
            "Who built it?"
        ]
        agents = {entry.meta.agent_id for entry in child.log if entry.meta is not None}
        assert agents == {"research"}
    assert inner.requests[0]["messages"][0] == {"role": "system", "content": "You are a librarian."}


def test_parallel_agents_run_at_the_same_time() -> None:
    together = threading.Barrier(2, timeout=20)

    def meet() -> str:
        """Wait for the other agent."""
        together.wait()
        return "met"

    def inner(body: dict[str, Any]) -> Reply:
        return Reply(text="Done.") if body["messages"][-1]["role"] == "tool" else call("meet")

    with opened() as conv:
        outer = Scripted(calls(("research", {"task": "one"}), ("research", {"task": "two"})), "Both.")
        assert (
            conv.run("Go", provider=outer, tools=[agent(provider=Scripted(then=inner), tools=[meet])]).text == "Both."
        )
        assert results(conv) == [("Done.", False), ("Done.", False)]
        assert conv.store is not None
        assert sorted(conv.store.names()) == ["main", "main/research 2.0", "main/research 2.1"]


@pytest.mark.parametrize(
    ("inner", "settings", "text"),
    [
        (Scripted(Fault(kind="auth", status=401)), {}, "ProviderError: auth (401)"),
        (Scripted(then=call("search", query="x")), {"max_steps": 2}, "RunStopped: no answer after 2 steps"),
        (Scripted(), {"budget": 1}, "BudgetImpossible: "),
    ],
)
def test_a_failure_is_a_failed_result(inner: Any, settings: dict[str, Any], text: str) -> None:
    with opened() as conv:
        outer = Scripted(ASK, "I could not find out.")
        tools = [agent(provider=inner, tools=[search], **settings)]
        assert conv.run("Who?", provider=outer, tools=tools).text == "I could not find out."
        ((found, failed),) = results(conv)
        assert (found.startswith(text), failed) == (True, True), found


def test_agents_may_call_agents_down_to_the_depth() -> None:
    inner = Scripted(then=lambda body: Reply(text=body["messages"][-1]["content"]) if has_result(body) else ASK)
    deepest = agent(provider=inner)
    middle = agent(provider=inner, tools=[deepest], max_depth=3)
    with opened() as conv:
        conv.run("Who?", provider=Scripted(ASK, "Done."), tools=[middle])
        ((found, failed),) = results(conv)
        assert "there is no tool research" in found
        assert not failed

    shallow = agent(provider=inner, max_depth=1)
    with opened() as conv:
        conv.run("Who?", provider=Scripted(ASK, "Done."), tools=[agent(provider=inner, tools=[shallow])])
        assert results(conv) == [("[failed] sub-agents may not be nested deeper than 1", False)]


def has_result(body: dict[str, Any]) -> bool:
    return body["messages"][-1]["role"] == "tool"


def test_what_agents_use_counts_for_the_caller() -> None:
    prices = TokenPrices(input=1.0, output=1.0)
    inner = Scripted(Reply(text="Eiffel.", tokens=500))
    with opened() as conv:
        outer = Scripted(ASK, "Never sent.")
        with pytest.raises(RunStopped, match="tokens") as stopped:
            conv.run(
                "Who?",
                provider=outer,
                tools=[agent(provider=inner, prices=prices)],
                max_total_tokens=500,
                prices=prices,
                readback=False,
            )
        used = stopped.value.result.usage
        assert used.agents.output == 500
        assert stopped.value.result.cost == pytest.approx(used.total / 1_000_000)


def test_calls_of_a_reply_share_what_is_left() -> None:
    def inner(body: dict[str, Any]) -> Reply:
        return call("search", query="x" * 400)

    with opened() as conv:
        outer = Scripted(calls(("research", {"task": "one"}), ("research", {"task": "two"})))
        with pytest.raises(RunStopped):
            conv.run(
                "Go",
                provider=outer,
                tools=[agent(provider=Scripted(then=inner), tools=[search])],
                max_total_tokens=3_000,
            )
        limits = [int(text.split("limit ")[1].replace(",", "")) for text, failed in results(conv) if failed]
        assert len(limits) == 2
        assert limits[0] == limits[1] < 1_500


def test_an_agent_that_is_given_up_stops() -> None:
    stopped = threading.Event()

    def inner(body: dict[str, Any]) -> Reply:
        return call("slow")

    def slow() -> str:
        """Take some time."""
        stopped.wait(0.05)
        return "slow"

    with opened() as conv:
        tools = [agent(provider=Scripted(then=inner), tools=[slow], agent_timeout=0.3, max_steps=None)]
        assert conv.run("Go", provider=Scripted(ASK, "Too slow."), tools=tools).text == "Too slow."
        assert results(conv) == [("timed out after 0.3 seconds; the tool may still be at work", True)]
        for thread in threading.enumerate():
            if thread.name == "tool research":
                thread.join(10)
                assert not thread.is_alive()


def test_the_caller_is_asked_before_a_tool_of_an_agent_runs() -> None:
    asked: list[str] = []

    def approve(called: Any) -> bool:
        asked.append(called.name)
        return True

    with opened() as conv:
        inner = Scripted(call("search", query="x"), "Found.")
        conv.run("Go", provider=Scripted(ASK, "Done."), tools=[agent(provider=inner, tools=[search])], approve=approve)
    assert asked == ["research", "search"]


def test_settings_that_are_none() -> None:
    with pytest.raises(InvalidSetting, match="there is no setting 'messages'"):
        agent(messages=[])
    with pytest.raises(InvalidSetting, match="max_depth"):
        agent(max_depth=0)
