"""The same tools in another order are the same request: another order would break the cached prefix."""

from __future__ import annotations

import json

import pytest

import transom

NAMES = ("alpha", "beta", "gamma")


def neutral(name: str, description: str = "d") -> transom.Tool:
    return transom.Tool(name, description, {"type": "object", "properties": {"a": {"type": "string"}}})


def chat(name: str, description: str = "d") -> dict:
    return {"type": "function", "function": {"name": name, "description": description, "parameters": {}}}


def anthropic(name: str, description: str = "d") -> dict:
    return {"name": name, "description": description, "input_schema": {"type": "object"}}


def gemini(name: str, description: str = "d") -> dict:
    return {"functionDeclarations": [{"name": name, "description": description}]}


FORMS = {"openai": chat, "anthropic": anthropic, "gemini": gemini, "responses": neutral}


def tools_sent(dialect: str, *lists: list) -> list[str]:
    """The tools of each request as JSON."""
    with transom.Conversation.open("memory:", "x", budget=20_000, dialect=dialect) as conv:
        sent = []
        for tools in lists:
            conv.user("Go on")
            request = conv.request(tools=tools)
            sent.append(json.dumps(request["tools"] if "tools" in request else request["config"]["tools"]))
        return sent


@pytest.mark.parametrize("dialect", FORMS)
def test_another_order_of_the_same_tools_changes_nothing(dialect):
    tools = [FORMS[dialect](name) for name in NAMES]
    first, second, third = tools_sent(dialect, tools, tools[::-1], [tools[1], tools[2], tools[0]])
    assert first == second == third


def test_new_tools_stand_behind_the_known_ones():
    a, b, c = map(chat, NAMES)
    search = {"type": "openrouter:web_search"}
    sent = tools_sent("openai", [b, a], [c, a, b], [search, c, a, b], [a, search, c])
    names = [[tool.get("function", {"name": "search"})["name"] for tool in json.loads(each)] for each in sent]
    assert names == [
        ["beta", "alpha"],
        ["beta", "alpha", "gamma"],
        ["beta", "alpha", "gamma", "search"],
        ["alpha", "gamma", "search"],
    ]


def test_a_tool_that_changed_keeps_its_place():
    a, b, _ = map(chat, NAMES)
    changed = chat("alpha", "another")
    assert json.loads(tools_sent("openai", [a, b], [b, changed])[1]) == [changed, b]


def test_another_order_of_keys_changes_nothing():
    a, b, _ = map(chat, NAMES)
    turned = {"function": dict(reversed(a["function"].items())), "type": "function"}
    first, second = tools_sent("openai", [a, b], [b, turned])
    assert first == second


def server(label: str) -> dict:
    return {"type": "mcp", "server_label": label, "server_url": f"https://{label}.org"}


SAME = {
    "MCP servers of the provider": ("responses", [server("a"), server("b")], [server("b"), server("a")]),
    "the declarations of one Gemini tool": (
        "gemini",
        [{"functionDeclarations": [{"name": "a"}, {"name": "b"}]}, {"googleSearch": {}}],
        [{"googleSearch": {}}, {"functionDeclarations": [{"name": "b"}, {"name": "a"}]}],
    ),
    "the names of required arguments": (
        "anthropic",
        [{"name": "a", "input_schema": {"type": "object", "required": ["x", "y"]}}],
        [{"name": "a", "input_schema": {"type": "object", "required": ["y", "x"]}}],
    ),
}


@pytest.mark.parametrize("case", SAME)
def test_what_has_no_order_within_the_tools(case):
    dialect, before, after = SAME[case]
    first, second = tools_sent(dialect, before, after)
    assert first == second


def test_a_changed_server_replaces_the_one_with_its_label():
    moved = {**server("a"), "server_url": "https://moved.org"}
    first, second = tools_sent("responses", [server("a"), server("b")], [server("b"), moved])
    assert second == first.replace("https://a.org", "https://moved.org")
