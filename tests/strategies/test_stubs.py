"""Telling stubs: how a tool's work ended, and the lines that matter, stand where its output stood."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from proposals import WORDS, seen, target_of

from transom.core.message import Text, ToolResult
from transom.core.trims import trimmed_text
from transom.strategies.text.shown_parts import ShownPart, shown_parts
from transom.strategies.text.stubs import ending, outcome, shorten_to_lines, tool_words
from transom.strategies.text.stubs import stub as stub_trim
from transom.testing import call, result, talk

DOTS = "".join(f"tests/test_part_{number}.py ..........\n" for number in range(200))


def stub(text, tool="sh", preview=60):
    """A result as its stub shows it."""
    view = seen(talk("go", call(tool), result(text), "on"))
    unit = view.unit(1)
    (part,) = shown_parts(view, unit, "results")
    trim = stub_trim(view, target_of(view), part, preview)
    assert view.refusal(trim) is None
    shown = trimmed_text(text, trim.keep, trim.note)
    assert WORDS.count(shown) <= preview + WORDS.count(trim.note)
    return shown


def test_the_stub_of_a_failed_run_has_its_outcome_and_what_failed():
    text = (
        f"Exit code 1\nplatform linux\n{DOTS}E   KeyError: 'price'\n{DOTS}"
        f"FAILED tests/test_cart.py::test_total\n{DOTS}3 failed, 47 passed in 1.2s\n{DOTS}"
    )
    lines = stub(text).splitlines()
    assert lines[0] == "Exit code 1"
    assert "[sh output stored: exit code 1, 6,719 tokens, 806 lines; whole in entry 2]" in lines
    told_of = ["E   KeyError: 'price'", "FAILED tests/test_cart.py::test_total", "3 failed, 47 passed in 1.2s"]
    assert [line for line in lines if line in told_of] == told_of
    assert [line for line in stub(text, preview=30).splitlines() if line in told_of] == told_of[1:]
    assert lines[-1].endswith("..........")


def test_the_last_line_of_a_traceback_comes_before_other_errors():
    frames = "".join(f'  File "app{number}.py", line {number}, in run\n' for number in range(300))
    text = f"error in step 1\nTraceback (most recent call last):\n{frames}ValueError: no such price\n{DOTS}"
    assert "\nValueError: no such price\n" in stub(text, preview=20)
    assert "[sh output stored: failed" not in stub(text)
    assert "[sh output stored: failed" in stub(text.partition("\n")[2])


def test_in_a_success_or_a_file_an_error_is_a_word_like_others():
    text = f"{DOTS}\nerror: a word of the document\n{DOTS}"
    assert "error:" in stub(text)
    assert "error:" not in stub(text, tool="read_file")
    assert "error:" not in stub(f"Process exited with code 0\n{text}")
    summary = stub(f"Process exited with code 0\n{DOTS}12 passed in 3s\n{DOTS}")
    assert "exit code 0" in summary
    assert "12 passed in 3s" in summary


def test_errors_come_before_warnings():
    text = f"{DOTS}warning: unused\n{DOTS}error: disk full\n{DOTS}"
    assert "error: disk full" in stub(text, preview=10)
    assert "warning: unused" not in stub(text, preview=10)
    assert "warning: unused" in stub(text)


def test_lines_of_code_are_not_errors():
    code = "        except ValueError:\n            raise Error('x')\n    if error {\n    self.onError(7)\n"
    assert "Error" not in stub(f"{DOTS}{code}{DOTS}")


def test_a_long_line_keeps_what_is_around_the_word():
    text = f"{DOTS}{'a' * 3_000} error: disk full {'b' * 3_000}\n{DOTS}"
    shown = stub(text, preview=120)
    assert "a error: disk full b" in shown
    assert "b\n…\n" in shown, "what is gone behind a line cut short is marked, on a line of its own"
    assert len(max(shown.splitlines(), key=len)) < 200


def test_without_lines_that_matter_both_ends_stay():
    text = "\n".join(f"line {number}" for number in range(2_000))
    shown = stub(text)
    assert shown.startswith("line 0\n")
    assert shown.endswith("\nline 1999")


@pytest.mark.parametrize(
    ("text", "code", "failed"),
    [
        ("Exit code 2\nsh: not found", 2, True),
        ("Chunk ID: 1\nProcess exited with code 0\nOutput:\nError: quoted", 0, False),
        ('{"output":"Success","metadata":{"exit_code":1}}', 1, True),
        ("x" * 9_000 + "\n\nCommand exited with code 127", 127, True),
        ("Error: String not found", None, True),
        ("Found 2 matches of the string to replace, but replace_all is false.", None, True),
        ("Found 2 matches of the pattern", None, False),
        ("<tool_use_error>File has not been read yet", None, True),
        ("Traceback (most recent call last):\n ...", None, True),
        ("apply_patch verification failed: no such lines", None, True),
        ('{"error": "no such user"}', None, True),
        ('{"error": null, "user": 7}', None, False),
        ("0 errors, 0 warnings", None, False),
        ("errors are handled here", None, False),
        ("see exit code 3 in the manual", None, False),
        ("exit_code: 2\nstdout: x", 2, True),
        ("steps:\n  retries: 3\n  exit_code: 2\n", None, False),
        ("", None, False),
    ],
)
def test_the_ending_of_a_result(text, code, failed):
    assert ending(ToolResult(parts=(Text(text),))) == (code, failed)
    assert ending(ToolResult(parts=(Text(text),), failed=True)) == (code, True)
    assert outcome(ToolResult(parts=(Text(text),))) == (f"exit code {code}" if code is not None else "failed" * failed)


def test_an_exit_code_in_a_file_is_not_that_of_the_tool_that_shows_or_edits_it():
    shown = ToolResult(parts=(Text("The file has been updated:\nWhat it prints:\nProcess exited with code 3"),))
    assert ending(shown, "Bash") == ending(shown) == (3, True)
    assert ending(shown, "Edit") == ending(shown, "read_file") == (None, False)
    assert (outcome(shown, "Bash"), outcome(shown, "Edit")) == ("exit code 3", "")
    assert ending(ToolResult(parts=(Text("Exit code 2\nno such file"),)), "Read") == (2, True)


@pytest.mark.parametrize("name", ["read_file", "readFile", "ReadFile", "mcp__fs__read-file", "fs.read", "READ_FILE"])
def test_a_tool_name_is_words_however_it_is_written(name):
    assert "read" in tool_words(name)
    assert "read" not in tool_words("already_spread")


def test_overlapping_lines_are_shown_once_and_whole():
    text = "".join(chr(97 + at % 26) for at in range(4_000))
    part = ShownPart(0, ("text", 0), text, 1_000, 1_000)
    keep, _ = shorten_to_lines(part, 60, WORDS.count, "[entry 0]", "[entry 0]", [(400, 440), (410, 420), (430, 460)])
    assert (400, 460) in keep


PIECES = st.lists(st.sampled_from(("error: no\n", "word ", "\n", "汉字", "3 failed\n", "x" * 200)), max_size=60)


@given(PIECES, PIECES, st.integers(1, 80), st.lists(st.tuples(st.integers(0, 500), st.integers(1, 90)), max_size=6))
def test_a_stub_fits_its_room_whatever_the_lines(before, after, cap, lines):
    text = "".join([*before, "middle " * 200, *after])
    tokens = WORDS.count(text)
    spans = [(at, at + size) for at, size in lines]
    keep, note = shorten_to_lines(
        ShownPart(0, ("text", 0), text, tokens, tokens), cap, WORDS.count, "[whole in entry 0]", "[entry 0]", spans
    )
    assert WORDS.count(trimmed_text(text, keep, note)) <= max(cap, WORDS.count("[entry 0]"))
    assert all(a < b <= len(text) for a, b in keep)
    assert all(first[1] < second[0] for first, second in pairwise(keep))
