"""Whether an edit leaves the lines of a quote as they are."""

from __future__ import annotations

import json

import pytest

import transom
from transom.core.message import Call
from transom.strategies.actions.arguments import arguments
from transom.strategies.actions.edits import file_edits_in
from transom.strategies.actions.relations import may_touch

READ = ["   1\tdef run(job):", "   2\t    lock(job)", "   3\t    return job.start()", "   4\t", "   5\tdef stop():"]


def edits_of(call):
    return file_edits_in(list(arguments(call)))


def edit(old, new):
    return Call(name="Edit", args=json.dumps({"file_path": "a.py", "old_string": old, "new_string": new}), id="c")


@pytest.mark.parametrize(
    ("old", "new", "touched"),
    [
        ("    return job.start()", "    return job.start_at(now)", True),
        ("job.start", "job.begin", True),
        ("def run(job):\n    lock(job)", "def run(job):\n    with_lock(job)", True),
        ("x = 1\n\n\ndef run(job):", "x = 2\n\n\ndef go(job):", True),
        ("def stop():\n    pass", "def stop():\n    return", False),
        ("x = 1\n\n\ndef run(job):", "x = 2\n\n\ndef run(job):", False),
        ("    lock(it)\n    return job.wait()", "    return job.wait()", False),
        ("def stop():", "def stop():\n    log()", False),
        ("def run(job):", "# runs it\ndef run(job):", False),
        ("    lock(job)", "    lock(job)\n    log()", False),
        ("", "all of it", True),
    ],
)
def test_an_edit_touches_lines_that_its_old_text_may_lie_over(old, new, touched):
    assert may_touch(edits_of(edit(old, new)), "\n".join(READ)) is touched


def test_of_a_patch_each_hunk_counts_and_of_a_file_that_is_written_whole_the_old_text_is_not_known():
    hunk = "@@\n def run(job):\n-    lock(job)\n+    wait(job)\n     x\n"
    patch = f"*** Begin Patch\n*** Update File: a.py\n{hunk}@@\n-y\n+z\n"
    edits = edits_of(Call(name="apply_patch", args=patch, id="c"))
    assert not may_touch(edits, "other")
    added = f"{patch}*** Add File: b.py\n+x\n"
    assert may_touch(edits_of(Call(name="apply_patch", args=added, id="c")), "other")
    assert may_touch(edits_of(Call(name="Write", args='{"file_path": "a.py", "content": "x"}', id="c")), "other")


FILE = "\n".join(f"{at}\tdef part_{at}(job_{at}):" for at in range(1, 60))


def turns(*calls):
    for at, (name, args, result) in enumerate(calls):
        call = {"id": f"c{at}", "type": "function", "function": {"name": name, "arguments": json.dumps(args)}}
        yield {"role": "assistant", "content": None, "tool_calls": [call]}
        yield {"role": "tool", "tool_call_id": f"c{at}", "content": result}


def record(*calls):
    filler = [("Read", {"file_path": f"/app/x_{at}.py"}, "def run():\n    return 1\n" * 40) for at in range(30)]
    messages = [{"role": "user", "content": "Mend the parts."}, *turns(*calls, *filler)]
    short = transom.fit(messages, budget=5_000)
    return next(message["content"] for message in short if "a record of" in (message["content"] or ""))


def change(old):
    return (
        "Edit",
        {"file_path": "src/parts.py", "old_string": old, "new_string": "def gone():"},
        "The file was updated.",
    )


@pytest.mark.parametrize(
    ("read", "old", "marked"),
    [
        (("Read", {"file_path": "src/parts.py"}, FILE), "def part_7(job_7):", True),
        (("Read", {"file_path": "src/parts.py"}, FILE), "def somewhere_else():", False),
        (("Bash", {"command": "cat -n src/parts.py"}, FILE), "def part_7(job_7):", True),
        (("Bash", {"command": "grep -n part src/parts.py"}, FILE), "def part_7(job_7):\n    unseen()", True),
        (("Bash", {"command": "pytest src/parts.py | tail -60"}, FILE), "def part_7(job_7):", False),
        (("Bash", {"command": "make src/parts.py"}, FILE), "def part_7(job_7):", False),
        (("Edit", {"file_path": "src/parts.py", "old_string": "x"}, f"Error: not found\n{FILE}"), "part_7", False),
    ],
)
def test_only_what_shows_text_of_the_file_that_an_edit_touches_is_marked(read, old, marked):
    line = next(line for line in record(read, change(old)).splitlines() if line.startswith("1 "))
    assert ("(changed since: 3)" in line) is marked
