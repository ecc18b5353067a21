"""A small agent loop over lists of messages, for history managers. `Conversation.run` is the full one.

Every message is recorded in the session when it happens: the input, the model's answer before any tool runs, and each
tool result. A manager decides which of them the model sees; the records never change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, cast
from uuid import UUID, uuid4

from msgspec.structs import replace

from transom import texts
from transom.clock import Clock, system_clock, utc
from transom.conversation import argument_checks as check
from transom.conversation.bus import ConversationRecorded
from transom.conversation.events import ToolCalled
from transom.conversation.function_tool import FunctionTool, tools_by_name
from transom.conversation.runs.driver import call_tool
from transom.conversation.runs.tool_output import as_text, readable
from transom.conversation.runs.work import ToolJob, ToolOutcome
from transom.core.message import Assistant, Call, Raw, Text
from transom.core.tool import Tool
from transom.errors import InvalidMessage, InvalidSetting, RunStopped, quote
from transom.history.entries import ConversationEntry, entry_to_provider_message, provider_message_to_entry
from transom.history.managers import HistoryManager, PassthroughManager
from transom.history.session import Session
from transom.providers import Provider, provider_named
from transom.wire.openai import OPENAI_CHAT, message
from transom.wire.turns import copied


class ConversationRunner:
    """Calls a model with the messages that a manager returns, and runs its tools, until the model answers.

    - `provider`: a provider, or its name, that speaks OpenAI's chat dialect.
    - `session`: records the messages. The runner begins with those that it holds already.
    - `history_manager`: gets copies of all messages before each request. What it returns is sent, unchecked. None:
      everything is sent.
    - `tools`: as in `Conversation.run`. `settings`: further fields of each request.
    - `max_steps`: the maximum number of replies in one run.

    One `run` is one evaluation: its entries have the same `evaluation_id`, and a `sequence` from 0. Raises
    InvalidSetting for another dialect, a `max_steps` below 1, or `settings` that contain themselves.
    """

    def __init__(
        self,
        provider: str | Provider,
        session: Session,
        *,
        history_manager: HistoryManager | None = None,
        tools: Sequence[Any] = (),
        settings: Mapping[str, Any] | None = None,
        max_steps: int = 50,
        clock: Clock = system_clock,
    ) -> None:
        self._provider = provider_named(provider)
        if self._provider.dialect != "openai":
            raise InvalidSetting(f"provider: must speak the openai dialect, not {quote(self._provider.dialect)}")
        if type(max_steps) is not int or max_steps < 1:
            raise InvalidSetting(f"max_steps: must be a whole number above 0, not {quote(max_steps)}")
        schemas, self._functions = tools_by_name(tools)
        plain = [each.schema() if isinstance(each, Tool) else each for each in schemas]
        self._tools = OPENAI_CHAT.render_tools(plain) if plain else []
        self._session, self._manager = session, history_manager or PassthroughManager()
        self._settings, self._max_steps, self._clock = dict(check.sdk_arguments(settings)), max_steps, clock
        recorded = session.select_all(ConversationEntry)
        self._messages: list[Raw] = [entry_to_provider_message(entry) for entry in recorded if entry.include_in_context]

    @property
    def messages(self) -> list[dict[str, Any]]:
        """All messages so far, as copies."""
        return cast("list[Raw]", copied(self._messages))

    def run(self, *messages: Mapping[str, Any], evaluation_id: UUID | None = None) -> str:
        """Record the messages, call the model and its tools until it answers, and return the text of the answer.

        A call that fails, or that the model wrote wrongly, gets a tool result that says so. Raises InvalidMessage, with
        nothing recorded, if an item is not an OpenAI chat message; ProviderError if the provider gives no usable reply;
        RunStopped after `max_steps` replies. What was recorded until then stays, and every call in it has a result: run
        again, also without messages, to go on.
        """
        evaluation = _Evaluation(self._session, evaluation_id or uuid4(), self._clock)
        entries = [evaluation.entry(each) for each in messages]
        for each, entry in zip(messages, entries, strict=True):
            self._record(evaluation, dict(each), entry)
        for _ in range(self._max_steps):
            turn = OPENAI_CHAT.parse_reply(self._provider.complete(self._request()))
            answer = message(turn)
            self._record(evaluation, answer, evaluation.entry(answer))
            if not turn.calls:
                return "".join(part.text for part in turn.parts if isinstance(part, Text))
            self._run_tools(evaluation, turn)
        raise RunStopped("steps", f"no answer after {self._max_steps:,} steps")

    def _request(self) -> dict[str, Any]:
        """The fields of the next request: the messages that the manager returns, tools, settings."""
        sent = self._manager.curate(self.messages, session=self._session)
        return {"messages": sent, **({"tools": copied(self._tools)} if self._tools else {}), **self._settings}

    def _record(self, evaluation: _Evaluation, said: Raw, entry: ConversationEntry) -> None:
        """Publish an entry, and add its message."""
        evaluation.publish(entry)
        self._messages.append(cast("Raw", copied(said)))

    def _run_tools(self, evaluation: _Evaluation, turn: Assistant) -> None:
        """Run the calls of a turn, one after the other. If that is interrupted, each call without a result gets one
        that says so."""
        waiting = list(turn.calls)
        try:
            while waiting:
                self._record_result(evaluation, waiting[0], self._call(waiting[0]))
                del waiting[0]
        except BaseException:
            for at, call in enumerate(waiting):
                text = texts.NOT_STARTED if at else texts.STOPPED
                self._record_result(evaluation, call, ToolOutcome(content=text, failed=True))
            raise

    def _record_result(self, evaluation: _Evaluation, call: Call, outcome: ToolOutcome) -> None:
        """Record the result of a call."""
        content = as_text(readable(outcome).content)
        result = {"role": "tool", "tool_call_id": call.id, "content": content}
        self._record(evaluation, result, evaluation.entry(result, tool_name=call.name))

    def _call(self, call: Call) -> ToolOutcome:
        """Run one call. An unknown tool or invalid arguments give a failed result."""
        tool: FunctionTool | None = self._functions.get(call.name)
        if tool is None:
            return ToolOutcome(content=texts.tool_failed(f"there is no tool {call.name}"), failed=True)
        try:
            arguments = tool.arguments(call.args)
        except InvalidMessage as wrong:
            return ToolOutcome(content=texts.tool_failed(str(wrong)), failed=True)
        called = ToolCalled(name=call.name, arguments=call.args, id=call.id, turn=0, index=0)
        return call_tool(ToolJob(called, tool, arguments))


class _Evaluation:
    """Numbers the entries of one run, and publishes them."""

    def __init__(self, session: Session, id: UUID, clock: Clock) -> None:  # noqa: A002 - of the evaluation
        self._session, self._id, self._clock, self._sequence = session, id, clock, 0

    def entry(self, said: Mapping[str, Any], *, tool_name: str | None = None) -> ConversationEntry:
        """Make the next entry. Raises InvalidMessage if it is not an OpenAI chat message."""
        entry = provider_message_to_entry(
            dict(said), evaluation_id=self._id, sequence=self._sequence, created_at=self._now()
        )
        self._sequence += 1
        return entry if tool_name is None else replace(entry, tool_name=tool_name)

    def publish(self, entry: ConversationEntry) -> None:
        """Publish an entry in the session."""
        self._session.publish(ConversationRecorded(entry, self._session.session_id, entry.created_at))

    def _now(self) -> datetime:
        """The time now, UTC."""
        return utc(self._clock())
