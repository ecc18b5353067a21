"""Subagents of Claude Code with files of their own: `SESSION.jsonl` and `SESSION/subagents/agent-ID.jsonl`."""

from __future__ import annotations

import json

import pytest
from sessions import assistant, jsonl, text, user

from transom.importers import import_file, read
from transom.stores import MemoryStore

SESSION = [user("u1", None, "Ask an agent.", sessionId="0a1b"), assistant("a1", "u1", "m1", text("Done."))]


def agent(name):
    side = {"isSidechain": True, "agentId": name, "sessionId": "0a1b"}
    return [
        user(f"{name}u", None, f"Look, {name}.", **side),
        assistant(f"{name}a", f"{name}u", "mx", text("Fine."), **side),
    ]


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "0a1b" / "subagents"
    folder.mkdir(parents=True)
    (tmp_path / "0a1b.jsonl").write_text(jsonl(*SESSION).replace('"sessionId": "s"', '"sessionId": "0a1b"'))
    for name in ("e1", "e2"):
        (folder / f"agent-{name}.jsonl").write_text(jsonl(*agent(name)))
        (folder / f"agent-{name}.meta.json").write_text(json.dumps({"agentType": "Explore"}))
    return tmp_path


def imported(source, store):
    return {done.conversation: (done.messages, done.earlier) for done in import_file(source, store)}


def test_a_folder_has_the_session_and_each_subagent(project):
    names = ["0a1b", "0a1b#e1", "0a1b#e2"]
    store = MemoryStore()
    assert imported(project, store) == dict.fromkeys(names, (2, 0))
    assert imported(project, store) == dict.fromkeys(names, (0, 2))
    notes = []
    assert sorted(store.names()) == sorted(one.id for one in read(project, on_skip=notes.append)) == names
    assert notes == []


def test_a_session_alone_says_where_its_subagents_are(project):
    (project / "0a1b" / "subagents" / "agent-e1.jsonl.bak").write_text("")
    [done] = import_file(project / "0a1b.jsonl", MemoryStore())
    folder = project / "0a1b" / "subagents"
    assert (done.conversation, done.remarks) == (
        "0a1b",
        (f"2 subagents have files of their own, not imported with this one: import {folder} too",),
    )


def test_one_subagent_alone_has_the_name_of_its_session(project):
    store = MemoryStore()
    file = project / "0a1b" / "subagents" / "agent-e1.jsonl"
    [done] = import_file(file, store)
    assert (done.conversation, done.messages, done.remarks) == ("0a1b#e1", 2, ())
    assert imported(project, store) == {"0a1b": (2, 0), "0a1b#e1": (0, 2), "0a1b#e2": (2, 0)}


def test_a_subagent_in_the_file_of_its_session_and_in_its_own_is_one_conversation(project):
    with (project / "0a1b.jsonl").open("a") as file:
        file.write(jsonl(*agent("e1")))
    store = MemoryStore()
    imported(project, store)
    imported(project / "0a1b.jsonl", store)
    assert sorted(store.names()) == ["0a1b", "0a1b#e1", "0a1b#e2"]
    notes = []
    assert [one.id for one in read(project, on_skip=notes.append)] == ["0a1b", "0a1b#e1", "0a1b#e2"]
    file = project / "0a1b" / "subagents" / "agent-e1.jsonl"
    assert f"{file}: skipped, the file of the session has this subagent too" in notes


def test_a_subagent_that_was_imported_under_the_name_of_its_file_is_continued(project):
    store = MemoryStore()
    file = project / "0a1b" / "subagents" / "agent-e1.jsonl"
    [*import_file(file, store, id="agent-e1")]
    assert imported(file, store) == {"agent-e1": (0, 2)}


def test_a_subagent_with_other_words_is_read_too(project):
    with (project / "0a1b.jsonl").open("a") as file:
        file.write(jsonl(*agent("e1")))
    file = project / "0a1b" / "subagents" / "agent-e1.jsonl"
    file.write_text(jsonl(*agent("e1")).replace("Fine.", "Fair."))
    assert [one.id for one in read(project)].count("0a1b#e1") == 2


@pytest.mark.parametrize("part", ["of the session", "of its own"])
def test_a_subagent_of_which_one_file_has_only_a_part_is_one_conversation(project, part):
    with (project / "0a1b.jsonl").open("a") as file:
        file.write(jsonl(*agent("e1")[: 1 if part == "of the session" else 2]))
    file = project / "0a1b" / "subagents" / "agent-e1.jsonl"
    file.write_text(jsonl(*agent("e1")[: 1 if part == "of its own" else 2]))
    notes = []
    records = {one.id: len(one.messages) for one in read(project, on_skip=notes.append)}
    assert records == {"0a1b": 2, "0a1b#e1": 2, "0a1b#e2": 2}
    assert len([*read(project)]) == 3
    left_out = {
        "of the session": f"{project / '0a1b.jsonl'}: left out the beginning of 0a1b#e1, which has a file",
        "of its own": f"{file}: skipped, the file of the session has this subagent too",
    }
    assert left_out[part] in notes


def test_a_folder_above_that_is_called_subagents_means_nothing(tmp_path):
    for name in ("a", "b"):
        folder = tmp_path / "subagents" / name
        folder.mkdir(parents=True)
        (folder / "log.json").write_text(json.dumps({"messages": [{"role": "user", "content": "Hi."}]}))
    assert [one.id for one in read(tmp_path / "subagents")] == ["log", "log"]
    assert [one.id for one in read(tmp_path)] == ["log", "log"]
