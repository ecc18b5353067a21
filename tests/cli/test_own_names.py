"""Names that Transom keeps for its own logs are no names for conversations, wherever a caller names one."""

from __future__ import annotations

import json

import pytest

from transom import Conversation, InvalidSetting
from transom.importers import import_file
from transom.stores import MemoryStore, fork_log
from transom.testing import user_entries

NAMES = [".memory/team", ".memory-archive/team"]
WHY = r"Transom keeps '{}' for its own logs: choose an id that does not begin with \.memory/, "


@pytest.mark.parametrize("name", NAMES)
def test_in_python(tmp_path, name):
    store, why = MemoryStore(), WHY.format(name)
    log = store.open("trip")
    log.append(user_entries(0, 2), 0)
    path = tmp_path / "chat.json"
    path.write_text(json.dumps([{"role": "user", "content": "hi"}]))
    with pytest.raises(InvalidSetting, match="id: " + why):
        Conversation.open(store, name, budget=1_000)
    with pytest.raises(InvalidSetting, match="fork: " + why):
        fork_log(store, log, name=name)
    with pytest.raises(InvalidSetting, match="id: " + why):
        list(import_file(path, store, id=name))
    assert store.names() == ["trip"]


@pytest.mark.parametrize("name", NAMES)
def test_in_commands(run, folder, name):
    (folder / "chat.json").write_text(json.dumps([{"role": "user", "content": "hi"}]))
    assert run("import", "chat.json", "--store", "s.db", "--id", "trip")[0] == 0
    for words in (
        ("import", "chat.json", "--store", "s.db", "--id", name),
        ("fork", "trip", "--store", "s.db", "--name", name),
        ("chat", name, "--store", "s.db", "--model", "scripted:"),
    ):
        code, out, err = run(*words)
        assert (code, out, err.count("\n")) == (2, "", 1), words
        assert f"Transom keeps '{name}' for its own logs" in err


def test_another_name_that_begins_with_a_dot_is_one(tmp_path):
    assert Conversation.open(MemoryStore(), ".hidden", budget=1_000).log.name == ".hidden"
