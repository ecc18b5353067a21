"""What a view shows, in Anthropic's words: whole requests compared."""

from __future__ import annotations

import copy

import pytest
from test_anthropic_counting import read, talking

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
from transom.core.window import assemble
from transom.texts import ABORTED, CONTINUE
from transom.wire.anthropic import ANTHROPIC, breakpoints
from transom.wire.rendering import render

MARK = {"cache_control": {"type": "ephemeral"}}
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
REDACTED = {"type": "redacted_thinking", "data": "ZGF0YQ=="}
SERVER = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "q"}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"type": "web_search_result", "url": "u"}]}
LEFT_OUT = {"type": "text", "text": "[text left out]"}
GO = {"role": "user", "content": "go"}


def text(words="x", **more):
    return {"type": "text", "text": words, **more}


def use(label="a", name="sh", **value):
    return {"type": "tool_use", "id": label, "name": name, "input": value}


def got(label="a", **more):
    return {"type": "tool_result", "tool_use_id": label, **more}


def turn(*blocks):
    return {"role": "assistant", "content": list(blocks)}


def said(*blocks, role="user"):
    return {"role": role, "content": list(blocks)}


def shown(*facts, dialect=ANTHROPIC, edits=(), nothing_said=False):
    """The messages of a log that holds these facts and edits: what the plan says before a call included."""
    talk = talking(*facts, dialect=dialect)
    for edit in edits:
        talk.edit(edit)
    window = assemble(talk.view, 10**7) if nothing_said else talk.plan_request()
    request = render(window, dialect)
    assert nothing_said or dialect.violations(request) == []
    return request["messages"]


ORDINARY = [
    GO,
    turn(THOUGHT, text("a "), use(cmd="ls"), REDACTED, text("b"), use("b")),
    said(got("b", content=[text("t"), IMAGE], is_error=False), got(content="", **MARK), text("and"), IMAGE),
    {"role": "system", "content": "in between"},
    said(text("s"), role="system"),
    turn(THOUGHT, SERVER, FOUND, {**text("found"), "citations": [{"url": "u"}]}),
    said({"type": "container_upload", "file_id": "f"}, text(**MARK)),
    said(text("apart")),
    {"role": "assistant", "content": "words "},
    turn(use("a")),
    turn(text("more"), use("c", x=1.5, y=[None, {"z": "汉"}])),
    said(got("a", content="no", is_error=True), got("c")),
    turn(SERVER),
]


def test_a_valid_conversation_comes_out_unchanged():
    assert ANTHROPIC.violations({"messages": ORDINARY}) == []
    assert shown(*read(*ORDINARY)) == ORDINARY


def test_rendering_shares_nothing_with_the_log():
    view = talking(*read(*ORDINARY)).view
    once = render(view, ANTHROPIC)["messages"]
    before = copy.deepcopy(once)
    calls, answer = once[1]["content"], once[2]["content"][0]
    calls[2]["input"]["cmd"] = answer["content"][1]["source"]["data"] = "changed"
    once[2]["content"].clear()
    assert render(view, ANTHROPIC)["messages"] == before


def test_results_stand_together_right_behind_their_calls_whatever_came_between():
    facts = read(turn(use("a"), use("b")), said(got("b", content="2")), said(text("wait"), got("a", content="1")))
    user = read(GO)
    assert shown(*user, facts[0], *facts[1:2], *user, *facts[2:]) == [
        GO,
        turn(use("a"), use("b")),
        said(got("b", content="2")),
        said(got("a", content="1"), text("go"), text("wait")),
    ]


def test_missing_results_are_made_and_stray_ones_left_out():
    assert shown(*read(GO, turn(use("a"), use("b")), said(got("a", content="1"), got("z")))) == [
        GO,
        turn(use("a"), use("b")),
        said(got("a", content="1"), got("b", content=ABORTED)),
    ]


def test_ids_and_names_that_the_api_refuses_are_mended_on_both_sides():
    calls = turn(use("a b"), use("ok", "a tool"), use("ok"), use("", ""), use("call-1-0"))
    answers = [got(label, content=str(at)) for at, label in enumerate(["a b", "ok", "ok", "", "call-1-0"])]
    assert shown(*read(GO, calls, said(*answers))) == [
        GO,
        turn(use("call-1-0"), use("ok", "a_tool"), use("call-1-2"), use("call-1-3", "unnamed"), use("call-1-4")),
        said(
            got("call-1-0", content="0"),
            got("ok", content="1"),
            got("call-1-2", content="2"),
            got("call-1-3", content="3"),
            got("call-1-4", content="4"),
        ),
    ]


def test_another_dialects_log():
    chat = [
        User(parts=(Text("go"),)),
        Instruction(parts=(Text("be quick"),), role="developer"),
        Assistant(
            parts=(Text("so"), Media("image", {"type": "image_url", "image_url": {"url": "u"}})),
            shape="parts",
            calls=(Call("x", "sh", '{"cmd": "ls"}'), Call("x", "a tool", "not JSON")),
            reasoning=(Reasoning("hm"),),
        ),
        ToolResult(call="x", parts=(Text("1"),)),
        User(parts=(Text("and"), Other({"type": "odd"})), shape="parts"),
        ToolResult(call="x", parts=(Media("image", {"type": "image_url", "image_url": {"url": "https://a/b.png"}}),)),
        Assistant(parts=(Text("done"),)),
    ]
    assert shown(*chat) == [
        said(text("go"), text("[developer message] be quick")),
        turn(
            text("so"),
            text("[image left out]"),
            use("call-2-0", cmd="ls"),
            use("call-2-1", "a_tool", arguments="not JSON"),
        ),
        said(
            got("call-2-0", content="1"),
            got("call-2-1", content=[{"type": "image", "source": {"type": "url", "url": "https://a/b.png"}}]),
            text("and"),
            text("[part left out]"),
        ),
        turn(text("done")),
        said(text(CONTINUE)),
    ]


def test_a_system_message_that_would_be_the_first_is_said_by_the_user():
    facts = read({"role": "system", "content": "brief"}, said({"type": "tool_addition"}, role="system"), GO)
    assert shown(*facts) == [said(text("[system message] brief")), said({"type": "tool_addition"}, role="system"), GO]
    assert shown(*facts[1:]) == [said(text("[system message] [part left out]"), text("go"))]


def test_words_of_our_own():
    assert shown(
        *read(said(text("go"))),
        Note(key="mode", text="[mode] quick"),
        Recalled(text="[recalled]\nold"),
        Handoff(text="[result]\nnew", source="b"),
        Failure(failure="timeout", shown="[no reply]"),
        nothing_said=True,
    ) == [
        said(text("go"), text("[mode] quick"), text("[recalled]\nold"), text("[result]\nnew")),
        turn(text("[no reply]")),
    ]


@pytest.mark.parametrize("blank", ["", " \n\t"])
def test_nothing_blank_is_sent(blank):
    assert shown(*read(said(text(blank), text()), turn(text(blank), use()), said(got(content=[text(blank)])))) == [
        said(text()),
        turn(use()),
        said(got(content=[])),
    ]
    assert shown(*read(said(text(blank), IMAGE), turn(use()), said(got(content=blank, is_error=True)))) == [
        said(IMAGE),
        turn(use()),
        said(got(content="[text left out]", is_error=True)),
    ]


def test_what_is_left_with_nothing_says_so():
    assert shown(*read({**GO, "content": " "}, turn(text("\n"), {"type": "thinking", "thinking": "unsigned"}), GO)) == [
        said(LEFT_OUT),
        turn(LEFT_OUT),
        GO,
    ]


def test_a_turn_does_not_end_with_thinking():
    """Behind a text, a call, a part of the provider's own tools or a blank text, and in a second message of the turn.
    Thinking with something behind it stays."""
    turns = [
        ((turn(THOUGHT, text(), THOUGHT, REDACTED),), [turn(THOUGHT, text())]),
        ((turn(use(), THOUGHT, text(" ")), said(got())), [turn(use()), said(got())]),
        ((turn(use()), turn(REDACTED), said(got())), [turn(use()), said(got())]),
        ((turn(SERVER, FOUND, THOUGHT),), [turn(SERVER, FOUND)]),
        ((turn(THOUGHT, text("\n")),), [turn(LEFT_OUT)]),
        ((turn(SERVER, THOUGHT), turn(FOUND, text())), [turn(SERVER, THOUGHT), turn(FOUND, text())]),
    ]
    for given, sent in turns:
        assert shown(*read(GO, *given, GO)) == [GO, *sent, GO]


def test_input_that_is_no_object_is_one():
    def sent(value):
        return shown(*read(GO, turn({**use(), "input": value})))[1]["content"][0]["input"]

    assert sent("not JSON") == {"arguments": "not JSON"}
    assert sent('{"a":1}') == {"a": 1}
    assert sent([1]) == {"arguments": "[1]"}
    assert sent(None) == {}


def test_lone_surrogates_never_leave():
    out = shown(*read(said(text("\ud83d")), turn(use(x="\udc00")), said(got(content="\ud83d"), text("y", z="\ud800"))))
    assert out == [said(text("?")), turn(use(x="?")), said(got(content="?"), text("y", z="?"))]


def test_reasoning_that_is_dropped_leaves_the_rest_in_order():
    said_since = [turn(text("done")), said(text("next"))]  # the turn at work would keep its reasoning
    facts = read(GO, turn(THOUGHT, text("a"), REDACTED, use()), turn(use("b")), said(got(), got("b")), *said_since)
    cut = [Trim(entry=1, part=("reasoning", 1))]
    assert shown(*facts, edits=cut)[1:3] == [turn(THOUGHT, text("a"), use()), turn(use("b"))]
    assert shown(*facts)[1:3] == [turn(THOUGHT, text("a"), REDACTED, use()), turn(use("b"))]


def test_trims_and_folds():
    facts = read(
        said(text("go " * 30)),
        turn(THOUGHT, text("so " * 30), use(cmd="ls" * 40)),
        said(got(content=[text("out " * 30), {**IMAGE, "source": {**IMAGE["source"], "data": "A" * 200}}])),
        turn(text("done " * 30)),
        said(text("next")),
    )
    trims = [
        Trim(entry=1, part=("args", 0), note='{"in":"entry 1"}'),
        Trim(entry=1, part=("text", 0), keep=((0, 3),), note="[cut]"),
        Trim(entry=2, part=("image", 0), note="[image left out; whole in entry 2]"),
    ]
    out = [text("out " * 30), text("[image left out; whole in entry 2]")]
    unit = [turn(THOUGHT, text("so [cut]"), use(**{"in": "entry 1"})), said(got(content=out))]
    assert shown(*facts, edits=trims) == [said(text("go " * 30)), *unit, turn(text("done " * 30)), said(text("next"))]
    folded = [*trims, Pin(entry=2), Fold(first=0, last=3, text="[folded]")]
    assert shown(*facts, edits=folded) == [
        said(text("[folded]"), text("go " * 30)),  # the first task is always there
        turn(text("so [cut]"), use(**{"in": "entry 1"})),  # its reasoning was made on another prefix
        said(got(content=out), text("next")),
    ]


def test_the_system_prompt():
    def system(*instructions):
        return render(talking(*read(GO), system=instructions).plan_request(), ANTHROPIC).get("system")

    native = ANTHROPIC.parse_system([text(**MARK), text("y")])
    chat = [Instruction(parts=(Text("a"),)), Instruction(parts=(Text("b", MARK), Other({})), shape="parts")]
    assert system() is None
    assert system(*ANTHROPIC.parse_system("s \ud83d")) == "s ?"
    assert system(*native) == [text(**MARK), text("y")]
    assert system(chat[0]) == "a"
    assert system(*chat) == [text("a"), text("b"), text("[part left out]")]
    assert system(*native, chat[0]) == [text(**MARK), text("y"), text("a")]
    assert system(*ANTHROPIC.parse_system(" ")) is None
    assert system(*ANTHROPIC.parse_system([text(" ")])) is None
    assert system(*ANTHROPIC.parse_system(" "), chat[0]) == [text("a")]


def test_no_more_cache_marks_leave_than_the_api_takes():
    """The oldest go; those of the system prompt stay."""
    marked = [said(text(str(at), **MARK)) for at in range(3)]
    call, answer = turn({**use(), **MARK}), said(got(content=[text("r", **MARK)]), text("u", **MARK))
    talk = talking(*read(*marked, call, answer), system=ANTHROPIC.parse_system([text("s", **MARK)]))
    request = render(talk.plan_request(), ANTHROPIC)
    assert request["system"] == [text("s", **MARK)]
    assert request["messages"] == [*[said(text(str(at))) for at in range(3)], call, answer]
    assert ANTHROPIC.violations(request) == []


def test_breakpoints():
    request = {
        "system": "s",
        "model": "m",
        "messages": [GO, turn(text(), THOUGHT), said(got(content="1"), text(" ")), turn(THOUGHT), GO],
    }
    before = copy.deepcopy(request)
    out = breakpoints(request, [0, 1, 3, 2, -1])
    assert request == before
    assert out == {
        "system": [text("s", **MARK)],
        "model": "m",
        "messages": [
            GO,  # four are enough: the last ones count
            turn(text(**MARK), THOUGHT),
            said(got(content="1", **MARK), text(" ")),
            turn(THOUGHT),
            said(text("go", **MARK)),
        ],
    }
    assert breakpoints(out, [0, 1, 2]) == out
    assert breakpoints({"messages": [GO]}, [0, 5, -2]) == {"messages": [said(text("go", **MARK))]}
    full = {"messages": [said(text(**MARK), got(content=[text(**MARK)])), GO], "tools": [MARK, MARK], "system": "s"}
    assert breakpoints(full, [1]) == full
