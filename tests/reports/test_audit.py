"""What compactions of Claude Code and Codex lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from transom.cli import main
from transom.importers import read
from transom.reports.audit import AuditedCompaction, LostText, audit
from transom.tokenizer import o200k

RENAMED = "The user wants to rename the gateway to Portcullis everywhere; tests stay green. gateway.py"
LISTING = "src/a.py\nsrc/b.py\n" * 8


def line(number: int, role: str, content: Any, **more: Any) -> dict[str, Any]:
    parent = f"u{number - 1}" if number else None
    message = {"role": role, "content": content, **({"id": f"m{number}"} if role == "assistant" else {})}
    return {"type": role, "uuid": f"u{number}", "parentUuid": parent, "sessionId": "s", "message": message, **more}


def call(name: str, **arguments: str) -> list[dict[str, Any]]:
    return [{"type": "tool_use", "id": f"{name}-{'-'.join(arguments.values())}", "name": name, "input": arguments}]


def result(of: list[dict[str, Any]], text: str) -> list[dict[str, Any]]:
    return [{"type": "tool_result", "tool_use_id": of[0]["id"], "content": text}]


def session(path: Path, summary: str) -> list[AuditedCompaction]:
    """A session of Claude Code with one compaction."""
    listed, edited = (
        call("Glob", pattern="src"),
        call("Edit", file_path="src/gateway.py", old_string="x", new_string="y"),
    )
    other = call("Write", file_path="docs/guide.md", content="Guide")
    again = [{**listed[0], "id": "again"}]
    lines = [
        line(0, "user", "Please rename the gateway to Portcullis everywhere, and keep the tests green."),
        line(1, "assistant", listed),
        line(2, "user", result(listed, LISTING)),
        line(3, "assistant", [{"type": "text", "text": "I decided to keep the old spelling in migrations."}, *edited]),
        line(4, "user", result(edited, "done")),
        line(5, "assistant", other),
        line(6, "user", result(other, "done")),
        line(7, "user", "Reminder: the context is nearly full.", isMeta=True),
        line(8, "user", "Never touch deployment folders called staging or production."),
        line(9, "assistant", [{"type": "text", "text": "Understood."}]),
        line(10, "user", summary, isCompactSummary=True),
        line(11, "assistant", again),
        line(12, "user", result(again, LISTING)),
        line(13, "assistant", [{"type": "text", "text": "Here they are."}]),
    ]
    path.write_text("\n".join(map(json.dumps, lines)) + "\n")
    (record,) = read(path)
    assert record.format == "claude_code"
    return audit(record, o200k())


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_what_a_compaction_of_claude_code_lost() -> None:
    (found,) = session(Path("s.jsonl"), RENAMED)
    assert (found.message, found.is_readable, found.requests, found.files, found.decisions) == (10, True, 2, 2, 1)
    assert found.lost_requests == (
        LostText(message=8, text="Never touch deployment folders called staging or production."),
    )
    assert found.lost_files == (LostText(message=5, text="docs/guide.md"),)
    assert [one.message for one in found.lost_decisions] == [3]
    (again,) = found.repeated
    assert (again.message, again.before, again.tokens) == (11, 1, o200k().count(LISTING))


def test_a_summary_that_tells_everything_loses_nothing() -> None:
    summary = (
        "Rename the gateway to Portcullis everywhere and keep the tests green. Never touch deployment folders "
        "(staging, production). Decided: keep the old spelling in migrations. Changed: gateway.py, guide.md."
    )
    (found,) = session(Path("s.jsonl"), summary)
    assert (found.lost_requests, found.lost_files, found.lost_decisions) == ((), (), ())


def compacted_twice(path: Path, *summaries: str) -> list[AuditedCompaction]:
    """A session of Claude Code with a request, a changed file, and a compaction for each summary."""
    edited = call("Write", file_path="src/alpha.py", content="x")
    lines = [
        line(0, "user", "We decided: refactor module alpha and do not touch beta."),
        line(1, "assistant", edited),
        line(2, "user", result(edited, "ok")),
    ]
    for summary in summaries:
        lines.append(line(len(lines), "user", summary, isCompactSummary=True))
        lines.append(line(len(lines), "assistant", [{"type": "text", "text": "Going on."}]))
    path.write_text("\n".join(map(json.dumps, lines)) + "\n")
    (record,) = read(path)
    return audit(record, o200k())


def test_a_second_compaction_loses_what_the_first_one_kept(capsys: pytest.CaptureFixture[str]) -> None:
    told = "Decided: refactor module alpha, do not touch beta. Changed: alpha.py"
    first, second = compacted_twice(Path("s.jsonl"), told, "Nothing.")
    assert (first.lost_requests, first.lost_files, first.lost_decisions) == ((), (), ())
    assert second.tokens_before == o200k().count(told) + o200k().count("Going on.")
    assert (second.requests, second.files, second.decisions) == (1, 1, 1)
    assert (second.earlier_requests, second.earlier_files, second.earlier_decisions) == (1, 1, 1)
    assert [one.message for one in (*second.lost_requests, *second.lost_files, *second.lost_decisions)] == [0, 1, 0]
    assert main(["audit", "s.jsonl"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "lost 1 of 1 requests, 1 of 1 changed files, 1 of 1 decisions;" in out


def test_what_is_lost_is_not_counted_again() -> None:
    first, second, third = compacted_twice(Path("s.jsonl"), "Nothing.", "Nothing.", "alpha.py")
    assert len(first.lost_requests) == len(first.lost_files) == len(first.lost_decisions) == 1
    assert (second.requests, second.files, second.decisions) == (0, 0, 0)
    assert (third.requests, third.files, third.decisions) == (0, 0, 0)


def test_behind_a_summary_that_cannot_be_read_nothing_earlier_is_judged() -> None:
    first, second = compacted_twice(Path("s.jsonl"), "[context compacted]", "Nothing.")
    assert not first.is_readable
    assert (second.requests, second.files, second.tokens_before) == (0, 0, o200k().count("Going on."))


@pytest.mark.parametrize(
    ("told", "lost"),
    [
        ("Edited guide.md.", False),
        ("修改了guide.md文件", False),
        ("Edited userguide.md", True),
        ("See guide.mdx", True),
    ],
)
def test_a_file_is_told_by_its_whole_name(told: str, lost: bool) -> None:
    (found,) = session(Path("s.jsonl"), f"{RENAMED} {told}")
    assert bool(found.lost_files) is lost


def rollout(path: Path, payload: dict[str, Any]) -> list[AuditedCompaction]:
    """A session of Codex with one compaction."""

    def said(role: str, text: str) -> dict[str, Any]:
        kind = "input_text" if role == "user" else "output_text"
        return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}

    items = [
        said("user", "Count the invoices of Lisbon."),
        said("assistant", "There are seven."),
        said("user", "Convert currencies into pounds afterwards."),
        said("assistant", "Converted."),
    ]
    lines = [{"type": "session_meta", "payload": {"id": "x"}}]
    lines += [{"type": "response_item", "payload": item} for item in items]
    lines += [{"type": "compacted", "payload": payload}, {"type": "response_item", "payload": said("user", "Go on.")}]
    path.write_text("\n".join(map(json.dumps, lines)) + "\n")
    (record,) = read(path)
    assert record.format == "codex"
    return audit(record, o200k())


def test_messages_that_codex_keeps_are_not_lost() -> None:
    (found,) = rollout(Path("r.jsonl"), {"message": "Seven invoices counted for Lisbon."})
    assert [one.text for one in found.lost_requests] == ["Convert currencies into pounds afterwards."]
    kept = {"type": "message", "role": "user", "content": [
        {"type": "input_text", "text": "Convert currencies into pounds afterwards."}]}  # fmt: skip
    payload = {"message": "Seven invoices counted for Lisbon.", "replacement_history": [kept]}
    (found,) = rollout(Path("r.jsonl"), payload)
    assert (found.requests, found.lost_requests) == (2, ())


def test_a_summary_that_the_file_does_not_have_is_not_judged() -> None:
    said = ("user", "Count."), ("assistant", "Two."), ("user", "[context compacted]"), ("assistant", "Two.")
    messages = [{"role": role, "content": text} for role, text in said]
    Path("chat.json").write_text(json.dumps({"messages": messages}))
    (record,) = read("chat.json")
    (found,) = audit(record, o200k())
    assert (found.is_readable, found.requests, found.lost_requests) == (False, 0, ())


def test_the_command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    session(Path("s.jsonl"), RENAMED)
    assert main(["audit", "s.jsonl"]) == 0
    out = capsys.readouterr().out
    assert (
        "  1 of 2 requests lost\n    message 8: Never touch deployment folders called staging or production.\n" in out
    )
    assert "1 conversation, 1 compaction: lost 1 of 2 requests, 1 of 2 changed files, 1 of 1 decisions;" in out
    assert main(["audit", "s.jsonl", "--json"]) == 0
    total = json.loads(capsys.readouterr().out)["total"]
    assert (total["compactions"], total["lost_requests"], total["repeated_calls"]) == (1, 1, 1)


def test_a_file_without_a_conversation_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.touch()
    for options in ([], ["--json"]):
        assert main(["audit", str(empty), *options]) == 2
        assert capsys.readouterr() == ("", f"transom: no conversation in {empty}\n")


def test_a_single_conversation_was_not_compacted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(json.dumps(line(0, "user", "Go.")) + "\n")
    assert main(["audit", str(path)]) == 0
    assert "1 conversation, 0 compactions: it was not compacted." in " ".join(capsys.readouterr().out.split())
