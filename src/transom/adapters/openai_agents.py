"""The OpenAI Agents SDK: a model provider.

    from agents import Agent, RunConfig, Runner
    from transom.adapters.openai_agents import TransomProvider

    transom_provider = TransomProvider("sqlite:///agent.db", budget=32_000)
    trip = transom_provider.for_session("trip")
    agent = Agent("…", tools=trip.with_tools(tools))
    Runner.run_sync(agent, "…", run_config=RunConfig(model_provider=trip))

The session's name is the conversation's. The SDK's own history (its `Session`, or `to_input_list()`) keeps all items as
they are, except long results of tools: it has them as the policy clips them on arrival, and the log has the whole. A
model call sends the window in their place. An agent whose `model` is an object, and no name, takes `trip.wrap(model)`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator, Callable, Sequence
from os import PathLike
from typing import Any, Unpack

from anyio.to_thread import run_sync

from transom.adapters.model_call import ModelCall
from transom.adapters.sessions import Session, Sessions
from transom.conversation.settings import ConversationOptions
from transom.core.message import Raw
from transom.core.tool import Tool as ToolSchema
from transom.errors import InvalidSetting
from transom.extras import imports_of
from transom.stores import Store
from transom.wire.frameworks import FORMATS

with imports_of("openai-agents"):
    from agents import (
        FunctionTool,
        Handoff,
        Model,
        ModelProvider,
        ModelResponse,
        Tool,
        ToolGuardrailFunctionOutput,
        ToolOutputFileContent,
        ToolOutputGuardrail,
        ToolOutputGuardrailData,
        ToolOutputImage,
        ToolOutputText,
    )
    from agents.models.multi_provider import MultiProvider
    from agents.tool_context import ToolContext

__all__ = ["SessionProvider", "TransomModel", "TransomProvider"]


class TransomProvider(ModelProvider):
    """The store and the settings of all sessions. `for_session` makes the model provider of one session: give that to
    `RunConfig`. This object itself gives no models.

    `store`: as for `Conversation.open`. `provider`: where the models come from; by default the SDK's own. `readback`:
    whether the provider of a session has readback tools (`SessionProvider.tools`); never if the budget is below 8,000
    tokens. `options`: the settings of each conversation: `budget`, `policy`, `counter`, `summarizer` and others. Raises
    at once what `Sessions` raises. `sessions.close()` closes the conversations.
    """

    def __init__(
        self,
        store: str | PathLike[str] | Store,
        *,
        provider: ModelProvider | None = None,
        readback: bool = True,
        **options: Unpack[ConversationOptions],
    ) -> None:
        self.sessions = Sessions(store, FORMATS["openai_agents"], readback=readback, **options)
        self._provider = provider or MultiProvider()

    def get_model(self, model_name: str | None) -> Model:  # noqa: ARG002 - its interface
        """Always raise InvalidSetting: without a session there is no conversation. Use `for_session`."""
        raise InvalidSetting(
            'openai-agents: RunConfig(model_provider=…) needs the provider of a session: provider.for_session("trip")'
        )

    def for_session(self, session_id: str) -> SessionProvider:
        """Make the model provider of one session, for `RunConfig(model_provider=…)`. `session_id`: the conversation's
        name."""
        return SessionProvider(self.sessions, session_id, self._provider)


class SessionProvider(ModelProvider):
    """Gives each model call of one session the window of its conversation. `TransomProvider.for_session` makes it.
    `session_id`: the conversation's name."""

    def __init__(self, sessions: Sessions, session_id: str, provider: ModelProvider) -> None:
        self.sessions, self._id, self._provider = sessions, session_id, provider

    @property
    def session(self) -> Session:
        """The session, with its conversation."""
        return self.sessions.session(self._id)

    @property
    def tools(self) -> list[FunctionTool]:
        """The tools that read back what a window leaves out, for `Agent.tools`; none without `readback`, or if the
        budget is below 8,000 tokens. `with_tools` has them too."""
        return [self._tool(tool) for tool in self.sessions.readback_tools]

    def with_tools(self, tools: Sequence[Tool]) -> list[Tool]:
        """Return these tools, for `Agent.tools`, and the readback tools behind them.

        In place of each function tool there is a copy with one more output guardrail. The guardrail logs the function's
        result as soon as it is there, and gives the SDK the text that the policy clips it to. A result with images or
        files is logged whole with the next model call. Other tools stay as they are.
        """
        logged = ToolOutputGuardrail[Any](self._logged, name="transom")
        functions = [
            dataclasses.replace(each, tool_output_guardrails=[*(each.tool_output_guardrails or ()), logged])
            if isinstance(each, FunctionTool)
            else each
            for each in tools
        ]
        return [*functions, *self.tools]

    def get_model(self, model_name: str | None) -> Model:
        """Return the model with this name, wrapped so that it sends windows; for None the default model. The model
        comes from the `provider` of the `TransomProvider`."""
        return self.wrap(self._provider.get_model(model_name), model_name or "")

    def wrap(self, model: Model, name: str = "") -> TransomModel:
        """Wrap a model object, so that it sends windows. `name`: the model's name, for limits and prices; if empty, the
        model's own."""
        return TransomModel(model, self, name or str(getattr(model, "model", "")))

    async def _logged(self, data: ToolOutputGuardrailData) -> ToolGuardrailFunctionOutput:
        """Log the result of a function, and clip it, unless it has images or files. The clipped text is a rejection:
        the SDK takes another text in no other way."""
        item: Any = {"call_id": data.context.tool_call_id, "type": "function_call_output", "output": str(data.output)}
        is_content = isinstance(data.output, (list, ToolOutputText, ToolOutputImage, ToolOutputFileContent))
        shorter = None if is_content else await run_sync(self.session.tool_result, item)
        allowed = ToolGuardrailFunctionOutput.allow()
        return allowed if shorter is None else ToolGuardrailFunctionOutput.reject_content(shorter)

    def _tool(self, tool: ToolSchema) -> FunctionTool:
        async def answer(_: ToolContext[Any], arguments: str) -> str:
            return await run_sync(self.session.readback, tool.name, arguments)

        return FunctionTool(
            name=tool.name,
            description=tool.description,
            params_json_schema=tool.parameters,
            on_invoke_tool=answer,
            strict_json_schema=False,
        )


class TransomModel(Model):
    """A model of the SDK that sends the window in place of all items; if that was too long, a smaller one.

    A request that goes on with a response of the server (`previous_response_id`, `conversation_id`) is passed on as it
    came: the server has the items.
    """

    def __init__(self, model: Model, provider: SessionProvider, name: str) -> None:
        self._model, self._provider, self._name = model, provider, name
        self._stream: Callable[..., AsyncIterator[Any]] = model.stream_response

    async def get_response(
        self,
        system_instructions: str | None,
        input: str | list[Any],  # noqa: A002 - the SDK's names
        model_settings: Any,
        tools: list[Any],
        output_schema: Any,
        handoffs: list[Any],
        tracing: Any,
        **state: Any,
    ) -> ModelResponse:
        """Send a window, and log the response. If the provider says that it is too long, or refuses a part of it, a
        smaller one is sent. A request that goes on with a response that the server keeps is passed on as it came, and
        not logged. Raises what `Session.begin`, `ModelCall.send_async` and the wrapped model raise."""
        rest = (model_settings, tools, output_schema, handoffs, tracing)
        if self._is_on_server(state):
            return await self._model.get_response(system_instructions, input, *rest, **state)
        call = await run_sync(self._begin, system_instructions, input, tools, handoffs)
        return await call.send_async(
            lambda messages: self._model.get_response(system_instructions, messages, *rest, **state),
            lambda response: response,
        )

    async def stream_response(
        self,
        system_instructions: str | None,
        input: str | list[Any],  # noqa: A002
        model_settings: Any,
        tools: list[Any],
        output_schema: Any,
        handoffs: list[Any],
        tracing: Any,
        **state: Any,
    ) -> AsyncIterator[Any]:
        """Send a window as `get_response` does, and yield the events of the response. The whole response is logged when
        it is there. After the first event nothing is tried again."""
        rest = (model_settings, tools, output_schema, handoffs, tracing)
        if self._is_on_server(state):
            async for event in self._stream(system_instructions, input, *rest, **state):
                yield event
            return
        call = await run_sync(self._begin, system_instructions, input, tools, handoffs)
        while True:
            began = False
            try:
                async for event in self._stream(system_instructions, call.messages, *rest, **state):
                    began = True
                    if event.type in {"response.completed", "response.incomplete"}:
                        await run_sync(call.observe, event.response)
                    yield event
            except BaseException as error:
                if not await call.failed_async(error, may_ask_again=not began):
                    raise
                continue
            await run_sync(call.observe, None)  # a stream that ended without its last event
            return

    async def close(self) -> None:
        """Close the wrapped model."""
        await self._model.close()

    def _is_on_server(self, state: Raw) -> bool:
        field = next((key for key in ("previous_response_id", "conversation_id") if state.get(key)), "")
        if field:
            self._provider.sessions.warn_unchanged(field, "without it the items stay in the SDK's session")
        return bool(field)

    def _begin(
        self, instructions: str | None, given: str | list[Any], tools: Sequence[Any], handoffs: Sequence[Any]
    ) -> ModelCall:
        items = [{"role": "user", "content": given}] if isinstance(given, str) else given
        name = self._name if ":" in self._name or not self._name else f"openai:{self._name.rpartition('/')[2]}"
        schemas = [_schema(each) for each in (*tools, *handoffs)]
        return self._provider.session.begin(items, system=instructions, tools=schemas, model=name)


def _schema(tool: Any) -> Raw:
    """The schema of a tool or a handoff. A tool that the provider runs has none of its own: its name is counted."""
    if isinstance(tool, FunctionTool):
        return ToolSchema(tool.name, tool.description, tool.params_json_schema).schema()
    if isinstance(tool, Handoff):
        return ToolSchema(tool.tool_name, tool.tool_description, tool.input_json_schema).schema()
    return {"type": str(getattr(tool, "name", type(tool).__name__))}
