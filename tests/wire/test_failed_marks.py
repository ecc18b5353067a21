"""A result that failed says so in every dialect: by the API's own field, or by one mark in front of its text."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

import transom
from transom import texts
from transom.core.message import Assistant, Call, Text, ToolResult
from transom.core.summary import SourceTurn
from transom.providers.scripted import Scripted, call
from transom.strategies.actions.action import UNKNOWN
from transom.strategies.actions.outcome import outcome_of, outcome_text
from transom.summaries.flat_text import written_of
from transom.testing import WordCounter
from transom.wire.dialects import DIALECTS, dialect_named

IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
FAILED = {"type": "tool_result", "tool_use_id": "t1", "content": "no such page", "is_error": True}
MCP = {"content": [{"type": "text", "text": "no such page"}], "isError": True}


def fetch(page: str) -> object:
    """Fetch a page."""
    if page == "raises":
        raise ValueError("no such page")
    return {
        "mcp": MCP,
        "image": {"content": [{"type": "image", "data": "aWk=", "mimeType": "image/png"}], "isError": True},
    }[page]


def shown(body: dict[str, Any]) -> tuple[bool, str]:
    """Whether the last result of a request says by a field of the API that it failed, and its text."""
    if "contents" in body:
        found = [part for each in body["contents"] for part in each["parts"] if "functionResponse" in part][-1]
        ((key, text),) = found["functionResponse"]["response"].items()
        return key == "error", text
    if "input" in body:
        outputs = [item for item in body["input"] if item.get("type") == "function_call_output"]
        return False, _text(outputs[-1]["output"])
    for message in reversed(body["messages"]):
        if message["role"] == "tool":
            return False, _text(message["content"])
        content = message["content"] if isinstance(message["content"], list) else []
        for block in content:
            if block["type"] == "tool_result":
                return block.get("is_error", False), _text(block["content"])
    raise AssertionError("no result")


def _text(content: object) -> str:
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)  # type: ignore[union-attr]


def has_field(dialect: str) -> bool:
    return dialect.startswith("anthropic") or dialect == "gemini"


def ran(dialect: str, **arguments: object) -> transom.Conversation:
    conv = transom.Conversation.open("memory:", "x", budget=20_000, dialect=dialect)
    conv.run("Go", provider=Scripted(call("fetch", page="raises"), "ok", dialect=dialect), tools=[fetch], **arguments)
    return conv


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("page", ["raises", "mcp"])
def test_a_tool_that_fails(dialect: str, page: str) -> None:
    with transom.Conversation.open("memory:", "x", budget=20_000, dialect=dialect) as conv:
        conv.run("Go", provider=Scripted(call("fetch", page=page), "ok", dialect=dialect), tools=[fetch])
        why = {"raises": "ValueError: no such page", "mcp": "no such page"}[page]
        body = conv.request()
        assert shown(body) == ((True, why) if has_field(dialect) else (False, f"[failed] {why}"))
        assert dialect_named(dialect).violations(body) == []
        found = [entry.body for entry in conv.log.read() if isinstance(entry.body, ToolResult)]
        assert [(each.failed, each.parts[0].text) for each in found] == [(True, why)]  # type: ignore[union-attr]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("verdict", [False, "Too much."])
def test_a_call_that_is_not_approved(dialect: str, verdict: object) -> None:
    why = texts.not_approved("" if verdict is False else "Too much.")
    with ran(dialect, approve=lambda _: verdict) as conv:
        assert shown(conv.request()) == ((True, why) if has_field(dialect) else (False, f"[failed] {why}"))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_result_of_ones_own_loop_and_of_another_api(dialect: str) -> None:
    use = {"type": "tool_use", "id": "t1", "name": "fetch", "input": {}}
    history = [{"role": "user", "content": "Go"}, {"role": "assistant", "content": [use]}]
    with transom.Conversation.from_messages(history, dialect="anthropic", budget=20_000) as conv:
        conv.tool_result("t1", "no such page", failed=True)
        body = transom.render(conv.window(), dialect)
        assert shown(body)[1] == ("no such page" if has_field(dialect) else "[failed] no such page")
    with transom.Conversation.from_messages(
        [*history, {"role": "user", "content": [FAILED]}], dialect="anthropic", budget=20_000
    ) as conv:
        assert transom.render(conv.window(), dialect) == body


def test_the_mark_survives_a_trim_of_the_text() -> None:
    """A window that hardly fits has a reference in place of the result: what failed has failed there too."""
    history = [
        {"role": "user", "content": "Go"},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "fetch", "arguments": "{}"}}]},
    ]  # fmt: skip
    with transom.Conversation.from_messages(history, budget=200) as conv:
        conv.tool_result("c", "word " * 2_000, failed=True)
        assert shown(conv.request())[1].startswith("[failed] ")
        assert conv.window().tokens <= 200


@pytest.mark.parametrize("dialect", ["openai", "mistral", "responses"])
def test_a_failed_result_without_a_text(dialect: str) -> None:
    with transom.Conversation.open("memory:", "x", budget=20_000, dialect=dialect) as conv:
        conv.run("Go", provider=Scripted(call("fetch", page="image"), "ok", dialect=dialect), tools=[fetch])
        body = conv.request()
        assert shown(body)[1].startswith("[failed]")
        assert dialect_named(dialect).violations(body) == []


@pytest.mark.parametrize("dialect", ["openai", "responses"])
def test_a_result_that_says_so_is_read_as_failed_and_comes_out_unchanged(dialect: str) -> None:
    with ran(dialect) as conv:
        body = conv.request()
    messages = body["input" if dialect == "responses" else "messages"]
    with transom.Conversation.from_messages(messages, dialect=dialect, budget=20_000) as again:
        found = [entry.body.failed for entry in again.log.read() if isinstance(entry.body, ToolResult)]
        assert found == [True]
        assert json.dumps(again.request()["input" if dialect == "responses" else "messages"]) == json.dumps(messages)
        assert shown(transom.render(again.window(), "anthropic"))[0]


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("[failed] no such page", "no such page"),
        ("[failed]  two blanks", " two blanks"),
        ("[failed]", "[failed]"),
        ("[failed]no blank", "[failed]no blank"),
        ("[failed] ", "[failed] "),
        ("[failed]\nTraceback", "[failed]\nTraceback"),
        ("[failed]: x", "[failed]: x"),
        ("[failed] [failed] x", "[failed] [failed] x"),
    ],
)
def test_a_mark_that_was_read_comes_out_unchanged_and_not_beside_the_field_of_another_api(
    text: str, plain: str
) -> None:
    asked = {"id": "c", "type": "function", "function": {"name": "fetch", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "Go"},
        {"role": "assistant", "content": None, "tool_calls": [asked]},
        {"role": "tool", "tool_call_id": "c", "content": text},
    ]
    with transom.Conversation.from_messages(messages, budget=20_000) as conv:
        assert conv.request()["messages"] == messages
        assert shown(transom.render(conv.window(), "anthropic")) == (True, plain)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_ones_own_loop_says_to_have_gone_well_is_not_read_as_failed(dialect: str) -> None:
    with transom.Conversation.open("memory:", "x", budget=20_000, dialect=dialect) as conv:
        conv.user("Go")
        conv.append(Assistant(calls=(Call("c12345678", "fetch", "{}"),)))
        conv.tool_result("c12345678", "[failed] is one of the states")
        assert shown(conv.request()) == (False, "[failed] is one of the states")


def test_the_mark_is_counted() -> None:
    fact = ToolResult(parts=(Text("no such page"),), call="c", failed=True)
    for dialect in DIALECTS:
        counter = dialect_named(dialect).format_counter(WordCounter())
        more = counter.count_envelope(fact) - counter.count_envelope(replace(fact, failed=False))
        count = WordCounter().count
        needed = 0 if has_field(dialect) else count("[failed] no such page") - count("no such page")
        assert needed <= more <= needed + 1


def test_whoever_reads_it_again_is_told() -> None:
    """Records, `transom_read` and what a summarizer is given show the log's text, and say that the call failed."""
    with ran("openai", approve=lambda _: "Too much.") as conv:
        seq = next(entry.seq for entry in conv.log.read() if isinstance(entry.body, ToolResult))
        assert conv.readback("transom_read", json.dumps({"ref": f"entry {seq}"})).startswith(
            f"[entry {seq}, tool fetch, failed: line 1 of 1]"
        )
        fact = conv.log[seq].body
        refused = outcome_of(fact)
        assert (refused.status, outcome_text(UNKNOWN, refused)) == ("refused", "not approved")  # it failed at nothing
    rejected = replace(fact, parts=(Text(texts.rejected("Too much.")),))
    assert outcome_text(UNKNOWN, outcome_of(rejected)) == "refused by the user"
    marked = ToolResult(parts=(Text("[failed] ValueError: no such page"),), call="c", failed=True)
    assert outcome_text(UNKNOWN, outcome_of(marked)) == "failed: «ValueError: no such page»"
    turn = SourceTurn(
        key=7, facts=(Assistant(calls=(Call("c", "fetch", "{}"),)), replace(marked, parts=(Text("no page"),)))
    )
    assert [*written_of(turn, WordCounter(), 100)][-1] == ("result of fetch", "[failed] no page")
