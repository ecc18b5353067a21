"""What a view shows, in OpenAI's words: whole windows compared."""

from __future__ import annotations

import json

import pytest
from windows import Letters, closures, entries, imported, rendered, viewed

from counting import request_tokens
from transom.core.edit import Fold, Pin, Trim
from transom.core.message import (
    Assistant,
    Call,
    Failure,
    Handoff,
    Media,
    Note,
    Opaque,
    Recalled,
    Text,
    ToolResult,
    User,
)
from transom.core.reducer import apply
from transom.texts import ABORTED
from transom.wire.openai import OPENAI_CHAT, Violation, parse, violations

IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 400}}
FILE = {"type": "file", "file": {"file_id": "f1"}}
MOVED = {"type": "text", "text": "[images and files of the tool results above, in their order]"}
MARK = "[image 1: in the user message behind these results]"


def user(text):
    return User(parts=(Text(text),))


def turn(*calls):
    return {"role": "assistant", "content": None, "tool_calls": list(calls)}


def call(label="a", name="sh", args="{}"):
    return {"id": label, "type": "function", "function": {"name": name, "arguments": args}}


def answer(label="a", content="ok", **more):
    return {"role": "tool", "tool_call_id": label, "content": content, **more}


def made(label):
    return answer(label, ABORTED)


def window(*messages):
    """These messages through parse, fold and render: valid by the rules whatever they were."""
    out = rendered(imported(list(messages), counter=Letters()))
    assert violations(out) == []
    return out


ORDINARY = [
    {"role": "system", "content": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}]},
    {"role": "developer", "content": "d"},
    {"role": "user", "content": "go", "name": "Ann"},
    turn(call("a"), call("b", args='{"b": 1}')),
    answer("b"),
    answer("a", [{"type": "text", "text": "t"}]),
    {"role": "system", "content": "in between"},
    {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
    {"role": "function", "name": "f", "content": "y"},
    {"role": "user", "content": [{"type": "text", "text": "see"}, IMAGE, FILE]},
    {"role": "assistant", "content": "done", "reasoning_content": "r", "x_own": None, "refusal": None},
    {"role": "assistant", "audio": {"id": "audio_1"}},
    {"role": "user", "content": "ok"},
]


def test_a_valid_conversation_comes_out_unchanged():
    assert violations(ORDINARY) == []
    assert window(*ORDINARY) == ORDINARY


def test_rendering_shares_nothing_with_the_log():
    view = imported(ORDINARY, counter=Letters())
    out = rendered(view)
    out[0]["content"][0]["cache_control"]["type"] = "changed"
    out[9]["content"][1]["image_url"]["url"] = "changed"
    assert rendered(view) == ORDINARY


def test_facts_of_our_own_say_their_text_and_nothing_else():
    view = viewed(
        user("go"),
        Note(key="mode", text="[mode] quick"),
        Recalled(text="[recalled]\nold"),
        Handoff(text="[result]\nnew", source="b"),
        Opaque(raw={"kind": "later"}),
        Failure(failure="timeout", text="504", shown="[no reply]"),
        Failure(failure="timeout", text="504"),
    )
    assert rendered(view) == [
        {"role": "user", "content": "go"},
        {"role": "user", "content": "[mode] quick"},
        {"role": "user", "content": "[recalled]\nold"},
        {"role": "user", "content": "[result]\nnew"},
        {"role": "assistant", "content": "[no reply]"},
    ]


def test_facts_built_without_a_wire_shape_take_the_one_they_need():
    image = Media("image", IMAGE)
    assert rendered(viewed(User(parts=(Text("see"), image)), User(parts=(Text("a", {"x": 1}),)))) == [
        {"role": "user", "content": [{"type": "text", "text": "see"}, IMAGE]},
        {"role": "user", "content": [{"type": "text", "text": "a", "x": 1}]},
    ]
    result = ToolResult(call="a")
    assert rendered(viewed(Assistant(shape="null", calls=(Call("a", "sh", "{}"),)), result)) == [
        turn(call()),
        answer(content=""),
    ]


def test_two_calls_under_one_id_get_two():
    repeated = [turn(call("a"), call("a"), call("")), answer("a", "1"), answer("a", "2"), answer("", "3")]
    assert window({"role": "user", "content": "go"}, *repeated) == [
        {"role": "user", "content": "go"},
        turn(call("a"), call("call-2-1"), call("call-2-2")),
        answer("a", "1"),
        answer("call-2-1", "2"),
        answer("call-2-2", "3"),
    ]


def test_ids_that_differ_in_a_surrogate_only_stay_apart():
    assert window(turn(call("a\ud800"), call("a?")), answer("a?", "2"), answer("a\ud800", "1")) == [
        turn(call("a?"), call("call-1-1")),
        answer("call-1-1", "2"),
        answer("a?", "1"),
    ]


def test_a_call_without_a_label_is_answered_by_a_result_without_one():
    nameless = {"function": {"name": "sh", "arguments": "{}"}}
    assert window({"role": "assistant", "tool_calls": [nameless]}, {"role": "tool", "content": None}) == [
        {"role": "assistant", "tool_calls": [call("call-1-0")]},
        answer("call-1-0", ""),
    ]


def test_open_calls_are_closed_by_facts_and_not_by_rendering():
    messages = [turn(call("a"), call("b")), {"role": "user", "content": "wait"}, answer("b")]
    view = viewed(*map(parse, messages))
    assert violations(rendered(view)) == [Violation("C1", 0, "no answer to a")]
    closed = apply(view, entries(closures(view), view.length))
    assert rendered(closed) == [messages[0], messages[2], made("a"), messages[1]]
    assert violations(rendered(closed)) == []


def test_a_legacy_call_is_closed_in_its_own_form():
    asks = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}
    assert window(asks, {"role": "user", "content": "x"}) == [
        asks,
        {"role": "function", "name": "f", "content": ABORTED},
        {"role": "user", "content": "x"},
    ]


def test_results_that_answer_nothing_and_messages_that_say_nothing_are_left_out():
    empty = [{"role": "assistant", "content": None}, {"role": "user", "content": []}, answer("z")]
    assert window({"role": "user", "content": "go"}, *empty) == [{"role": "user", "content": "go"}]


MENDED = {
    "names": (
        [
            {"role": "user", "content": "x", "name": "Ann B."},
            turn(call(name="fs.read" + "x" * 70)),
            answer(name="fs.read"),
        ],
        [
            {"role": "user", "content": "x", "name": "Ann_B_"},
            turn(call(name="fs_read" + "x" * 57)),
            answer(name="fs_read"),
        ],
    ),
    "no name": (
        [{"role": "user", "content": "x", "name": ""}, turn(call(name="")), answer()],
        [{"role": "user", "content": "x"}, turn(call(name="unnamed")), answer()],
    ),
    "surrogates": (
        [
            {"role": "user", "content": "a\ud800", "name": "é", "x": {"\udfff": ["\ud83d"]}},
            turn(call(args='"\udc00"')),
            answer(content=[{"type": "text", "text": "\udc00 \U0001f600"}]),
        ],
        [
            {"role": "user", "content": "a?", "name": "_", "x": {"?": ["?"]}},
            turn(call(args='{"arguments":"\\"?\\""}')),
            answer(content=[{"type": "text", "text": "? \U0001f600"}]),
        ],
    ),
    "parts of a result": (
        [turn(call()), answer(content=[FILE, IMAGE, {"type": "resource"}])],
        [
            turn(call()),
            answer(
                content=[
                    {"type": "text", "text": "[file 1: in the user message behind these results]"},
                    {"type": "text", "text": "[image 2: in the user message behind these results]"},
                    {"type": "text", "text": "[part left out]"},
                ]
            ),
            {"role": "user", "content": [MOVED, FILE, IMAGE]},
        ],
    ),
    "parts without a type": (
        [{"role": "user", "content": [{"text": "a"}, {"type": 5}, {"type": "refusal", "refusal": "b"}]}],
        [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "a"},
                    {"type": "text", "text": "[part left out]"},
                    {"type": "refusal", "refusal": "b"},
                ],
            }
        ],
    ),
    "no content": (
        [
            {"role": "system"},
            {"role": "assistant", "content": None, "refusal": "no"},
            turn(call()),
            answer(content=[]),
            turn(call()),
            answer(content=None),
        ],
        [
            {"role": "system", "content": ""},
            {"role": "assistant", "content": "", "refusal": "no"},
            turn(call()),
            answer(content=""),
            turn(call()),
            answer(content=""),
        ],
    ),
    "arguments that are no text": (
        [turn(call(args={"a": [1]})), answer(), turn(call(args=None)), answer()],
        [turn(call(args='{"a":[1]}')), answer(), turn(call()), answer()],
    ),
    "arguments that are no JSON object": (
        [turn(call(args='{"a": 1')), answer(), turn(call(args="[1]")), answer(), turn(call(args="")), answer()],
        [
            turn(call(args='{"arguments":"{\\"a\\": 1"}')),
            answer(),
            turn(call(args='{"arguments":"[1]"}')),
            answer(),
            turn(call()),
            answer(),
        ],
    ),
    "images in several results": (
        [turn(call("a"), call("b")), answer("b", [IMAGE]), answer("a", [IMAGE]), {"role": "user", "content": "x"}],
        [
            turn(call("a"), call("b")),
            answer("b", [{"type": "text", "text": "[image 1: in the user message behind these results]"}]),
            answer("a", [{"type": "text", "text": "[image 2: in the user message behind these results]"}]),
            {"role": "user", "content": [MOVED, IMAGE, IMAGE]},
            {"role": "user", "content": "x"},
        ],
    ),
    "an empty function_call": (
        [{"role": "assistant", "content": "x", "function_call": {"name": "", "arguments": ""}}],
        [{"role": "assistant", "content": "x"}],
    ),
    "a function_call beside calls": (
        [{**turn(call()), "function_call": {"name": "sh", "arguments": "{}"}}, answer()],
        [turn(call()), answer()],
    ),
    "a function's parts": (
        [
            {"role": "assistant", "content": None, "function_call": {"name": "f g", "arguments": "{}"}},
            {"role": "function", "name": "f g", "content": [{"type": "text", "text": "a"}, IMAGE, {"type": "x"}]},
        ],
        [
            {"role": "assistant", "content": None, "function_call": {"name": "f_g", "arguments": "{}"}},
            {"role": "function", "name": "f_g", "content": f"a\n{MARK}\n[part left out]"},
            {"role": "user", "content": [MOVED, IMAGE]},
        ],
    ),
}


@pytest.mark.parametrize(("raw", "sent"), MENDED.values(), ids=MENDED)
def test_what_the_api_would_refuse_is_mended(raw, sent):
    assert window(*raw) == sent
    json.dumps(sent, ensure_ascii=False).encode()


COUNTED_OTHERWISE = {
    # (messages): the core counts so many letters more (or fewer) than the mended window has
    "a name cut to 64": ([turn(call(name="f" * 70)), answer()], 6),
    "a function's parts": (
        [
            {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
            {
                "role": "function",
                "name": "f",
                "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
            },
        ],
        -1,
    ),
    "a part left out": ([turn(call()), answer(content=[{"type": "x", "x": "yz"}])], 2 - len("[part left out]")),
}


@pytest.mark.parametrize(("messages", "more"), COUNTED_OTHERWISE.values(), ids=COUNTED_OTHERWISE)
def test_where_the_core_counts_what_came_and_not_what_is_sent(messages, more):
    """Known, and pinned: mending happens on the way out, the core counts before it."""
    view = imported(messages, counter=Letters())
    assert view.total.tokens - request_tokens(rendered(view), Letters()) == more


def edited(view, *edits):
    new = apply(view, entries(edits, view.length))
    assert new.total.tokens == request_tokens(rendered(new), Letters())
    return rendered(new)


def test_trims_show_in_the_shape_the_content_had():
    view = viewed(
        user("long " * 20),
        parse({"role": "user", "content": [{"type": "text", "text": "long " * 20, "x": 1}, IMAGE]}),
        parse({**turn(call(args="{" + " " * 90 + "}")), "reasoning_content": "hm " * 30}),
        parse(answer(content="out " * 50)),
        parse({"role": "assistant", "content": "done"}),
        user("and now"),
    )
    trims = [
        Trim(entry=0, part=("text", 0), keep=((0, 5),), note="[…]"),
        Trim(entry=1, part=("text", 0), note="[gone]"),
        Trim(entry=1, part=("image", 0), note="[image left out]"),
        Trim(entry=2, part=("args", 0), note='{"cut":1}'),
        Trim(entry=2, part=("reasoning", 0)),
        Trim(entry=3, part=("text", 0), keep=((192, 200),), note="[…]"),
    ]
    assert edited(view, *trims) == [
        {"role": "user", "content": "long […]"},
        {
            "role": "user",
            "content": [{"type": "text", "text": "[gone]", "x": 1}, {"type": "text", "text": "[image left out]"}],
        },
        turn(call(args='{"cut":1}')),
        answer(content="[…]out out "),
        {"role": "assistant", "content": "done"},
        {"role": "user", "content": "and now"},
    ]


def test_trimmed_arguments_win_over_the_raw_ones():
    view = viewed(parse(turn(call(args={"text": "x" * 100}))), parse(answer()))
    assert edited(view, Trim(entry=0, part=("args", 0), note="{}")) == [turn(call(args="{}")), answer()]


def test_a_fold_says_its_text_and_then_what_is_pinned():
    pinned = [turn(call("a"), call("a")), answer("a", "1"), answer("a", "2")]
    view = viewed(user("one " * 50), *map(parse, pinned), user("two " * 50), user("three"))
    assert edited(view, Pin(entry=3), Fold(first=0, last=4, text="[left out\ud800]")) == [
        {"role": "user", "content": "[left out?]"},
        turn(call("a"), call("call-1-1")),
        answer("a", "1"),
        answer("call-1-1", "2"),
        {"role": "user", "content": "three"},
    ]


def test_the_dialect_is_a_value():
    assert OPENAI_CHAT.name == "openai"
    assert (
        repr(OPENAI_CHAT)
        == "OpenAIChatDialect(name='openai', digest_role='user', foreign_tools=False, alternate=False, "
        "media_in_results=False)"
    )
