"""The names of tools, from schemas in the formats of all providers."""

from __future__ import annotations

import pytest

from transom import Conversation, Tool
from transom.core.message import Raw
from transom.core.tool import is_offered, tool_names
from transom.testing.fakes import WordCounter

NAMED: list[tuple[Raw, list[str]]] = [
    (Tool("read", "Like open").schema(), ["read"]),
    ({"type": "function", "function": {"name": "read"}}, ["read"]),
    ({"type": "custom", "custom": {"name": "read"}}, ["read"]),
    ({"type": "function", "name": "read", "parameters": {}}, ["read"]),
    ({"name": "read", "input_schema": {}}, ["read"]),
    ({"type": "bash_20250124", "name": "bash"}, ["bash"]),
    ({"functionDeclarations": [{"name": "read"}, {"name": "open"}]}, ["read", "open"]),
    ({"function_declarations": [{"name": "read"}, 5]}, ["read", ""]),
    ({"functionDeclarations": []}, []),
    ({"type": "web_search"}, []),
    ({"googleSearch": {}}, []),
    ({"type": "function", "function": {"name": 5}}, [""]),
    ({"type": "function"}, [""]),
    ({}, [""]),
]


@pytest.mark.parametrize(("schema", "names"), NAMED, ids=str)
def test_the_names_in_a_schema(schema: Raw, names: list[str]) -> None:
    assert tool_names(schema) == names
    assert is_offered("read", [schema]) == ("read" in names)


OTHER = Tool("open_page", "Opens a web page. Unlike transom_read it looks at nothing that is folded.")


@pytest.mark.parametrize(("tools", "is_told"), [([OTHER], False), ([OTHER, Tool("transom_read")], True)])
def test_a_record_tells_of_the_tool_that_reads_back_if_it_is_offered(tools: list[Tool], *, is_told: bool) -> None:
    conv = Conversation.open("memory:", "x", budget=1_000, counter=WordCounter())
    for turn in range(20):
        conv.user(f"Step {turn}: " + f"file_{turn}.py has to be mended " * 20)
        window = conv.plan_request(tools=tools)
        conv.observe({"role": "assistant", "content": "Done."})
    records = [slot.text for slot in window.slots if hasattr(slot, "text")]
    assert records
    assert all("a record of" in text and ("transom_read gives an entry" in text) == is_told for text in records)
