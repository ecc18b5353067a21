"""The commands that the output of a command names: each runs as it is printed."""

from __future__ import annotations

import contextlib
import re
import shlex
import shutil

import pytest
from conversation_files import chat, write_jsonl

from transom.cli import main
from transom.cli.next_commands import command_for

STORES = (None, "a b.db", "my logs/")


@pytest.fixture(scope="module")
def replayed(tmp_path_factory, replayed_demo):
    """For each store a folder in which it was made; in it are two conversations, so that an id must be given, whose
    ids need quotes."""
    messages = chat(12, size=300)
    messages[3]["content"] = "needle one\n- needle two\nneedle three\n" + messages[3]["content"]
    newest = max(at for at, message in enumerate(messages) if message["role"] == "tool")
    messages[newest]["content"] = "\n".join(f"file {n}" for n in range(80))
    folders = {}
    for store in STORES:
        folder = folders[store] = tmp_path_factory.mktemp("replayed")
        chats = ({"id": "it's 42", "messages": messages}, {"id": "420", "messages": chat(2)})
        write_jsonl(folder / "chats.jsonl", *chats)
        options = [] if store is None else ["--store", store]
        limits = ("--budget", 4_000, "--policy", "default:clip=0.1")
        with contextlib.chdir(folder):
            assert main(["replay", "chats.jsonl", *map(str, limits), *options]) == 0
        if store is not None:  # then the last store is another one
            shutil.copytree(replayed_demo[0], folder, dirs_exist_ok=True)
    return folders


@pytest.fixture(params=STORES)
def store(request, folder, replayed):
    """The options of a store, which is in this folder."""
    shutil.copytree(replayed[request.param], folder, dirs_exist_ok=True)
    return () if request.param is None else ("--store", request.param)


def named(out):
    """The commands below "Next"."""
    _, _, end = out.partition("\nNext\n")
    return [re.match(r"  transom (.*?)(?:  .*)?$", line)[1] for line in end.splitlines() if line.strip()]


@pytest.mark.parametrize(
    ("args", "count"),
    [
        (("explain", "it's 42"), 5),
        (("explain", "it's 42", "--at", "-1"), 3),
        (("explain", "it's 42", "--all"), 4),
        (("window", "it's 42", "--budget", 4_000, "--policy", "sliding"), 1),
        (("window", "it's 42", "--budget", 4_000, "--as", "text"), 1),
        (("search", "needle", "--limit", 1), 1),
    ],
)
def test_each_command_that_is_named_works(run, store, args, count):
    code, out, err = run(args[0], *store, *args[1:])
    assert (code, err) == (0, "")
    found = named(out)
    assert len(found) == count, out
    for line in found:
        code, again, err = run(*shlex.split(line))
        assert (code, err) == (0, ""), line
        assert again != out


def test_nothing_is_named_where_all_is_shown(run, store):
    assert named(run("window", 420, "--budget", 100_000, "--as", "text", "--full", *store)[1]) == []


def test_the_command_that_takes_a_compaction_back_works(run, store):
    out = run("compact", "it's 42", *store)[1]
    (line,) = re.findall(r"^  transom (undo .*?)  +takes the compaction back$", out, re.MULTILINE)
    code, again, err = run(*shlex.split(line))
    assert (code, err) == (0, "")
    assert "undo of entry" in again


def test_a_password_is_not_printed():
    line = command_for("read", "trip", "entry", 3, store="postgresql://me:secret@host/db")
    assert "secret" not in line
    assert command_for("grep", "-x", "-y", store=None, options=["--limit", 3]) == "transom grep --limit 3 -- -x -y"
