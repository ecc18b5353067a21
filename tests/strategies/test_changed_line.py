"""The last line of a record names what the calls really changed."""

from __future__ import annotations

import json

import transom


def work(turn, *calls):
    """A turn of several calls at once, each with its result."""
    made = [
        {"id": f"c{turn}_{at}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for at, (name, arguments, _) in enumerate(calls)
    ]
    yield {"role": "assistant", "content": None, "tool_calls": made}
    for call, (_, _, text) in zip(made, calls, strict=True):
        yield {"role": "tool", "tool_call_id": call["id"], "content": text}


def changed_line(*calls, then=()):
    """The line of changes in a record of a turn with these calls, and of a second one."""
    text = "def run():\n    return 1\n" * 20
    messages = [{"role": "user", "content": "Mend the parser."}, *work(0, *calls), *work(99, *then)]
    for turn in range(1, 40):
        messages += work(turn, ("Read", {"file_path": f"src/part_{turn}.py"}, text))
    short = transom.fit(messages, budget=3_000)
    record = next(message["content"] for message in short if "a record of" in (message["content"] or ""))
    return next((line for line in record.splitlines() if line.startswith("Changed: ")), "")


def test_an_edit_that_shows_an_exit_code_and_one_that_a_check_follows_changed_their_files():
    edit = (
        "Edit",
        {"file_path": "/app/ci.yml", "old_string": "a"},
        "Updated. A snippet:\n  3\ton_failure:\n exit: 3\n",
    )
    yaml = (
        "Edit",
        {"file_path": "/app/d.yml", "old_string": "a"},
        "Updated. A snippet:\n  on_failure:\n exit_code: 2\n",
    )
    echo = ("Bash", {"command": "sed -i s/a/b/ src/e.py; make lint; echo exit=$?"}, "a.py is too long\nexit=1")
    failed = ("Bash", {"command": "sed -i s/a/b/ src/f.py"}, "Exit code 1\nsed: cannot write")
    assert changed_line(edit, yaml, echo, failed) == "Changed: /app/ci.yml (1), /app/d.yml (1), src/e.py (1)"


def test_a_failed_call_beside_one_that_succeeded_changed_nothing():
    changed = changed_line(
        ("Edit", {"file_path": "src/failed_edit.py", "old_string": "a"}, "String to replace not found in file."),
        ("Read", {"file_path": "src/only_read.py"}, "def run():\n    return 1\n" * 20),
        ("Edit", {"file_path": "src/good_edit.py", "old_string": "a"}, "The file was updated."),
    )
    assert changed == "Changed: src/good_edit.py (1)"


def test_a_file_that_was_put_back_was_changed_and_one_that_was_only_staged_was_not():
    changed = changed_line(
        ("Edit", {"file_path": "CHANGELOG.md", "old_string": "a"}, "The file was updated."),
        ("Bash", {"command": "cat > /tmp/probe.py <<'E'\nx = 1 > 0\nE\npython /tmp/probe.py"}, "Exit code 1\nno"),
        ("Write", {"file_path": "docs/new page.md", "content": "x"}, "File created."),
        then=[("Bash", {"command": "git restore --staged build.yml && git checkout -- CHANGELOG.md other.py"}, "ok")],
    )
    assert changed == "Changed: /tmp/probe.py (1), docs/new page.md (1), CHANGELOG.md (1, 5), other.py (5)"


def test_a_file_that_two_paths_name_is_one():
    edit = ("Edit", {"file_path": "/app/src/good_edit.py", "old_string": "a"}, "The file was updated.")
    changed = changed_line(edit, then=[("Bash", {"command": "gofmt -w src/good_edit.py other/good_edit.py"}, "ok")])
    assert changed == "Changed: other/good_edit.py (3), /app/src/good_edit.py (1, 3)"


def test_an_editor_that_only_views_a_file_does_not_change_it():
    changed = changed_line(
        ("str_replace_editor", {"command": "view", "path": "/src/seen.py"}, "     1\tx = 1"),
        ("str_replace_editor", {"command": "str_replace", "path": "/src/made.py", "old_str": "a"}, "Edited."),
    )
    assert changed == "Changed: /src/made.py (1)"


def test_a_deleted_file_says_so_unless_it_was_made_again():
    patch = "*** Begin Patch\n*** Delete File: old/gone.py\n*** End Patch"
    changed = changed_line(
        ("Write", {"file_path": "src/probe.py", "content": "x"}, "File created."),
        ("apply_patch", {"input": patch}, "Success"),
        ("Bash", {"command": "rm -f data.db && touch data.db; git rm docs/a.md"}, "ok"),
        then=[("Bash", {"command": "python src/probe.py; rm src/probe.py"}, "1")],
    )
    assert changed.removeprefix("Changed: ").split("), ") == [
        "old/gone.py (deleted 1",
        "data.db (1",
        "docs/a.md (deleted 1",
        "src/probe.py (1, deleted 5)",
    ]


def test_what_a_call_made_is_named_although_its_arguments_have_no_id():
    changed = changed_line(
        ("create_ticket", {"title": "Printer is broken"}, '{"ticket_id": "TCK-881", "status": "open"}'),
        ("gh_create_issue", {"repo": "o/r", "title": "Untangle"}, '{"number": 296, "url": "https://github.com/o/r"}'),
        ("add_note", {"text": "Call back."}, '{"id": 4711, "text": "Call back."}'),
        ("get_ticket", {"title": "Printer is broken"}, '{"ticket_id": "TCK-882", "status": "open"}'),
        ("create_draft", {"text": "Dear all"}, '{"ok": true}'),
    )
    assert changed == "Changed: TCK-881 (open 1), 296 (1), 4711 (1)"
