"""One scripted run for each framework: with the adapter, with a crash in the middle and a resume; and with the
framework's own compaction, if it has one."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from scripted_api import TASK, ScriptedApi, output_of

BUDGET, LIMIT = 16_000, 13_000
"""The budget that is configured, and the tokens that the server takes in truth."""


class Crash(BaseException):
    """The process ends here, as it were."""


class Files:
    """The tool, which ends the process at one call."""

    def __init__(self, crash_at: int | None) -> None:
        self.crash_at = crash_at

    def read(self, number: int) -> str:
        """What is in a file."""
        if number == self.crash_at:
            self.crash_at = None
            raise Crash
        return output_of(number)


def set_environment() -> None:
    os.environ |= {"OPENAI_API_KEY": "none", "LANGSMITH_TRACING": "false", "OPENAI_AGENTS_DISABLE_TRACING": "1"}


def langchain(api: ScriptedApi, folder: Path, files: Files, *, own: bool = False) -> str:
    """LangGraph's agent with a checkpointer, which survives the crash."""
    from langchain.agents import create_agent
    from langchain.agents.middleware import SummarizationMiddleware
    from langchain_openai import ChatOpenAI
    from langgraph.checkpoint.memory import InMemorySaver

    from transom.adapters.langchain import TransomMiddleware

    saver = InMemorySaver()
    config: Any = {"configurable": {"thread_id": "trip"}, "recursion_limit": 10_000}

    def read_file(number: int) -> str:
        """Read a file of the archive."""
        return files.read(number)

    def run(given: Any) -> str:
        model = ChatOpenAI(model="gpt-5", base_url=api.url, max_retries=0)
        middleware: Any
        if own:
            middleware = SummarizationMiddleware(model, trigger=("tokens", int(BUDGET * 0.8)), keep=("messages", 10))
        else:
            middleware = TransomMiddleware(f"sqlite:///{folder}/agent.db", budget=BUDGET)
        agent = create_agent(
            model, [read_file], middleware=[middleware], system_prompt="You count.", checkpointer=saver
        )
        try:
            return agent.invoke(given, config)["messages"][-1].text
        finally:
            if not own:
                middleware.sessions.close()

    try:
        return run({"messages": [("user", TASK)]})
    except Crash:
        return run(None)


def pydantic_ai(api: ScriptedApi, folder: Path, files: Files, *, own: bool = False) -> str:
    """An agent whose history is kept until the last whole step."""
    from pydantic_ai import Agent, capture_run_messages
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    from transom.adapters.pydantic_ai import TransomCapability

    def run(task: str | None, history: list[Any]) -> str:
        model = OpenAIChatModel("gpt-5", provider=OpenAIProvider(base_url=api.url, api_key="none"))
        capability = TransomCapability(f"sqlite:///{folder}/agent.db", budget=BUDGET)
        agent = Agent(model, instructions="You count.", capabilities=[] if own else [capability])

        @agent.tool_plain
        def read_file(number: int) -> str:
            """Read a file of the archive."""
            return files.read(number)

        from pydantic_ai.usage import UsageLimits

        limits = UsageLimits(request_limit=None)
        with capture_run_messages() as messages:
            try:
                done = asyncio.run(
                    agent.run(task, message_history=history, conversation_id="trip", usage_limits=limits)
                )  # `run_sync` leaves its event loop open
            except Crash:
                kept = [*messages]
            else:
                return done.output
            finally:
                capability.sessions.close()
        while kept[-1].kind != "response" or not any(part.part_kind == "tool-call" for part in kept[-1].parts):
            kept.pop()
        return run(None, kept)

    return run(TASK, [])


def openai_agents(api: ScriptedApi, folder: Path, files: Files, *, chat: bool = False) -> str:
    """A runner with the SDK's SQLite session."""
    from agents import Agent, OpenAIProvider, RunConfig, Runner, SQLiteSession, function_tool
    from openai import AsyncOpenAI

    from transom.adapters.openai_agents import TransomProvider

    @function_tool(failure_error_function=None)
    def read_file(number: int) -> str:
        """Read a file of the archive."""
        return files.read(number)

    def run(given: Any) -> str:
        client = AsyncOpenAI(base_url=api.url, api_key="none", max_retries=0)
        provider = OpenAIProvider(openai_client=client, use_responses=not chat)
        transom = TransomProvider(f"sqlite:///{folder}/agent.db", provider=provider, budget=BUDGET)
        trip = transom.for_session("trip")
        agent = Agent("counter", instructions="You count.", tools=[read_file, *trip.tools], model="gpt-5")
        config = RunConfig(model_provider=trip, tracing_disabled=True)
        session = SQLiteSession("trip", folder / "session.db")
        try:
            return asyncio.run(
                Runner.run(agent, given, run_config=config, session=session, max_turns=10_000)
            ).final_output
        finally:
            transom.sessions.close()

    try:
        return run(TASK)
    except Crash:
        return run("Go on.")


RUNS: dict[str, Callable[..., str]] = {
    "langchain": langchain,
    "pydantic_ai": pydantic_ai,
    "openai_agents": openai_agents,
}
