"""Messages of LangChain, pydantic-ai and the OpenAI Agents SDK go in as they are, and come back: the originals where
nothing was changed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from agents import Agent
from agents.items import MessageOutputItem, ModelResponse, ToolCallItem
from agents.usage import Usage as AgentsUsage
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
from pydantic_ai import messages as p
from pydantic_ai.usage import RequestUsage

from transom import Conversation, InvalidMessage, InvalidSetting, Trim, fit, render
from transom.adapters.openai_agents import TransomProvider
from transom.core.message import Assistant, Instruction, Media, Text, ToolResult, Usage, User
from transom.wire.frameworks import FORMATS, langchain_json


def output(call: str) -> str:
    """Some thousand tokens, which no other call returns."""
    return "\n".join(f"line {line} of {call} has {line * 7919 % 1_000} bytes" for line in range(400))


def langchain_history(turns: int) -> list[Any]:
    history: list[Any] = [SystemMessage("Be kind.", id="system"), HumanMessage("Read the files.", id="task")]
    for turn in range(turns):
        calls = [{"name": "read", "args": {"file": f"{turn}{side}"}, "id": f"call_{turn}{side}"} for side in "ab"]
        history.append(AIMessage("Reading.", tool_calls=calls, id=f"ai_{turn}", response_metadata={"turn": turn}))
        history += [
            ToolMessage(output(call["id"]), tool_call_id=call["id"], id=f"of {call['id']}", artifact=turn)
            for call in calls
        ]
    return history


def pydantic_history(turns: int) -> list[Any]:
    parts = [p.SystemPromptPart("Be kind."), p.UserPromptPart("Read the files.")]
    history: list[Any] = [p.ModelRequest(parts=parts, instructions="Answer in French.")]
    for turn in range(turns):
        calls = [p.ToolCallPart("read", {"file": f"{turn}{side}"}, f"call_{turn}{side}") for side in "ab"]
        history.append(p.ModelResponse(parts=[p.ThinkingPart("Hm."), p.TextPart("Reading."), *calls]))
        returns = [p.ToolReturnPart("read", output(call.tool_call_id), call.tool_call_id) for call in calls]
        history.append(p.ModelRequest(parts=returns, instructions="Answer in French."))
    return history


def same(first: list[Any], second: list[Any]) -> list[bool]:
    """Whether each of the first is an object of the second."""
    known = {id(each) for each in second}
    return [id(each) in known for each in first]


def test_a_short_list_of_langchain_comes_back_as_it_is() -> None:
    history = langchain_history(1)
    fitted = fit(history, budget=100_000)
    assert [id(each) for each in fitted] == [id(each) for each in history]


def test_a_long_list_of_langchain_keeps_its_ids_beside_one_text_of_ours() -> None:
    history = langchain_history(12)
    fitted = fit(history, budget=40_000)
    assert sum(same(fitted, history)) >= 5
    assert (fitted[0], fitted[1]) == (history[0], history[1])
    (ours,) = [each for each in fitted if each.id is None]
    assert type(ours) is HumanMessage
    assert "read" in ours.text


def test_a_changed_message_of_langchain_keeps_its_id_and_its_metadata() -> None:
    conversation = Conversation.open("memory:", "c", budget=100_000)
    history = langchain_history(2)[1:]
    conversation.extend(history)
    conversation.edit(Trim(entry=2, part=("text", 0), note="[left out]"))
    messages = render(conversation.plan_request(), "langchain", originals=history)["messages"]
    assert same(messages, history) == [True, True, False, True, True, True, True]
    assert (messages[2].id, messages[2].artifact, messages[2].content) == ("of call_0a", 0, "[left out]")
    assert history[2].content == output("call_0a")


@pytest.mark.parametrize(
    "thought",
    [
        {"type": "thinking", "thinking": "So …", "signature": "x"},
        {"type": "redacted_thinking", "data": "x"},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "So …"}]},
        {"type": "reasoning", "reasoning": "So …", "extras": {"signature": "x"}},
    ],
    ids=["signed", "redacted", "encrypted", "stored", "standard"],
)
def test_reasoning_that_is_signed_is_left_out_once_its_prefix_has_changed(thought: dict[str, Any]) -> None:
    history = langchain_history(12)
    last = history[-3]
    history[-3] = AIMessage([thought, {"type": "text", "text": "Reading."}], tool_calls=last.tool_calls, id=last.id)
    whole = fit(history, budget=1_000_000)
    assert whole[-3] is history[-3]
    cut = fit(history, budget=40_000)
    assert cut[-3].content == [{"type": "text", "text": "Reading."}]
    assert (cut[-3].id, cut[-3].tool_calls) == (last.id, last.tool_calls)


@pytest.mark.parametrize("text", ["So …", ""], ids=["signed", "encrypted"])
def test_signed_reasoning_of_pydantic_ai_is_left_out_likewise(text: str) -> None:
    history = pydantic_history(12)
    last = history[-2]
    history[-2] = p.ModelResponse(
        parts=[p.ThinkingPart(text, id="rs_1", signature="x", provider_name="openai"), *last.parts[1:]]
    )
    assert fit(history, budget=1_000_000)[-2] is history[-2]
    assert fit(history, budget=40_000)[-2].parts == last.parts[1:]


def test_what_langchain_takes_beside_its_own_messages() -> None:
    given = [{"role": "user", "content": "hi"}, RemoveMessage(id="gone"), AIMessage("hello")]
    assert fit(given, budget=10_000) == [given[0], given[2]]


def test_dicts_beside_messages_of_langchain_are_changed_as_dicts() -> None:
    long = output("a call")
    call = {"id": "b", "type": "function", "function": {"name": "write", "arguments": json.dumps({"text": long})}}
    given: list[Any] = [
        {"role": "user", "content": "Copy it."},
        AIMessage("", tool_calls=[{"name": "read", "args": {}, "id": "a"}]),
        {"role": "tool", "tool_call_id": "a", "content": long, "id": "first"},
        {"role": "assistant", "content": None, "tool_calls": [call], "name": "copier"},
        {"role": "tool", "tool_call_id": "b", "content": "done"},
        HumanMessage("And now?"),
    ]
    conversation = Conversation.open("memory:", "c", budget=100_000)
    conversation.extend(given)
    conversation.edit(Trim(entry=2, part=("text", 0), note="[left out]"))
    conversation.edit(Trim(entry=3, part=("args", 0), note='{"whole_in": "entry 3"}'))
    messages = render(conversation.plan_request(), "langchain", originals=given)["messages"]
    assert same(messages, given) == [True, True, False, False, True, True]
    assert messages[2] == {**given[2], "content": "[left out]"}
    function = {"name": "write", "arguments": '{"whole_in": "entry 3"}'}
    assert messages[3] == {**given[3], "tool_calls": [{**call, "function": function}]}
    assert type(fit(given, budget=2_500)[-1]) is HumanMessage


def test_a_reply_of_langchain_is_logged_with_its_usage() -> None:
    conversation = Conversation.open("memory:", "c", budget=10_000)
    conversation.user("hi")
    details = {"input_token_details": {"cache_read": 4}, "output_token_details": {"reasoning": 2}}
    usage: Any = {"input_tokens": 10, "output_tokens": 3, "total_tokens": 13, **details}
    conversation.observe(AIMessage("hello", usage_metadata=usage))
    turn = conversation.log[len(conversation.log) - 1].body
    assert turn == Assistant(parts=(Text("hello"),), usage=Usage(prompt=10, cached=4, output=3, reasoning=2))


def test_a_list_of_pydantic_ai_keeps_its_objects_and_its_instructions() -> None:
    history = pydantic_history(12)
    assert [id(each) for each in fit(history[:3], budget=100_000)] == [id(each) for each in history[:3]]
    fitted = fit(history, budget=40_000)
    assert sum(same(fitted, history)) >= 3
    assert fitted[0] is history[0]
    assert fitted[-1].instructions == "Answer in French."


def test_a_request_of_which_one_part_is_changed_keeps_the_others() -> None:
    history = pydantic_history(1)
    conversation = Conversation.open("memory:", "c", budget=100_000)
    conversation.extend(history)
    result = next(at for at in range(9) if isinstance(conversation.log[at].body, ToolResult))
    conversation.edit(Trim(entry=result, part=("text", 0), note="[left out]"))
    messages = render(conversation.plan_request(), "pydantic_ai", originals=history)["messages"]
    first, second = messages[-1].parts
    assert (first.content, first.tool_call_id) == ("[left out]", "call_0a")
    assert second is history[-1].parts[1]
    assert messages[1] is history[1]


CHART = "a chart of the months and what was sold in each of them"


def test_images_of_a_tool_of_pydantic_ai_are_images() -> None:
    image = p.BinaryContent(b"GIF89a", media_type="image/gif")
    history = pydantic_history(1)
    media = Media("image", {"type": "image_url", "image_url": {"url": "data:image/gif;base64,R0lGODlh"}})
    texts = (Text(CHART), Text('{"of":3}'))
    for returned, parts in ((image, (media,)), ([CHART, {"of": 3}, image], (*texts, media))):
        history[-1] = p.ModelRequest(parts=[p.ToolReturnPart("read", returned, "call_0a"), history[-1].parts[-1]])
        conversation = Conversation.open("memory:", "c", budget=100_000)
        conversation.extend(history)
        result = next(entry for entry in conversation.log.read() if isinstance(entry.body, ToolResult))
        assert result.body.parts == parts
        messages = render(conversation.plan_request(), "pydantic_ai", originals=history)["messages"]
        assert messages[-1] is history[-1]
    conversation.edit(Trim(entry=result.seq, part=("text", 0), note="[left out]"))
    messages = render(conversation.plan_request(), "pydantic_ai", originals=history)["messages"]
    assert messages[-1].parts[0].content == ["[left out]", '{"of":3}', image]


def test_the_facts_of_pydantic_ai() -> None:
    conversation = Conversation.open("memory:", "c", budget=10_000)
    conversation.extend(pydantic_history(1)[:2])
    bodies = [entry.body for entry in conversation.log.read()]
    assert [type(each) for each in bodies] == [Instruction, Instruction, User, Assistant]
    usage = RequestUsage(input_tokens=10, cache_read_tokens=4, output_tokens=3)
    conversation.observe(p.ModelResponse(parts=[p.TextPart("hello")], usage=usage))
    last = conversation.log[len(conversation.log) - 1].body
    assert last == Assistant(parts=(Text("hello"),), usage=Usage(prompt=10, cached=4, output=3))


def agents_items() -> tuple[Any, Any]:
    call = ResponseFunctionToolCall(call_id="call_1", name="read", arguments="{}", type="function_call")
    text = ResponseOutputText(text="hello", type="output_text", annotations=[])
    said = ResponseOutputMessage(id="m", content=[text], role="assistant", status="completed", type="message")
    return call, said


def test_a_provider_of_the_agents_sdk_without_a_session_says_what_is_missing() -> None:
    with pytest.raises(InvalidSetting, match=r'provider\.for_session\("trip"\)'):
        TransomProvider("memory:", budget=10_000).get_model("gpt-5")


def test_items_and_responses_of_the_agents_sdk() -> None:
    call, said = agents_items()
    agent = Agent("a")
    conversation = Conversation.open("memory:", "c", budget=10_000, dialect="responses")
    items = [{"role": "user", "content": "hi"}, MessageOutputItem(agent, said), ToolCallItem(agent, call)]
    conversation.extend(items)
    assert [type(entry.body) for entry in conversation.log.read()] == [User, Assistant]
    conversation.tool_result("call_1", "done")
    spent: Any = AgentsUsage(requests=1, input_tokens=10, output_tokens=3, total_tokens=13)
    conversation.observe(ModelResponse(output=[said], usage=spent, response_id=None))
    last = conversation.log[len(conversation.log) - 1].body
    assert isinstance(last, Assistant)
    assert isinstance(last.parts[0], Text)
    assert (last.parts[0].text, last.usage) == ("hello", Usage(prompt=10, output=3))


def test_what_is_no_reply_of_a_framework_is_refused() -> None:
    _, said = agents_items()
    conversation = Conversation.open("memory:", "c", budget=10_000)
    with pytest.raises(InvalidMessage, match="a ModelResponse is needed, not MessageOutputItem"):
        conversation.observe(MessageOutputItem(Agent("a"), said))
    message = type("Message", (), {"__module__": "agent_framework._types", "role": "user", "contents": []})()
    with pytest.raises(InvalidMessage, match="role must be assistant, not 'user'"):
        conversation.observe(message)


@pytest.mark.parametrize("odd", [None, 3, "x", {}, HumanMessage("x"), p.ModelRequest(parts=[])])
@pytest.mark.parametrize("name", FORMATS)
def test_a_format_refuses_what_is_no_reply(name: str, odd: Any) -> None:
    with pytest.raises(InvalidMessage):
        FORMATS[name].read_reply(odd)


def test_messages_of_the_agents_sdk_without_ids_of_the_api_keep_its_own() -> None:
    beside = {"role": "assistant", "type": "message", "status": "completed", "provider_data": {"model": "m"}}
    items: list[Any] = [{"role": "user", "content": "hi"}]
    for word in ("one", "two"):
        said = [{"type": "output_text", "text": word, "annotations": []}]
        items += [{**beside, "id": "__fake_id__", "content": said}, {"role": "user", "content": "and"}]
    conversation = Conversation.open("memory:", "c", budget=10_000, dialect="responses")
    conversation.extend(items)
    answers = [item for item in FORMATS["openai_agents"].write(conversation.view, {}) if item["role"] == "assistant"]
    assert [(item["id"], item["content"][0]["text"]) for item in answers] == [
        ("__fake_id__", each) for each in ("one", "two")
    ]


def test_what_is_no_message_is_refused_with_its_place() -> None:
    with pytest.raises(InvalidMessage, match="message 1: a ModelRequest or a ModelResponse is needed, not dict"):
        fit([pydantic_history(0)[0], {"role": "user", "content": "hi"}], budget=10_000)
    with pytest.raises(InvalidSetting, match="digest_role: not for messages of langchain"):
        fit(langchain_history(0), budget=10_000, digest_role="developer")
    conversation = Conversation.open("memory:", "c", budget=10_000)
    with pytest.raises(InvalidMessage, match="a ModelResponse is needed"):
        conversation.observe(p.ModelRequest(parts=[p.UserPromptPart("hi")]))
    assert len(conversation.log) == 0


def test_equal_messages_keep_their_own_objects() -> None:
    history = [HumanMessage("ok", id="first"), AIMessage("yes", id="a"), HumanMessage("ok", id="second")]
    conversation = Conversation.open("memory:", "c", budget=10_000)
    conversation.extend(history)
    messages = render(conversation.plan_request(), "langchain", originals=history)["messages"]
    assert [each.id for each in messages] == ["first", "a", "second"]


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_owns_only_its_objects(name: str) -> None:
    own = {"langchain": HumanMessage("hi"), "pydantic_ai": pydantic_history(0)[0], "openai_agents": None}
    others = [value for other, value in own.items() if other != name]
    assert not any(FORMATS[name].owns(value) for value in [*others, {}, "x", None, 3])


@pytest.mark.parametrize("odd", ["text", ("user", "text"), None])
def test_a_list_of_langchain_with_something_else_is_refused(odd: Any) -> None:
    with pytest.raises(InvalidMessage):
        fit([HumanMessage("Go"), odd], budget=3_000)


def test_arguments_that_nest_too_deep_to_be_read_are_written_as_text() -> None:
    deep = '{"a":' * 50_000
    call = {"id": "call_1", "type": "function", "function": {"name": "sh", "arguments": deep}}
    written = langchain_json.from_chat({"role": "assistant", "content": None, "tool_calls": [call]})["data"]
    invalid = {"name": "sh", "args": deep, "id": "call_1", "error": None, "type": "invalid_tool_call"}
    assert (written["tool_calls"], written["invalid_tool_calls"]) == ([], [invalid])
