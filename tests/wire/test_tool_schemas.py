"""Tool schemas in every dialect: a dialect's own stay as they are, all others are translated and counted as sent."""

from __future__ import annotations

import json

import pytest
from windows import viewed

from transom import Conversation, Tool
from transom.core.codec import decode, encode
from transom.core.entry import Entry
from transom.core.message import Head, Text, User
from transom.errors import InvalidMessage, InvalidSetting
from transom.testing import WordCounter
from transom.wire.dialects import DIALECTS, dialect_named
from transom.wire.rendering import render

SCHEMA = {"type": "object", "properties": {"to": {"type": "string"}}, "additionalProperties": False}
TOOL = Tool("flights", "Finds flights.", SCHEMA)

CHAT = {"type": "function", "function": {"name": "flights", "description": "Finds flights.", "parameters": SCHEMA}}
RESPONSES = {"type": "function", "name": "flights", "description": "Finds flights.", "parameters": SCHEMA}
ANTHROPIC = {"name": "flights", "description": "Finds flights.", "input_schema": SCHEMA}
DECLARATION = {"name": "flights", "description": "Finds flights.", "parametersJsonSchema": SCHEMA}
GEMINI = {"functionDeclarations": [DECLARATION]}

FORMS = {
    "openai": CHAT,
    "mistral": CHAT,
    "responses": RESPONSES,
    "deepseek_responses": RESPONSES,
    "anthropic": ANTHROPIC,
    "anthropic_bedrock": ANTHROPIC,
    "anthropic_unsigned": ANTHROPIC,
    "gemini": GEMINI,
}
GIVEN = {"neutral": TOOL.schema(), **FORMS}


@pytest.mark.parametrize("given", GIVEN.values(), ids=GIVEN)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_renders_a_tool_from_every_format(given, dialect):
    assert dialect_named(dialect).render_tools([given]) == [FORMS[dialect]]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_schema_in_the_dialects_own_format_stays_as_it_is(dialect):
    own = {**FORMS[dialect], "strict": True, "later": {"z": 1, "a": 2}}
    assert json.dumps(dialect_named(dialect).render_tools([own])) == json.dumps([own])


OWN = {
    "responses": {"type": "web_search"},
    "anthropic": {"type": "web_search_20250305", "name": "web_search"},
    "gemini": {"googleSearch": {}},
    "openai": {"type": "custom", "custom": {"name": "sh"}},
}


@pytest.mark.parametrize(("dialect", "own"), OWN.items(), ids=OWN)
def test_a_providers_own_tool_stays_as_it_is_and_in_its_place(dialect, own):
    rendered = dialect_named(dialect).render_tools([TOOL.schema(), own, TOOL.schema()])
    assert rendered == [FORMS[dialect], own, FORMS[dialect]]


def test_neighbouring_tools_are_one_declaration_for_gemini():
    assert dialect_named("gemini").render_tools([TOOL.schema(), CHAT]) == [
        {"functionDeclarations": [DECLARATION, DECLARATION]}
    ]


def test_a_tool_needs_only_a_name():
    assert dialect_named("anthropic").render_tools([Tool("now").schema()]) == [
        {"name": "now", "input_schema": {"type": "object", "properties": {}}}
    ]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("given", [TOOL, ANTHROPIC, GEMINI])
def test_a_request_carries_its_tools_and_counts_what_is_sent(dialect, given):
    conv = Conversation.open("memory:", "x", budget=8_000, dialect=dialect, counter=WordCounter())
    conv.user("go")
    bare = conv.plan_request().size
    window = conv.plan_request(tools=[given])
    body = render(window, dialect)
    assert body["tools"] == [FORMS[dialect]]
    sent = json.dumps(body["tools"], separators=(",", ":"))
    assert window.size.tokens - bare.tokens == WordCounter().count(sent[1:-1])
    if given is TOOL:
        assert window.size.bytes - bare.bytes >= len(sent) - 2
    assert conv.head.tools == ((TOOL.schema() if given is TOOL else given),)


def test_a_request_without_tools_has_no_such_key():
    view = viewed(Head(), User(parts=(Text("go"),)))
    keys = {name: list(render(view, name)) for name in DIALECTS}
    assert keys == {
        "openai": ["messages"],
        "mistral": ["messages"],
        "responses": ["input"],
        "deepseek_responses": ["input"],
        "anthropic": ["messages"],
        "anthropic_bedrock": ["messages"],
        "anthropic_unsigned": ["messages"],
        "gemini": ["contents"],
    }


def test_the_arguments_of_geminis_sdk():
    gemini = dialect_named("gemini")
    head = Head(messages=tuple(gemini.parse_system("be brief")), tools=(TOOL.schema(),))
    body = render(viewed(head, User(parts=(Text("go"),))), "gemini")
    assert list(body) == ["systemInstruction", "contents", "tools"]
    assert gemini.arguments(body) == {
        "contents": [{"role": "user", "parts": [{"text": "go"}]}],
        "config": {"system_instruction": {"parts": [{"text": "be brief"}]}, "tools": [GEMINI]},
    }
    assert gemini.arguments({"contents": []}) == {"contents": []}


def test_a_stored_head_reads_as_it_was():
    line = b'{"seq":0,"at":0.0,"body":{"kind":"head","tools":[{"type":"function","function":{"name":"sh"}}]}}'
    head = decode(line).body
    assert head == Head(tools=({"type": "function", "function": {"name": "sh"}},))
    entry = Entry(seq=0, at=0.0, body=Head(tools=(TOOL.schema(),)))
    assert decode(encode(entry)) == entry


def test_facts_stored_without_a_dialect_are_openais():
    fact = decode(b'{"seq":0,"at":0.0,"body":{"kind":"user","parts":[{"part":"text","text":"go"}]}}').body
    assert fact == User(parts=(Text("go"),), dialect="openai")
    assert b"dialect" not in encode(Entry(seq=0, at=0.0, body=User(parts=(Text("go"),))))


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({"name": ""}, "tool: name must be a text of at least one character, not ''"),
        ({"name": 5}, "tool: name must be a text of at least one character, not 5"),
        ({"name": "a", "description": 5}, "tool 'a': description must be a text, not 5"),
        ({"name": "a", "parameters": 5}, "tool 'a': parameters must be a JSON schema, not 5"),
    ],
)
def test_a_tool_that_is_none_is_refused(fields, line):
    with pytest.raises(InvalidSetting) as refused:
        Tool(**fields)
    assert str(refused.value) == line


TWICE = "request: tools[1]: there is already a tool named 'flights'"


@pytest.mark.parametrize(
    ("tools", "line"),
    [
        ([{}], "request: tools[0] has no name"),
        ([{"type": "function"}], "request: tools[0] has no name"),
        ([{"type": "function", "function": {}}], "request: tools[0] has no name"),
        ([{"name": "", "description": "", "parameters": {}}], "request: tools[0] has no name"),
        ([TOOL, {"type": "custom", "custom": {}}], "request: tools[1] has no name"),
        ([TOOL, {"functionDeclarations": [{}]}], "request: tools[1] has no name"),
        *(([TOOL, form], TWICE) for form in GIVEN.values()),
    ],
)
def test_a_request_refuses_tools_that_are_none(tools, line):
    conv = Conversation.open("memory:", "x", budget=1_000, counter=WordCounter())
    conv.user("go")
    with pytest.raises(InvalidMessage) as refused:
        conv.request(tools=tools)
    assert str(refused.value) == line
    assert len(conv.log) == 1


@pytest.mark.parametrize(("dialect", "own"), OWN.items(), ids=OWN)
def test_a_request_takes_a_providers_own_tool(dialect, own):
    conv = Conversation.open("memory:", "x", budget=1_000, counter=WordCounter(), dialect=dialect)
    conv.user("go")
    assert conv.plan_request(tools=[own, TOOL]).view.head.tools == (own, TOOL.schema())


FREE_TEXT = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "custom", "custom": {"name": "sql", "description": "Run it.", "format": {"type": "text"}}},
        {"type": "custom", "name": "sql", "description": "Run it."},
    ],
)
def test_a_tool_that_takes_a_text_has_one_argument_elsewhere(schema):
    declaration = {"name": "sql", "description": "Run it.", "parametersJsonSchema": FREE_TEXT}
    assert dialect_named("gemini").render_tools([schema]) == [{"functionDeclarations": [declaration]}]
