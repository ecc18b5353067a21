"""The names of imported conversations: their ids, unless Transom keeps these names, or several files have one id."""

from __future__ import annotations

import io
import json

import pytest

from transom.errors import InvalidSetting
from transom.exporters import export
from transom.importers import import_file, read
from transom.stores import MemoryStore

AT = "2025-09-01T10:00:00Z"


def codex(label, *texts):
    lines = [{"timestamp": AT, "type": "session_meta", "payload": {"id": label}}]
    for text in texts:
        said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
        lines.append({"timestamp": AT, "type": "response_item", "payload": said})
    return "".join(json.dumps(line) + "\n" for line in lines)


def imported(source, store, **options):
    return [(done.conversation, done.messages, done.earlier) for done in import_file(source, store, **options)]


@pytest.mark.parametrize("label", [".memory/ann/memory/human", ".memory-archive/ann"])
def test_no_file_chooses_one_of_transoms_own_logs(tmp_path, label):
    store = MemoryStore()
    (tmp_path / "rollout.jsonl").write_text(codex(label, "hello"))
    chat = {"id": label, "messages": [{"role": "user", "content": "hello"}]}
    (tmp_path / "chat.json").write_text(json.dumps(chat))
    done = [*import_file(tmp_path / "rollout.jsonl", store), *import_file(tmp_path / "chat.json", store)]
    remark = f"its id '{label}' is a name of Transom's own logs: the conversation has that of the file"
    assert [(one.conversation, one.remarks[0]) for one in done] == [("rollout", remark), ("chat", remark)]
    assert store.names() == ["rollout", "chat"]
    assert imported(tmp_path / "rollout.jsonl", store) == [("rollout", 0, 1)]


def test_a_session_that_was_imported_under_the_name_of_its_file_is_continued(tmp_path):
    store, file = MemoryStore(), tmp_path / "rollout.jsonl"
    file.write_text(codex("same", "hello"))
    imported(file, store, id="rollout")
    file.write_text(codex("same", "hello", "more"))
    assert imported(file, store) == [("rollout", 1, 1)]
    (tmp_path / "other").mkdir()
    other = tmp_path / "other" / "rollout.jsonl"
    other.write_text(codex("another", "bye"))
    assert imported(other, store) == [("another", 1, 0)]


@pytest.mark.parametrize("kind", ["sessions", "documents"])
def test_files_of_a_folder_with_one_id(tmp_path, kind):
    def write(name, text):
        if kind == "sessions":
            (tmp_path / f"{name}.jsonl").write_text(codex("same", text))
        else:
            chat = {"id": "same", "messages": [{"role": "user", "content": text}]}
            (tmp_path / f"{name}.json").write_text(json.dumps(chat))

    store = MemoryStore()
    write("a", "hello a")
    write("b", "hello b")
    assert imported(tmp_path, store) == [("same", 1, 0), ("same (2)", 1, 0)]
    write("0", "hello 0")
    again = [("same (3)", 1, 0), ("same", 0, 1), ("same (2)", 0, 1)]
    assert imported(tmp_path, store) == again
    assert imported(tmp_path, store) == [(name, 0, 1) for name, *_ in again]
    one = next(tmp_path.glob("b.json*"))
    assert imported(one, store) == [("same (2)", 0, 1)]
    [found] = read(io.BytesIO(b"".join(export(store.open("same (2)")))))
    assert found.facts() == next(read(one)).facts()
    write("c", "hello c")
    with pytest.raises(InvalidSetting, match="conversation 'same' is in the store already, and "):
        imported(next(tmp_path.glob("c.json*")), store)


def test_a_file_of_a_folder_that_cannot_be_imported_is_skipped(tmp_path, monkeypatch):
    class OneIsFull(MemoryStore):
        def open(self, name):
            if name == "full":
                raise InvalidSetting("no room")
            return super().open(name)

    store, lines = OneIsFull(), []
    for name in ("a", "full", "z"):
        (tmp_path / f"{name}.jsonl").write_text(codex(name, "hello"))
    assert imported(tmp_path, store, on_skip=lines.append) == [("a", 1, 0), ("z", 1, 0)]
    assert lines == [f"{tmp_path / 'full.jsonl'}: skipped, no room"]
    with pytest.raises(InvalidSetting, match="there are several"):
        imported(tmp_path, store, id="x")
