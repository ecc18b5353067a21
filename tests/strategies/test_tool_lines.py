"""What the lines of a record say of a call and of its result."""

from __future__ import annotations

import json

import pytest

from transom.core.message import Call, Text, ToolResult
from transom.strategies.digest.tool_lines import call_facts, is_failure, outcome_text, result_facts

PATCH = "*** Begin Patch\n*** Update File: src/a.py\n@@\n-x\n+y\n*** Add File: src/b.py\n+z\n*** End Patch"


@pytest.mark.parametrize(
    ("name", "args", "result", "subject", "outcome"),
    [
        ("Bash", {"command": "cd /app && make check"}, "a\nb\nc\nd\ne\nf\ng\nh\ni", "make check", "9 lines"),
        ("Read", {"file_path": "src/a.py"}, "1\n2\n3\n4\n5\n6\n7\n8\n9", "src/a.py", "9 lines"),
        ("Edit", {"file_path": "src/a.py", "old": "x", "new": "y"}, "ok", "src/a.py", ""),
        ("Grep", {"pattern": "x_y", "path": "src"}, "a.py:1\nb.py:2", "x_y", "2 matches"),
        ("Grep", {"pattern": "x_y"}, "No matches found", "x_y", "no matches"),
        ("WebFetch", {"url": "https://x.io/a"}, "1\n2\n3\n4\n5\n6\n7\n8\n9", "https://x.io/a", "9 lines"),
        ("run_sql", {"query": "select 1"}, "1\n2\n3\n4\n5\n6\n7\n8\n9", "select 1", "9 lines"),
        ("apply_patch", {"input": PATCH}, "Success", "src/a.py, src/b.py", ""),
        ("TodoWrite", {"todos": [{"content": "go", "status": "pending"}]}, "ok", "", ""),
        ("ask_expert", {"question": "why?"}, "Because.\nSo.", "why?", None),
    ],
)
def test_what_a_call_was_about_and_how_it_ended(name, args, result, subject, outcome):
    facts = call_facts(Call(name=name, args=json.dumps(args), id="c"))
    assert facts.subject == subject
    ended = outcome_text(facts, result_facts(ToolResult(call="c", parts=(Text(result),))))
    if outcome is not None:
        assert ended == outcome
    else:
        assert "Because." in ended


def test_a_failure_says_so_and_a_missing_result_too():
    edit, read = (call_facts(Call(name=name, args='{"path": "a.py"}', id="c")) for name in ("edit", "read"))
    failed = result_facts(ToolResult(call="c", parts=(Text("Error: no such file a.py"),), failed=True))
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
    facts = call_facts(Call(name="Bash", args='{"command": "pytest -q"}', id="c"))
    assert is_failure(facts, result_facts(ToolResult(call="c", parts=(Text(result),)))) is failure
