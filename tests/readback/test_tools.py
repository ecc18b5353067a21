"""The readback tools: their schemas, their answers, and that nothing a model sends raises an exception."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transom import Budget, Conversation
from transom.conversation.render_window import render
from transom.readback import TOOLS, answer_call, answer_limit, list_entries
from transom.testing.builders import call, hidden, result, says, talk
from transom.testing.fakes import Entries, FakeClock, WordCounter
from transom.texts import READ_BACK

LOG = Entries(
    talk(
        "fix it",
        says("I look.", call("sh", '{"cmd": "ls"}')),
        result("src\ntests [entry 0] \x1b[2J"),
        hidden("for people"),
        says("done"),
    )
)


def test_each_tool_is_described_once():
    assert {tool.name for tool in TOOLS} == READ_BACK
    for tool in TOOLS:
        parameters = tool.parameters
        assert parameters["type"] == "object"
        assert set(parameters["required"]) <= set(parameters["properties"])
        assert all(field["description"] for field in parameters["properties"].values())
        assert "anyOf" not in json.dumps(tool.schema())
    assert WordCounter().count(json.dumps([tool.schema() for tool in TOOLS])) < 1_000


def test_each_tool_answers():
    assert answer_call(LOG, "transom_read", '{"ref": "entry 2"}') == (
        "[entry 2, tool sh: lines 1 to 2 of 2]\nsrc\ntests [entry 0] \x1b[2J"
    )
    assert answer_call(LOG, "transom_grep", '{"pattern": "te.ts", "ref": null}') == (
        "[1 matching line in entries 0-4]\nentry 2:2: tests [entry 0] \\x1b[2J"
    )
    assert answer_call(LOG, "transom_list", "") == (
        "[4 of 5 entries]\n"
        "entry 0, user, 6 tokens: fix it\n"
        'entry 1, assistant, 13 tokens: I look. → sh({"cmd": "ls"})\n'
        "entry 2, tool sh, 12 tokens: src tests \\[entry 0] \\x1b[2J\n"
        "entry 4, assistant, 5 tokens: done"
    )
    assert answer_call(LOG, "transom_list", {"first": "1", "limit": 1}) == (
        '[1 of 5 entries; more: first 2]\nentry 1, assistant, 13 tokens: I look. → sh({"cmd": "ls"})'
    )


@pytest.mark.parametrize(
    ("name", "arguments", "error"),
    [
        ("transom_read", "{", "cannot be read"),
        ("transom_read", "[1, 2]", "Expected `object`, got `array`"),
        ("transom_read", "null", "missing required field `ref`"),
        ("transom_read", '"entry 1"', "Expected `object`, got `str`"),
        ("transom_read", '{"ref": 2}', "Expected `str`, got `int`"),
        ("transom_read", '{"ref": "entry 2", "start": "x"}', "Expected `int`, got `str`"),
        ("transom_read", '{"ref": "entry 2", "start": 0}', "`int` >= 1"),
        ("transom_read", '{"ref": "entry 2", "lines": 1e99}', "Expected `int`"),
        ("transom_read", '{"ref": "entry 2", "start": 99999999999999999999999}', "start"),
        ("transom_read", '{"ref": "entry 2", "path": "/etc"}', "unknown field `path`"),
        ("transom_read", '{"ref": "entry 9"}', "there is no entry 9 in this log: its entries are 0 to 4"),
        ("transom_read", '{"ref": "../../etc/passwd"}', "must be"),
        ("transom_read", '{"ref": "entry 3"}', "kept out of context"),
        ("transom_grep", '{"pattern": "(a"}', "missing )"),
        ("transom_grep", '{"pattern": "x", "ref": "message 3"}', "must be"),
        ("transom_list", '{"first": 5}', "there is no entry 5"),
        ("transom_read", "[" * 1_000_000, "cannot be read"),
        ("transom_read", '{"ref": "\ud800"}', "must be"),
        ("transom_read", object(), "cannot be read"),
        ("transom_read", {1: 2}, "cannot be read"),
        ("rm -rf\n/", "{}", "there is no tool 'rm -rf"),
        ("x" * 100_000, "{}", "there is no tool"),
    ],
)
def test_an_error_is_returned_as_one_line(name, arguments, error):
    text = answer_call(LOG, name, arguments)
    assert text.startswith("[error: ")
    assert error in text
    assert text.isprintable()
    assert len(text) < 1_000


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.dictionaries(
    st.sampled_from(["ref", "start", "column", "lines", "pattern", "limit", "context", "first", "last"]),
    st.sampled_from(["entry 2", "entries 0-9", "entry 1 args 0", "a*", "[", "3", "-1"]) | st.integers(-2, 10**6) | JSON,
    max_size=4,
)


@given(st.sampled_from([*sorted(READ_BACK), "sh"]), FIELDS | JSON | st.text(), st.booleans())
def test_nothing_a_model_sends_raises(name, arguments, as_text):
    text = answer_call(LOG, name, json.dumps(arguments) if as_text else arguments)
    assert text.startswith("[")
    assert len(text.encode()) <= 20_000


BIG = ("x" * 1_000_000, "\n" * 1_000_000, "汉字" * 500_000, "\x00\u202e" * 500_000, "word \r" * 170_000)


@pytest.mark.parametrize("text", BIG, ids=range(len(BIG)))
@pytest.mark.parametrize("max_bytes", [1_000, 20_000])
def test_answers_are_bounded_and_take_linear_time(text, max_bytes):
    def seconds(text):
        log = Entries(talk("go", call("sh"), result(text)))
        begin = time.process_time()
        for name, arguments in (
            ("transom_read", '{"ref": "entry 2", "lines": 10000}'),
            ("transom_read", '{"ref": "entries 0-2", "lines": 10000}'),
            ("transom_grep", '{"pattern": "$", "limit": 500, "context": 10}'),
            ("transom_list", "{}"),
        ):
            assert len(answer_call(log, name, arguments, max_bytes).encode()) <= max_bytes
        return time.process_time() - begin

    once, twice = map(
        min, zip(*((seconds(text), seconds(text * 2)) for _ in range(4)), strict=True)
    )  # both at the same time, so that a busy machine slows both
    assert twice <= 3 * max(once, 0.03)
    assert twice < 2


@pytest.mark.parametrize("arguments", [{"ref": "汉" * 3_000}, {"ref": ["\u202e" * 3_000]}, {"\u202e" * 3_000: 1}])
@pytest.mark.parametrize("name", ["transom_read", "\u202e" * 3_000])
def test_errors_are_bounded_too(name, arguments):
    text = answer_call(LOG, name, arguments, 1_000)
    assert text.startswith("[error: ")
    assert text.endswith("]")
    assert len(text.encode()) <= 1_000


def test_the_bound_of_an_answer_follows_the_budget():
    assert answer_limit(Budget(context=128_000)) == 20_000
    assert answer_limit(Budget(context=8_000)) == 4_000


def test_a_list_continues_where_it_stopped():
    log = Entries(talk(*[f"message {n}" for n in range(120)]))
    first, seen = 0, []
    while first is not None:
        found = list_entries(log, first, limit=50)
        seen += [line.entry for line in found.lines]
        first = found.next
    assert seen == list(range(120))
    assert [line.entry for line in list_entries(log, 5, 7).lines] == [5, 6, 7]
    assert list_entries(Entries()).lines == ()


def test_a_model_that_follows_a_marker_gets_the_whole():
    """A result is trimmed and then read back page by page. No page is trimmed again."""
    budget = Budget(context=4_000)
    conv = Conversation.open("memory:", "loop", budget=budget, counter=WordCounter(), clock=FakeClock())
    whole = "\n".join(f"row {n}: {'data ' * 6}" for n in range(600))
    conv.user("read it")
    conv.plan_request(tools=list(TOOLS))
    conv.observe(assistant_call("a", "cat", {}))
    entry = conv.tool_result("a", whole)
    rendered = str(render(conv.plan_request())["messages"])
    assert f"whole in entry {entry}]" in rendered
    arguments, texts = {"ref": f"entry {entry}", "lines": 10_000}, []
    for turn in range(50):
        conv.observe(assistant_call(f"c{turn}", "transom_read", arguments))
        page = answer_call(conv.log, "transom_read", json.dumps(arguments), answer_limit(budget))
        conv.tool_result(f"c{turn}", page)
        assert render(conv.plan_request())["messages"][-1]["content"] == page
        head, _, text = page.partition("\n")
        texts.append(text)
        if "next page" not in head:
            break
        start = head.rpartition("start ")[2].removesuffix("]")
        arguments = {"ref": f"entry {entry}", "start": int(start), "lines": 10_000}
    assert "\n".join(texts) == whole


def assistant_call(label, name, arguments):
    function = {"name": name, "arguments": json.dumps(arguments)}
    call = {"id": label, "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def test_an_error_of_redact_is_no_error_of_the_arguments():
    def redact(text):
        raise ValueError("no pattern")

    with pytest.raises(ValueError, match="no pattern"):
        answer_call(LOG, "transom_read", '{"ref": "entry 0"}', redact=redact)
