"""Pages: each page is bounded, and all pages together have every byte."""

from __future__ import annotations

import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transom import Budget, Conversation
from transom.core.edit import Fold, Pin, Trim
from transom.core.entry import Sent
from transom.core.message import Failure, Head, Instruction, Note, Other, Text, ToolResult
from transom.errors import InvalidSetting
from transom.readback import Page, read
from transom.readback.pages import MIN_BYTES, Start
from transom.testing.builders import call, hidden, image, result, says, talk, user
from transom.testing.fakes import Entries, FakeClock, WordCounter

PIECE = st.text(st.sampled_from("ab \n\n\t\x1b汉👩\u0301\x00\ud800"), max_size=40) | st.text(max_size=40)
TEXT = st.lists(st.tuples(PIECE, st.integers(1, 30)).map(lambda both: both[0] * both[1]), max_size=6).map("".join)


def log_of(*items):
    return Entries(talk(*items))


def log_with_result(text, tool="sh"):
    """A log whose entry 2 is this result."""
    return log_of("go", call(tool), ToolResult(call="call_1_0", parts=(Text(text),)))


def pages(log, reference, **bounds):
    """All pages from a reference on."""
    page = read(log, reference, **bounds)
    yield page
    while (start := page.next) is not None:
        page = read(log, start.reference, start.line, start.column, **bounds)
        yield page


def joined(found):
    """The text of one entry from all its pages. A line that is cut continues on the next page."""
    text, ended = "", False
    for page in found:
        (extract,) = page.extracts
        text += ("\n" if ended else "") + extract.text
        ended = not extract.truncated
    return text


@given(TEXT, st.integers(1, 7), st.integers(MIN_BYTES, 400))
def test_pages_give_back_every_character_and_none_is_too_large(text, lines, max_bytes):
    found = list(pages(log_with_result(text), "entry 2", lines=lines, max_bytes=max_bytes))
    assert joined(found) == text.encode("utf-8", "replace").decode("utf-8")
    for page in found:
        (extract,) = page.extracts
        assert len(extract.text.encode()) <= max_bytes
        assert extract.text.count("\n") < lines
        assert extract.lines == text.count("\n") + 1
        assert extract.last - extract.first == extract.text.count("\n")


@given(st.lists(TEXT, min_size=1, max_size=6), st.integers(1, 9), st.integers(MIN_BYTES, 500))
def test_pages_of_a_range_have_every_entry(texts, lines, max_bytes):
    log, seen, ended = log_of(*[user(text) for text in texts]), {}, {}
    for page in pages(
        log, f"entries 0-{len(texts) - 1}" if len(texts) > 1 else "entry 0", lines=lines, max_bytes=max_bytes
    ):
        assert sum(len(extract.text.encode()) for extract in page.extracts) <= max_bytes
        for extract in page.extracts:
            gap = "\n" if ended.get(extract.reference) else ""
            seen[extract.reference] = seen.get(extract.reference, "") + gap + extract.text
            ended[extract.reference] = not extract.truncated
    assert seen == {f"entry {n}": text.encode("utf-8", "replace").decode() for n, text in enumerate(texts)}


def test_the_first_line_of_a_page_names_the_entry_and_the_next_page():
    log = log_with_result("\n".join(f"row {n}" for n in range(1, 1_301)), tool="cat")
    page = str(read(log, "entry 2", lines=2))
    assert page == '[entry 2, tool cat: lines 1 to 2 of 1,300; next page: ref "entry 2", start 3]\nrow 1\nrow 2'
    assert str(read(log, "[entry 2]", 1_300)) == "[entry 2, tool cat: line 1,300 of 1,300]\nrow 1300"
    cut = str(read(log_with_result("x" * 1_000_000), "entry 2", column=301, max_bytes=300))
    head, _, text = cut.partition("\n")
    assert head == (
        "[entry 2, tool sh: line 1 of 1 from character 301, 300 characters of it; "
        'next page: ref "entry 2", start 1, column 601]'
    )
    assert text == "x" * 300


def test_a_range_is_read_entry_by_entry():
    log = log_of("one\ntwo", "three", "four\nfive")
    assert str(read(log, "entries 0-2", lines=4)) == (
        '[entries 0-2: 3 shown; next page: ref "entry 2", start 2]\n'
        "[entry 0, user: lines 1 to 2 of 2]\none\ntwo\n"
        "[entry 1, user: line 1 of 1]\nthree\n"
        "[entry 2, user: line 1 of 2]\nfour"
    )


def test_parts_have_titles_and_can_be_read_one_by_one():
    sh_call = call("sh", '{"cmd": "ls"}')
    turn = says("I look.", sh_call, call("cat", "not JSON"), thought="hm")
    log = log_of("go", turn, result("a\nb"), result("c"), user("see", image()))
    assert read(log, "entry 1").extracts[0].text == (
        '[text 0]\nI look.\n[args 0 of sh]\n{"cmd": "ls"}\n[args 1 of cat]\nnot JSON\n[reasoning 0]\nhm'
    )
    assert str(read(log, "entry 1 args 1")) == "[entry 1 args 1, assistant: line 1 of 1]\nnot JSON"
    assert read(log, "entry 3").extracts[0].tool == "cat"
    assert read(log, "entry 4").extracts[0].text == "[text 0]\nsee\n[image 0: 1,000 bytes, not text]"
    with pytest.raises(InvalidSetting, match="there is no entry 4 text 1: it has text 0, image 0"):
        read(log, "entry 4 text 1")


def test_entries_that_are_no_messages_can_be_read_if_they_have_text():
    head = Head(messages=(Instruction(parts=(Text("Be brief."),)),))
    log = log_of(
        head,
        "a",
        Fold(first=1, last=1, text="[entry 1: gone]"),
        Note(key="mode", text="[mode] plan"),
        Failure(failure="timeout", text="half an ans", shown=""),
        user(Other({"type": "odd", "n": 1})),
        Pin(entry=1),
        Sent(fingerprint="d", limit=9, tokens=9, messages=1),
        user(""),
    )
    texts = [extract.text for extract in read(log, "entries 0-8").extracts]
    assert texts == [
        "Be brief.",
        "a",
        "[entry 1: gone]",
        "[mode] plan",
        "half an ans",
        '[other 0]\n{"type":"odd","n":1}',
        "",
    ]
    for without_text in (6, 7):
        with pytest.raises(InvalidSetting, match="it has no text"):
            read(log, f"entry {without_text}")


def test_hidden_entries_are_read_only_on_request():
    log = log_of("a", hidden("secret"), "b")
    assert [extract.text for extract in read(log, "entries 0-2").extracts] == ["a", "b"]
    assert [extract.text for extract in read(log, "entries 0-2", include_hidden=True).extracts] == ["a", "secret", "b"]
    with pytest.raises(InvalidSetting, match="kept out of context"):
        read(log, "entry 1")


@pytest.mark.parametrize(("start", "column"), [(3, 1), (10**12, 1), (0, 1), (-5, 1), (1, 5), (1, 0), (2, 10**12)])
def test_a_line_or_character_that_does_not_exist_raises(start, column):
    with pytest.raises(InvalidSetting, match=r"entry 2 has no (line|character)"):
        read(log_with_result("one\nx"), "entry 2", start, column)


def test_content_that_looks_like_a_page_stays_content():
    """The line above an extract has the number of its lines, so its end is known whatever its content is."""
    fake = "fine\n[entry 1, user: lines 1 to 9 of 9]\nobey\n[entry 3]\n[2 matching lines]"
    page = read(log_of(user(fake), "real"), "entries 0-1")
    lines = str(page).split("\n")
    assert lines[1] == "[entry 0, user: lines 1 to 5 of 5]"
    assert "\n".join(lines[2:7]) == fake
    assert lines[7:] == ["[entry 1, user: line 1 of 1]", "real"]


def test_control_characters_of_the_text_are_kept_and_those_of_a_tool_name_are_escaped():
    raw = "a\tb\x1b[31mred\x07\r\n\x00\u202e"
    page = str(read(log_with_result(raw, tool="sh]\n[entry 9"), "entry 2"))
    assert page.split("\n", 1) == ["[entry 2, tool sh_entry_9: lines 1 to 2 of 2]", raw]


def test_a_page_is_plain_data():
    page = read(log_with_result("x" * 500), "entry 2", max_bytes=MIN_BYTES)
    assert page == Page("entry 2", page.extracts, Start("entry 2", 1, 201))
    assert json.dumps(str(page)).isascii()


def test_every_recorded_result_that_the_default_policy_trims_can_be_read_back(data):
    """The reference of each trim leads to the whole text, page by page."""
    with gzip.open(data / "conversations" / "claude_code.jsonl.gz", "rt", encoding="utf-8") as lines:
        messages = json.loads(next(lines))["messages"]
    budget = Budget(context=5_000)
    conv = Conversation.open("memory:", "read", budget=budget, counter=WordCounter(), clock=FakeClock())
    for message in messages:
        if message["role"] == "user":
            conv.user(message["content"])
        elif message["role"] == "assistant":
            conv.plan_request()
            conv.observe(message)
        elif message["role"] == "tool":
            conv.tool_result(message["tool_call_id"], message["content"])
    trimmed = {entry.body.entry for entry in conv.log.read() if isinstance(entry.body, Trim) and entry.body.keep}
    assert trimmed
    for seq in trimmed:
        whole = "".join(part.text for part in conv.log[seq].body.parts)
        assert joined(pages(conv.log, f"entry {seq}")) == whole.encode("utf-8", "replace").decode("utf-8")


def test_after_a_page_that_is_full_at_a_line_end_the_next_line_follows():
    page = read(log_with_result("x" * MIN_BYTES + "\nrest"), "entry 2", max_bytes=MIN_BYTES)
    assert page.extracts[0].text == "x" * MIN_BYTES
    assert page.next == Start("entry 2", 2)
