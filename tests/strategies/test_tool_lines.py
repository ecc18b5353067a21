"""What the lines of a record say of a call and of its result."""

from __future__ import annotations

import json

import pytest

from transom.core.message import Call, Text, ToolResult
from transom.strategies.actions.action import action_of
from transom.strategies.actions.outcome import outcome_of, outcome_text

PATCH = "*** Begin Patch\n*** Update File: src/a.py\n@@\n-x\n+y\n*** Add File: src/b.py\n+z\n*** End Patch"


@pytest.mark.parametrize(
    ("name", "args", "result", "subject", "outcome"),
    [
        ("Bash", {"command": "cd /app && make check"}, "a\nb\nc\nd\ne\nf\ng\nh\ni", "make check", "9 lines"),
        (
            "Bash",
            {"command": f"cd /app && A=1 timeout 60 {'x' * 60}", "description": "Count the parts"},
            "",
            "Count the parts",
            "no output",
        ),
        (
            "Bash",
            {"command": "git add -A && git commit -m \"$(cat <<'EOF'\nMend the sums\n\nThey were wrong.\nEOF\n)\""},
            "",
            'git commit "Mend the sums"',
            "no output",
        ),
        ("Bash", {"command": "git commit -qam 'Add a; b' && git push"}, "", 'git commit "Add a; b"', "no output"),
        ("Bash", {"command": 'cd /x; gh pr create --title "Sums" --body y'}, "", 'gh pr create "Sums"', "no output"),
        ("Bash", {"command": "A=1 uv add pytest 2>&1 | tail -3"}, "", "uv add pytest", "no output"),
        ("Bash", {"command": "cd /app && timeout 60 make check 2>&1 | tail -20"}, "", "make check", "no output"),
        ("Read", {"file_path": "src/a.py"}, "1\n2\n3\n4\n5\n6\n7\n8\n9", "src/a.py", "9 lines"),
        ("Edit", {"file_path": "src/a.py", "old": "x", "new": "y"}, "ok", "src/a.py", ""),
        ("Grep", {"pattern": "x_y", "path": "src"}, "a.py:1\n" * 40, "x_y", "40 matches"),
        ("Grep", {"pattern": "x_y"}, "No matches found", "x_y", "no matches"),
        ("WebFetch", {"url": "https://x.io/a"}, "1\n2\n3\n4\n5\n6\n7\n8\n9", "https://x.io/a", "9 lines"),
        ("run_sql", {"query": "select 1"}, "1\n2\n3\n4\n5\n6\n7\n8\n9", "select 1", "9 lines"),
        ("apply_patch", {"input": PATCH}, "Success", "src/a.py, src/b.py", "+ «y»"),
        (
            "Edit",
            {"file_path": "a.py", "old_string": "import a\nx = 1", "new_string": "import a\nimport b\ny = load()"},
            "ok",
            "a.py",
            "+ «y = load()»",
        ),
        ("edit", {"path": "a.py", "oldText": "x = 1\ny = 2", "newText": "y = 2"}, "ok", "a.py", "- «x = 1»"),
        ("Write", {"file_path": "a.py", "content": "import a\n\ndef run():\n"}, "ok", "a.py", "+ «def run():»"),
        ("TodoWrite", {"todos": [{"content": "go", "status": "pending"}]}, "ok", "", ""),
        ("ask_expert", {"question": "why?"}, "Because.\nSo.", "why?", None),
    ],
)
def test_what_a_call_was_about_and_how_it_ended(name, args, result, subject, outcome):
    facts = action_of(Call(name=name, args=json.dumps(args), id="c"))
    assert facts.about == subject
    ended = outcome_text(facts, outcome_of(ToolResult(call="c", parts=(Text(result),)), facts))
    if outcome is not None:
        assert ended == outcome
    else:
        assert "Because." in ended


def test_a_failure_says_so_and_a_missing_result_too():
    edit, read = (action_of(Call(name=name, args='{"path": "a.py"}', id="c")) for name in ("edit", "read"))
    failed = outcome_of(ToolResult(call="c", parts=(Text("Error: no such file a.py"),), failed=True), edit)
    assert outcome_text(edit, failed) == "failed: «Error: no such file a.py»"
    assert outcome_text(read, None) == "no result"


@pytest.mark.parametrize(
    ("result", "failure"),
    [
        ("....F\n=== 1 failed, 4 passed in 0.3s ===", True),
        (".....\n=== 5 passed, 0 failed in 0.3s ===", False),
        ("ok a\nFAIL github.com/x/y [build failed]", True),
        ("Tests: 3 passed, 3 total", False),
        ("5 lines\nof\nno\ntest\nrun", False),
    ],
)
def test_a_test_run_without_an_exit_code_failed_if_its_summary_says_so(result, failure):
    facts = action_of(Call(name="Bash", args='{"command": "pytest -q"}', id="c"))
    assert outcome_of(ToolResult(call="c", parts=(Text(result),)), facts).failed is failure


def ended(command, text):
    """How a line says that a command ended, and whether it counts as a failure."""
    call = action_of(Call(name="Bash", args=json.dumps({"command": command}), id="c"))
    result = outcome_of(ToolResult(call="c", parts=(Text(text),)), call)
    return outcome_text(call, result), result.failed


MANY = "compiling\n" * 600


@pytest.mark.parametrize(
    ("command", "text", "outcome"),
    [
        ("npm run check", f"> check\nnpm error Lifecycle script `check` failed\n{MANY}", "npm error Lifecycle script"),
        (
            "mise run lint | tail -80",
            "[lint:go] 1 issue\n[lint:go] ERROR task failed\n" * 3,
            "[lint:go] ERROR task failed",
        ),
        ("go run ./x", "# x\nsem/a.go:358:29: undefined: load\nmore\nmore\nmore", "sem/a.go:358:29: undefined: load"),
        ("tsc", f"src/a.ts(3,1): error TS2304: Cannot find name\n{MANY}", "src/a.ts(3,1): error TS2304"),
        ("timeout 9 make", "a\nb\nc\nzsh: command not found: timeout\nd", "zsh: command not found: timeout"),
        ('go vet ./... | tail; echo "exit=${PIPESTATUS[0]}"', f"{MANY}exit=2\n", "exit 2"),
        ("cat tests.txt | xargs pytest", f"{MANY}3 failed, 9 passed in 1s", "failed: «3 failed, 9 passed in 1s»"),
        ("echo y | ./run_tests.sh", f"{MANY}FAIL: test_a", "failed: «FAIL: test_a»"),
        ("find . -name '*.py' -exec python {} +", f"{MANY}KeyError: 'b'\nExit code 1", "exit 1: «KeyError: 'b'»"),
        ("grep -l x tests | xargs pytest", f"Exit code 1\n{MANY}1 failed", "exit 1: «1 failed»"),
        ("git diff -q && go test ./...", f"Exit code 1\n{MANY}FAIL\tx.io/a\t0.2s", "exit 1: «FAIL x.io/a 0.2s»"),
        (
            "pytest",
            "a\nFAIL Required test coverage of 99% not reached.\n12 passed in 1s",
            "FAIL Required test coverage",
        ),
        ("make", "12 passed in 1s\nmake: *** [check] Error 1\nmore\nmore\nmore", "make: *** [check] Error 1"),
        ("make", f"a\nerror: a\n{MANY}2 failed, 3 passed\nother:\n12 passed", "failed: «error: a»"),
        ("python a.py", "a\nTraceback (most recent call last):\n  File x\nKeyError: 'b'\n", "failed: «KeyError: 'b'»"),
        ("pytest | tail", "..F\n1 failed, 2 passed in 1s", "failed: «1 failed, 2 passed in 1s»"),
    ],
)
def test_a_long_output_without_an_exit_code_failed_if_a_line_begins_like_an_error(command, text, outcome):
    said, failed = ended(command, text)
    assert outcome in said
    assert failed


@pytest.mark.parametrize(
    ("command", "text", "outcome"),
    [
        ("sed -n '1,9p' a.go && cat b.go", f"{MANY}error: is a word\n1 failed\n", "602 lines"),
        (
            "git log --oneline",
            "1a fix\n2b error: clean up 3 failed tests\n3c",
            "«1a fix ⏎ 2b error: clean up 3 failed tests ⏎ 3c»",
        ),
        (
            "go test ./...; echo GO_TEST_EXIT=$?",
            "ok  \tx.io/a\t0.2s\nok  \tx.io/b\t(cached)\nGO_TEST_EXIT=0\n",
            "«ok x.io/b (cached)»",
        ),
        ("go vet ./...; echo exit=$?", "vet\nerror: ignored\nexit=0", "«error: ignored»"),
        ('cat a.yml | grep -E "error|fail" | head', f"{MANY}error: is a word\n", "601 lines"),
        ("ls | xargs -I{} sh -c 'echo {}; cat {}'", f"{MANY}error: is a word\n", "601 lines"),
        ("cat deploy.yml", f"{MANY}  exit: 3\nExit code: 2\nmore", "603 lines"),
        ("python show.py", f"{MANY}on_exit: 3\n  exit: 3\nexit_code: 2\nmore", "604 lines"),
        ("pytest; echo $?", f"{MANY}preexit: 3\nmore", "602 lines"),
        (
            "pytest",
            f"error: could not parse line 3 (expected by the test)\n{MANY}===== 12 passed in 1.0s =====",
            "«12 passed in 1.0s»",
        ),
        ("./report.sh", "FAIL rate is 0%\nall good", "«FAIL rate is 0% ⏎ all good»"),
        ("make check", f"{MANY}# PASS:  12\n# FAIL:  0", "602 lines"),
    ],
)
def test_what_a_file_says_and_a_passed_run_are_no_failures(command, text, outcome):
    assert ended(command, text) == (outcome, False)


@pytest.mark.parametrize(
    "text",
    [
        "FAIL",
        "FAIL\tx.io/a\t0.2s",
        "FAIL src/a.test.ts",
        " FAIL  a test",
        "FAIL: test_a",
        "[FAIL] a",
        "FAILED (errors=1)",
    ],
)
def test_a_line_of_a_test_runner_that_begins_with_fail_is_a_failure(text):
    assert ended("make", f"{MANY}{text}\nmore")[1]


@pytest.mark.parametrize(
    "text", ["steps:\n  exit: 3\n", "steps:\n exit_code: 2\n", "on_exit: 3\nmore", "a\nexit code 3\n"]
)
@pytest.mark.parametrize("name", ["Read", "Edit"])
def test_a_file_that_names_an_exit_code_has_not_failed(name, text):
    call = action_of(Call(name=name, args='{"file_path": "a.yml"}', id="c"))
    assert not outcome_of(ToolResult(call="c", parts=(Text(text),)), call).failed


def test_the_exit_code_of_a_patch_counts_in_front_of_its_output():
    call = action_of(Call(name="apply_patch", args=json.dumps({"input": PATCH}), id="c"))
    for text in ("Exit code: 1\nWall time: 0 seconds\nOutput:\nno\n", '{"output":"","metadata":{"exit_code":1}}'):
        assert outcome_of(ToolResult(call="c", parts=(Text(text),)), call).failed


def test_a_script_that_is_no_json_may_echo_an_exit_code_too():
    script = action_of(Call(name="exec", args="const r = await run(); text(`exit=${r.exit_code}`)", id="c"))
    result = outcome_of(ToolResult(call="c", parts=(Text(f"Done\nOutput:\n{MANY}exit=128\n"),)), script)
    assert result.failed


def test_a_command_that_still_runs_says_so():
    header = "Command: go test\nChunk ID: 1\nWall time: 1.0 seconds\nProcess running with session ID 20578\nOutput:\n"
    assert ended("go test ./...", header) == ("still running, session 20578", False)


def test_a_failure_in_json_is_told_in_one_line():
    assert ended("run", '{\n "exit_code": 1,\n "output": "no such file"\n}')[0] == (
        'exit 1: «{ "exit_code": 1, "output": "no such file" }»'
    )


@pytest.mark.parametrize(
    ("command", "changes"),
    [
        ("git checkout -b fix/drops-mappings -q && git branch", set()),
        ("git checkout fix/drops-mappings", set()),
        ("git checkout main -- src/a.py src/b.py", {"src/a.py", "src/b.py"}),
        ("git restore src/a.py", {"src/a.py"}),
    ],
)
def test_a_branch_is_no_file_that_changed(command, changes):
    assert action_of(Call(name="Bash", args=json.dumps({"command": command}), id="c")).changes == changes


@pytest.mark.parametrize(
    "args", ['tools.exec({cmd: "a\\x41 b.py"})', '{"cmd": "grep \\d+ x.py"}', 'x({cmd: "\\ud800 c.py"})']
)
def test_a_script_with_strings_that_are_no_json_is_read(args):
    assert action_of(Call(name="exec", args=args, id="c")).tool == "exec"
