"""The line of a call says how it ended in words of the tool, where few of them say all."""

from __future__ import annotations

import json

import pytest

from transom.core.message import Call, Text, ToolResult
from transom.strategies.actions.action import action_of
from transom.strategies.actions.outcome import outcome_of, outcome_text


def ended(name, args, text):
    """How a line says that a call ended, and whether it counts as a failure."""
    call = action_of(Call(name=name, args=json.dumps(args), id="c"))
    result = outcome_of(ToolResult(call="c", parts=(Text(text),)), call)
    return outcome_text(call, result), result.failed


def ran(command, text):
    return ended("Bash", {"command": command}, text)


HOOKS = "".join(f"check {at}................Passed\n" for at in range(9))


@pytest.mark.parametrize(
    ("command", "text", "outcome"),
    [
        (
            'git add -A && git commit -m "Mend it"',
            f"{HOOKS}[main 4fa3d81] Mend it\n 3 files changed, 2 insertions(+)\n",
            "«4fa3d81»",
        ),
        ("git commit --amend --no-edit", "[detached HEAD 4fa3d817] Mend 3 errors\n Date: Tue May 19\n", "«4fa3d817»"),
        (
            "git push 2>&1 | tail -5",
            f"{HOOKS}To github.com:x/y.git\n   566de82..27e145f  main -> main\n",
            "«566de82..27e145f main -> main»",
        ),
        ("git status --short --branch", f"## {'a-long-branch-' * 3}x...origin/{'a-long-branch-' * 3}x", None),
        ("ls src", "a.py\nb.py\nc.py\nd.py\n", "«a.py ⏎ b.py ⏎ c.py ⏎ d.py»"),
        ("git branch --show-current", "main\n", "«main»"),
        ("go build ./...", "Shell cwd was reset to /home/me", "no output"),
        (
            "make check",
            "Command running in background with ID: b0u219. Output is being written to: /tmp/b0u219.output",
            "still running, session b0u219",
        ),
        (
            "pytest",
            "\x1b[31mFAILED\x1b[0m tests/a.py::test_a\ncollecting 1\rcollecting 2\n\x1b[31m1 failed\x1b[0m in 1s",
            "failed: «1 failed in 1s»",
        ),
    ],
)
def test_what_a_command_gave_is_its_outcome_if_it_is_short(command, text, outcome):
    said = ran(command, text)[0]
    assert said.startswith(outcome or f"«{text}»")


@pytest.mark.parametrize(
    ("command", "text", "outcome"),
    [
        (
            "app convert data",
            "Line 12 of a.jsonl: 1 validation errors\nLine 15 of test/a.jsonl: [1]\nSuccessfully combined 4 files\n",
            "«Successfully combined 4 files»",
        ),
        ("app convert data", "Line 15 of test/data/a.jsonl is no object\n" * 9, "9 lines"),
        (
            "make check; echo exit=$?",
            "12 passed in 1s\nerror: an expected one\nmore\nmore\nmore\nmore\nexit=0\n",
            "«12 passed in 1s»",
        ),
        ("app --help", "Usage: app\n" * 9 + "Error out when a field is unknown\n", "10 lines"),
        ("git log -p", "commit 1\n" * 9 + "-rw-r--r-- 1 me staff 1450 Jun 16 12:31 errors.go\n", "10 lines"),
    ],
)
def test_a_line_that_looks_like_an_error_does_not_stand_for_a_success(command, text, outcome):
    assert ran(command, text) == (outcome, False)


def test_an_error_that_is_none_is_no_failure():
    said = "Command: seq 3\nDirectory: (root)\nOutput: 1\n2\n3\nError: (none)\nExit Code: 0\nSignal: (none)"
    assert ran("seq 3", said)[1] is False
    assert ran("seq 3", said.replace("(none)\nExit", "no such file\nExit"))[1] is True


@pytest.mark.parametrize(
    ("args", "text", "outcome"),
    [
        (
            {"pattern": "def run"},
            "src/a.py:3:def run\nsrc/b.py:9:def run\n",
            "«src/a.py:3:def run ⏎ src/b.py:9:def run»",
        ),
        ({"pattern": "run"}, "Found 1 file\nsrc/a.py", "«Found 1 file ⏎ src/a.py»"),
        ({"pattern": "run"}, "src/a.py:3:def run\n" * 9, "9 matches"),
        ({"pattern": "run"}, "No files found", "no matches"),
    ],
)
def test_few_matches_are_shown(args, text, outcome):
    assert ended("Grep", args, text) == (outcome, False)


@pytest.mark.parametrize(
    "text",
    [
        "File does not exist. Note: your current working directory is /app",
        "ENOENT: no such file or directory, access '/app/a.py'",
        "EISDIR: illegal operation on a directory, read",
        "File content (314.4KB) exceeds maximum allowed size (256KB).",
        "Could not find the exact text in /app/a.py. The old text must match exactly.",
        "No changes made to /app/a.py. The replacement produced identical content.",
        "Claude requested permissions to read from ~/a.py, but you haven't granted it yet.",
        "cat: /app/a.py: No such file or directory",
        "The path '/app/my notes.md' was not found",
        "<tool_use_error>File does not exist.</tool_use_error>",
        "Request failed with status code 404",
    ],
)
@pytest.mark.parametrize("name", ["Read", "Edit"])
def test_a_read_or_an_edit_that_says_in_one_line_that_it_could_not_has_failed(name, text):
    said, failed = ended(name, {"file_path": "/app/a.py"}, text)
    assert failed
    assert said.startswith("failed: «")


@pytest.mark.parametrize(
    "text",
    [
        "     1\tFile does not exist.",
        "The handler raises NotFound if the file does not exist.",
        "File does not exist.\nis what the message says",
        "def not_found(): ...",
        "The file /app/a.py has been updated.",
    ],
)
def test_a_file_that_speaks_of_what_is_missing_has_not_failed(text):
    assert not ended("Read", {"file_path": "/app/a.py"}, text)[1]


@pytest.mark.parametrize(
    ("tool", "arguments", "answer", "made"),
    [
        (
            "return_delivered_order_items",
            {"order_id": "#W6239298", "payment_method_id": "gift_card_5094406"},
            {"order_id": "#W6239298", "items": [{"product_id": "8600330539"}], "status": "return requested"},
            ("#W6239298", "return requested"),
        ),
        (
            "book_reservation",
            {"user_id": "omar_davis_3817", "origin": "JFK"},
            {"reservation_id": "HATHAT", "user_id": "omar_davis_3817", "status": "booked"},
            ("HATHAT", "booked"),
        ),
        ("cancel_order", {"order_id": "#W1154986"}, {"status": "cancelled"}, ("#W1154986", "cancelled")),
    ],
)
def test_the_state_in_a_result_is_that_of_the_object_that_was_changed_or_made(tool, arguments, answer, made):
    done = action_of(Call(name=tool, args=json.dumps(arguments), id="c"))
    result = ToolResult(call="c", parts=(Text(json.dumps(answer)),))
    assert outcome_of(result, done).made == (made,)


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("collected 205 items / 205 deselected\n\n==== 205 deselected in 0.13s ====\n", "«205 deselected in 0.13s»"),
        ("rootdir: /w\nplugins: a\n\nconfig\n\n==== no tests ran in 0.01s ====\n", "«no tests ran in 0.01s»"),
    ],
)
def test_a_run_that_tested_nothing_says_so_and_did_not_pass(text, outcome):
    call = action_of(Call(name="Bash", args='{"command": "pytest -m unit"}', id="c"))
    result = outcome_of(ToolResult(call="c", parts=(Text(text),)), call)
    assert (outcome_text(call, result), result.ran, result.failed) == (outcome, False, False)


def test_a_few_short_lines_of_a_page_or_a_file_are_their_own_outcome():
    page = ended("web_fetch", {"url": "https://a.example/x"}, "# Untitled\n\nNo content could be extracted\n")
    assert page == ("«# Untitled ⏎ No content could be extracted»", False)
    assert ended("Read", {"file_path": "/a/VERSION"}, "1.2.3\nstable\n") == ("«1.2.3 ⏎ stable»", False)
    assert ended("Read", {"file_path": "/a/VERSION"}, f"1.2.3\n{'stable ' * 9}\n") == ("2 lines", False)


def test_of_a_longer_result_of_an_unknown_tool_the_first_line_says_that_more_follows():
    three = "status: open\nBLOCKED: do not ship\nowner: Ana"
    assert ended("lookup", {"order": "A-1"}, three) == ("«status: open ⏎ BLOCKED: do not ship ⏎ owner: Ana»", False)
    assert ended("lookup", {"order": "A-2"}, f"{three}\n{'because ' * 20}") == ("«status: open …»", False)
