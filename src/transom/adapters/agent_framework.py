"""Microsoft's agent-framework: a context provider.

    from agent_framework import Agent
    from transom.adapters.agent_framework import TransomProvider

    provider = TransomProvider("sqlite:///agent.db", budget=32_000)
    agent = Agent(client, tools=tools, context_providers=[provider])
    await agent.run("…", session=agent.create_session(session_id="trip"))

The `session_id` is the conversation's name. The session's history keeps all messages as they are, except long results
of tools: it has them as the policy clips them on arrival, and the log has the whole. A model call sends the window in
their place.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from os import PathLike
from typing import Any, Unpack

from anyio.to_thread import run_sync

from transom.adapters.model_call import ModelCall
from transom.adapters.sessions import Session, Sessions
from transom.conversation.settings import ConversationOptions
from transom.core.message import Raw
from transom.core.tool import Tool
from transom.errors import InvalidSetting
from transom.extras import imports_of
from transom.stores import Store
from transom.wire.frameworks import FORMATS

with imports_of("agent-framework"):
    from agent_framework import (
        ChatContext,
        ChatMiddleware,
        ChatResponse,
        Content,
        ContextProvider,
        FunctionInvocationContext,
        FunctionMiddleware,
        FunctionTool,
        Message,
        ResponseStream,
    )

__all__ = ["TransomProvider"]


class TransomProvider(ContextProvider):
    """Gives each model call of an agent the window of its conversation. The conversation's name is the `session_id` of
    the agent's session.

    `store`: as for `Conversation.open`. `readback`: whether the agent gets the tools that read back what a window
    leaves out; never if the budget is below 8,000 tokens. `options`: the settings of each conversation: `budget`,
    `policy`, `counter`, `summarizer` and others. Raises at once what `Sessions` raises. `sessions.close()` closes the
    conversations.
    """

    def __init__(
        self, store: str | PathLike[str] | Store, *, readback: bool = True, **options: Unpack[ConversationOptions]
    ) -> None:
        super().__init__("transom")
        self.sessions = Sessions(store, FORMATS["agent_framework"], readback=readback, **options)

    async def before_run(self, *, agent: Any, session: Any, context: Any, state: Any) -> None:  # noqa: ARG002 - its interface
        """Add the middleware and the readback tools to a run. Raises InvalidSetting if the agent is set so that a
        middleware does not see all messages."""
        if getattr(agent, "require_per_service_call_history_persistence", False):
            raise InvalidSetting(
                "agent-framework: with require_per_service_call_history_persistence=True a middleware sees only a part "
                "of the messages: leave it out, the conversation's log has the messages of each call"
            )
        ours = self.sessions.session(session.session_id)
        context.extend_middleware(self.source_id, [_ModelCalls(ours, self.sessions), _ToolResults(ours)])
        context.extend_tools(self.source_id, [_tool(tool, ours) for tool in self.sessions.readback_tools])


class _ModelCalls(ChatMiddleware):
    """Sends the window in place of all messages; if it was too long, a smaller one. A request that goes on with a
    conversation of the server passes as it came."""

    def __init__(self, session: Session, sessions: Sessions) -> None:
        self._session, self._sessions = session, sessions

    async def process(self, context: ChatContext, call_next: Callable[[], Awaitable[None]]) -> None:
        """One model call."""
        if (context.options or {}).get("conversation_id"):
            self._sessions.warn_unchanged("conversation_id", 'with options={"store": False} it stays in the session')
            await call_next()
            return
        call = await run_sync(self._begin, context)
        if context.stream:
            updates = _streamed(call, context, call_next)
            context.result = ResponseStream(updates, finalizer=ChatResponse.from_updates)
            return
        await _called(call, context, call_next)

    def _begin(self, context: ChatContext) -> ModelCall:
        options: Raw = dict(context.options or {})
        instructions = options.get("instructions")
        name = options.get("model") or getattr(context.client, "model", None)
        provider = getattr(context.client, "OTEL_PROVIDER_NAME", "")
        return self._session.begin(
            context.messages,
            system=instructions if isinstance(instructions, str) else None,
            tools=[_schema(each) for each in options.get("tools") or ()],
            model=f"{provider}:{name}" if provider and name else "",
        )


class _ToolResults(FunctionMiddleware):
    """Logs the results of tools that are text, and puts the clipped text in their place."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def process(self, context: FunctionInvocationContext, call_next: Callable[[], Awaitable[None]]) -> None:
        """One call of a function."""
        await call_next()
        call, result = context.metadata.get("call_id"), context.result
        is_text = isinstance(result, str) or (isinstance(result, list) and all(each.type == "text" for each in result))
        if not call or not is_text:
            return
        message = Message("tool", [Content.from_function_result(call, result=result)])
        shorter = await run_sync(self._session.tool_result, message)
        if shorter is not None:
            context.result = shorter


async def _called(call: ModelCall, context: ChatContext, call_next: Callable[[], Awaitable[None]]) -> None:
    """Call the model with the window, and log its reply. Afterwards the context has its own messages again."""
    messages = context.messages

    async def ask(window: list[Any]) -> None:
        context.messages = window
        await call_next()

    try:
        await call.send_async(ask, lambda _: context.result)
    finally:
        context.messages = messages


async def _streamed(
    call: ModelCall, context: ChatContext, call_next: Callable[[], Awaitable[None]]
) -> AsyncIterator[Any]:
    """Yield the updates of one response, and log it at its end. After the first update nothing is tried again."""
    while True:
        began = False
        context.messages = call.messages
        try:
            await call_next()
            stream: Any = context.result
            async for update in stream:
                began = True
                yield update
            await run_sync(call.observe, await stream.get_final_response())
        except BaseException as error:
            if not await call.failed_async(error, may_ask_again=not began):
                raise
            continue
        return


def _schema(tool: Any) -> Raw:
    """The schema of a tool. One that the provider runs is counted as it is sent."""
    if isinstance(tool, FunctionTool):
        return Tool(tool.name, tool.description, tool.parameters()).schema()
    return tool if isinstance(tool, dict) else {"type": str(getattr(tool, "name", type(tool).__name__))}


def _tool(tool: Tool, session: Session) -> FunctionTool:
    async def answer(**arguments: Any) -> str:
        return await run_sync(session.readback, tool.name, arguments)

    return FunctionTool(name=tool.name, description=tool.description, func=answer, input_model=tool.parameters)
