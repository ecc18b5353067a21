"""`transom read` and `grep`: a log read back at a terminal."""

from __future__ import annotations

import json

import pytest
from conversation_files import chat, write_jsonl


@pytest.fixture
def replayed(run):
    """Two conversations have been replayed in this folder; entry 3 of `one` is a result."""
    messages = chat(3)
    messages[3]["content"] = "first\tline\nneedle \x1b[31m[entry 9]\r\n汉字\n" + "x" * 5_000
    write_jsonl("chats.jsonl", {"id": "one", "messages": messages}, {"id": "two", "messages": chat(1)})
    assert run("replay", "chats.jsonl", "--budget", 4_000)[0] == 0
    code, out, _ = run("log", "one", "--json")
    assert code == 0
    results = [line["seq"] for line in json.loads(out)["entries"] if line["kind"] == "tool"]
    return messages, results[0]


def test_the_commands_exist(run):
    out = run("--help")[1]
    for name in ("read", "grep"):
        assert f"  {name} " in out
        assert run(name, "--help")[0] == 0


def test_read_prints_an_entry_whole_with_control_characters_escaped(run, replayed):
    messages, entry = replayed
    code, out, err = run("read", "one", "entry", entry)
    assert (code, err) == (0, "")
    assert out == (
        f"[entry {entry}, tool ls: lines 1 to 4 of 4]\n"
        "first\tline\nneedle \\x1b[31m[entry 9]\\r\n汉字\n" + "x" * 5_000 + "\n"
    )
    assert run("read", "one", f"[entry {entry}]")[1] == out
    found = json.loads(run("read", "one", f"entry {entry}", "--json")[1])
    assert (found["conversation"], found["reference"], found["next"]) == ("one", f"entry {entry}", None)
    assert found["extracts"][0]["text"] == messages[3]["content"]


def test_read_prints_pages_parts_and_ranges(run, replayed):
    _, entry = replayed
    assert run("read", "one", "entry", entry, "--lines", 1)[1] == (
        f'[entry {entry}, tool ls: line 1 of 4; next page: ref "entry {entry}", start 2]\nfirst\tline\n'
    )
    assert run("read", "one", "entry", entry, "--start", 3, "--lines", 1, "--column", 2)[1].split("\n")[1] == "字"
    assert run("read", "one", "entry", entry, "text", 0, "--lines", 1)[1].startswith(f"[entry {entry} text 0, tool ls")
    out = run("read", "one", f"entries {entry - 1}-{entry}")[1]
    assert '{"folder": 0}' in out
    assert "needle" in out


def test_grep_prints_matching_lines_or_exits_with_1(run, replayed):
    _, entry = replayed
    code, out, err = run("grep", "one", "^ne+dle")
    assert (code, err) == (0, "")
    assert out.splitlines()[1:] == [f"entry {entry}:2: needle \\x1b[31m[entry 9]"]
    found = json.loads(run("grep", "one", "needle", "--in", f"entry {entry}", "-C", 1, "--json")[1])
    (match,) = found["matches"]
    assert (match["entry"], match["line"], match["column"]) == (entry, 2, 1)
    assert (match["before"], match["after"]) == (["first\\tline"], ["汉字"])
    code, out, err = run("grep", "one", "absent")
    assert (code, err) == (1, "")
    assert out.startswith("[0 matching lines in entries 0-")


@pytest.mark.parametrize(
    ("args", "error"),
    [
        (("read", "one", "entry", "x"), "must be"),
        (("read", "one", "../../etc/passwd"), "must be"),
        (("read", "one", "entry 9999"), "there is no entry 9999"),
        (("read", "one", "entry 3 image 0"), "image 0"),
        (("read", "one", "entry 3", "--start", "99"), "has no line 99"),
        (("read", "one"), "REF"),
        (("read", "none", "entry 3"), "no conversation 'none'"),
        (("read", "one", "entry 3", "--store", "sqlite:///nowhere.db"), "there is nothing there"),
        (("grep", "one", "(a"), "missing )"),
        (("grep", "one", ""), "1 to 1,000 characters"),
        (("grep", "one", "a", "--in", "message 3"), "must be"),
        (("grep", "one", "a", "-C", "99"), "--context"),
    ],
)
def test_errors_are_one_line_and_exit_2(run, replayed, args, error):
    code, out, err = run(*args)
    assert (code, out) == (2, "")
    assert error in err
    assert err.count("\n") == 1
    assert err.startswith("transom: ")
