"""One message of a session that no API takes: the others are read, and what is left out is named."""

from __future__ import annotations

import io

import pytest
from sessions import assistant, call, item, jsonl, said, text, user

from transom.core.message import Fact
from transom.exporters import export
from transom.importers import import_file, read
from transom.stores import MemoryStore

CLAUDE = [
    user("u1", None, "Count the files."),
    assistant("a1", "u1", "msg_1", {"type": "text"}),
    user("u2", "a1", "And hurry."),
    assistant("a2", "u2", "msg_2", text("Two."), call("t1", command="ls")),
]
CODEX = [
    item(**said("user", "Count the files.")),
    item(type="message", role="assistant", content=[{"type": "output_text", "text": 7}]),
    item(**said("user", "And hurry.")),
    item(type="message", role="assistant", content=[{"type": "output_text", "text": "Two."}]),
]
KINDS = pytest.mark.parametrize("lines", [CLAUDE, CODEX], ids=["claude_code", "codex"])


@KINDS
def test_the_others_are_read(lines):
    notices: list[str] = []
    (record,) = read(io.BytesIO(jsonl(*lines).encode()), on_skip=notices.append)
    _, facts = record.facts()
    assert [type(fact).__name__ for _, fact in facts] == ["User", "User", "Assistant"]
    (notice,) = notices
    assert "message 1: left out, " in notice


@KINDS
def test_the_others_are_imported_and_exported(lines, tmp_path):
    path, store = tmp_path / "s.jsonl", MemoryStore()
    path.write_text(jsonl(*lines))
    (done,) = import_file(path, store)
    _, placed = next(read(path, on_skip=lambda _: None)).facts()
    log = store.open(done.conversation)
    assert [one.body for one in log.read() if isinstance(one.body, Fact)] == [fact for _, fact in placed]
    assert sum("an earlier message is left out, " in notice for notice in done.skipped) == 1
    (found,) = read(io.BytesIO(b"".join(export(log))))
    assert found.facts()[1] == [(at, fact) for at, (_, fact) in enumerate(placed)]
    (again,) = import_file(path, store)
    assert (again.messages, again.earlier) == (0, 3)
