"""The provider's own compaction: what precedes it is hidden for ever, and it is never changed."""

from __future__ import annotations

import pytest

import transom
from transom.core.edit import Fold, Pin, Trim, Undo
from transom.core.message import Assistant, Other, User
from transom.errors import InvalidEdit
from transom.evaluation.explanations import explain

BLOCK = {"type": "compaction", "content": "The user wants a trip.", "signature": "c2ln"}
ITEM = {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAAA"}


def claude(*blocks: dict) -> dict:
    return {"role": "assistant", "content": list(blocks), "type": "message"}


def text(words: str) -> dict:
    return {"type": "text", "text": words}


@pytest.fixture
def conv():
    with transom.Conversation.open("memory:", "x", budget=4_000, dialect="anthropic") as opened:
        for at in range(4):
            opened.user(f"Question {at} " * 20)
            opened.request()
            opened.observe(claude(text(f"Answer {at} " * 20)))
        yield opened


def test_what_precedes_a_compaction_is_not_sent_and_counts_nothing(conv):
    before = conv.view.total.tokens
    conv.user("Go on.")
    conv.request()
    conv.observe(claude(BLOCK))
    conv.user("And now?")
    body = conv.request()
    assert body["messages"] == [{"role": "assistant", "content": [BLOCK]}, {"role": "user", "content": "And now?"}]
    assert conv.view.total.tokens < before / 4
    sealed = conv.view.slots[0]
    assert (sealed.sealed, sealed.size.tokens, sealed.unit_count) == (True, 0, 9)
    assert (*conv.view.first_task, conv.view.newest_user) == (conv.view.slots[-1].first,) * 2


def test_explain_and_search_know_what_precedes_it(conv):
    conv.observe(claude(BLOCK))
    rows = explain(conv.view)
    assert {(row.state, row.why) for row in rows[:-1]} == {("folded", "compaction by the provider")}
    assert (rows[-1].state, rows[-1].entry) == ("kept", conv.view.length - 1)
    assert conv.search("Question 2")


def test_no_edit_touches_it_or_brings_back_what_precedes_it(conv):
    pin = conv.pin(0)
    key = conv.observe(claude(BLOCK, text("word " * 50)))
    conv.user("And now?")
    for edit in (
        Fold(first=conv.view.slots[0].first, last=key, text="[folded]"),
        Fold(first=key, last=key, text="[folded]"),
        Fold(first=conv.view.slots[0].first, last=conv.view.slots[0].last, text="[folded]"),
        Trim(entry=key, part=("other", 0), note="[cut]"),
    ):
        with pytest.raises(InvalidEdit, match=r"compact|add"):
            conv.edit(edit)
    shown = conv.window().fingerprint
    conv.edit(Undo(edit=pin))
    conv.edit(Pin(entry=2))
    assert conv.window().fingerprint == shown
    conv.edit(Trim(entry=key, part=("text", 0), note="[cut]"))
    assert conv.request()["messages"][0]["content"] == [BLOCK, text("[cut]")]


def test_a_newer_compaction_takes_the_place_of_the_older(conv):
    conv.observe(claude(BLOCK))
    conv.user("And now?")
    conv.request()
    newer = {**BLOCK, "content": "The user wants a longer trip."}
    conv.observe(claude(newer, text("Done.")))
    conv.user("Thanks")
    assert conv.request()["messages"] == [
        {"role": "assistant", "content": [newer, text("Done.")]},
        {"role": "user", "content": "Thanks"},
    ]


def test_a_message_that_came_while_it_was_made_stays(conv):
    conv.user("Go on.")
    conv.request()
    conv.user("One more thing.")
    conv.observe(claude(BLOCK, text("Done.")))
    assert [slot.first for slot in conv.view.slots[1:]] == [conv.view.compaction, conv.view.newest_user]
    assert conv.request()["messages"][-1] == {"role": "user", "content": "One more thing."}


def test_state_is_announced_again_behind_it(conv):
    conv.state = {"mode": "plan"}
    conv.user("Go on.")
    conv.request()
    conv.observe(claude(BLOCK))
    conv.user("And now?")
    assert "plan" in str(conv.request()["messages"][-1]["content"])


def test_its_own_reasoning_stays_with_its_calls():
    spoken = transom.wire.anthropic.AnthropicDialect(bound=True)
    thought = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    with transom.Conversation.open("memory:", "x", budget=4_000, dialect=spoken) as conv:
        conv.user("Go on.")
        conv.request()
        conv.observe(claude(BLOCK, thought, {"type": "tool_use", "id": "t1", "name": "sh", "input": {}}))
        conv.tool_result("t1", "ok")
        assert [block["type"] for block in conv.request()["messages"][0]["content"]] == [
            "compaction",
            "thinking",
            "tool_use",
        ]


def test_calls_that_it_stands_for_wait_for_no_result(conv):
    conv.observe(claude({"type": "tool_use", "id": "t1", "name": "sh", "input": {}}))
    conv.observe(claude(BLOCK))
    assert conv.view.open_units == ()
    conv.tool_result("t1", "late")
    conv.user("And now?")
    assert len(conv.request()["messages"]) == 2


@pytest.mark.parametrize("policy", ["default", "sliding", "codex", "openhands"])
def test_it_is_in_every_window_under_pressure(policy):
    with transom.Conversation.open("memory:", "x", budget=1_500, dialect="responses", policy=policy) as conv:
        conv.user("start " * 40)
        for at in range(20):
            body = conv.request()
            kept = [each for each in body["input"] if each.get("type") == "compaction"]
            assert kept == ([] if at < 5 else [ITEM])
            assert at < 5 or body["input"][0] == ITEM
            call = {"type": "function_call", "call_id": f"c{at}", "name": "f", "arguments": "{}"}
            conv.observe({"output": [*([ITEM] if at == 4 else []), call]})
            conv.tool_result(f"c{at}", f"line {at} value {at * 7919} " * 30)


def test_a_compaction_that_failed_stands_for_nothing(conv):
    conv.observe(claude({"type": "compaction", "content": None}, text("Done.")))
    conv.user("And now?")
    assert len(conv.request()["messages"]) == 9
    assert conv.view.compaction is None


def test_another_api_shows_the_turns_before_it(conv):
    conv.observe(claude(BLOCK))
    conv.user("And now?")
    with transom.Conversation.open("memory:", "y", budget=4_000, dialect="openai") as other:
        for entry in conv.log.read():
            if isinstance(entry.body, (User, Assistant)):
                other.append(entry.body)
        assert len(other.request()["messages"]) == 10


def test_an_answer_of_compact_goes_in_and_out_as_it_is():
    kept = {"type": "message", "id": "msg_u", "role": "user", "status": "completed"}
    kept["content"] = [{"type": "input_text", "text": "Plan a trip"}]
    said = {"type": "message", "id": "msg_a", "role": "assistant", "status": "completed"}
    said["content"] = [{"type": "output_text", "text": "Lisbon.", "annotations": []}]
    with transom.Conversation.open("memory:", "x", budget=4_000, dialect="responses") as conv:
        conv.user("Plan a trip")
        conv.observe({"object": "response.compaction", "output": [kept, said, ITEM]})
        conv.user("And sights?")
        items = conv.request()["input"]
        assert items == [
            kept,
            {"type": "message", "role": "assistant", "content": "Lisbon."},
            ITEM,
            {"role": "user", "content": "And sights?"},
        ]
        assert transom.fit([kept, said, ITEM], budget=4_000, dialect="responses") == items[:3]
        assert conv.view.slots[1].entries[0].body.parts[0] == Other(kept, compaction=True)


def test_ids_stay_where_the_reasoning_does():
    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gB"}
    said = {"type": "message", "id": "msg_a", "role": "assistant", "status": "completed"}
    said["content"] = [{"type": "output_text", "text": "Lisbon.", "annotations": []}]
    call = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "c1", "output": "ok"}
    assert transom.fit([ITEM, thought, said], budget=4_000, dialect="responses") == [ITEM, thought, said]
    bare = {key: value for key, value in call.items() if key != "id"}
    assert transom.fit([ITEM, call, output], budget=4_000, dialect="responses") == [ITEM, bare, output]
