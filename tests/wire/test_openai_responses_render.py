"""What each kind of fact is said as, and what is mended on the way out."""

from __future__ import annotations

import pytest
from responses_kit import planned, read, request_of, tokens_of, told

from transom import texts
from transom.conversation.conversation import Conversation
from transom.core.budget import Budget
from transom.core.edit import Fold, Trim
from transom.core.message import (
    Assistant,
    Call,
    Failure,
    Handoff,
    Instruction,
    Media,
    Note,
    Other,
    Reasoning,
    Recalled,
    Text,
    ToolResult,
    User,
)
from transom.core.window import assemble
from transom.errors import InvalidMessage
from transom.policies import policy_named
from transom.stores import MemoryStore
from transom.testing import WordCounter, image
from transom.wire.openai import OPENAI_CHAT
from transom.wire.rendering import render_messages
from transom.wire.responses import DEEPSEEK_RESPONSES, RESPONSES

USER = {"role": "user", "content": "hi"}
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "Zm9v" * 50}
CALL = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "a",
    "name": "sh",
    "arguments": '{"cmd": "ls -la /somewhere"}',
}
OUTPUT = {"type": "function_call_output", "call_id": "a", "output": "ok"}
SEARCH = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"query": "x"}}
SAID = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "phase": "commentary",
    "content": [{"type": "output_text", "text": "hello there, this is a text", "annotations": []}],
}
EASY = {"type": "message", "role": "assistant", "phase": "commentary", "content": "hello there, this is a text"}
"""The message without its id, as the SDK's types take it."""
DONE = {"role": "assistant", "content": "done"}
LEFT_OUT = {"role": "assistant", "content": "[part left out]"}


def shown(*facts, dialect=RESPONSES):
    return request_of(told(facts, dialect), dialect)["input"]


def test_words_of_our_own():
    assert shown(
        User(parts=(Text("go"),)),
        Note(key="mode", text="[mode] run"),
        Recalled(text="old"),
        Handoff(text="done", source="scout"),
        Failure(failure="timeout", shown="LLM_ERROR timeout"),
    ) == [
        {"role": "user", "content": "go"},
        {"role": "user", "content": "[mode] run"},
        {"role": "user", "content": "old"},
        {"role": "user", "content": "done"},
        {"role": "assistant", "content": "LLM_ERROR timeout"},
    ]


# ---- reasoning and what it produced


def without(item, *keys):
    return {key: value for key, value in item.items() if key not in keys}


def test_when_reasoning_is_gone_its_products_lose_their_ids():
    items = [USER, THOUGHT, SAID, CALL, OUTPUT, DONE]
    conversation = read({"input": items})
    assert request_of(conversation)["input"] == items
    trim = conversation.edit(Trim(entry=1, part=("reasoning", 0)))
    bare = [USER, EASY, without(CALL, "id"), OUTPUT, DONE]
    assert request_of(conversation)["input"] == bare
    assert RESPONSES.violations({"input": bare}) == []
    conversation.undo(trim)
    assert request_of(conversation)["input"] == items


def test_when_one_of_two_thoughts_is_gone_so_is_the_other():
    conversation = read({"input": [USER, THOUGHT, SAID, {**THOUGHT, "id": "rs_2"}, CALL, OUTPUT, DONE]})
    conversation.edit(Trim(entry=1, part=("reasoning", 1)))
    bare = [USER, EASY, without(CALL, "id"), OUTPUT, DONE]
    assert request_of(conversation)["input"] == bare


def test_what_cannot_be_without_its_id_goes_with_its_reasoning_and_that_is_said():
    compaction = {"type": "compaction", "id": "cmp_1", "encrypted_content": "x"}
    found = {"type": "tool_search_call", "id": "tsc_1", "call_id": None, "arguments": {}}
    conversation = read({"input": [USER, THOUGHT, SEARCH, found, SAID]})
    conversation.edit(Trim(entry=1, part=("reasoning", 0)))
    items = request_of(conversation)["input"]
    assert items == [USER, LEFT_OUT, without(found, "id"), EASY]
    conversation = read({"input": [USER, THOUGHT, SEARCH, found, compaction, SAID]})
    assert request_of(conversation)["input"] == [compaction, EASY]


def test_reasoning_that_nothing_follows_is_not_sent():
    assert request_of(read({"input": [USER, THOUGHT]}))["input"] == [USER]
    assert request_of(read({"input": [USER, SAID, CALL, THOUGHT, OUTPUT]}))["input"] == [USER, SAID, CALL, OUTPUT]


def test_reasoning_of_nobodys_making_or_of_another_dialect_is_not_sent():
    own = Assistant(parts=(Text("x"),), reasoning=(Reasoning("hm"),), dialect="responses")
    chat = Assistant(parts=(Text("x"),), reasoning=(Reasoning("hm"),))
    assert shown(own) == shown(chat) == [{"role": "assistant", "content": "x"}]


def test_an_id_comes_once():
    conversation = read({"input": [USER, THOUGHT, SAID, USER, THOUGHT, SAID, CALL, OUTPUT, SEARCH, SEARCH]})
    items = request_of(conversation)["input"]
    assert items == [USER, THOUGHT, SAID, USER, EASY, without(CALL, "id"), OUTPUT, SEARCH, LEFT_OUT]
    assert RESPONSES.violations({"input": items}) == []


# ---- calls


def test_calls_keep_their_ids_when_the_api_takes_them_and_results_follow_their_calls():
    def call(label):
        return {"type": "function_call", "call_id": label, "name": "sh", "arguments": "{}"}

    def output(label, text):
        return {"type": "function_call_output", "call_id": label, "output": text}

    given = [USER, call("a" * 64), call("b" * 65), call("")]
    conversation = read({"input": [*given, output("b" * 65, "2"), output("a" * 64, "1"), output("", "3")]})
    items = request_of(conversation)["input"]
    assert [item["call_id"] for item in items[1:]] == [
        "a" * 64,
        "call-1-1",
        "call-1-2",
        "call-1-1",
        "a" * 64,
        "call-1-2",
    ]
    assert [item["output"] for item in items[4:]] == ["2", "1", "3"]
    assert RESPONSES.violations({"input": items}) == []


def test_calls_of_another_dialect_are_named_by_their_places():
    chat = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "", "function_call": {"name": "a.b", "arguments": "{"}},
        {"role": "function", "name": "a.b", "content": "ok"},
    ]
    assert shown(*[fact for _, fact in OPENAI_CHAT.parse(chat)]) == [
        {"role": "user", "content": "hi"},
        {"type": "function_call", "call_id": "call-1-0", "name": "a_b", "arguments": '{"arguments":"{"}'},
        {"type": "function_call_output", "call_id": "call-1-0", "output": "ok"},
    ]


def test_an_output_is_of_the_kind_its_call_is():
    custom = {"type": "custom_tool_call", "call_id": "a", "name": "sh", "input": "ls"}
    conversation = read({"input": [USER, custom]})
    conversation.append(RESPONSES.parse_tool_result("a", "ok"))
    assert request_of(conversation)["input"][1:] == [custom, {**OUTPUT, "type": "custom_tool_call_output"}]


def test_open_calls_are_closed_and_arguments_stay_json():
    conversation = read({"input": [USER, CALL]})
    conversation.edit(Trim(entry=1, part=("args", 0), note='{"in": "1"}'))
    sent, _ = planned(conversation)
    assert sent["input"] == [USER, {**CALL, "arguments": '{"in": "1"}'}, {**OUTPUT, "output": texts.ABORTED}]


def test_arguments_that_are_no_text_become_one():
    (item,) = request_of(read({"input": [{**CALL, "arguments": {"cmd": ["ls"]}}]}))["input"]
    assert item["arguments"] == '{"cmd":["ls"]}'


def test_strictly_calls_stand_behind_everything_else():
    items = [USER, CALL, SAID, {**CALL, "id": "fc_2", "call_id": "b"}, OUTPUT, {**OUTPUT, "call_id": "b"}]
    conversation = read({"input": items})
    strict = request_of(conversation, DEEPSEEK_RESPONSES)
    assert strict["input"] == [items[i] for i in (0, 2, 1, 3, 4, 5)]
    assert DEEPSEEK_RESPONSES.violations(strict) == []
    assert request_of(conversation)["input"] == items  # one does not show what was drawn for the other


# ---- content


def test_the_words_of_another_dialect():
    facts = [
        Instruction(parts=(Text("a"),), role="developer"),
        User(parts=(Text("look"), image("https://example.org/a.png"), Media("file", {"type": "file", "file": {}}))),
        Assistant(parts=(Text("one"), Text("two")), shape="parts"),
        Assistant(parts=(Text("one"), image()), shape="parts", extra={"refusal": "no"}),
        Assistant(parts=(), shape="null", extra={"audio": {"id": "audio_1"}}),
    ]
    assert shown(*facts) == [
        {"role": "developer", "content": "a"},
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "look"},
                {"type": "input_image", "image_url": "https://example.org/a.png", "detail": "auto"},
                {"type": "input_text", "text": "[file left out]"},
            ],
        },
        {"role": "assistant", "content": "onetwo"},
        {"role": "assistant", "content": "one[image left out]no"},
        LEFT_OUT,
    ]


def test_a_turn_of_another_dialect_keeps_its_order_and_no_empty_messages():
    turn = Assistant(
        parts=(Text("a"), Text(""), Text("b")),
        shape="parts",
        calls=(Call("x", "sh", "{}"),),
        reasoning=(Reasoning("hm"),),
        order="rppcp",
        dialect="anthropic",
    )
    answer = ToolResult(call="x", parts=(Text("ok"), Other({"type": "odd"})), shape="parts", dialect="anthropic")
    assert shown(turn, answer) == [
        {"role": "assistant", "content": "a"},
        {"type": "function_call", "call_id": "call-0-0", "name": "sh", "arguments": "{}"},
        {"role": "assistant", "content": "b"},
        {
            "type": "function_call_output",
            "call_id": "call-0-0",
            "output": [{"type": "input_text", "text": "ok"}, {"type": "input_text", "text": "[part left out]"}],
        },
    ]


@pytest.mark.parametrize(
    ("role", "part", "mended"),
    [
        ("user", {"type": "text", "text": "x", "cache": 1}, {"type": "input_text", "text": "x"}),
        ("user", {"text": "x"}, {"type": "input_text", "text": "x"}),
        ("user", {"type": "image_url", "image_url": {}}, {"type": "input_text", "text": "[image left out]"}),
        ("user", {}, {"type": "input_text", "text": "[part left out]"}),
        ("assistant", {"type": "input_text", "text": "x"}, {"type": "output_text", "text": "x"}),
        ("assistant", {"type": "input_file", "file_id": "f"}, {"type": "output_text", "text": "[file left out]"}),
        ("assistant", {"type": "input_image"}, {"type": "output_text", "text": "[image left out]"}),
        ("system", {"type": "output_text", "text": "x"}, {"type": "output_text", "text": "x"}),
    ],
)
def test_parts_that_the_api_refuses(role, part, mended):
    given = {"role": role, "content": [part, {**part}], "id": "msg_1"}
    (item,) = request_of(read({"input": [given]}))["input"]
    assert item == {**given, "content": [mended, mended]}


def test_a_message_without_an_id_says_its_parts_as_one_text():
    parts = [{"type": "output_text", "text": "so ", "annotations": []}, {"type": "refusal", "refusal": "no"}]
    given = {"role": "assistant", "content": parts, "status": "completed", "phase": "final_answer"}
    assert request_of(read({"input": [USER, given]}))["input"] == [
        USER,
        {"role": "assistant", "content": "so no", "phase": "final_answer"},
    ]


def test_reasoning_without_an_id_is_not_sent_unless_it_is_sealed():
    thought, said = {"type": "reasoning", "summary": []}, {"role": "assistant", "content": "x"}
    sealed = {**thought, "encrypted_content": "A1b2"}
    assert request_of(read({"input": [USER, thought, said]}))["input"] == [USER, said]
    assert request_of(read({"input": [USER, sealed, said]}))["input"] == [USER, sealed, said]


def test_parts_of_outputs_that_the_api_refuses():
    parts = [{"type": "output_text", "text": "x"}, {"type": "odd"}, {"type": "input_image", "file_id": "f"}]
    items = request_of(read({"input": [CALL, {**OUTPUT, "output": parts}]}))["input"]
    words = [{"type": "input_text", "text": text} for text in ("x", "[part left out]")]
    assert items[1]["output"] == [*words, parts[2]]


def test_trims_stand_where_the_part_stood():
    conversation = read(
        {"input": [SEARCH, SAID, {"role": "user", "content": [{"type": "input_image", "file_id": "f" * 9}]}]}
    )
    for entry, part in ((0, ("other", 0)), (0, ("text", 0)), (1, ("image", 0))):
        conversation.edit(Trim(entry=entry, part=part, note="[cut]"))
    said = {"type": "output_text", "text": "[cut]", "annotations": []}
    assert request_of(conversation)["input"] == [
        {"role": "assistant", "content": "[cut]"},
        {**SAID, "content": [said]},
        {"role": "user", "content": [{"type": "input_text", "text": "[cut]"}]},
    ]


def test_what_a_trimmed_search_gave_back_goes_with_it():
    search = {"type": "tool_search_call", "call_id": "s", "arguments": {"paths": ["a long path " * 3]}}
    found = {"type": "tool_search_output", "call_id": "s", "tools": []}
    conversation = read({"input": [USER, search, found, SAID]})
    conversation.edit(Trim(entry=1, part=("other", 0), note="[cut]"))
    assert request_of(conversation)["input"] == [USER, {"role": "assistant", "content": "[cut]"}, LEFT_OUT, SAID]


def test_no_lone_surrogate_leaves():
    items = [{"role": "user", "content": "\ud83d"}, {**CALL, "call_id": "\ud83d", "x": ["\ud83d"]}, SEARCH]
    text = str(request_of(read({"input": items, "instructions": "\ud83d"})))
    assert "\\ud83d" not in text
    assert text.count("?") == 4


# ---- head and slots


def test_instructions_stand_beside_the_items_and_others_in_front():
    system = [*RESPONSES.parse_system("be brief"), Instruction(parts=(Text("be kind"),))]
    conversation = told([User(parts=(Text("hi"),))], system=system)
    sent, window = planned(conversation)
    assert sent == {"instructions": "be brief", "input": [{"role": "system", "content": "be kind"}, USER]}
    assert tokens_of(sent, WordCounter().count) == window.size.tokens


def test_a_system_prompt_is_instructions():
    conversation = Conversation(
        MemoryStore().open("x"),
        budget=Budget(context=1000),
        policy=policy_named("default"),
        counter=WordCounter(),
        system="be brief",
        dialect=RESPONSES,
    )
    conversation.user([{"type": "input_text", "text": "hi"}])
    window = conversation.plan_request()
    content = [{"type": "input_text", "text": "hi"}]
    request = RESPONSES.body(conversation.head, render_messages(window.view, RESPONSES))
    assert request == {"instructions": "be brief", "input": [{"role": "user", "content": content}]}
    conversation.observe({"output": [THOUGHT, CALL]})
    conversation.tool_result("a", "ok")
    assert render_messages(conversation.plan_request().view, RESPONSES)[1:] == [THOUGHT, CALL, OUTPUT]


def test_no_instructions_or_several():
    assert RESPONSES.parse_system(None) == []
    with pytest.raises(InvalidMessage, match="must be a text, not a list"):
        RESPONSES.parse_system([])
    head = told([], system=[*RESPONSES.parse_system("a"), *RESPONSES.parse_system("b")]).head
    assert RESPONSES.body(head, []) == {"instructions": "a\n\nb", "input": []}


def test_instructions_in_the_middle_are_a_message():
    assert shown(User(parts=(Text("hi"),)), *RESPONSES.parse_system("x"))[1] == {"role": "system", "content": "x"}


def test_a_fold_is_said_by_the_user_and_pinned_units_follow():
    conversation = read({"input": [{**USER, "content": "long " * 50}, SAID, CALL, OUTPUT, USER]})
    conversation.pin(1)
    conversation.edit(Fold(first=0, last=1, text="[folded]"))
    assert request_of(conversation)["input"] == [{"role": "user", "content": "[folded]"}, SAID, CALL, OUTPUT, USER]


def test_a_slot_depends_on_itself_alone():
    items = [USER, THOUGHT, CALL, OUTPUT, THOUGHT, SAID]
    whole, part = (assemble(read({"input": given}).view, 10**6) for given in (items, items[:4]))
    for one, other in zip(whole.slots, part.slots, strict=False):
        assert RESPONSES.render_slot(one) == RESPONSES.render_slot(other)
    assert render_messages(whole.view, RESPONSES)[:4] == render_messages(part.view, RESPONSES)


# ---- counting


def test_sealed_reasoning_weighs_what_it_is():
    def tokens(**thought):
        return read({"input": [{"type": "reasoning", "summary": [], **thought}, SAID]}).view.total.tokens

    words = [{"type": "reasoning_text", "text": "x" * 40}]
    assert tokens(content=words) - tokens() == 10
    assert tokens(encrypted_content="x" * 400) - tokens() == 80
    assert tokens(encrypted_content="x" * 400, content=words) - tokens() == 90


def test_what_mending_adds_is_counted():
    counter = WordCounter()
    counter.count = lambda text: 1 if len(text) > 64 else len(text)  # long labels are cheap, short ones are not
    items = [{**CALL, "call_id": "x" * 65, "name": ""}, {**OUTPUT, "call_id": "x" * 65}]
    conversation = read({"input": items}, counter=counter)
    sent = request_of(conversation)
    assert tokens_of(sent, counter.count) <= conversation.view.total.tokens


def test_each_dialect_counts_under_its_own_name():
    assert RESPONSES.format_counter(WordCounter()).name == "words/responses"
    assert DEEPSEEK_RESPONSES.name != RESPONSES.name
