"""A record quotes what failed by its failures, and says which of them a later success answered."""

from __future__ import annotations

import json

import pytest

import transom
from transom.strategies.actions.action import Action
from transom.strategies.actions.commands import commands_in
from transom.strategies.actions.outcome import Outcome
from transom.strategies.record.changes_and_failures import answered_failures
from transom.strategies.record.index import DoneCall

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


def test_the_line_of_a_failed_test_run_says_why():
    assert "1 Bash pytest tests: failed: «1 failed, 60 passed in 0.3s" in record_of(run("uv run pytest tests", FAILS))


def test_a_failure_that_a_later_success_answered_says_so():
    edit = ("Edit", {"file_path": "/app/sums.py", "old_string": "a", "new_string": "b"}, "Edited.")
    missed = (*edit[:2], "String to replace not found in file.")
    record = record_of(run("uv run pytest tests", FAILS), missed, edit, run("pytest tests", "61 passed in 0.3s"))
    assert "«1 failed, 60 passed in 0.3s» (succeeded later: 7)" in record
    assert "«String to replace not found in file.» (succeeded later: 5)" in record


@pytest.mark.parametrize(
    ("earlier", "later", "is_answer"),
    [
        ("go test ./internal/a", "go test ./internal/b", False),
        ("go test ./... ", "go test ./... -run TestOne", False),
        ("npm run check", "npm test", False),
        ("make lint", "make lint && git commit -m done", True),
        ("ls nothing", "ls", False),
        ("pytest", "pytest tests/a.py", False),
        ("pytest tests/a.py", "pytest tests", False),
        ("pytest tests/a.py", "pytest", False),
        ("pytest", "pytest --collect-only -q", False),
        ("pytest", "pytest | grep FAILED", False),
        ("pytest", "pytest | tail -5", False),
        ("pytest | tail -5", "pytest | tail -5", True),
        ("pytest | tail -5", "pytest", True),
        ("pytest", "pytest > out.txt", False),
        ("pytest", "pytest; echo done", False),
        ("pytest", "pytest &", False),
        ("pytest", "timeout 60 uv run pytest", True),
        ("cd /app/api && pytest", "cd /app/api && pytest", True),
        ("cd /app/api && pytest", "cd /app/web && pytest", False),
        ("pytest", "cd tests && pytest", False),
        ("/app/.venv/bin/python -m pytest tests", "uv run --quiet pytest tests", True),
        ("python a.py", "python b.py", False),
        ("python - <<'E'\nprint(1)\nE", "python - <<'E'\nprint(2)\nE", False),
        ("python -c 'import a'", "uv run python -c 'import a'", True),
        ("git push", "git push -n", False),
    ],
)
def test_which_later_run_answers_an_earlier_one(earlier, later, is_answer):
    calls = [(3, later, Outcome()), (1, earlier, Outcome("failed", code=1))]
    done = [
        DoneCall(turn, 0, Action("Bash", "run", commands=commands_in(command)), turn + 1, ended)
        for turn, command, ended in calls
    ]
    assert answered_failures(done) == ({(1, 0): 3} if is_answer else {})


def test_a_failure_for_a_file_that_is_not_there_is_answered_by_the_same_run_only():
    record = record_of(
        run("pytest tests/test_gone.py", "ERROR: file or directory not found: tests/test_gone.py"),
        run("pytest", "61 passed in 0.3s"),
        run("pytest tests/test_new.py", "ERROR: file or directory not found: tests/test_new.py"),
        run("pytest tests/test_new.py", "1 passed in 0.3s"),
    )
    assert "Bash pytest tests/test_gone.py: failed" in record
    assert record.count("(succeeded later") == 1
    assert "(succeeded later: 7)" in record.partition("tests/test_new.py")[2]


def test_a_filter_hides_how_a_run_ended_unless_its_summary_is_shown():
    failed = run("pytest tests", FAILS)
    assert "(succeeded later" not in record_of(failed, run("pytest tests | grep Error", ""))
    assert "(succeeded later: 3)" in record_of(failed, run("pytest tests | grep -E 'passed|failed'", "61 passed in 1s"))


def test_another_filter_of_the_same_run_answers_nothing():
    failed = run("pyright 2>&1 | tail -5", "a.py:3: error: x\n54 errors, 0 warnings, 0 informations")
    shown = run("pyright 2>&1 | grep -B1 'error:' | head -20", "a.py:3: error: no attribute\nb.py:5: error: unknown")
    again = run("pyright 2>&1 | tail -5", "0 errors, 0 warnings, 0 informations")
    assert "(succeeded later" not in record_of(failed, shown)
    assert "(succeeded later: 5)" in record_of(failed, shown, again)


def test_all_that_a_command_ran_must_succeed():
    failed = run("make build && pytest tests", FAILS)
    assert "(succeeded later" not in record_of(failed, run("make build", "done"))
    passed = run("pytest tests", "61 passed in 1s")
    assert "(succeeded later: 5)" in record_of(failed, run("make build", "done"), passed)


def test_a_run_in_the_background_answers_nothing():
    answer = "Command running in background with ID: b0u219cy0. Output is being written to: /tmp/b0u219cy0.output"
    assert "(succeeded later" not in record_of(run("pytest tests", FAILS), run("pytest tests", answer))


def edit(old, new, result, path="/app/sums.py"):
    return ("Edit", {"file_path": path, "old_string": old, "new_string": new}, result)


SAME = "No changes to make: old_string and new_string are exactly the same."
MISSED = "String to replace not found in file."
BODY = "def total(values):\n    result = sum(values)\n    return result\n"


@pytest.mark.parametrize(
    ("failed", "later", "answers"),
    [
        (edit(BODY, BODY, SAME), edit("def other():", "def another():", "Edited."), False),
        (edit(BODY, BODY, SAME), edit(BODY, "def total(): ...", "Edited."), True),
        (edit(BODY, BODY, SAME), edit(BODY, "def total(): ...", "Edited.", "/app/other.py"), False),
        (edit(BODY, "x", MISSED), edit(f"import os\n\n{BODY}", "x", "Edited."), True),
        (edit(BODY, "x", MISSED), edit(BODY.replace("result\n", "result  # sum\n"), "x", "Edited."), True),
        (edit(BODY, "x", MISSED), edit("    return result", "x", "Edited."), False),
        (edit(BODY, "x", MISSED), ("Write", {"file_path": "/app/sums.py", "content": "x"}, "Written."), True),
        (("Write", {"file_path": "/app/sums.py", "content": "x"}, MISSED), edit(BODY, "x", "Edited."), False),
    ],
)
def test_a_later_edit_answers_a_failed_one_if_it_replaces_the_same_text(failed, later, answers):
    assert ("(succeeded later: 3)" in record_of(failed, later)) is answers


def patch(old, new, result):
    text = f"*** Begin Patch\n*** Update File: app/a.py\n@@\n-{old}\n+{new}\n*** End Patch"
    return ("apply_patch", {"input": text}, result)


def test_a_later_patch_answers_a_failed_one_if_it_replaces_the_same_text():
    failed = patch("total = count(values)", "total = 3", "Error: the patch does not apply")
    assert "(succeeded later: 3)" in record_of(failed, patch("total = count(values)", "total = 4", "Success."))
    assert "(succeeded later" not in record_of(failed, patch("other = count(words)", "other = 4", "Success."))


def test_text_that_a_later_edit_changed_is_quoted_less():
    """Of two files that say the same names, the one that nothing changed is quoted."""
    body = "".join(f"def part_{at}_of_sums():\n    return load_{at}_values(2)\n" for at in range(120))
    edit = ("Edit", {"file_path": "/app/old.py", "old_string": "a", "new_string": "b"}, "Edited.")
    reads = [("Read", {"file_path": f"/app/{name}.py"}, body) for name in ("kept", "old")]
    assert "part_9_of_sums" in (record := record_of(*reads, edit))
    assert "3 Read /app/old.py: 240 lines\n«" not in record, "the newer one, if nothing were changed"
    assert "1 Read /app/kept.py: 240 lines\n«" in record
