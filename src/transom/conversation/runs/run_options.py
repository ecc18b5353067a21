"""The options of a run (`RunOptions`), checked before anything is logged, and how a run begins."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from types import UnionType
from typing import Any, TypedDict, cast

from msgspec.structs import replace

from transom.conversation import argument_checks as check
from transom.conversation.argument_checks import Content
from transom.conversation.function_tool import tools_by_name
from transom.conversation.lock_and_lease import until_free
from transom.conversation.model_calls.retry import DEFAULT_RETRY, Retry, checked_retry
from transom.conversation.output_type import OutputType
from transom.conversation.runnable import Approver, RunnableConversation, RunSettings
from transom.conversation.runs.agent_loop import AgentLoop, RunSteps
from transom.conversation.runs.awaited_work import Cancel, Sleep
from transom.conversation.state_and_head_parts import State
from transom.conversation.toolset import Toolset, opened_tools
from transom.core.message import Assistant, Raw, User, said_in
from transom.core.tool import Tool
from transom.core.unit import Unit
from transom.core.view import View
from transom.errors import InvalidMessage, InvalidSetting, no_setting, quote
from transom.providers import Provider, provider_named
from transom.providers.model_prices import TokenPrices
from transom.wire.fields import DEPTH

MAX_STEPS = 50


class RunOptions(TypedDict, total=False):
    """The keyword arguments of `Conversation.run` and `Conversation.stream`. Only `provider` is needed."""

    messages: Sequence[object]
    """In place of `input`: messages in the conversation's dialect, all new to the log, the last one the user's."""
    provider: str | Provider
    """The model: a name, or a provider."""
    fallbacks: Sequence[str | Provider]
    """For each reply, models to ask in order when the one before has failed for good. The next reply begins with
    `provider` again."""
    tools: Sequence[Any]
    """Functions (sync or async), FunctionTools, toolsets such as an `McpServer`, schemas of tools that the provider
    runs. A schema of any other tool is refused, except of those that a run answers itself (`CONTEXT_MANAGER`,
    `transom.readback.TOOLS`). None, or not given: the schemas of the last request. An empty list: no tools."""
    readback: bool
    """Whether the model has the tools that read back what its window leaves out (`transom.readback.TOOLS`), which the
    run answers itself. Not given: it has them if the conversation's last request had them. The first request has them
    if it has other tools and a budget of at least 8,000 tokens. A later change breaks the cached prefix."""
    unavailable: Collection[str] | Callable[[], Collection[str]]
    """Names of tools that are refused now. They stay in the request, so that the cached prefix holds."""
    approve: Approver
    """A function, sync or async, called before each tool call with its ToolCalled. What it returns decides: True runs
    the call; None lets it wait for `Conversation.approve`, and the run stops behind the other calls; a text refuses it
    and is what the model reads as its result; anything else refuses it. What it raises ends the run, and no call of
    that reply is started. Not given: the calls of tools with `needs_approval` wait, all others run."""
    state: Mapping[str, State]
    """State to announce, as `Conversation.request` takes it."""
    settings: Mapping[str, Any]
    """More keyword arguments of the SDK's call: temperature and the like. A `tool_choice` that forces a call holds for
    the first reply only, unless `reset_tool_choice` is false."""
    output_type: type | UnionType
    """The type of the answer: a dataclass, a msgspec Struct, a pydantic model, a TypedDict, or another type that JSON
    has, such as `int` or `list[Place]`. `RunResult.output` is a value of it."""
    output_retries: int
    """How often a model whose answer does not fit `output_type` is told so and asked again: twice if not given. Then
    InvalidOutput is raised."""
    reset_tool_choice: bool
    """Whether a forced tool call is left out after the first reply; true if not given. If false, each reply must call a
    tool, so that only a limit ends the run."""
    max_tokens: int
    """The most tokens of each reply. Not given: what the provider object sets, else the API's own limit."""
    max_steps: int | None
    """The most requests that may be answered in this run: 50 if not given, None for no limit. Before one more, the run
    raises RunStopped."""
    max_total_tokens: int
    """The most tokens of prompts and answers in this run, those of summaries and sub-agents included. It is looked at
    before each request, so the last one may exceed it. The run raises RunStopped instead of sending another."""
    max_cost: float
    """The most US dollars for this run, summaries and sub-agents included. It is looked at as `max_total_tokens` is. If
    the cost of something is not known, the run raises RunStopped too: give `prices`."""
    prices: TokenPrices
    """What the model's tokens cost. Without them `transom[prices]` knows those of the usual models."""
    timeout: float
    """Seconds without a byte from the provider, after which a request counts as failed. Not given: the provider
    object's own."""
    tool_timeout: float
    """Seconds for each tool call, unless the tool has its own limit; not given: no limit. A call that takes longer
    counts as failed, although its function may still be at work."""
    wait: float
    """Seconds to wait while somebody else runs this conversation; 0 if not given. Then ConversationBusy is raised."""
    retry: Retry
    """How often a failed request is sent again."""
    cancel: Cancel
    """A threading.Event: once it is set, the run stops within about 0.1 s, also while a model or a tool is silent."""


def start(
    conversation: RunnableConversation,
    input: Content | None,  # noqa: A002 - as in `run`
    options: RunOptions,
    *,
    stream: bool,
) -> RunSteps:
    """The steps of a run. Raises InvalidSetting for a wrong option, and TypeError for an unknown one, at once. Errors
    that concern the log are raised by the first step. `stream`: whether replies are streamed."""
    unknown = set(options) - set(RunOptions.__annotations__)
    if unknown:
        raise TypeError(f"run: {no_setting(min(unknown), RunOptions.__annotations__)}")
    if input is not None and options.get("messages") is not None:
        raise InvalidSetting("run: give input or messages, not both")
    settings = _settings(options, stream=stream)
    tools = _listed("tools", options.get("tools"))

    def begin(stack: ExitStack) -> AgentLoop:
        if not any(isinstance(each, Toolset) for each in tools):
            return AgentLoop(conversation, settings)
        schemas, functions = tools_by_name(opened_tools(tools, stack))
        return AgentLoop(conversation, replace(settings, schemas=schemas, functions=functions))

    wait = check.seconds("wait", options.get("wait", 0))
    return _steps(conversation, input, options.get("messages"), begin, wait)


def _steps(
    conversation: RunnableConversation,
    input: Content | None,  # noqa: A002 - as in `run`
    messages: Sequence[object] | None,
    begin: Callable[[ExitStack], AgentLoop],
    wait: float,
) -> RunSteps:
    exclusively = conversation._exclusively  # pyright: ignore[reportPrivateUsage] - as for a request
    with ExitStack() as stack:
        for pause in until_free(lambda: stack.enter_context(exclusively()), wait):
            yield Sleep(pause)
        loop = begin(stack)
        if input is not None:
            loop.log_user(input)
        elif messages is not None:
            facts = conversation.dialect.parse(messages)
            if not facts or not isinstance(facts[-1][1], User):
                raise InvalidMessage("messages", "the last message must be the user's")
            conversation.extend(messages)
        elif not conversation.view.slots:
            raise InvalidMessage("run", "there is nothing to answer: give input or messages")
        else:
            return (yield from loop.steps(_last_answer(conversation.view)))
        return (yield from loop.steps())


def _last_answer(view: View) -> str | None:
    """The text of the model's answer, if nothing was said after it and nothing is left to do; else None.

    A run without input ends with this answer. If it asked the model again, it would pay for a reply to a reply: after a
    crash, or where workers look for decided approvals.
    """
    last = view.slots[-1]
    if not isinstance(last, Unit) or not isinstance(turn := last.first_fact, Assistant) or turn.calls or view.waiting:
        return None
    if view.late_results or any(state == "approved" for _, state in view.approvals.values()):
        return None
    return said_in(turn)


def check_options(options: RunOptions) -> None:
    """Check the options of a run that begins later and whose provider may not be known yet, such as a sub-agent's.
    Raises InvalidSetting."""
    _settings(options, stream=False, needs_provider=False)


def _settings(options: RunOptions, *, stream: bool, needs_provider: bool = True) -> RunSettings:
    given = options.get("provider")
    if given is None and needs_provider:
        raise InvalidSetting('run: a provider is needed, such as provider="anthropic:claude-sonnet-5-5"')
    named = ([] if given is None else [given]) + [*_listed("fallbacks", options.get("fallbacks"))]
    providers = tuple(provider_named(each) for each in named)
    schemas: list[Raw | Tool] | None = None
    functions: dict[str, Any] = {}
    if options.get("tools") is not None:
        given_tools = _listed("tools", options.get("tools"))  # toolsets are opened when the run begins
        schemas, functions = tools_by_name(each for each in given_tools if not isinstance(each, Toolset))
    retry = checked_retry(options.get("retry", DEFAULT_RETRY))
    for name, (fits, kind) in _OPTION_TYPES.items():
        if (value := options.get(name)) is not None and not fits(value):
            raise InvalidSetting(f"{name}: must be {kind}, not {quote(value)}")
    limits = {name: check.positive(name, options.get(name), most) for name, most in _LARGEST_LIMITS.items()}
    if "max_steps" not in options:
        limits["max_steps"] = MAX_STEPS
    return RunSettings(
        providers=providers,
        schemas=schemas,
        functions=functions,
        readback=options.get("readback"),
        output=None if options.get("output_type") is None else OutputType(options.get("output_type")),
        output_retries=2 if (retries := options.get("output_retries")) is None else retries,
        reset_tool_choice=options.get("reset_tool_choice") is not False,
        unavailable=_names(options.get("unavailable", ())),
        approve=options.get("approve"),
        state=options.get("state"),
        sdk_arguments=_sdk_arguments(options.get("settings")),
        retry=retry,
        stream=stream,
        prices=options.get("prices"),
        **limits,
    )


_WINDOW, _SYSTEM = "the run sends the window", "give `system=` to the conversation, or use a mode"
_NOT_FOR_SETTINGS: dict[str, str] = {
    "messages": _WINDOW,
    "input": _WINDOW,
    "contents": _WINDOW,
    "previous_response_id": _WINDOW,
    "conversation": _WINDOW,
    "system": _SYSTEM,
    "instructions": _SYSTEM,
    "system_instruction": _SYSTEM,
    "config": "give its fields by their own names",
    "tools": "give `tools=` to the run",
    "model": "give it with the provider",
    "stream": "call `stream` in place of `run`",
}
"""Arguments of the SDKs that the settings of a run must not have, because they would replace what the log says was
sent; and where each belongs."""

_OPTION_TYPES: Mapping[str, tuple[Callable[[object], bool], str]] = {
    "readback": (lambda given: isinstance(given, bool), "True or False"),
    "reset_tool_choice": (lambda given: isinstance(given, bool), "True or False"),
    "output_retries": (lambda given: type(given) is int and given >= 0, "a whole number, at least 0"),
    "approve": (callable, "a function that takes a call"),
    "cancel": (lambda given: callable(getattr(given, "is_set", None)), "a threading.Event"),
    "prices": (lambda given: isinstance(given, TokenPrices), "TokenPrices"),
}
"""What an option must be if it is given, and how an error says it."""

_LARGEST_LIMITS: dict[str, int | float] = {
    "max_tokens": 10**18,
    "max_steps": 10**18,
    "max_total_tokens": 10**18,
    "max_cost": 1e18,
    "timeout": check.LONGEST,
    "tool_timeout": check.LONGEST,
}
"""The most that each limit may be; whole numbers are for limits that must be whole."""


def _listed(name: str, value: object) -> Sequence[Any]:
    if value is None:
        return ()
    if not isinstance(value, (list, tuple)):
        raise InvalidSetting(f"{name}: must be a list, not {quote(value)}")
    return cast("Sequence[Any]", value)


def _names(given: object) -> Callable[[], Collection[str]]:
    if callable(given):
        return cast("Callable[[], Collection[str]]", given)
    if not isinstance(given, (list, tuple, set, frozenset)):
        raise InvalidSetting(f"unavailable: must be names of tools, or a function, not {quote(given)}")
    named = cast("Collection[object]", given)
    if not all(isinstance(name, str) for name in named):
        raise InvalidSetting(f"unavailable: must be names of tools, not {quote(named)}")
    names = frozenset(cast("Collection[str]", named))
    return lambda: names


def _sdk_arguments(given: object) -> Mapping[str, Any]:
    """Check the `settings` of a run, and return them."""
    if given is None:
        return {}
    if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in cast("Mapping[object, Any]", given)):
        raise InvalidSetting(f"settings: must be keyword arguments by name, not {quote(cast('object', given))}")
    settings = cast("Mapping[str, Any]", given)
    for name, value in settings.items():
        if name in _NOT_FOR_SETTINGS:
            raise InvalidSetting(f"settings: {quote(name)} is not for settings: {_NOT_FOR_SETTINGS[name]}")
        if _is_deeper(value, DEPTH):
            raise InvalidSetting(f"settings: {quote(name)} is nested more than {DEPTH} levels deep, or contains itself")
    return settings


def _is_deeper(value: object, levels: int) -> bool:
    """True if objects and lists are nested deeper than `levels`. Each is looked at once a level: time stays linear."""
    level = [value]
    for _ in range(levels + 1):
        level = list({id(each): each for outer in level for each in _inner(outer)}.values())
    return bool(level)


def _inner(value: object) -> Iterable[object]:
    """The values in an object or a list; none for anything else."""
    if isinstance(value, Mapping):
        return cast("Mapping[object, object]", value).values()
    return cast("Sequence[object]", value) if isinstance(value, (list, tuple)) else ()
