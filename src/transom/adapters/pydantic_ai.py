"""pydantic-ai: a capability.

    from pydantic_ai import Agent
    from transom.adapters.pydantic_ai import TransomCapability

    agent = Agent("openai:gpt-5", tools=tools, capabilities=[TransomCapability("sqlite:///agent.db", budget=32_000)])
    agent.run_sync("…", conversation_id="trip")

The `conversation_id` is the conversation's name; pydantic-ai makes one if there is none, and keeps it in
`message_history`. The history keeps all messages as they are, except long results of tools: it has them as the policy
clips them on arrival, and the log has the whole. A model request sends the window in their place.
"""

from __future__ import annotations

import dataclasses
from os import PathLike
from typing import Any, Unpack, cast

from anyio.to_thread import run_sync

from transom.adapters.model_call import ModelCall
from transom.adapters.sessions import Sessions
from transom.conversation.settings import ConversationOptions
from transom.core.message import Raw
from transom.core.tool import Tool
from transom.extras import imports_of
from transom.stores import Store
from transom.wire.frameworks import FORMATS

with imports_of("pydantic-ai"):
    from pydantic_ai import RunContext
    from pydantic_ai.capabilities import AbstractCapability, WrapRunHandler
    from pydantic_ai.exceptions import RetryModelRequest
    from pydantic_ai.messages import ModelRequest, ModelResponse, ToolCallPart, ToolReturn, ToolReturnPart
    from pydantic_ai.models import ModelRequestContext, ModelRequestParameters
    from pydantic_ai.run import AgentRunResult
    from pydantic_ai.tools import Tool as FunctionTool
    from pydantic_ai.tools import ToolDefinition
    from pydantic_ai.toolsets import AgentToolset, FunctionToolset

__all__ = ["TransomCapability"]


class TransomCapability(AbstractCapability[Any]):
    """Gives each model request of an agent the window of its conversation. The conversation's name is the run's
    `conversation_id`, or without one the run's id.

    `store`: as for `Conversation.open`. `readback`: whether the agent gets the tools that read back what a window
    leaves out; never if the budget is below 8,000 tokens. `options`: the settings of each conversation: `budget`,
    `policy`, `counter`, `summarizer` and others. Raises at once what `Sessions` raises. `sessions.close()` closes the
    conversations.
    """

    def __init__(
        self, store: str | PathLike[str] | Store, *, readback: bool = True, **options: Unpack[ConversationOptions]
    ) -> None:
        self.sessions = Sessions(store, FORMATS["pydantic_ai"], readback=readback, **options)
        self._calls: dict[str, ModelCall] = {}  # the one in flight, by run

    async def wrap_run(self, ctx: RunContext[Any], *, handler: WrapRunHandler) -> AgentRunResult[Any]:
        """Run the agent. If the run ends with an error while a model request is open, that request is logged as failed:
        when a run is cancelled, no other hook is told."""
        try:
            return await handler()
        except BaseException as error:
            if (call := self._calls.pop(_run(ctx), None)) is not None:
                await call.failed_async(error)
            raise

    async def prepare_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Log what is new in the messages, and put the window in the place of all of them. A second attempt at a
        request sends the smaller window that `on_model_request_error` has planned. Raises what `Session.begin` raises.
        """
        call = self._calls.get(_run(ctx))
        if call is None or request_context.attempt == 1:
            call = self._calls[_run(ctx)] = await run_sync(self._begin, ctx, request_context)
        return dataclasses.replace(request_context, messages=call.messages)

    async def after_model_request(
        self,
        ctx: RunContext[Any],
        *,
        request_context: ModelRequestContext,  # noqa: ARG002 - its interface
        response: ModelResponse,
    ) -> ModelResponse:
        """Log the response and its usage."""
        if (call := self._calls.pop(_run(ctx), None)) is not None:
            await run_sync(call.observe, response)
        return response

    async def on_model_request_error(
        self,
        ctx: RunContext[Any],
        *,
        request_context: ModelRequestContext,  # noqa: ARG002 - its interface
        error: Exception,
    ) -> ModelResponse:
        """If the request was too long, or a part of it was refused, plan a smaller window and raise RetryModelRequest,
        so that pydantic-ai sends it. Any other error, and one for which no smaller window is possible, is logged and
        raised again."""
        call = self._calls.get(_run(ctx))
        if call is not None and await run_sync(call.failed, error):
            raise RetryModelRequest from error
        self._calls.pop(_run(ctx), None)
        raise error

    async def after_tool_execute(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: Any,  # noqa: ARG002 - its interface
        result: Any,
    ) -> Any:
        """Log the result of a tool that is a function. Returns the result with its text clipped as the policy says, or
        as it is. The results of other kinds of tools are returned as they are, and not logged here."""
        if tool_def.kind != "function":
            return result
        is_wrapped = isinstance(cast("object", result), ToolReturn)
        returned = result.return_value if is_wrapped else result
        message = ModelRequest([ToolReturnPart(call.tool_name, returned, call.tool_call_id)])
        shorter = await run_sync(self.sessions.session(_name(ctx)).tool_result, message)
        if shorter is None:
            return result
        return dataclasses.replace(result, return_value=shorter) if is_wrapped else shorter

    def get_toolset(self) -> AgentToolset[Any] | None:
        """The readback tools; None if there are none."""
        tools = [self._tool(tool) for tool in self.sessions.readback_tools]
        return FunctionToolset(tools) if tools else None

    def _begin(self, ctx: RunContext[Any], request: ModelRequestContext) -> ModelCall:
        parameters = request.model_request_parameters
        instructions = "\n\n".join(part.content for part in parameters.instruction_parts or () if part.content)
        model = f"{request.model.system}:{request.model.model_name}"
        session = self.sessions.session(_name(ctx))
        return session.begin(request.messages, system=instructions or None, tools=_schemas(parameters), model=model)

    def _tool(self, tool: Tool) -> FunctionTool[Any]:
        async def answer(ctx: RunContext[Any], **arguments: Any) -> str:
            return await run_sync(self.sessions.session(_name(ctx)).readback, tool.name, arguments)

        return FunctionTool.from_schema(answer, tool.name, tool.description, tool.parameters, takes_ctx=True)


def _name(ctx: RunContext[Any]) -> str:
    return str(ctx.conversation_id or ctx.run_id)


def _run(ctx: RunContext[Any]) -> str:
    return str(ctx.run_id or ctx.conversation_id)


def _schemas(parameters: ModelRequestParameters) -> list[Raw]:
    tools = [*parameters.function_tools, *parameters.output_tools]
    return [Tool(each.name, each.description or "", each.parameters_json_schema).schema() for each in tools]
