"""One scripted run for each framework: with the adapter, with a crash in the middle and a resume; and with the
framework's own compaction, if it has one.

The model thinks, and its reasoning is bound to the prefix: each run uses an API that has that. `chat=True`: over Chat
Completions, which has none. `stream=True`: replies come in pieces.
"""

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
    """The tool, which ends the process at one step. `kept`: what the framework has of the conversation at the end."""

    def __init__(self, crash_at: int) -> None:
        self.crash_at = crash_at
        self.kept = ""

    def look(self, at: int, number: int) -> str:
        """What is in a file."""
        if at == self.crash_at:
            self.crash_at = -1
            raise Crash
        return output_of(at, number)


def set_environment() -> None:
    os.environ |= {
        "OPENAI_API_KEY": "none",
        "ANTHROPIC_API_KEY": "none",
        "LANGSMITH_TRACING": "false",
        "OPENAI_AGENTS_DISABLE_TRACING": "1",
    }


def langchain(
    api: ScriptedApi, folder: Path, files: Files, *, own: str = "", chat: bool = False, stream: bool = False
) -> str:
    """LangGraph's agent with a checkpointer, which survives the crash."""
    from langchain.agents import create_agent
    from langchain.agents.middleware import SummarizationMiddleware
    from langchain_openai import ChatOpenAI
    from langgraph.checkpoint.memory import InMemorySaver

    from transom.adapters.langchain import TransomMiddleware

    saver = InMemorySaver()
    config: Any = {"configurable": {"thread_id": "trip"}, "recursion_limit": 10_000}

    def look(at: int, number: int) -> str:
        """Look into a file."""
        return files.look(at, number)

    def run(given: Any) -> str:
        thinks: Any = {"use_responses_api": True, "store": False, "include": ["reasoning.encrypted_content"]}
        model = ChatOpenAI(model="gpt-5", base_url=api.url, max_retries=0, **({} if chat else thinks))
        middleware: Any
        if own:
            middleware = SummarizationMiddleware(model, trigger=("tokens", int(BUDGET * 0.8)), keep=("messages", 10))
        else:
            middleware = TransomMiddleware(f"sqlite:///{folder}/agent.db", budget=BUDGET)
        agent = create_agent(model, [look], middleware=[middleware], system_prompt="You count.", checkpointer=saver)
        try:
            if stream:
                assert [*agent.stream(given, config, stream_mode="messages")]
                messages = agent.get_state(config).values["messages"]
            else:
                messages = agent.invoke(given, config)["messages"]
            files.kept = str(messages)
            return messages[-1].text
        finally:
            if not own:
                middleware.sessions.close()

    try:
        return run({"messages": [("user", TASK)]})
    except Crash:
        return run(None)


def pydantic_ai(
    api: ScriptedApi, folder: Path, files: Files, *, own: str = "", chat: bool = False, stream: bool = False
) -> str:
    """An agent whose history is kept until the last whole step."""
    from pydantic_ai import Agent, capture_run_messages
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.anthropic import AnthropicProvider
    from pydantic_ai.providers.openai import OpenAIProvider

    from transom.adapters.pydantic_ai import TransomCapability

    def run(task: str | None, history: list[Any]) -> str:
        model: Any = AnthropicModel("claude-opus-5-5", provider=AnthropicProvider(base_url=api.url, api_key="none"))
        if chat:
            model = OpenAIChatModel("gpt-5", provider=OpenAIProvider(base_url=api.url, api_key="none"))
        capability = TransomCapability(f"sqlite:///{folder}/agent.db", budget=BUDGET)
        agent = Agent(model, instructions="You count.", capabilities=[] if own else [capability])

        @agent.tool_plain
        def look(at: int, number: int) -> str:
            """Look into a file."""
            return files.look(at, number)

        from pydantic_ai.usage import UsageLimits

        limits = UsageLimits(request_limit=None)
        with capture_run_messages() as messages:
            try:
                given: Any = {"message_history": history, "conversation_id": "trip", "usage_limits": limits}
                done = asyncio.run(  # `run_sync` leaves its event loop open
                    _streamed(agent, task, given) if stream else agent.run(task, **given)
                )
            except Crash:
                kept = [*messages]
            else:
                files.kept = str(done.all_messages())
                return done.output
            finally:
                capability.sessions.close()
        while kept[-1].kind != "response" or not any(part.part_kind == "tool-call" for part in kept[-1].parts):
            kept.pop()
        return run(None, kept)

    return run(TASK, [])


async def _streamed(agent: Any, task: str | None, given: Any) -> Any:
    async with agent.run_stream_events(task, **given) as events:
        return [event async for event in events][-1].result


def openai_agents(api: ScriptedApi, folder: Path, files: Files, *, chat: bool = False, stream: bool = False) -> str:
    """A runner with the SDK's SQLite session."""
    from agents import Agent, ModelSettings, OpenAIProvider, RunConfig, Runner, SQLiteSession, function_tool
    from openai import AsyncOpenAI

    from transom.adapters.openai_agents import TransomProvider

    @function_tool(failure_error_function=None)
    def look(at: int, number: int) -> str:
        """Look into a file."""
        return files.look(at, number)

    def run(given: Any) -> str:
        client = AsyncOpenAI(base_url=api.url, api_key="none", max_retries=0)
        provider = OpenAIProvider(openai_client=client, use_responses=not chat)
        transom = TransomProvider(f"sqlite:///{folder}/agent.db", provider=provider, budget=BUDGET)
        trip = transom.for_session("trip")
        thinks = (
            ModelSettings() if chat else ModelSettings(store=False, response_include=["reasoning.encrypted_content"])
        )
        tools = trip.with_tools([look])
        agent = Agent("counter", instructions="You count.", tools=tools, model="gpt-5", model_settings=thinks)
        config = RunConfig(model_provider=trip, tracing_disabled=True)
        session = SQLiteSession("trip", folder / "session.db")

        async def go() -> Any:
            how: Any = {"run_config": config, "session": session, "max_turns": 10_000}
            if not stream:
                return await Runner.run(agent, given, **how)
            running = Runner.run_streamed(agent, given, **how)
            assert [event async for event in running.stream_events()]
            return running

        try:
            done = asyncio.run(go())
            files.kept = str(asyncio.run(session.get_items()))
            return done.final_output
        finally:
            transom.sessions.close()

    try:
        return run(TASK)
    except Crash:
        return run("Go on.")


def strands(
    api: ScriptedApi, folder: Path, files: Files, *, own: str = "", chat: bool = False, stream: bool = False
) -> str:
    """An agent with a file session manager; a crash leaves a turn without its results."""
    from strands import Agent, tool
    from strands.agent import conversation_manager as managers
    from strands.models.anthropic import AnthropicModel
    from strands.models.openai import OpenAIModel
    from strands.session.file_session_manager import FileSessionManager

    from transom.adapters.strands import TransomPlugin

    @tool
    def look(at: int, number: int) -> str:
        """Look into a file."""
        return files.look(at, number)

    def run(task: str) -> str:
        client: Any = {"base_url": api.url, "api_key": "none", "max_retries": 0}
        model: Any = AnthropicModel(model_id="claude-opus-5-5", client_args=client, max_tokens=1_000)
        if chat:
            model = OpenAIModel(model_id="gpt-5", client_args=client, stream=True)
        plugin = TransomPlugin(f"sqlite:///{folder}/agent.db", budget=BUDGET)
        agent = Agent(
            model,
            tools=[look],
            system_prompt="You count.",
            session_manager=FileSessionManager("trip", storage_dir=str(folder / "session")),
            conversation_manager=getattr(managers, own or "NullConversationManager")(),
            plugins=[] if own else [plugin],
            callback_handler=None,
        )
        try:
            said = str(agent(task)).strip()
            files.kept = str(agent.messages)
            return said
        finally:
            plugin.sessions.close()

    try:
        return run(TASK)
    except Crash:
        return run("Go on.")


def google_adk(api: ScriptedApi, folder: Path, files: Files, *, own: str = "", stream: bool = False) -> str:
    """A runner whose session service survives the crash."""
    from google.adk.agents import Agent
    from google.adk.agents.run_config import RunConfig, StreamingMode
    from google.adk.apps import App
    from google.adk.apps.app import EventsCompactionConfig
    from google.adk.runners import Runner
    from google.adk.sessions import InMemorySessionService
    from google.genai import types

    from transom.adapters.google_adk import TransomPlugin

    os.environ |= {"GOOGLE_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": api.url.removesuffix("/v1")}
    service = InMemorySessionService()

    def look(at: int, number: int) -> str:
        """Look into a file."""
        return files.look(at, number)

    async def run(task: str) -> str:
        agent = Agent(name="counter", model="gemini-3-pro", instruction="You count.", tools=[look])
        plugins = [] if own else [TransomPlugin(f"sqlite:///{folder}/agent.db", budget=BUDGET)]
        compaction = EventsCompactionConfig(token_threshold=int(LIMIT * 0.8), event_retention_size=10) if own else None
        app = App(name="archive", root_agent=agent, plugins=plugins, events_compaction_config=compaction)
        said = ""
        how = RunConfig(max_llm_calls=0, streaming_mode=StreamingMode.SSE if stream else StreamingMode.NONE)
        async with Runner(app=app, session_service=service) as runner:
            message = types.Content(role="user", parts=[types.Part(text=task)])
            async for event in runner.run_async(user_id="ada", session_id="trip", new_message=message, run_config=how):
                said = (
                    "".join(part.text or "" for part in event.content.parts or () if not part.thought)
                    if event.content
                    else said
                )
        session = await service.get_session(app_name="archive", user_id="ada", session_id="trip")
        files.kept = str(session.events)
        return said

    async def both() -> str:
        await service.create_session(app_name="archive", user_id="ada", session_id="trip")
        try:
            return await run(TASK)
        except Crash:
            return await run("Go on.")

    return asyncio.run(both())


def agent_framework(
    api: ScriptedApi, folder: Path, files: Files, *, own: str = "", chat: bool = False, stream: bool = False
) -> str:
    """An agent whose session has the messages of a run when it is over: after the crash it is given the task again."""
    from agent_framework import Agent, ContextWindowCompactionStrategy, InMemoryHistoryProvider, SummarizationStrategy
    from agent_framework.openai import OpenAIChatClient, OpenAIChatCompletionClient
    from openai import AsyncOpenAI

    from transom.adapters.agent_framework import TransomProvider

    def look(at: int, number: int) -> str:
        """Look into a file."""
        return files.look(at, number)

    async def both() -> str:
        provider = TransomProvider(f"sqlite:///{folder}/agent.db", budget=BUDGET)
        openai = AsyncOpenAI(base_url=api.url, api_key="none", max_retries=0)
        client: Any = (OpenAIChatCompletionClient if chat else OpenAIChatClient)("gpt-5", async_client=openai)
        client.function_invocation_configuration["max_iterations"] = 10_000
        strategy: Any = None
        if own == "SummarizationStrategy":
            strategy = SummarizationStrategy(client=client, target_count=10)
        elif own:
            strategy = ContextWindowCompactionStrategy(max_context_window_tokens=BUDGET, max_output_tokens=1_000)
        history = InMemoryHistoryProvider()
        agent = Agent(
            client,
            "You count.",
            tools=[look],
            context_providers=[history] if own else [history, provider],
            compaction_strategy=strategy,
            default_options={} if chat else {"store": False, "include": ["reasoning.encrypted_content"]},
        )
        session = agent.create_session(session_id="trip")

        async def go() -> str:
            if not stream:
                return (await agent.run(TASK, session=session)).text
            running = agent.run(TASK, session=session, stream=True)
            assert [update async for update in running]
            return (await running.get_final_response()).text

        try:
            said = await go()
        except Crash:
            said = await go()
        finally:
            provider.sessions.close()
        files.kept = str(session.to_dict())
        return said

    return asyncio.run(both())


RUNS: dict[str, Callable[..., str]] = {
    "langchain": langchain,
    "pydantic_ai": pydantic_ai,
    "openai_agents": openai_agents,
    "strands": strands,
    "google_adk": google_adk,
    "agent_framework": agent_framework,
}
CHAT = tuple(name for name in RUNS if name != "google_adk")
"""The frameworks that run over Chat Completions too."""
OWN = {
    "langchain": ("SummarizationMiddleware",),
    "pydantic_ai": ("none",),
    "openai_agents": (),
    "strands": ("SummarizingConversationManager", "SlidingWindowConversationManager"),
    "google_adk": ("EventsCompactionConfig",),
    "agent_framework": ("SummarizationStrategy", "ContextWindowCompactionStrategy"),
}
"""The compactions that each framework has itself; "none": it has none, and runs without."""
PACKAGES = {
    "langchain": "langchain",
    "pydantic_ai": "pydantic_ai",
    "openai_agents": "agents",
    "strands": "strands",
    "google_adk": "google.adk",
    "agent_framework": "agent_framework",
}
"""The package of each framework."""
