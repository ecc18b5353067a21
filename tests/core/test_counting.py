"""The counting formula, by hand, and the kit that builds logs."""

from __future__ import annotations

import pytest

from transom.core.entry import Meta
from transom.core.message import Assistant, Call, Head, Instruction, Reasoning, Text, ToolResult, User
from transom.core.reducer import build_view
from transom.core.tokens import Size, fact_size, replace_surrogates
from transom.core.trims import trimmed_text
from transom.testing import Entries, FakeClock, WordCounter, call, hidden, image, result, says, talk, user


def test_each_text_is_counted_by_itself_and_every_message_has_an_envelope() -> None:
    log = talk(
        Head(messages=(Instruction(parts=(Text("system"),)),), tools=({"name": "sh"},)),
        user("abcde", image("data:xx"), "f"),
        says("four", call("tool", '{"a":1}', label="id"), thought="thought"),
        result("12345678"),
    )
    assert [entry.tokens for entry in log] == [(4 + 2 + 4,), (4, 2, 1_000, 1), (4 + 1 + 1, 1, 2, 2), (4 + 1, 2)]
    tokens = 3 + 10 + 1_007 + 11 + 7
    head = 32 + len("system") + len('{"name":"sh"}')
    spoken = 32 + len("abcde") + 1_000 + len("f")  # an image by URL weighs something all the same
    turn = 32 + len("four") + 32 + len("idtool") + len('{"a":1}') + len("thought")
    answer = 32 + len("id") + len("12345678")
    assert build_view(Entries(log), WordCounter()).total == Size(tokens, head + spoken + turn + answer, 1, 4)


def test_a_name_is_counted_and_fields_we_do_not_know_travel_too() -> None:
    (entry,) = talk(User(parts=(Text("hi"),), extra={"name": "annabel"}))
    assert entry.tokens == (4 + 2, 1)
    assert fact_size(entry.body, entry.tokens) == Size(7, 32 + len('{"name":"annabel"}') + 2, 0, 1)


def test_ids_that_must_be_relabelled_are_counted_as_they_are_sent() -> None:
    twice = talk(says("", call("sh", label="a"), call("sh", label="a")), result("x", to="a"), result("y", to="a"))
    once = talk(says("", call("sh", label="a"), call("sh", label="call-0-1")), result("x"), result("y"))
    assert build_view(Entries(twice), WordCounter()).total == build_view(Entries(once), WordCounter()).total


def test_lone_surrogates_are_replaced_before_they_are_counted_or_sent() -> None:
    assert replace_surrogates("a\ud83db\udc00") == "a?b?"
    assert replace_surrogates("汉👧") == "汉👧"


def test_talk_writes_what_was_meant() -> None:
    log = talk("fix it", call("sh", '{"cmd": "ls"}'), call("sh"), result("ok"), result("ok too"), says("done"))
    assert [entry.body for entry in log] == [
        User(parts=(Text("fix it"),)),
        Assistant(shape="null", calls=(Call("call_1_0", "sh", '{"cmd": "ls"}'), Call("call_1_1", "sh", "{}"))),
        ToolResult(parts=(Text("ok"),), call="call_1_0"),
        ToolResult(parts=(Text("ok too"),), call="call_1_1"),
        Assistant(parts=(Text("done"),)),
    ]
    assert [(entry.seq, entry.at, entry.counter) for entry in log] == [(seq, float(seq), "words") for seq in range(5)]


def test_talk_goes_on_after_a_log_and_leaves_it_as_it_was() -> None:
    log = talk("one", clock=FakeClock(100.0, 0.5))
    longer = talk(hidden(says("two", thought="hm", bound=True, answers=0)), after=log)
    assert (len(log), longer[0]) == (1, log[0])
    assert (longer[1].seq, longer[1].at, longer[1].meta) == (1, 101.0, Meta(include_in_context=False))
    assert longer[1].body == Assistant(parts=(Text("two"),), reasoning=(Reasoning("hm", bound=True),), answers=0)


def test_a_result_that_no_call_waits_for_must_name_one() -> None:
    for items in ((), ("hi",), (call("sh"), result("ok"))):
        with pytest.raises(ValueError, match="no call waits for the result 'oops'"):
            talk(*items, result("oops"))


def test_entries_are_a_log_and_no_list() -> None:
    log = Entries(talk("one", "two"))
    assert (len(log), log[1].seq, [entry.seq for entry in log]) == (2, 1, [0, 1])
    for seq in (-1, 2):
        with pytest.raises(IndexError, match=f"no entry {seq} in a log of 2"):
            log[seq]


def test_every_stretch_that_a_trim_leaves_out_is_marked():
    text = "one\ntwo\nthree\nfour\n"
    assert trimmed_text(text, ((0, 4), (8, 14)), "[gone]\n") == "one\n[gone]\nthree\n…\n"
    assert trimmed_text(text, ((4, 8), (14, 17)), "[gone]\n") == "[gone]\ntwo\n…\nfou\n…\n"
    assert trimmed_text(text, (), "[gone]") == "[gone]"
