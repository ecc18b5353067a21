"""Tools that a provider itself has: another API refuses a request with them, so they are left out there. And Gemini's
schemas, which another API gets as JSON Schema."""

from __future__ import annotations

import json
import logging

import pytest

from transom import Conversation, Retry, fit
from transom.exporters import export
from transom.importers import import_file
from transom.providers.scripted import Fault, Scripted
from transom.stores import open_store
from transom.testing import WordCounter
from transom.wire.dialects import DIALECTS, dialect_named
from transom.wire.openai import OpenAIChatDialect
from transom.wire.rendering import render
from transom.wire.request_fields import without_choice_of

RESPONSES, ANTHROPIC, GEMINI, CHAT = {"responses"}, {"anthropic"}, {"gemini"}, {"openai"}
TYPED = RESPONSES | ANTHROPIC | CHAT

TOOLS = [
    ({"type": "web_search"}, RESPONSES | CHAT),  # servers that speak chat have it in this form too
    ({"type": "web_search_preview_2025_03_11", "search_context_size": "low"}, RESPONSES | CHAT),
    ({"type": "local_shell"}, RESPONSES),
    ({"type": "mcp", "server_label": "x", "server_url": "https://x"}, RESPONSES | CHAT),
    ({"type": "code_interpreter", "container": {"type": "auto"}}, RESPONSES),
    ({"type": "bash_20250124", "name": "bash"}, ANTHROPIC),
    ({"type": "web_search_20250305", "name": "web_search", "max_uses": 5}, ANTHROPIC),
    ({"type": "mcp_toolset", "mcp_server_name": "x"}, ANTHROPIC),
    ({"googleSearch": {}}, GEMINI),
    ({"code_execution": {}, "url_context": {}}, GEMINI),
    ({"toolOfNextYear": {}}, GEMINI),
    ({"type": "web_search", "web_search": {"enable": True}}, CHAT | RESPONSES),
    ({"type": "bing_grounding", "bing_grounding": {"search_configurations": []}}, CHAT | RESPONSES),  # of Azure
    ({"type": "image_generation"}, RESPONSES),
    ({"type": "builtin_function", "function": {"name": "$web_search"}}, CHAT),
    # nothing says whose these are
    ({"type": "code_interpreter"}, TYPED),
    ({"type": "openrouter:web_search"}, TYPED),
    ({"type": "tool_of_next_year", "name": "t"}, TYPED),
]
FAMILIES = {
    "openai": "openai",
    "mistral": "openai",
    "responses": "responses",
    "deepseek_responses": "responses",
    "anthropic": "anthropic",
    "anthropic_bedrock": "anthropic",
    "anthropic_unsigned": "anthropic",
    "gemini": "gemini",
}
FUNCTION = {"name": "look", "parameters": {"type": "object", "properties": {}}}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(("tool", "takers"), TOOLS, ids=[json.dumps(tool) for tool, _ in TOOLS])
def test_a_tool_is_sent_only_to_an_api_that_may_have_it(tool, takers, dialect):
    known = dialect_named(dialect)
    is_sent = FAMILIES[dialect] in takers
    assert known.render_tools([tool]) == ([tool] if is_sent else [])
    assert known.left_out_tools([tool]) == ([] if is_sent else [tool])
    with_function = known.render_tools([FUNCTION, tool, {**FUNCTION, "name": "again"}])
    assert (tool in with_function) == is_sent
    assert all(f'"{name}"' in json.dumps(with_function) for name in ("look", "again"))


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(("tool", "takers"), TOOLS[:3] + TOOLS[5:9])
def test_what_is_left_out_is_not_counted(tool, takers, dialect):
    counter = dialect_named(dialect).format_counter(WordCounter())
    alone, both = counter.count_tools([FUNCTION]), counter.count_tools([FUNCTION, tool])
    assert (both > alone) == (FAMILIES[dialect] in takers)


def test_a_tool_of_gemini_beside_functions_stays_there_and_is_named_elsewhere():
    mixed = {"functionDeclarations": [{"name": "look"}], "googleSearch": {}}
    assert dialect_named("gemini").render_tools([mixed]) == [mixed]
    assert dialect_named("gemini").left_out_tools([mixed]) == []
    for name in ("openai", "responses", "anthropic"):
        dialect = dialect_named(name)
        assert len(dialect.render_tools([mixed])) == 1
        assert "googleSearch" not in json.dumps(dialect.render_tools([mixed]))
        assert dialect.left_out_tools([mixed]) == [{"googleSearch": {}}]


def test_a_dialect_for_a_server_that_passes_tools_on_sends_them_all():
    tools = [tool for tool, _ in TOOLS]
    dialect = OpenAIChatDialect(foreign_tools=True)
    assert dialect.render_tools(tools) == tools
    assert dialect.left_out_tools(tools) == []


def test_without_any_tool_left_a_request_has_no_such_key():
    conv = Conversation.open("memory:", "trip", budget=8_000, dialect="anthropic")
    conv.user("Go.")
    assert "tools" not in conv.request(tools=[{"type": "web_search"}])


def test_a_fallback_gets_the_tools_that_it_has_and_one_warning_names_the_others(caplog):
    first = Scripted(Fault(status=503), "Fine.", Fault(status=503), dialect="responses")
    second = Scripted("Hello.", "Hello again.", dialect="anthropic")
    search, other = {"type": "web_search"}, {"type": "web_search_20250305", "name": "web_search"}
    settings = {"settings": {"tool_choice": {"type": "web_search"}}, "retry": Retry(attempts=1)}
    with Conversation.open("memory:", "trip", budget=8_000, dialect="responses") as conv:
        conv.run("Go.", provider=first, fallbacks=[second], tools=[search, other], readback=False, **settings)
        conv.run("On.", provider=first, fallbacks=[second], tools=[search, other], readback=False, **settings)
        conv.run("On.", provider=first, fallbacks=[second], tools=[search, other], readback=False, **settings)
    assert [request["tools"] for request in first.requests] == [[search]] * 3
    assert [request["tool_choice"] for request in first.requests] == [{"type": "web_search"}] * 3
    assert [request["tools"] for request in second.requests] == [[other]] * 2
    assert not any("tool_choice" in request for request in second.requests)
    assert [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING] == [
        f"conversation 'trip': requests in the dialect {dialect} are sent without these tools of another API: {name}. "
        "A dialect with foreign_tools=True sends them"
        for dialect, name in (("responses", "web_search_20250305"), ("anthropic", "web_search"))
    ]


def test_each_opening_warns_once_and_names_all(caplog):
    store = open_store("memory:")
    tools = [{"type": "mcp", "server_label": "x", "server_url": "https://x"}, {"googleSearch": {}}]
    for _ in range(2):
        with Conversation.open(store, "trip", budget=8_000, dialect="anthropic") as conv:
            for more in ([], [{"type": "local_shell"}], []):
                conv.user("Go.")
                conv.request(tools=[*tools, *more])
    said = [record.getMessage().partition("API: ")[2].partition(".")[0] for record in caplog.records]
    assert said == ["mcp 'x', googleSearch", "local_shell"] * 2


CHOICES = [
    ({"type": "web_search"}, None),
    ({"type": "mcp", "server_label": "x"}, None),
    ({"type": "mcp", "server_label": "y"}, {"type": "mcp", "server_label": "y"}),
    ({"type": "tool", "name": "bash"}, None),
    (
        {"type": "tool", "name": "bash", "disable_parallel_tool_use": True},
        {"type": "auto", "disable_parallel_tool_use": True},
    ),
    ({"type": "function", "name": "web_search"}, {"type": "function", "name": "web_search"}),
    ("required", "required"),
    (
        {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "web_search"}, {"type": "function", "name": "f"}]},
        {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "f"}]},
    ),
    ({"type": "allowed_tools", "mode": "required", "tools": [{"type": "web_search"}]}, "none"),
    ({"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [{"type": "web_search"}]}}, "none"),
    (
        {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [{"type": "web_search"}, {"type": "f"}]}},
        {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [{"type": "f"}]}},
    ),
]
LEFT_OUT = [
    {"type": "web_search"},
    {"type": "mcp", "server_label": "x"},
    {"type": "bash_20250124", "name": "bash"},
    {"googleSearch": {}},
]


@pytest.mark.parametrize(("given", "left"), CHOICES)
def test_a_choice_of_a_tool_that_is_left_out_goes_too(given, left):
    request = {"tools": [FUNCTION], "tool_choice": given}
    before = json.dumps(request)
    assert without_choice_of(request, LEFT_OUT, "responses").get("tool_choice") == left
    assert json.dumps(request) == before
    assert without_choice_of(request, [], "responses") == request
    assert without_choice_of({"tool_choice": given}, LEFT_OUT, "responses") == {}


@pytest.mark.parametrize(
    ("dialect", "left"),
    [
        ("anthropic", {"tools": [FUNCTION], "tool_choice": {"type": "none"}}),
        ("anthropic_bedrock", {"tools": [FUNCTION], "tool_choice": {"type": "none"}}),
        ("mistral", {"tools": [FUNCTION], "tool_choice": "none"}),
        ("gemini", {"config": {"tools": [FUNCTION], "tool_config": {"function_calling_config": {"mode": "NONE"}}}}),
    ],
)
def test_if_no_allowed_tool_is_sent_the_model_may_call_none(dialect, left):
    tools = {"config": {"tools": [FUNCTION]}} if dialect == "gemini" else {"tools": [FUNCTION]}
    given = {"type": "allowed_tools", "mode": "required", "tools": [{"type": "web_search"}]}
    assert without_choice_of({**tools, "tool_choice": given}, LEFT_OUT, dialect) == left


def test_fit_counts_the_tools_that_its_caller_sends():
    messages = [{"role": "user", "content": "word " * 40}] * 10
    tool = {"type": "web_search", "user_location": {"city": "word " * 200}}
    sizes = [len(fit(messages, budget=600, tools=tools, counter=WordCounter())) for tools in ([], [tool])]
    assert sizes[0] > sizes[1]


# ---- Gemini's schemas

OWN = {
    "type": "OBJECT",
    "properties": {
        "path": {"type": "STRING", "nullable": True, "description": "A path."},
        "kind": {"type": "STRING", "format": "enum", "enum": ["a", "b"], "nullable": True},
        "type": {"type": "ARRAY", "minItems": "1", "items": {"type": "INTEGER", "format": "int32"}},
        "nullable": {"anyOf": [{"type": "NUMBER"}, {"type": "BOOLEAN"}], "nullable": True},
        "inner": {"type": "object", "properties": {"x": {"type": "STRING"}}, "propertyOrdering": ["x"]},
        "snake": {"any_of": [{"type": "STRING", "max_length": 3}], "default": "STRING"},
    },
    "required": ["path"],
}
TRANSLATED = {
    "type": "object",
    "properties": {
        "path": {"type": ["string", "null"], "description": "A path."},
        "kind": {"type": ["string", "null"], "format": "enum", "enum": ["a", "b", None]},
        "type": {"type": "array", "minItems": 1, "items": {"type": "integer", "format": "int32"}},
        "nullable": {"anyOf": [{"type": "number"}, {"type": "boolean"}, {"type": "null"}]},
        "inner": {"type": "object", "properties": {"x": {"type": "string"}}},
        "snake": {"anyOf": [{"type": "string", "maxLength": 3}], "default": "STRING"},
    },
    "required": ["path"],
}
DECLARED = [{"functionDeclarations": [{"name": "look", "description": "d", "parameters": OWN}]}, {"googleSearch": {}}]
WRITTEN = {
    "openai": {"type": "function", "function": {"name": "look", "description": "d", "parameters": TRANSLATED}},
    "responses": {"type": "function", "name": "look", "description": "d", "parameters": TRANSLATED},
    "anthropic": {"name": "look", "description": "d", "input_schema": TRANSLATED},
}


@pytest.mark.parametrize(("dialect", "written"), WRITTEN.items())
def test_a_schema_of_gemini_is_translated_for_another_api(dialect, written):
    before = json.dumps(DECLARED)
    assert dialect_named(dialect).render_tools(DECLARED) == [written]
    assert json.dumps(DECLARED) == before


def test_a_schema_of_gemini_stays_as_it_is_there():
    assert json.dumps(dialect_named("gemini").render_tools(DECLARED)) == json.dumps(DECLARED)


@pytest.mark.parametrize(
    ("own", "written"),
    [
        ({"type": "OBJECT"}, {"type": "object", "properties": {}}),
        (
            {"type": "OBJECT", "properties": {"a": {"ref": "#/defs/A"}}, "defs": {"A": {"type": "STRING"}}},
            {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"type": "string"}}},
        ),
        (
            {"type": "OBJECT", "properties": {"a": True}, "additional_properties": {"type": "STRING"}},
            {"type": "object", "properties": {"a": True}, "additionalProperties": {"type": "string"}},
        ),
        (
            {"type": "object", "properties": {"a": {"type": ["string", "null"]}}},
            {"type": "object", "properties": {"a": {"type": ["string", "null"]}}},
        ),
    ],
)
def test_odd_schemas_of_gemini(own, written):
    tool = {"function_declarations": [{"name": "look", "parameters": own}]}
    assert dialect_named("anthropic").render_tools([tool]) == [{"name": "look", "input_schema": written}]


def test_json_schema_in_a_declaration_of_gemini_is_not_touched():
    schema = {"type": "object", "properties": {"a": {"type": "string", "nullable": True}}}
    tool = {"functionDeclarations": [{"name": "look", "parametersJsonSchema": schema}]}
    assert dialect_named("anthropic").render_tools([tool]) == [{"name": "look", "input_schema": schema}]


def test_a_conversation_of_gemini_goes_on_and_is_exported_in_another_api(tmp_path):
    file = tmp_path / "gem.json"
    file.write_text(json.dumps({"contents": [{"role": "user", "parts": [{"text": "Hi."}]}], "tools": DECLARED}))
    store = open_store("memory:")
    (imported,) = import_file(str(file), store)
    log = store.open(imported.conversation)
    assert json.loads(b"".join(export(log, "openai")))["tools"] == [WRITTEN["openai"]]
    assert json.loads(b"".join(export(log, "gemini")))["tools"] == DECLARED
    with Conversation.open(store, imported.conversation, budget=8_000, dialect="anthropic") as conv:
        assert render(conv.window(), "anthropic")["tools"] == [WRITTEN["anthropic"]]


def test_a_dialect_that_sends_all_tools_does_so_after_a_change_of_provider_too():
    dialect = OpenAIChatDialect(foreign_tools=True)
    with Conversation.open("memory:", "x", budget=10_000, dialect=dialect, counter=WordCounter()) as conversation:
        for name in ("anthropic", "openai"):
            conversation.run("Hello", provider=Scripted("Hi.", dialect=name))
            assert conversation.dialect.foreign_tools, name
