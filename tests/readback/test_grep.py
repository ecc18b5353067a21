"""Searching: the answer is bounded and escaped, and time is linear in the text, whatever the pattern is."""

from __future__ import annotations

import re
import time
from importlib.metadata import requires

import pytest
import re2
from hypothesis import given
from hypothesis import strategies as st

from transom import Conversation
from transom.core.message import Text, ToolResult
from transom.errors import InvalidSetting
from transom.readback import grep
from transom.readback.grep_log import LINE_WIDTH
from transom.readback.patterns import MAX_INSTRUCTIONS, compile_pattern, matching_lines
from transom.testing.builders import call, hidden, result, talk, user
from transom.testing.fakes import Entries

TEXT = st.text(st.sampled_from("ab\n\n \r\x1b汉👩\x00\ud800"), max_size=300)
PATTERNS = st.sampled_from(["a", "b+", "a.b", "^a", "b$", "^$", "汉", "[^a]", r"\s", "a*", "(?s)a.*b|a", "", r"\x1b"])


def log_of(*items):
    return Entries(talk(*items))


def log_with_result(text, tool="sh"):
    return log_of("go", call(tool), ToolResult(call="call_1_0", parts=(Text(text),)))


@given(TEXT, PATTERNS.filter(bool))
def test_the_same_lines_match_as_with_python_regular_expressions(text, pattern):
    text = text.encode("utf-8", "replace").decode()
    expected = [n for n, line in enumerate(text.split("\n"), start=1) if re.search(pattern, line)]
    assert [line.line for line in matching_lines(text.encode(), compile_pattern(pattern))] == expected


def test_readback_calls_of_gemini_which_have_no_ids_are_left_out():
    def calls(*names):
        return {"role": "model", "parts": [{"functionCall": {"name": name, "args": {"x": "leak"}}} for name in names]}

    def answer(name, said):
        return {"role": "user", "parts": [{"functionResponse": {"name": name, "response": {"output": said}}}]}

    with Conversation.open("memory:", "x", budget=10_000, dialect="gemini") as conversation:
        conversation.extend([calls("sh", "transom_grep"), answer("transom_grep", "no leak"), answer("sh", "a leak")])
        conversation.extend([calls("transom_read"), answer("transom_read", "the leak, once more")])
        conversation.extend([calls("transom_read")])
        conversation.tool_result("transom_read", "the leak again")
        conversation.extend([calls("sh")])
        conversation.tool_result("sh", "one more leak")
        found = [(match.entry, match.text) for match in grep(conversation.log, "leak").matches]
    args = '{"x":"leak"}'
    assert found == [(0, args), (0, args), (2, "a leak"), (7, args), (8, "one more leak")]


def test_each_match_names_its_entry_and_line():
    log = log_of("find the leak", call("sh", '{"cmd": "leak -v"}'), result("ok\nno leak here\nleak at 7\nend"))
    assert str(grep(log, "leak")) == (
        "[4 matching lines in entries 0-2]\n"
        "entry 0:1: find the leak\n"
        'entry 1:2: {"cmd": "leak -v"}\n'
        "entry 2:2: no leak here\n"
        "entry 2:3: leak at 7"
    )
    assert str(grep(log, "^leak", "entry 2", context=1)) == (
        "[1 matching line in entry 2]\nentry 2:2-  no leak here\nentry 2:3: leak at 7\nentry 2:4-  end"
    )
    assert (
        str(grep(log, "cmd", "entry 1 args 0"))
        == '[1 matching line in entry 1 args 0]\nentry 1 args 0:1: {"cmd": "leak -v"}'
    )
    assert str(grep(log, "(?i)LEAK AT")).endswith("]\nentry 2:3: leak at 7")
    assert str(grep(log, "absent")) == "[0 matching lines in entries 0-2]"
    assert str(grep(Entries(), "x")) == "[0 matching lines]"


@given(st.lists(TEXT, min_size=1, max_size=5), st.integers(1, 4))
def test_each_line_is_found_once_over_several_answers(texts, limit):
    log, seen = log_of(*[user(text) for text in texts]), []
    found = grep(log, "a", limit=limit)
    seen += found.matches
    while found.next is not None:
        assert len(found.matches) == limit
        found = grep(log, "a", found.next.reference, found.next.line, limit=limit)
        seen += found.matches
    assert [(match.entry, match.line) for match in seen] == [
        (n, at) for n, text in enumerate(texts) for at, line in enumerate(text.split("\n"), start=1) if "a" in line
    ]


def test_the_line_to_begin_at_is_of_the_first_entry_that_is_searched():
    log = log_of(hidden("secret"), "a\nb\na", "a")
    assert [(match.entry, match.line) for match in grep(log, "a", "entries 0-2", 2).matches] == [(1, 3), (2, 1)]
    with pytest.raises(InvalidSetting, match="line 9"):
        grep(log, "a", "entries 0-2", 9)


def test_a_long_line_is_shown_around_its_match():
    found = grep(log_with_result("汉" * 300_000 + "needle" + "x" * 700_000), "needle")
    (match,) = found.matches
    assert match.column == 300_001
    assert match.text.startswith("…汉")
    assert match.text.endswith("x…")
    assert "汉needlexx" in match.text
    assert len(match.text) <= LINE_WIDTH + 2


def test_an_answer_has_at_most_max_bytes():
    log = log_with_result("\n".join(f"\x00{n} " * 50 for n in range(5_000)))
    found = grep(log, "1", limit=10_000, max_bytes=3_000)
    assert 1 < len(found.matches) < 100
    assert len(str(found).encode()) < 3_200
    assert found.next.line == found.matches[-1].line + 1


def test_a_match_cannot_look_like_another():
    log = log_with_result("needle\x1b[2K\rentry 0:1: forged\u2028entry 0:2: forged\x85[entry 3] needle\ud800")
    assert str(grep(log, "needle")).split("\n")[1:] == [
        "entry 2:1: needle\\x1b[2K\\rentry 0:1: forged\\u2028entry 0:2: forged\\x85[entry 3] needle?"
    ]


def test_results_of_the_readback_tools_are_found_only_if_named():
    log = log_of("needle", call("transom_grep", '{"pattern": "needle"}'), result("entry 0:1: needle"))
    assert [match.entry for match in grep(log, "needle").matches] == [0]
    assert [match.entry for match in grep(log, "needle", "entry 2").matches] == [2]
    assert [match.entry for match in grep(log_of("a", hidden("needle")), "needle").matches] == []
    assert [match.entry for match in grep(log_of("a", hidden("needle")), "needle", include_hidden=True).matches] == [1]


@pytest.mark.parametrize(
    "pattern",
    [
        "(",
        "[a",
        "*a",
        r"a{2000}",
        r"\1",
        "(?=x)",
        "(?<!x)y",
        "",
        "x" * 1_001,
        "a\nb",
        "((a{99}){99}){99}",
        "[^x]{999}q{9}",
    ],
)
def test_an_invalid_pattern_raises_one_line(pattern, capfd):
    with pytest.raises(InvalidSetting) as error:
        grep(log_with_result("a"), pattern)
    assert str(error.value).isprintable()
    assert len(str(error.value)) < 500
    assert capfd.readouterr() == ("", "")


EXPENSIVE = {
    r"(a+)+$": "a",
    r"(a|a)*$": "a",
    r"(a|aa)+$": "a",
    r"(.*)*=": "a",
    r"^(([a-z])+.)+[A-Z]([a-z])+$": "a",
    r"(x+x+)+y": "x",
    r"(?s)a.*b|a": "a\n",
    r"a*b|a": "a",
    r".*.*.*.*.*.*z": "ab ",
    r"(a|b)*a(a|b){12}c": "ab",
    r"\b(\w+\s*)+!$": "ab ",
    r"^$|q": "\n",
}


@pytest.mark.parametrize("pattern", EXPENSIVE)
def test_time_is_linear_in_the_text_for_every_pattern(pattern):
    """Doubling the text at most trebles the time, and none takes long. (Each matching line costs a step of Python.)"""
    compiled = compile_pattern(pattern)
    size = 10_000 if "\n" in EXPENSIVE[pattern] else 500_000

    def seconds(size):
        data = (EXPENSIVE[pattern] * (size // len(EXPENSIVE[pattern])) + "!\n" * 20).encode()
        best = float("inf")
        for _ in range(3):
            begin = time.process_time()
            for _ in matching_lines(data, compiled):
                pass
            best = min(best, time.process_time() - begin)
        return best

    for _ in range(3):  # a busy machine may disturb one of two measurements; what is quadratic takes four times, always
        small, large = seconds(size), seconds(2 * size)
        assert large < 10
        if large <= 3 * max(small, 0.01):
            return
    assert large <= 3 * small


def test_the_largest_pattern_is_still_linear():
    pattern = f"[^x]{{{MAX_INSTRUCTIONS // 10}}}q"
    assert MAX_INSTRUCTIONS / 10 < re2.compile(pattern).programsize <= MAX_INSTRUCTIONS
    data = b"a" * 400_000
    begin = time.process_time()
    assert list(matching_lines(data, compile_pattern(pattern))) == []
    assert time.process_time() - begin < 5


def test_the_engine_that_the_tool_schema_names_is_a_dependency():
    requirements = [each for each in requires("transom") or [] if "extra ==" not in each]
    assert any(each.startswith("google-re2") for each in requirements)
