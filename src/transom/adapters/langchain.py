"""LangChain agents, LangGraph and deepagents: a middleware.

    from langchain.agents import create_agent
    from transom.adapters.langchain import TransomMiddleware

    agent = create_agent(model, tools, middleware=[TransomMiddleware("sqlite:///agent.db", budget=32_000)])
    agent.invoke({"messages": [("user", "…")]}, {"configurable": {"thread_id": "trip"}})

The `thread_id` is the conversation's name. A run without one has a conversation named by the id of its first message.
The graph's state keeps all messages as they are, except long results of tools: it has them as the policy clips them on
arrival, and the log has the whole. A model call sees the window in their place.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from os import PathLike
from typing import Any, Unpack, cast

from anyio.to_thread import run_sync

from transom.adapters.model_call import ModelCall
from transom.adapters.sessions import Session, Sessions
from transom.conversation.settings import ConversationOptions
from transom.core.message import Raw
from transom.core.tool import Tool
from transom.extras import imports_of
from transom.stores import Store
from transom.stores.lru_cache import LruCache
from transom.texts import READ_BACK
from transom.wire.fields import as_dict
from transom.wire.frameworks import FORMATS

with imports_of("langchain"):
    from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
    from langchain.agents.middleware.types import ToolCallRequest
    from langchain_core.messages import AIMessage, ToolMessage
    from langchain_core.tools import BaseTool, StructuredTool
    from langchain_core.utils.function_calling import convert_to_openai_tool

__all__ = ["TransomMiddleware"]

MOST_SCHEMAS = 1_000
"""How many schemas of tools are kept: a program may make its tools anew for each request."""


class TransomMiddleware(AgentMiddleware[Any, Any, Any]):
    """Gives each model call of an agent the window of its conversation. The conversation's name is the `thread_id` of
    the run; a run without one has a conversation with the name "run " and the id of its first message.

    `store`: as for `Conversation.open`. `readback`: whether the agent gets the tools that read back what a window
    leaves out; never if the budget is below 8,000 tokens. `options`: the settings of each conversation: `budget`,
    `policy`, `counter`, `summarizer` and others. Raises at once what `Sessions` raises. `sessions.close()` closes the
    conversations.
    """

    def __init__(
        self, store: str | PathLike[str] | Store, *, readback: bool = True, **options: Unpack[ConversationOptions]
    ) -> None:
        super().__init__()
        self.sessions = Sessions(store, FORMATS["langchain"], readback=readback, **options)
        self.tools = [_tool(tool) for tool in self.sessions.readback_tools]
        self._schemas: LruCache[int, tuple[Any, Raw]] = LruCache(MOST_SCHEMAS)  # by the id of the tool, which it keeps

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Log what is new in the messages, send the window in their place, and log the reply. If the window was too
        long, or a part of it was refused, a smaller one is sent. Raises what `Session.begin`, `ModelCall.send` and
        `handler` raise."""
        call = self._begin(request)
        return call.send(lambda messages: handler(request.override(messages=messages)), _reply)

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Send the window in the place of the messages, and log the reply: the async form of `wrap_model_call`. Plans
        are made in a worker thread."""
        call = await run_sync(self._begin, request)
        return await call.send_async(lambda messages: handler(request.override(messages=messages)), _reply)

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> Any:
        """Answer the readback tools from the log. Log the results of all other tools, and return them with their text
        clipped as the policy says. A command to the graph is returned as it is, and not logged."""
        if request.tool_call["name"] in READ_BACK:
            return self._readback(request)
        return self._logged(request, handler(request))

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Any]]
    ) -> Any:
        """Answer a readback tool, or log the result of another tool: the async form of `wrap_tool_call`. The log is
        read and written in a worker thread."""
        if request.tool_call["name"] in READ_BACK:
            return await run_sync(self._readback, request)
        return await run_sync(self._logged, request, await handler(request))

    def _begin(self, request: ModelRequest[Any]) -> ModelCall:
        system = None if request.system_message is None else request.system_message.text
        tools = [self._schema(tool) for tool in request.tools]
        session = self._session(request.runtime, request.messages)
        return session.begin(request.messages, system=system, tools=tools, model=_model_name(request.model))

    def _session(self, runtime: Any, messages: Sequence[Any]) -> Session:
        info = getattr(runtime, "execution_info", None)
        configurable = as_dict(as_dict(getattr(runtime, "config", None)).get("configurable"))
        thread = getattr(info, "thread_id", None) or configurable.get("thread_id")
        return self.sessions.session(str(thread) if thread else f"run {getattr(messages[0], 'id', None) or 0}")

    def _schema(self, tool: Any) -> Raw:
        """The schema of a tool. It is kept, because making it takes a millisecond."""
        if isinstance(tool, dict):
            return cast("Raw", tool)
        if (known := self._schemas.get(id(tool))) is not None:
            return known[1]
        schema = convert_to_openai_tool(tool)
        self._schemas.put(id(tool), (tool, schema), 1)
        return schema

    def _logged(self, request: ToolCallRequest, result: Any) -> Any:
        """Log a result. Returns it as windows show it: clipped, or the same. A command to the graph is not logged."""
        if not isinstance(result, ToolMessage):
            return result
        shorter = self._session_of(request).tool_result(result)
        return result if shorter is None else result.model_copy(update={"content": shorter})

    def _session_of(self, request: ToolCallRequest) -> Session:
        return self._session(cast("Any", request).runtime, request.state["messages"])

    def _readback(self, request: ToolCallRequest) -> ToolMessage:
        asked = request.tool_call
        answer = self._session_of(request).readback(asked["name"], asked["args"])
        return ToolMessage(answer, name=asked["name"], tool_call_id=asked["id"])


def _reply(response: Any) -> AIMessage | None:
    """The model's message in what a handler returns; None if there is none."""
    messages: Sequence[Any] = [response] if isinstance(response, AIMessage) else response.result
    return next((each for each in messages if isinstance(each, AIMessage)), None)


def _model_name(model: Any) -> str:
    """The provider and the name of a chat model, as LangSmith names them; empty if it says neither."""
    named = as_dict(model._get_ls_params() if hasattr(model, "_get_ls_params") else None)
    provider, name = named.get("ls_provider"), named.get("ls_model_name")
    return f"{provider}:{name}" if provider and name else ""


def _tool(tool: Tool) -> BaseTool:
    """A readback tool for the agent. `wrap_tool_call` answers its calls, so that its function is not called."""

    def answer(**_: Any) -> str:
        return f"[error: {tool.name} is answered by TransomMiddleware]"

    return StructuredTool(name=tool.name, description=tool.description, args_schema=tool.parameters, func=answer)
