"""A record quotes what failed by its failures, and says which of them a later success answered."""

from __future__ import annotations

import json

import pytest

import transom
from transom.strategies.digest.command_runs import command_runs
from transom.strategies.digest.failure_lines import failure_spans
from transom.strategies.digest.shell_words import simple_commands

PASSES = "".join(f"tests/test_part_{at}.py::test_case_{at} PASSED [{at}%]\n" for at in range(60))
FAILS = (
    "platform linux -- Python 3.12.7\n"
    f"{PASSES}"
    "____ test_totals ____\n    def test_totals():\n>       assert total == 3\nE       assert 4 == 3\n\n"
    "tests/test_sums.py:12: AssertionError\n"
    "FAILED tests/test_sums.py::test_totals - assert 4 == 3\n"
    "==== 1 failed, 60 passed in 0.3s ====\n"
)


def turn(at, name, args, result):
    call = {"id": f"c{at}", "type": "function", "function": {"name": name, "arguments": json.dumps(args)}}
    yield {"role": "assistant", "content": None, "tool_calls": [call]}
    yield {"role": "tool", "tool_call_id": f"c{at}", "content": result}


def record_of(*calls):
    messages = [{"role": "user", "content": "Mend the sums."}]
    for at, (name, args, result) in enumerate(calls):
        messages += turn(at, name, args, result)
    for at in range(len(calls), 30):
        messages += turn(at, "Read", {"file_path": f"/app/part_{at}.py"}, "def run():\n    return 1\n" * 30)
    short = transom.fit(messages, budget=3_000)
    return next(message["content"] for message in short if "a record of" in (message["content"] or ""))


def run(command, result):
    return ("Bash", {"command": command}, result)


def test_a_failed_test_run_is_quoted_by_its_failures():
    record = record_of(run("uv run pytest tests", FAILS))
    assert "1 Bash uv run pytest tests: failed: «1 failed, 60 passed in 0.3s»\n" in record
    assert "FAILED tests/test_sums.py::test_totals - assert 4 == 3" in record
    assert "E       assert 4 == 3" in record
    assert "PASSED" not in record
    assert "platform" not in record


def test_a_failure_that_a_later_success_answered_says_so():
    edit = ("Edit", {"file_path": "/app/sums.py", "old_string": "a", "new_string": "b"}, "Edited.")
    missed = (*edit[:2], "String to replace not found in file.")
    record = record_of(run("uv run pytest tests", FAILS), missed, edit, run("pytest tests -q", "61 passed in 0.3s"))
    assert "«1 failed, 60 passed in 0.3s» (succeeded later: 7)" in record
    assert "«String to replace not found in file.» (succeeded later: 5)" in record


@pytest.mark.parametrize(
    ("earlier", "later", "answers"),
    [
        ("cd /x && go test ./... 2>&1 | tail -5", "go test ./...", True),
        ("go test ./internal/a", "go test ./... -count=1", True),
        ("go test ./internal/a", "go test ./internal/b", False),
        ("go test ./... ", "go test ./... -run TestOne", False),
        ("pytest tests/a.py", "timeout 60 uv run pytest -q", True),
        ("npm run check", "npm test", False),
        ("make lint", "make lint && git commit -m done", True),
        ("ls nothing", "ls", False),
    ],
)
def test_which_later_run_answers_an_earlier_one(earlier, later, answers):
    first, then = (list(command_runs(simple_commands(command))) for command in (earlier, later))
    assert any(one.answers(other) for one in then for other in first) is answers


@pytest.mark.parametrize(
    ("output", "lines"),
    [
        ("# x\nok a\nsem/a.go:358:29: undefined: load\nmore\n", ["sem/a.go:358:29: undefined: load"]),
        ("a\nsrc/a.ts(3,1): error TS2304: Cannot find name\nb", ["src/a.ts(3,1): error TS2304: Cannot find name"]),
        (
            "--- FAIL: TestSum (0.00s)\n    sum_test.go:9: got 4, want 3\nFAIL\nFAIL\tx.io/a\t0.2s\n",
            ["--- FAIL: TestSum (0.00s)", "    sum_test.go:9: got 4, want 3", "FAIL\tx.io/a\t0.2s"],
        ),
        ("fine\n61 passed in 1s\n", []),
    ],
)
def test_the_lines_that_say_what_failed(output, lines):
    assert [output[start:end] for start, end in failure_spans(output, 600)] == lines
    assert sum(end - start for start, end in failure_spans(output * 50, 80)) <= 80


def test_text_that_a_later_edit_changed_is_quoted_less():
    """Of two files that say the same names, the one that nothing changed is quoted."""
    body = "".join(f"def part_{at}_of_sums():\n    return load_{at}_values(2)\n" for at in range(60))
    edit = ("Edit", {"file_path": "/app/old.py", "old_string": "a", "new_string": "b"}, "Edited.")
    reads = [("Read", {"file_path": f"/app/{name}.py"}, body) for name in ("kept", "old")]
    assert "part_9_of_sums" in (record := record_of(*reads, edit))
    assert "3 Read /app/old.py: 120 lines (changed since" not in record, "the newer one, if nothing were changed"
    assert "1 Read /app/kept.py: 120 lines\n«" in record
