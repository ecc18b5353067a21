"""Strands Agents: a plugin.

    from strands import Agent
    from transom.adapters.strands import TransomPlugin

    plugin = TransomPlugin("sqlite:///agent.db", conversation_id="trip", budget=32_000)
    agent = Agent(model, tools=tools, plugins=[plugin])
    agent("…")

The `conversation_id` is the conversation's name; without one it is the session id of the agent's session manager.
`agent.messages` keeps all messages as they are, except long results of tools: it has them as the policy clips them on
arrival, and the log has the whole. A model call sends the window in their place.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from os import PathLike
from typing import Any, Unpack

from anyio.to_thread import run_sync

from transom.adapters.model_call import ModelCall
from transom.adapters.sessions import Session, Sessions
from transom.conversation.settings import ConversationOptions
from transom.core.tool import Tool
from transom.extras import imports_of
from transom.stores import Store
from transom.wire.frameworks import FORMATS

with imports_of("strands"):
    from strands import Agent
    from strands.hooks import AfterToolCallEvent
    from strands.middleware import InvokeModelContext, InvokeModelStage, ModelStopReason
    from strands.models.model import Model
    from strands.plugins import Plugin
    from strands.tools.tools import PythonAgentTool

__all__ = ["TransomPlugin"]


class TransomPlugin(Plugin):
    """Gives each model call of an agent the window of its conversation.

    `store`: as for `Conversation.open`. `conversation_id`: the conversation's name, for all agents that have this
    plugin; empty: each agent's conversation has the name of its session. `readback`: whether the agent gets the tools
    that read back what a window leaves out; never if the budget is below 8,000 tokens. `options`: the settings of each
    conversation: `budget`, `policy`, `counter`, `summarizer` and others. Raises at once what `Sessions` raises.
    `sessions.close()` closes the conversations.
    """

    def __init__(
        self,
        store: str | PathLike[str] | Store,
        *,
        conversation_id: str = "",
        readback: bool = True,
        **options: Unpack[ConversationOptions],
    ) -> None:
        super().__init__()
        self.sessions = Sessions(store, FORMATS["strands"], readback=readback, **options)
        self._id = conversation_id

    @property
    def name(self) -> str:
        """The plugin's name."""
        return "transom"

    def init_agent(self, agent: Agent) -> None:
        """Give an agent the middleware for its model calls, the hook for the results of its tools, and the readback
        tools."""
        agent.add_middleware(InvokeModelStage, self._invoke_model)
        agent.add_hook(self._log_result, AfterToolCallEvent)
        session = self.session(agent)
        agent.tool_registry.process_tools([_tool(tool, session) for tool in self.sessions.readback_tools])

    def session(self, agent: Any) -> Session:
        """The session that an agent's conversation is in: `conversation_id`, or without one the agent's session id."""
        return self.sessions.session(self._id or agent.session_id)

    async def _invoke_model(
        self, context: InvokeModelContext, next_fn: Callable[[InvokeModelContext], AsyncGenerator[Any, None]]
    ) -> AsyncGenerator[Any, None]:
        """Send the window in place of all messages; if it was too long, a smaller one, before the model's first
        event."""
        call = await run_sync(self._begin, context)
        while True:
            began = False
            try:
                async for event in next_fn(context.replace(messages=call.messages)):
                    began = began or "event" in event
                    if isinstance(event, ModelStopReason):
                        reply = {**event.message, "metadata": {"usage": event.usage}}
                        await run_sync(call.observe, reply)
                    yield event
            except BaseException as error:
                if not await call.failed_async(error, may_ask_again=not began):
                    raise
                continue
            await run_sync(call.observe, None)  # a stream that ended without its last event
            return

    async def _log_result(self, event: AfterToolCallEvent) -> None:
        """Log the result of a tool, and put the clipped text in its place. If the call will be made again, it does
        nothing."""
        if event.retry:
            return
        message = {"role": "user", "content": [{"toolResult": event.result}]}
        shorter = await run_sync(self.session(event.agent).tool_result, message)
        if shorter is not None:
            event.result = {**event.result, "content": [{"text": shorter}]}

    def _begin(self, context: InvokeModelContext) -> ModelCall:
        prompt = context.system_prompt
        system = prompt if isinstance(prompt, str) else "\n".join(each.get("text", "") for each in prompt or ())
        tools = [Tool(each["name"], each["description"], each["inputSchema"]["json"]) for each in context.tool_specs]
        session = self.session(context.agent)
        return session.begin(context.messages, system=system or None, tools=tools, model=_model_name(context.model))


def _model_name(model: Model) -> str:
    """The provider and the name of a model ("openai:gpt-5"); empty if its settings have no name."""
    config: Any = model.get_config()
    name = config.get("model_id") if isinstance(config, dict) else None
    provider = type(model).__name__.removesuffix("Model").removesuffix("Responses").lower()
    return f"{provider}:{name}" if name else ""


def _tool(tool: Tool, session: Session) -> PythonAgentTool:
    def answer(use: Any, **_: Any) -> Any:
        text = session.readback(use["name"], use["input"])
        return {"toolUseId": use["toolUseId"], "status": "success", "content": [{"text": text}]}

    spec: Any = {"name": tool.name, "description": tool.description, "inputSchema": {"json": tool.parameters}}
    return PythonAgentTool(tool.name, spec, answer)
