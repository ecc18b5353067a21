"""`transom check`."""

from __future__ import annotations

import json
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "check"


def test_the_example_holds(run):
    code, out, err = run("check", EXAMPLE)
    assert (code, err) == (0, "")
    assert out.count("  holds ") == 6


def test_another_policy_fails_and_says_where(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "150")
    code, out, _ = run("check", EXAMPLE / "complaints.check.toml", "--policy", "sliding")
    assert code == 1
    lines = [line.strip() for line in out.splitlines()]
    at = lines.index("fails the manager's ticket is known at the end")
    assert lines[at + 1 : at + 4] == [
        "call 50 of complaints: its window does not have this text",
        "it left at call 33 by the fold in entry 99, of entries 3–34: compaction (plan 99)",
        "entry 25 (tool) is folded: Ticket MGR-2291 is open. The manager answers within a day.",
    ]
    code, out, _ = run("check", EXAMPLE, "--policy", "sliding", "--json")
    found = json.loads(out)
    assert (code, found["failed"]) == (1, 1)
    (failed,) = [one for one in found["files"][0]["results"] if one["failures"]]
    assert failed["failures"][0]["edits"] == [
        {"entry": 99, "kind": "fold", "covers": "entries 3–34", "why": "compaction", "plan": 99}
    ]


def test_a_folder_without_checks_is_refused(run, folder):
    assert run("check", folder) == (
        2,
        "",
        f"transom: {folder}: no file in this folder has a name that ends in .check.toml\n",
    )
    assert run("check", "none.check.toml")[0] == 2


def test_the_option_is_the_budget_of_a_file_without_one(run):
    own = (EXAMPLE / "complaints.check.toml").read_text().replace("complaints.jsonl", f"{EXAMPLE}/complaints.jsonl")
    lines = [line for line in own.splitlines() if not line.startswith("budget")]
    Path("a.check.toml").write_text("\n".join(lines))
    assert "missing required field `budget`" in run("check", "a.check.toml")[2]
    code, out, err = run("check", "a.check.toml", "--budget", "8k")
    assert (code, err) == (0, "")
    assert "8,000 tokens" in out
