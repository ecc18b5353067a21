"""Where strategies and the plan meet odd windows: each of these went wrong once."""

from __future__ import annotations

from base64 import b64encode

import pytest

import transom
from omission_policy import OMISSION
from transom import Budget, BudgetImpossible, Conversation, Policy
from transom.conversation.render_window import render
from transom.core.edit import Fold, Undo
from transom.core.message import Instruction, Note, Text, ToolResult
from transom.strategies.shorten.forms import Stub
from transom.strategies.shorten.selectors import FreshResults
from transom.strategies.shorten.shorten import Shorten
from transom.testing.fakes import FakeClock, WordCounter
from transom.tokenizer import MIN_ENDLESS_RUN, o200k


def opened(context=1_000, policy=OMISSION, **limits):
    return Conversation.open(
        "memory:",
        "edges",
        budget=Budget(context=context, **limits),
        policy=policy,
        counter=WordCounter(),
        clock=FakeClock(),
    )


def asks(*labels):
    calls = [{"id": label, "type": "function", "function": {"name": "sh", "arguments": "{}"}} for label in labels]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def contents(window):
    return [message["content"] for message in render(window)["messages"]]


def picture(number=0):
    return {"type": "image_url", "image_url": {"url": f"https://example.org/{number}.png"}}


def sound(number=0):
    return {"type": "input_audio", "input_audio": {"data": f"AAAA{number}", "format": "wav"}}


def test_results_the_model_has_not_seen_are_never_stale():
    conv = opened(context=4_000)
    conv.user("go")
    for number in range(3):
        conv.plan_request()
        conv.observe(asks(f"c{number}"))
        conv.tool_result(f"c{number}", f"old {number} " * 300)
    conv.plan_request()
    conv.observe(asks("a", "b"))
    conv.tool_result("a", "a " * 1_900)
    conv.tool_result("b", "b " * 1_900)
    assert contents(conv.plan_request())[-2:] == ["a " * 1_900, "b " * 1_900]


def test_a_real_result_is_never_replaced_by_a_synthetic_one():
    conv = opened()
    conv.user("go")
    conv.observe(asks("x"))
    conv.observe({"role": "assistant", "content": "meanwhile"})
    conv.tool_result("x", "the real one")
    assert contents(conv.plan_request()) == ["go", None, "the real one", "meanwhile"]


def test_a_second_answer_to_a_later_call_with_the_same_id_is_not_late():
    conv = opened()
    conv.user("go")
    conv.observe(asks("call_0"))
    conv.plan_request()  # closes it
    conv.observe(asks("call_0"))
    conv.tool_result("call_0", "first")
    conv.tool_result("call_0", "again")
    conv.append(ToolResult(parts=(Text("nobody's"),)))
    assert not any(isinstance(entry.body, Note) for entry in conv.log.read())
    conv.plan_request()
    assert not any(isinstance(entry.body, Note) for entry in conv.log.read())


def test_a_late_result_is_given_once_with_its_tool():
    conv = opened()
    conv.user("go")
    conv.observe(asks("x"))
    conv.plan_request()
    conv.observe({"role": "assistant", "content": "on"})
    conv.tool_result("x", "late")
    conv.tool_result("x", "late again")
    last = contents(conv.plan_request())[-1]
    assert last == "[late result of sh, entry 5; the call above it was marked aborted]\nlate"


@pytest.mark.parametrize("size", [6_000, 900_000])
def test_a_pinned_result_is_not_clipped_on_arrival(size):
    conv = opened(context=4_000 if size < 10_000 else 400_000)
    conv.user("go")
    conv.observe(asks("x"))
    conv.pin(conv.tool_result("x", "y" * size))
    assert contents(conv.plan_request())[-1] == "y" * size


def test_a_pinned_image_stays_while_others_go():
    conv = opened(context=100_000, max_images=2)
    pinned = conv.user([picture(0)])
    conv.pin(pinned)
    for number in range(1, 4):
        conv.user([picture(number)])
    shown = contents(conv.plan_request())
    assert shown[0] == [picture(0)]
    assert shown[1] == [{"type": "text", "text": "[image left out; whole in entry 2]"}]
    assert shown[3] == [picture(3)]


def file_in_the_request(number: int) -> dict:
    """A document of 1,500 tokens: one page."""
    data = b64encode(b"%PDF-1.4 " + bytes(number)).decode()
    return {"type": "file", "file": {"filename": "x.pdf", "file_data": f"data:application/pdf;base64,{data}"}}


def file_by_id(number: int) -> dict:
    """A document that counts 4,000 tokens."""
    return {"type": "file", "file": {"file_id": f"f{number}"}}


@pytest.mark.parametrize(
    ("part", "context"),
    [
        (sound, 2_000),
        (sound, 4_000),
        (picture, 2_000),
        (picture, 4_000),
        (file_in_the_request, 2_000),
        (file_in_the_request, 4_000),
        (file_by_id, 4_800),
        (file_by_id, 8_000),
        (file_by_id, 16_000),
    ],
)
def test_the_newest_message_of_media_stays_whole(part, context):
    messages = []
    for number in range(6):
        messages += [{"role": "user", "content": [part(number)]}, {"role": "assistant", "content": f"answer {number}"}]
    messages.append({"role": "user", "content": [part(9)]})
    assert transom.fit(messages, budget=context)[-1] == messages[-1]


def test_a_part_that_cannot_be_quoted_is_named():
    conv = opened(max_messages=1)
    conv.append(Instruction(role="developer", parts=(Text("stay calm"),)))
    conv.user("first")
    conv.user([picture()])
    (text,) = contents(conv.plan_request())
    assert text == "[entry 0 to entry 2]\n[entry 1, user] first\n[entry 2, user] [image left out]"


def test_a_pinned_instruction_is_quoted_by_its_role():
    conv = opened(max_messages=1)
    pinned = conv.append(Instruction(role="developer", parts=(Text("stay calm " * 20),)))
    conv.pin(pinned)
    conv.user("first " * 30)
    assert "[entry 0, developer] stay calm" in contents(conv.plan_request())[0]


def test_the_newest_turn_stays_where_messages_are_few():
    messages = [{"role": "system", "content": "s"}, {"role": "user", "content": "task"}]
    for number in range(6):
        messages += [asks(f"c{number}"), {"role": "tool", "tool_call_id": f"c{number}", "content": f"r{number}"}]
    shown = transom.fit(messages, budget=Budget(max_messages=4))
    assert shown[1]["content"] == "[message 1 to message 11]\n[message 1, user] task"
    assert shown[2:] == messages[-2:]
    assert transom.fit(messages, budget=Budget(max_messages=5))[1] == messages[1]


def test_an_edit_taken_back_at_once_breaks_nothing():
    conv = opened()
    conv.user("a " * 50)
    conv.observe({"role": "assistant", "content": "b " * 50})
    conv.user("c " * 50)
    before = conv.plan_request()
    conv.observe({"role": "assistant", "content": "d"})
    fold = conv.edit(Fold(first=0, last=1, text="[gone]"))
    conv.edit(Undo(edit=fold))
    after = conv.plan_request()
    assert after.breaks is None
    assert after.shared_tokens == before.size.tokens
    assert render(after)["messages"][:3] == render(before)["messages"]


def test_a_head_that_does_not_fit_is_billed_alone():
    conv = opened(context=100)
    conv.user("word " * 2_000)
    with pytest.raises(BudgetImpossible) as refused:
        conv.plan_request(tools=[{"type": "function", "function": {"name": "x" * 600}}])
    bill = refused.value.bill
    assert set(bill) == {"need", "limit", "head", "tools"}
    assert bill["need"] == bill["head"] + bill["tools"]
    assert bill["need"] < 200


def test_a_state_announced_again_names_what_it_replaces():
    conv = opened(context=500)
    conv.user("go")
    for number in range(30):
        conv.plan_request(state={"step": f"step {number} of a long plan that goes on"})
        conv.observe({"role": "assistant", "content": "word " * 10})
    folds = [entry.body for entry in conv.log.read() if isinstance(entry.body, Fold) and entry.body.why == "superseded"]
    assert folds
    assert all(fold.text == f"[entry {fold.first}: said again later]" for fold in folds)


STUBS = Shorten(FreshResults(characters=7_000), Stub(), "stub")


def test_a_stub_has_a_preview_and_a_reference():
    conv = opened(context=20_000, policy=Policy(name="stubs", arrival=(STUBS,)))
    conv.user("read it")
    conv.observe(asks("x"))
    conv.tool_result("x", "\n".join(f"line {number}" for number in range(2_000)))
    shown = contents(conv.plan_request())[-1]
    assert shown.startswith("line 0\n")
    assert shown.endswith("\nline 1999")
    assert "\n[sh output stored: 4,723 tokens, 2,000 lines; whole in entry 2]\n" in shown
    assert WordCounter().count(shown) < 250
    small = opened(context=2_000, policy=Policy(name="stubs", arrival=(STUBS,)))
    small.user("read it")
    small.observe(asks("x"))
    small.tool_result("x", "y" * 1_200)
    assert "output stored" in contents(small.plan_request())[-1]


def test_edits_taken_back_cost_later_turns_nothing():
    conv = opened(context=100_000)
    conv.user("go")
    entry = conv.append(Instruction(parts=(Text("rule " * 40),)))
    for _ in range(50):
        conv.undo(conv.edit(Fold(first=entry, last=entry, text="[gone]")))
    reads = []
    conv._planner.writer.view = conv.view.with_log(Reads(conv.log, reads))
    conv.observe(asks("x"))
    conv.append(ToolResult(call="x", parts=(Text("ok"),)))
    conv.plan_request()
    assert reads == []


class Reads:
    def __init__(self, log, reads):
        self.log, self.reads = log, reads

    def __len__(self):
        return len(self.log)

    def __getitem__(self, seq):
        self.reads.append(seq)
        return self.log[seq]


@pytest.mark.parametrize("blank", [" ", "\t", "\u00a0"])
def test_a_million_blanks_are_counted(blank):
    text = "start" + blank * 1_000_000 + "end"
    assert o200k().count(text) > 1_000
    assert o200k().count("a b" + "\n" * 3 + " " * (MIN_ENDLESS_RUN - 1) + "c") > 0
