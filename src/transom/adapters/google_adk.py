"""Google's Agent Development Kit: a plugin.

    from google.adk.runners import InMemoryRunner
    from transom.adapters.google_adk import TransomPlugin

    runner = InMemoryRunner(agent, app_name="app", plugins=[TransomPlugin("sqlite:///agent.db", budget=32_000)])
    runner.run_async(user_id="ada", session_id="trip", new_message=…)

The conversation's name is the user's id and the session's: "ada/trip". The session keeps all events as they are, except
long results of tools: it has them as the policy clips them on arrival, and the log has the whole. A model call sends
the window in their place.
"""

from __future__ import annotations

import asyncio
from os import PathLike
from typing import Any, Unpack

from anyio.to_thread import run_sync

from transom.adapters.model_call import ModelCall
from transom.adapters.sessions import Session, Sessions
from transom.conversation.settings import ConversationOptions
from transom.core.message import Raw
from transom.core.tool import Tool
from transom.extras import imports_of
from transom.stores import Store
from transom.wire.frameworks import FORMATS
from transom.wire.frameworks.google_adk_messages import is_own_id
from transom.wire.replies import dumped

with imports_of("google-adk"):
    from google.adk.agents.callback_context import CallbackContext
    from google.adk.models.llm_request import LlmRequest
    from google.adk.models.llm_response import LlmResponse
    from google.adk.plugins.base_plugin import BasePlugin
    from google.adk.tools.base_tool import BaseTool
    from google.adk.tools.tool_context import ToolContext
    from google.genai import types

__all__ = ["TransomPlugin"]


class TransomPlugin(BasePlugin):
    """Gives each model call of the agents of a runner the window of its conversation. The conversation's name is the
    user's id and the session's: "ada/trip".

    `store`: as for `Conversation.open`. `readback`: whether the agents get the tools that read back what a window
    leaves out; never if the budget is below 8,000 tokens. `options`: the settings of each conversation: `budget`,
    `policy`, `counter`, `summarizer` and others. Raises at once what `Sessions` raises.
    """

    def __init__(
        self, store: str | PathLike[str] | Store, *, readback: bool = True, **options: Unpack[ConversationOptions]
    ) -> None:
        super().__init__(name="transom")
        self.sessions = Sessions(store, FORMATS["google_adk"], readback=readback, **options)
        self._tools = [_ReadbackTool(tool, self) for tool in self.sessions.readback_tools]
        self._calls: dict[tuple[str, str], ModelCall] = {}  # the one in flight, by run and agent

    def session(self, context: Any) -> Session:
        """The session that a context of a callback or a tool belongs to, with its conversation."""
        return self.sessions.session(f"{context.user_id}/{context.session.id}")

    async def before_model_callback(self, *, callback_context: CallbackContext, llm_request: LlmRequest) -> None:
        """Before a model call: add the readback tools to the request, log what is new in its contents, and put the
        window in the place of all contents. Raises what `Session.begin` raises: then the model is not called."""
        llm_request.append_tools([each for each in self._tools if each.name not in llm_request.tools_dict])
        call = await run_sync(self._begin, callback_context, llm_request)
        self._calls[_run(callback_context)] = call
        if (task := asyncio.current_task()) is not None:  # no callback is told that it was cancelled
            task.add_done_callback(lambda _: call.failed(asyncio.CancelledError()))
        llm_request.contents = call.messages

    async def after_model_callback(self, *, callback_context: CallbackContext, llm_response: LlmResponse) -> None:
        """Log the response and its usage; without content it is logged as a failure. Of a stream only the whole
        response is logged, which ADK makes of the pieces."""
        if llm_response.partial:
            return
        call = self._calls.pop(_run(callback_context), None)
        if call is not None:
            await run_sync(call.observe, None if llm_response.content is None else llm_response)

    async def on_model_error_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest, error: Exception
    ) -> LlmResponse | None:
        """If the request was too long, or a part of it was refused, ask again with a smaller window, and return the
        response. In a stream too it is one whole response.

        Returns None for all other errors, and if no smaller window is possible: ADK raises the error then.
        """
        call = self._calls.get(_run(callback_context))
        while call is not None and await run_sync(call.failed, error):
            llm_request.contents = call.messages
            model: Any = callback_context._invocation_context.agent  # a model can be called only through its agent
            try:
                responses = [each async for each in model.canonical_model.generate_content_async(llm_request)]
            except Exception as again:  # noqa: BLE001 - `failed` says whether it is ours
                error = again
                continue
            return responses[-1]
        self._calls.pop(_run(callback_context), None)
        return None

    async def after_tool_callback(
        self, *, tool: BaseTool, tool_args: Raw, tool_context: ToolContext, result: Any
    ) -> Raw | None:
        """Log the result of a tool. Returns what ADK keeps in its place, `{"result": …}` with the text clipped as the
        policy says; None if nothing was clipped."""
        response = result if isinstance(result, dict) else {"result": result}
        call = tool_context.function_call_id or ""
        known_id = None if is_own_id(call) else call
        part = types.Part(function_response=types.FunctionResponse(id=known_id, name=tool.name, response=response))
        message = types.Content(role="user", parts=[part])
        shorter = await run_sync(self.session(tool_context).tool_result, message, tool.name, tool_args)
        return None if shorter is None else {"result": shorter}

    async def close(self) -> None:
        """Close all conversations, and the store if the plugin opened it. ADK calls this when the runner ends."""
        await run_sync(self.sessions.close)

    def _begin(self, context: CallbackContext, request: LlmRequest) -> ModelCall:
        config = request.config
        system = _text(config.system_instruction)
        tools = [schema for each in config.tools or () for schema in _schemas(each)]
        model = f"gemini:{request.model}" if request.model and "/" not in request.model else request.model or ""
        return self.session(context).begin(request.contents, system=system or None, tools=tools, model=model)


class _ReadbackTool(BaseTool):
    """A readback tool for the agents of a runner."""

    def __init__(self, tool: Tool, plugin: TransomPlugin) -> None:
        super().__init__(name=tool.name, description=tool.description)
        self._tool, self._plugin = tool, plugin

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(
            name=self.name, description=self.description, parameters_json_schema=self._tool.parameters
        )

    async def run_async(self, *, args: dict[str, Any], tool_context: Any) -> Any:
        return {"result": await run_sync(self._plugin.session(tool_context).readback, self.name, args)}


def _run(context: CallbackContext) -> tuple[str, str]:
    """What names the model call in flight: a run, and the agent in it."""
    return context.invocation_id, context.agent_name


def _text(instruction: Any) -> str:
    """The text of a system instruction: a string, or a content with parts. Empty if there is none."""
    if isinstance(instruction, str) or instruction is None:
        return instruction or ""
    return "\n".join(part.text for part in getattr(instruction, "parts", None) or () if part.text)


def _schemas(tool: Any) -> list[Raw]:
    """The schemas of the functions of a tool. A tool that the provider runs has none: it is counted as it is sent."""
    declared = getattr(tool, "function_declarations", None)
    how: Raw = {"mode": "json", "by_alias": True, "exclude_none": True}
    if declared is None:
        return [dumped(tool, **how)] if isinstance(tool, types.Tool) else []  # type: ignore[list-item]
    return [_schema(each) for each in declared]


def _schema(declared: types.FunctionDeclaration) -> Raw:
    parameters: Any = declared.parameters_json_schema or dumped(declared.parameters, mode="json", exclude_none=True)
    return Tool(declared.name or "unnamed", declared.description or "", parameters or {}).schema()
