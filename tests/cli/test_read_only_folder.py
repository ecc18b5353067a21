"""Folders in which nothing may be written: commands that read work there, and the others name the way out."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest
from conversation_files import chat, write_jsonl

SETPRIV = shutil.which("setpriv")
READ = (
    ("log", "chat 1"),
    ("explain", "chat 1"),
    ("search", "folders"),
    ("grep", "chat 1", "folders"),
    ("read", "chat 1", "entry 1"),
    ("window", "chat 1", "--budget", "2000"),
    ("export", "chat 1", "--format", "openai"),
    ("conversations",),
)

pytestmark = pytest.mark.skipif(
    os.geteuid() == 0 and SETPRIV is None, reason="needs setpriv: root may write everywhere"
)


def run_all(*commands):
    """Run commands in one process that has no more rights than the files say. Returns what each has printed."""
    drop = [SETPRIV, "--inh-caps=-all", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    code = """
import contextlib, io, json, sys
from transom.cli import main
printed = []
for args in json.loads(sys.argv[1]):
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(args)
    printed.append([code, *(each.buffer.getvalue().decode() for each in (out, err))])
print(json.dumps(printed))
"""
    command = [*drop, sys.executable, "-c", code, json.dumps(commands)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return json.loads(done.stdout)


@pytest.fixture
def read_only(folder, run):
    """A folder with the store a.db, whose file may be written, but not the folder."""
    box = folder / "box"
    box.mkdir()
    chats = write_jsonl("chats.jsonl", {"id": "chat 1", "messages": chat(8, 500)})
    assert run("replay", chats, "--budget", 2_000, "--store", "sqlite:///box/a.db")[0] == 0
    box.chmod(0o555)
    yield box
    box.chmod(0o755)


@pytest.mark.usefixtures("read_only")
def test_a_store_in_a_read_only_folder_can_be_read(run):
    commands = [(*args, "--store", "sqlite:///box/a.db") for args in READ]
    printed = run_all(*commands)
    assert [each for each in printed if each[0] or "readonly" in each[2]] == []
    assert [out for _, out, _ in printed] == [run(*command)[1] for command in commands]
    (pinned,) = run_all(("pin", "chat 1", "3", "--store", "sqlite:///box/a.db"))
    assert pinned[0] == 2
    assert "a.db" in pinned[2]


def test_a_new_store_is_made_elsewhere(folder):
    chats = write_jsonl("chats.jsonl", {"id": "chat 1", "messages": chat(2)})
    elsewhere = f"sqlite:///{folder.parent}/elsewhere.db"
    replay = ("replay", str(chats), "--budget", "2000", "--json")
    folder.chmod(0o555)
    commands = (("demo",), replay, ("import", str(chats)), ("chat", "--model", "scripted"))
    printed = run_all(*commands, (*replay, "--store", elsewhere), ("log", "chat 1", "--store", elsewhere))
    folder.chmod(0o755)
    way = "go to a folder that can be written, or give --store URL if the command has it"
    assert printed[:4] == [[2, "", f"transom: .transom: Permission denied: {way}\n"]] * 4
    notice = f"transom: .transom/last cannot be written: give --store {elsewhere} to the other commands too\n"
    assert [(code, err) for code, _, err in printed[4:]] == [(0, notice), (0, "")]


def test_a_folder_that_only_was_looked_at_stays_as_it_was(folder, run):
    chats = write_jsonl("chats.jsonl", {"id": "chat 1", "messages": chat(8, 500)})
    assert run("replay", chats, "--budget", 2_000, "--store", "logs/")[0] == 0
    (folder / "empty").mkdir()
    before = sorted(folder.rglob("*"))
    for args in READ:
        if args[0] != "search":  # it makes the index
            assert run(*args, "--store", "logs/")[0] == 0, args
    run("conversations", "--store", "empty/")
    assert sorted(folder.rglob("*")) == before
