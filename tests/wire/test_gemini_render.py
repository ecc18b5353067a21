"""What a view shows, in Gemini's words: whole requests compared."""

from __future__ import annotations

import json

import pytest
from test_gemini_counting import read, request_of, request_tokens, talk
from windows import Letters

from transom.conversation.conversation import Conversation
from transom.core.edit import Fold, Pin, Trim
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
from transom.errors import InvalidMessage
from transom.texts import ABORTED, CONTINUE
from transom.wire.dialects import dialect_named
from transom.wire.gemini import GEMINI, GeminiDialect
from transom.wire.openai import parse
from transom.wire.translate import translate_fact

ESCAPE = "skip_thought_signature_validator"
PNG = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}


def user(*parts):
    return {"role": "user", "parts": [{"text": part} if isinstance(part, str) else part for part in parts]}


def model(*parts):
    return {"role": "model", "parts": [{"text": part} if isinstance(part, str) else part for part in parts]}


def call(name="sh", label=None, args=None, **beside):
    ids = {} if label is None else {"id": label}
    return {"functionCall": {**ids, "name": name, "args": {} if args is None else args}, **beside}


def answer(name="sh", label=None, response=None, **more):
    ids = {} if label is None else {"id": label}
    return {"functionResponse": {**ids, "name": name, "response": response or {"output": "ok"}, **more}}


ANSWER = '{"functionResponse":{"name":"sh","response":{"output":"ok"}}}'


def aborted(name="sh", label=None):
    return answer(name, label, {"output": ABORTED})


def sent(conversation, *, dialect=GEMINI):
    """The contents of its next window: valid, and within what was counted."""
    window = conversation.plan_request()
    request = request_of(conversation, window)
    assert dialect.violations(request) == []
    assert request_tokens(request, conversation.view.counter.counter) <= window.size.tokens
    json.dumps(request, ensure_ascii=False).encode()
    return request["contents"]


def window(*contents, dialect=GEMINI):
    return sent(read(list(contents), counter=Letters(), dialect=dialect), dialect=dialect)


def chat(*messages):
    return sent(talk(*map(parse, messages), counter=Letters()))


MENDED = {
    "empty texts": (
        [user("go", ""), model(call(), "x", ""), user(answer())],
        [user("go"), model(call(), "x"), user(answer())],
    ),
    "an empty text beside one with a signature": (
        [user("go"), model({"text": "", "thoughtSignature": "x"}, "", "so"), user("", PNG)],
        [user("go"), model({"text": "", "thoughtSignature": "x"}, "so"), user(PNG)],
    ),
    "an open call is answered": (
        [user("go"), model(call(label="a"), call("ls")), user(answer("ls")), user("wait")],
        [user("go"), model(call(label="a"), call("ls")), user(answer("ls"), aborted("sh", "a")), user("wait")],
    ),
    "a call in snake case is answered in it": (
        [user("go"), model({"function_call": {"name": "sh"}, "thought_signature": "x"})],
        [
            user("go"),
            model({"function_call": {"name": "sh"}, "thought_signature": "x"}),
            user({"function_response": {"name": "sh", "response": {"output": ABORTED}}}),
        ],
    ),
    "responses come right behind, and by themselves (G2, G4)": (
        [user("go"), model(call(), call("ls")), user("wait", answer("ls"), PNG), user(answer())],
        [user("go"), model(call(), call("ls")), user(answer("ls"), answer()), user("wait", PNG)],
    ),
    "a response that answers nothing is left out (G3)": (
        [user("go"), model(call(label="a")), user(answer(label="a"), answer(label="a"), answer("other", "b"))],
        [user("go"), model(call(label="a")), user(answer(label="a"))],
    ),
    "a call needs words before it (G1)": (
        [model(call()), user(answer())],
        [user(CONTINUE), model(call()), user(answer())],
    ),
    "words of the model do not count (G1)": (
        [model("hello"), model("and", call()), user(answer())],
        [model("hello"), user(CONTINUE), model("and", call()), user(answer())],
    ),
    "the model's last word is followed (G6)": (
        [user("go"), model("done")],
        [user("go"), model("done"), user(CONTINUE)],
    ),
    "contents without parts are left out (G7)": (
        [user("go"), {"role": "user"}, model(call()), model(), user(answer()), user()],
        [user("go"), model(call()), user(answer())],
    ),
    "two calls under one id get two": (
        [user("go"), model(call(label="a"), call(label="a")), user(answer(label="a"), answer(label="a"))],
        [user("go"), model(call(label="a"), call(label="call-1-1")), user(answer(label="a"), answer(label="call-1-1"))],
    ),
    "the name of a response is its call's": (
        [user("go"), model(call(label="a")), user(answer("bash", label="a"))],
        [user("go"), model(call(label="a")), user(answer("sh", label="a"))],
    ),
    "an id that a client left out, or made up": (
        [user("go"), model(call(label="a"), call("ls")), user(answer(), answer("ls", "made_up"))],
        [user("go"), model(call(label="a"), call("ls")), user(answer(label="a"), answer("ls"))],
    ),
    "what a content with calls or responses has beside its parts": (
        [user("go"), {**model(call()), "note": 1}, {**user(answer()), "note": 2}],
        [user("go"), model(call()), user(answer())],
    ),
    "names and responses that are missing": (
        [user("go"), model({"functionCall": {"id": "a"}}), user({"functionResponse": {"id": "a"}})],
        [
            user("go"),
            model({"functionCall": {"id": "a", "name": "unnamed"}}),
            user({"functionResponse": {"id": "a", "name": "unnamed", "response": {"output": ""}}}),
        ],
    ),
    "surrogates": (
        [user("a\ud800"), model(call(args={"\udc00": ["\ud83d"]})), user(answer(response={"output": "\udfff"}))],
        [user("a?"), model(call(args={"?": ["?"]})), user(answer(response={"output": "?"}))],
    ),
    "parts that are two things": (
        [user({"text": "see", **PNG}), model({"text": "ok", **call(), "thoughtSignature": "x"}), user(answer())],
        [user("see", PNG), model({"text": "ok", "thoughtSignature": "x"}, call()), user(answer())],
    ),
    "parts that are nothing": (
        [user("go", {}), model({"thoughtSignature": "x"}, "ok"), user({"videoMetadata": {}}, {})],
        [user("go"), model({"text": "", "thoughtSignature": "x"}, "ok"), user(CONTINUE)],
    ),
    "parts in the wrong mouth": (
        [user("go", call()), model(answer(), "ok"), user("so")],
        [user("go", '{"functionCall":{"name":"sh","args":{}}}'), model(ANSWER, "ok"), user("so")],
    ),
    "an old role": (
        [user("go"), model(call()), {"role": "function", "parts": [answer()]}],
        [user("go"), model(call()), user(answer())],
    ),
}


@pytest.mark.parametrize(("raw", "out"), MENDED.values(), ids=MENDED)
def test_what_the_api_would_refuse_is_mended(raw, out):
    assert window(*raw) == out


KEPT = {
    "thoughts and signatures": [
        user("go"),
        model({"text": "hm", "thought": True}, call(thoughtSignature="c2ln"), {"text": "", "thoughtSignature": "x"}),
        user(answer()),
    ],
    "a call before the words": [user("go"), model(call(), "and now"), user(answer())],
    "what the model does itself": [
        user("go"),
        model({"toolCall": {"id": "a"}}, {"executable_code": {"code": "1"}}, {"hologramData": {"x": 1}}, "so"),
        user("go on"),
    ],
    "two contents of a turn, and two of its answers": [
        user("go"),
        model("one", call(label="a")),
        model(call("ls", "b")),
        user(answer("ls", "b")),
        user(answer(label="a")),
    ],
    "contents of the model in a row": [user("go"), model("a"), model("b"), model("c", call()), user(answer())],
    "responses of all kinds": [
        user("go"),
        model(*[call()] * 6),
        user(
            answer(response={"return_value": "text"}),
            answer(response={"error": "bad"}),
            answer(response={"output": ["a", 1.0]}, willContinue=False),
            answer(response={"a": 1, "b": None}),
            answer(response={"output": '{"arguments": "x"}'}),
            {"function_response": {"name": "sh", "response": {"n": 1e30}, "parts": [PNG, {"odd": {}}]}, "x": 1},
        ),
    ],
    "no role": [{"parts": [{"text": "go"}]}],
    "nulls and unknown keys": [
        {**user({"text": "a", "functionCall": None, "later": 1}), "later": [None]},
        model({"functionCall": {"name": "sh", "args": None, "later": {}}}),
        user(answer(later=None)),
    ],
    "blank texts": [user(" ", "x")],
    "a file": [user({"file_data": {"file_uri": "gs://b/f", "mime_type": "video/mp4"}, "videoMetadata": {"fps": 1.5}})],
}


@pytest.mark.parametrize("contents", KEPT.values(), ids=KEPT)
def test_what_is_valid_stays(contents):
    contents = json.loads(json.dumps(contents))
    assert request_of(read(contents))["contents"] == contents
    assert window(*contents) == contents


def test_facts_of_our_own_say_their_text_and_nothing_else():
    conversation = talk(
        User(parts=(Text("go"),)),
        Instruction(parts=(Text("be brief"),), role="developer"),
        Note(key="", text="[mode] quick"),
        Recalled(text="old"),
        Failure(failure="timeout", shown="[no reply]"),
        Failure(failure="timeout", text="504"),
        Handoff(text="new", source="b"),
        counter=Letters(),
    )
    assert sent(conversation) == [
        user("go"),
        user("[developer message] ", "be brief"),
        user("[mode] quick"),
        user("old"),
        model("[no reply]"),
        user("new"),
    ]


IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


def test_a_conversation_with_another_provider():
    assert chat(
        {"role": "system", "content": "in the middle"},
        {"role": "user", "content": [{"type": "text", "text": "see"}, IMAGE, {"type": "text", "text": ""}]},
        {"role": "assistant", "content": "ok", "reasoning_content": "never sent"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "toolu_x", "type": "function", "function": {"name": "fs read", "arguments": '{"a": 1}'}},
                {"id": "toolu_y", "type": "function", "function": {"name": "sh", "arguments": "rm -"}},
                {"id": "toolu_z", "type": "function", "function": {"name": "ls", "arguments": ""}},
            ],
        },
        {"role": "tool", "tool_call_id": "toolu_y", "content": [{"type": "text", "text": "a"}, IMAGE]},
        {"role": "tool", "tool_call_id": "toolu_x", "content": "done"},
    ) == [
        user("[system message] ", "in the middle"),
        user("see", PNG),
        model(
            "ok",
            call("fs_read", "call-3-0", {"a": 1}, thoughtSignature=ESCAPE),
            call("sh", "call-3-1", {"arguments": "rm -"}),
            call("ls", "call-3-2"),
        ),
        user(
            answer("sh", "call-3-1", {"output": ["a", "[image left out]"]}),
            answer("fs_read", "call-3-0", {"output": "done"}),
            aborted("ls", "call-3-2"),
        ),
    ]


def test_a_legacy_call_of_another_provider():
    assert chat(
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "out"},
    ) == [
        user("go"),
        model(call("f", "call-1-0", thoughtSignature=ESCAPE)),
        user(answer("f", "call-1-0", {"output": "out"})),
    ]


def test_a_tool_that_failed_elsewhere():
    turn = Assistant(calls=(Call("a", "sh", "{}"),), dialect="anthropic")
    conversation = talk(
        User(parts=(Text("go"),)),
        turn,
        ToolResult(call="a", parts=(Text("no such file"),), failed=True, dialect="anthropic"),
        counter=Letters(),
    )
    assert sent(conversation)[-1] == user(answer("sh", "call-1-0", {"error": "no such file"}))


def test_words_of_two_turns_from_elsewhere_are_one_content():
    said = [{"role": "user", "content": "go"}, {"role": "assistant", "content": "a"}]
    assert chat(*said, {"role": "assistant", "content": "b"}, said[0]) == [user("go"), model("a", "b"), user("go")]


def test_signatures_are_made_where_they_are_missing():
    said = parse({"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "sh", "arguments": "{}"}}] * 2})
    foreign = [User(parts=(Text("go"),)), said]
    for dialect in (GEMINI, GeminiDialect(strict=True)):
        _, turn, _ = sent(talk(*foreign, counter=Letters(), dialect=dialect))
        assert ["thoughtSignature" in part for part in turn["parts"]] == [True, False]


def test_unsigned_turns_of_its_own_are_signed_for_strict_models_only():
    snake = {"function_call": {"name": "sh"}}
    contents = [user("go"), model(snake), user({"function_response": {"name": "sh", "response": {}}})]
    assert window(*contents) == contents
    strict = GeminiDialect(strict=True)
    assert window(*contents, dialect=strict)[1] == model({**snake, "thought_signature": ESCAPE})
    signed = [user("go"), model(call(thoughtSignature="c2ln")), user(answer())]
    assert window(*signed, dialect=strict) == signed


# ---- edits


def edited(conversation, *edits):
    for edit in edits:
        conversation.edit(edit)
    return sent(conversation)


def test_trims_show_in_the_shape_the_content_had():
    conversation = read(
        [
            user({"text": "long " * 20, "partMetadata": {"x": 1}}, PNG),
            model({"text": "hm " * 30, "thought": True}, call(args={"text": "x" * 90}, thoughtSignature="c2ln")),
            user(answer(response={"return_value": "out " * 50}, parts=[PNG])),
            model(call()),
            user(answer(response={"rows": [1] * 50})),
        ],
        counter=Letters(),
    )
    trims = [
        Trim(entry=0, part=("text", 0), keep=((0, 5),), note="[…]"),
        Trim(entry=0, part=("image", 0), note="[gone]"),
        Trim(entry=1, part=("args", 0), note='{"cut":1}'),
        Trim(entry=1, part=("reasoning", 0)),
        Trim(entry=2, part=("text", 0), keep=((192, 200),), note="[…]"),
        Trim(entry=2, part=("image", 0), note="[gone]"),
        Trim(entry=4, part=("text", 0), keep=((0, 9),), note="[…]"),
    ]
    assert edited(conversation, *trims) == [
        user({"text": "long […]", "partMetadata": {"x": 1}}, "[gone]"),
        model(call(args={"cut": 1}, thoughtSignature="c2ln")),
        user(answer(response={"return_value": ["[…]out out ", "[gone]"]})),
        model(call()),
        user(answer(response={"output": '{"rows":[[…]'})),
    ]


def test_a_turn_of_two_contents_stays_two_when_a_thought_goes():
    turn = [model(call(label="a")), model({"text": "hm " * 30, "thought": True}, call(label="b"))]
    contents = [user("go"), *turn, user(answer(label="a"), answer(label="b")), model("done"), user("and now")]
    conversation = read(contents, counter=Letters())
    assert edited(conversation, Trim(entry=1, part=("reasoning", 0)))[1:3] == [turn[0], model(call(label="b"))]


def test_a_fold_says_its_text_and_then_what_is_pinned():
    contents = [user("one"), model("two " * 50), model(call()), user(answer()), user("three " * 50), user("four")]
    conversation = read(contents, counter=Letters())
    assert edited(conversation, Pin(entry=3), Fold(first=1, last=4, text="[left out\ud800]")) == [
        user("one"),
        user("[left out?]"),
        model(call()),
        user(answer()),
        user("four"),
    ]


def test_rendering_shares_nothing_with_the_log():
    contents = [
        {**user({"text": "go", "later": [1]}), "later": {"x": [1]}},
        model(call(args={"x": [1]}, later={"x": [1]})),
        user(answer(response={"x": [1]}, later={"x": [1]})),
    ]
    conversation = read(contents)
    for slot in conversation.view.slots:
        spoil([content for content, _ in GEMINI.render_slot(slot)])
    assert request_of(conversation)["contents"] == contents


def spoil(value):
    """Empty it, and all there is in it."""
    if isinstance(value, (dict, list)):
        for each in value.values() if isinstance(value, dict) else value:
            spoil(each)
        value.clear()


# ---- beside the contents


SYSTEMS = {
    "a text": ("be brief", {"parts": [{"text": "be brief"}]}),
    "as it came": ({"parts": [{"text": "a", "x": 1}], "role": "system"}, None),
    "nothing": ("", {}),
}


@pytest.mark.parametrize(("value", "out"), SYSTEMS.values(), ids=SYSTEMS)
def test_the_system_instruction(value, out):
    conversation = talk(User(parts=(Text("go"),)), system=GEMINI.parse_system(value))
    conversation.plan_request()
    assert request_of(conversation).get("systemInstruction", {}) == (value if out is None else out)


def test_instructions_from_elsewhere_stand_beside_the_contents():
    heads = [
        parse({"role": "system", "content": [{"type": "text", "text": "a"}, IMAGE]}),
        *GEMINI.parse_system("b\ud800"),
    ]
    conversation = talk(User(parts=(Text("go"),)), system=heads, counter=Letters())
    assert sent(conversation) == [user("go")]
    assert request_of(conversation)["systemInstruction"] == {
        "parts": [{"text": "a"}, {"text": "[part left out]"}, {"text": "b?"}]
    }


def test_the_front_door():
    conversation = talk(counter=Letters())
    conversation.append(GEMINI.parse_user([{"text": "see"}, PNG]))
    conversation.append(GEMINI.parse_reply(model(call("sh"), call("ls", "b"))))
    conversation.append(GEMINI.parse_tool_result("sh", "one"))
    conversation.append(GEMINI.parse_tool_result("b", {"rows": [1]}))
    assert sent(conversation) == [
        user("see", PNG),
        model(call("sh"), call("ls", "b")),
        user(answer("sh", None, {"output": "one"}), answer("ls", "b", {"rows": [1]})),
    ]
    assert GEMINI.parse_tool_result("b", [{"text": "a"}, PNG]).parts == (Text("a"), Media("image", PNG))
    assert GEMINI.parse_user("hi") == User(parts=(Text("hi"),), dialect="gemini")


REFUSED = {
    "no list": (lambda: GEMINI.parse({"role": "user"}), "contents: must be a list of messages, not dict"),
    "no object": (lambda: GEMINI.parse(["go"], "request 3"), "request 3, content 0: a content must be an object"),
    "role": (lambda: GEMINI.parse([{"role": "assistant"}]), "content 0: role must be user or model, not 'assistant'"),
    "no parts": (lambda: GEMINI.parse([{"parts": "go"}]), "content 0: parts must be a list of parts, not a string"),
    "a part": (lambda: GEMINI.parse([{"parts": ["go"]}]), "content 0: parts[0] must be an object, not a string"),
    "text": (lambda: GEMINI.parse([user({"text": 1})]), "content 0: parts[0].text must be a string, not a number"),
    "a file": (lambda: GEMINI.parse([user({"fileData": 1})]), "content 0: parts[0].fileData must be an object"),
    "code": (lambda: GEMINI.parse([model({"executableCode": 1})]), "content 0: parts[0].executableCode must be an"),
    "a call": (lambda: GEMINI.parse([model({"functionCall": []})]), "content 0: parts[0].functionCall must be an"),
    "a name": (
        lambda: GEMINI.parse([model({"functionCall": {"name": 1}})]),
        "content 0: parts[0].functionCall.name must be a string, not a number",
    ),
    "arguments": (
        lambda: GEMINI.parse([model({"function_call": {"args": "{}"}})]),
        "content 0: parts[0].function_call.args must be an object, not a string",
    ),
    "a response": (
        lambda: GEMINI.parse([user(answer(response=["a"]))]),
        "content 0: parts[0].functionResponse.response must be an object, not a list",
    ),
    "system": (lambda: GEMINI.parse_system(["a"]), "system: must be a text or an object with parts, not a list"),
    "user": (lambda: GEMINI.parse_user(5), "user: content must be a list of parts, not a number"),
    "a response by the user": (lambda: GEMINI.parse_user([answer()]), "user: content[0] is a part of its own kind"),
    "not JSON": (
        lambda: GEMINI.parse_user([{"inlineData": {"data": b""}}]),
        "user: parts holds a value that is not JSON",
    ),
}


@pytest.mark.parametrize(("do", "why"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_read_is_refused(do, why):
    with pytest.raises(InvalidMessage) as refused:
        do()
    assert str(refused.value).startswith(why)


class Dumped:
    def __init__(self, value):
        self.value = value

    def model_dump(self):
        return self.value


def test_a_client_librarys_content_is_read():
    nulls = {"text": "go", "function_call": None, "thought": None}
    assert [fact for _, fact in GEMINI.parse([Dumped({"role": "user", "parts": [nulls]})])] == [
        User(parts=(Text("go"),), shape="parts", dialect="gemini")
    ]
    assert GEMINI.parse_system(Dumped({"parts": [nulls]}))[0].parts == (Text("go"),)


def test_facts_know_where_they_stood_and_what_they_answer():
    placed = GEMINI.parse(
        [
            user("go"),
            model({"text": "hm", "thought": True}, call(label="a")),
            model(call("ls", "b")),
            user(answer("ls", "b"), answer(), "and"),
        ]
    )
    assert [(at, type(fact).__name__) for at, fact in placed] == [
        (0, "User"),
        (1, "Assistant"),
        (3, "ToolResult"),
        (3, "ToolResult"),
        (3, "User"),
    ]
    assert placed[1][1].reasoning == (Reasoning("hm", "thought"),)
    assert [fact.call for _, fact in placed[2:4]] == ["b", "a"]


def test_own_parts_of_unknown_kind_may_end_a_window():
    contents = [user("go"), model("ok", {"toolCall": {"id": "a"}})]
    assert window(*contents) == contents


def test_a_foreign_part_of_unknown_kind_does_not_end_a_window():
    turn = Assistant(parts=(Text("ok"), Other({"type": "refusal", "refusal": "no"})))
    conversation = talk(User(parts=(Text("go"),)), turn, counter=Letters())
    assert sent(conversation)[-1] == user(CONTINUE)


def test_a_pinned_turn_behind_a_fold_does_not_end_a_window():
    conversation = talk(
        User(parts=(Text("go " * 50),)), Assistant(parts=(Text("done"),)), Note(key="", text="x"), counter=Letters()
    )
    assert edited(conversation, Pin(entry=1), Fold(first=0, last=2, text="[left out]"))[-1] == user(CONTINUE)


def test_the_dialect_is_a_value():
    assert repr(GEMINI) == "GeminiDialect(name='gemini', digest_role='user', foreign_tools=False, strict=False)"


def test_results_of_calls_without_ids_are_in_the_order_of_the_calls():
    """Only their order says which is whose, and tools that run at once end in any order."""
    calls = [{"functionCall": {"name": name, "args": {"x": at}}} for at, name in enumerate(("temp", "wind", "temp"))]
    conv = Conversation.open("memory:", "w", budget=8_000, dialect="gemini")
    conv.user("How is it there?")
    conv.observe({"candidates": [{"content": {"role": "model", "parts": calls}, "finishReason": "STOP"}]})
    key = len(conv.log) - 1
    for index, result in ((2, "third"), (1, "second"), (0, "first")):
        conv.append(ToolResult(parts=(Text(result),), place=(key, index)))
    answers = conv.request()["contents"][-1]["parts"]
    assert [(each["functionResponse"]["name"], each["functionResponse"]["response"]["output"]) for each in answers] == [
        ("temp", "first"),
        ("wind", "second"),
        ("temp", "third"),
    ]


def test_a_call_of_another_dialect_has_no_field_of_it():
    """A custom call of the Responses API has fields of its own beside name and arguments."""
    call = {"type": "custom_tool_call", "call_id": "c", "name": "apply_patch", "input": "*** Begin"}
    turn = dialect_named("responses").parse_reply({"output": [call], "status": "completed"})
    assert turn.calls[0].extra is not None
    assert translate_fact(turn, "gemini").calls == (Call("c", "apply_patch", '{"input":"*** Begin"}'),)
