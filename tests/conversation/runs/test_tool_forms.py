"""The forms in which tools are given: a function with a schema of the caller's, a schema alone, functions in one's own
loop. And the choice of a tool, which holds for one reply."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from transom import Conversation, FunctionTool, InvalidSetting, Retry, Tool
from transom.conversation.function_tool import tool_schemas
from transom.conversation.runs.own_tools import CONTEXT_MANAGER
from transom.memory import Memory
from transom.providers.scripted import Fault, Scripted, call
from transom.readback import TOOLS
from transom.stores import open_store
from transom.wire.request_fields import without_forced_call

SCHEMA = {
    "type": "object",
    "properties": {"query": {"type": "string"}, "max-results": {"type": "integer"}},
    "required": ["query"],
}


def opened() -> Conversation:
    return Conversation.open("memory:", "c", budget=8_000)


def weather(city: str, days: int = 1) -> str:
    """The weather in a city.

    Args:
        city: its name
    """
    return f"{city}: clear for {days}"


def test_a_function_with_a_schema_of_the_callers_gets_the_arguments_as_they_are() -> None:
    seen: list[dict[str, Any]] = []

    def search(**arguments: Any) -> str:
        """Search the library."""
        seen.append(arguments)
        return "found"

    provider = Scripted(
        call("search", **{"query": "whales", "max-results": 3}), call("search"), call("search", query=5), "Done."
    )
    with opened() as conv:
        conv.run("Go", provider=provider, tools=[FunctionTool(search, parameters=SCHEMA)], readback=False)
        (sent,) = conv.head.tools
        results = [entry.body.parts[0].text for entry in conv.log if type(entry.body).__name__ == "ToolResult"]
    assert sent == {"name": "search", "description": "Search the library.", "parameters": SCHEMA}
    assert seen == [{"query": "whales", "max-results": 3}]
    assert results[0] == "found"
    assert results[1:] == ["arguments: 'query' is missing", "arguments: 'query' must be string, not 5"]


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ("text", "tool 'weather': parameters must be a JSON schema of type object, not 'text'"),
        ({"type": "string"}, "tool 'weather': parameters must be a JSON schema of type object, not {'type': 'string'}"),
        ({"required": "city"}, "tool 'weather': required must be a list of names, not 'city'"),
    ],
)
def test_a_schema_that_is_none_is_refused(parameters: Any, says: str) -> None:
    with pytest.raises(InvalidSetting) as refused:
        FunctionTool(weather, parameters=parameters)
    assert str(refused.value) == says


@pytest.mark.parametrize(
    "schema",
    [
        Tool("flights"),
        {"type": "function", "function": {"name": "flights"}},
        {"name": "flights", "input_schema": {"type": "object"}},
        {"functionDeclarations": [{"name": "flights"}]},
    ],
)
def test_a_schema_that_nobody_answers_is_refused_before_anything_is_logged(schema: Any) -> None:
    with opened() as conv:
        with pytest.raises(InvalidSetting, match="tool 'flights' has no function, so that nobody could answer") as one:
            conv.run("Go", provider=Scripted("Never."), tools=[schema])
        assert "FunctionTool(function, name=…, parameters=…)" in str(one.value)
        assert len(conv.log) == 0
    with pytest.raises(InvalidSetting, match="tool 'flights' has no function"):
        FunctionTool(schema)


def test_schemas_that_the_provider_or_the_run_answers_are_taken() -> None:
    with opened() as conv:
        tools = [weather, *TOOLS, CONTEXT_MANAGER, {"type": "web_search"}]
        conv.run("Go", provider=Scripted("Done.", dialect="responses"), tools=tools)
        assert len(conv.head.tools) == len(tools)


def test_a_loop_of_ones_own_gives_functions() -> None:
    with opened() as conv:
        conv.user("Go")
        first = conv.request(tools=[weather, FunctionTool(weather, name="again")])
        names = [tool["function"]["name"] for tool in first["tools"]]
        assert names == ["weather", "again"]
        assert first["tools"][0]["function"]["parameters"]["properties"]["city"] == {
            "description": "its name",
            "type": "string",
        }
        assert conv.window(tools=[weather]).view.head.tools == conv.head.tools[:1]
        conv.observe({"role": "assistant", "content": "Done."})
        conv.user("Again")
        entries = len(conv.log)
        conv.request(tools=[weather, FunctionTool(weather, name="again")])
        assert len(conv.log) == entries + 1  # the tools are the same: no new head


def test_a_loop_of_ones_own_gives_the_tools_of_a_memory() -> None:
    store = open_store("memory:")
    memory = Memory(store, user_id="ann")
    with Conversation.open(store, "c", budget=8_000, user_id="ann") as conv:
        conv.user("Go")
        request = conv.request(tools=memory.tools())
    assert len(request["tools"]) == len(memory.tools()) > 3


FORCED = [
    ({"tool_choice": "required", "seed": 1}, {"seed": 1}),
    ({"tool_choice": "any"}, {}),
    ({"tool_choice": {"type": "function", "function": {"name": "f"}}}, {}),
    ({"tool_choice": {"type": "function", "name": "f"}}, {}),
    ({"tool_choice": {"type": "allowed_tools", "mode": "required", "tools": []}}, {}),
    ({"tool_choice": {"type": "any"}}, {}),
    (
        {"tool_choice": {"type": "tool", "name": "f", "disable_parallel_tool_use": True}},
        {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}},
    ),
    ({"tool_config": {"function_calling_config": {"mode": "ANY"}}}, {}),
    ({"config": {"toolConfig": {"functionCallingConfig": {"mode": "any"}}, "seed": 1}}, {"config": {"seed": 1}}),
]
FREE = [
    {"tool_choice": "auto"},
    {"tool_choice": "none"},
    {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}},
    {"tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": []}}},
    {"config": {"tool_config": {"function_calling_config": {"mode": "AUTO"}}}},
    {"temperature": 0},
]


@pytest.mark.parametrize(("given", "left"), [*FORCED, *[(free, free) for free in FREE]])
def test_a_choice_that_forces_a_call_is_taken_out(given: dict[str, Any], left: dict[str, Any]) -> None:
    assert without_forced_call(given) == left


@pytest.mark.parametrize(("reset", "sent"), [({}, [True, True, False]), ({"reset_tool_choice": False}, [True] * 3)])
def test_a_forced_call_is_forced_until_the_first_reply(reset: dict[str, Any], sent: list[bool]) -> None:
    provider = Scripted(Fault(status=503), call("weather", city="Rome"), "Done.")
    with opened() as conv:
        settings = {"tool_choice": "required"}
        conv.run("Go", provider=provider, tools=[weather], settings=settings, retry=Retry(wait=0), **reset)
    assert ["tool_choice" in request for request in provider.requests] == sent
    assert settings == {"tool_choice": "required"}


def test_the_schema_of_a_function_is_made_once():
    """A loop of one's own gives its functions with every request."""

    def look(name: str) -> str:
        """Look at a file."""
        return name

    [first], [again] = tool_schemas([look]), tool_schemas([look])
    assert first is again
    assert tool_schemas([partial(look, "a")])
