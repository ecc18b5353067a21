"""Whatever goes wrong is one line on stderr and an exit code; nothing stored is lost."""

from __future__ import annotations

import gzip
import json
import os
import resource
import signal
import time
from pathlib import Path

import pytest
from chats import chat, finish, lines, process, write

URL = "sqlite:///a.db?synchronous=normal"
GOOD = json.dumps({"id": "good", "messages": chat(1)})


def said(result):
    """The line of an error: exit code 2, nothing on stdout."""
    code, out, err = result
    assert (code, out, err.count("\n")) == (2, "", 1), result
    assert err.startswith("transom: ")
    return err.removeprefix("transom: ").removesuffix("\n")


BROKEN = (
    ('{"id": "x", "messages": [', "chats.jsonl line 3: not JSON: Expecting value (column 26)"),
    ("[" * 100_000, "chats.jsonl line 3: not JSON: "),
    ("nonsense", "chats.jsonl line 3: not JSON: Expecting value (column 1)"),
    ("\udcff", "chats.jsonl line 3: not JSON: 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"),
    ("7", "chats.jsonl line 3: a conversation must be an object, not a number"),
    ('{"id": "x"}', "chats.jsonl line 3: messages must be a list, not null or missing"),
    (
        '{"role": "user", "content": "hi"}',
        "chats.jsonl line 3: messages must be a list, not null or missing; this looks like a single message",
    ),
    ('{"id": "x", "messages": {}}', "chats.jsonl line 3: messages must be a list, not an object"),
    ('{"id": 7, "messages": []}', "chats.jsonl line 3: id must be a text, not a number"),
    (
        '{"id": "x", "messages": [{"role": "user", "content": "a"}, {"content": "b"}]}',
        "chats.jsonl line 3, message 1: the message has no role",
    ),
    (
        '{"id": "x", "messages": [{"role": "user", "content": 5}]}',
        "chats.jsonl line 3, message 0: content must be a string, a list of parts or null, not a number",
    ),
    ('{"id": "x", "messages": ["hello"]}', "chats.jsonl line 3, message 0: a message must be an object, not a string"),
    (
        '{"id": "x", "messages": [], "questions": [{"question": 1}]}',
        "chats.jsonl line 3: questions[0].question must be a text, not a number",
    ),
    (
        '{"id": "x", "messages": [], "questions": [{"question": "?", "asked_at": 4}]}',
        "chats.jsonl line 3: questions[0].asked_at must be a number from 0 to 0, not 4",
    ),
)


@pytest.mark.parametrize(("line", "message"), BROKEN, ids=range(len(BROKEN)))
def test_a_broken_line_is_named(run, folder, line, message):
    (folder / "chats.jsonl").write_bytes(f"{GOOD}\n\n{line}\n".encode(errors="surrogateescape"))
    found = said(run("replay", "chats.jsonl", "--budget", 4_000, "--questions", "--out", "w.jsonl"))
    assert found.startswith(message) if message.endswith(": ") else found == message
    assert sorted(file.name for file in folder.iterdir()) == [".transom", "chats.jsonl"], "no windows, no half of them"
    code, out, _ = run("show", "good", "--json")
    assert code == 0, "what came before the broken line is kept"
    assert len(json.loads(out)["entries"]) == 7


def test_broken_json_files_name_their_line(run, folder):
    (folder / "chat.json").write_text('[\n {"role": "user"},\n nonsense\n]')
    assert said(run("replay", "chat.json", "--budget", 9)) == "chat.json: not JSON: Expecting value (line 3 column 2)"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("missing.jsonl", "--budget", 100), "missing.jsonl: No such file or directory"),
        ((".", "--budget", 100), ".: Is a directory"),
        (("chats.jsonl", "--budget", -5), "budget: context must be a whole number of at least 1, not -5"),
        (("chats.jsonl", "--budget", 0), "budget: context must be a whole number of at least 1, not 0"),
        (
            ("chats.jsonl", "--budget", 9, "--policy", "magic"),
            "unknown policy 'magic': there are default, sliding, pass",
        ),
        (
            ("chats.jsonl", "--budget", 9, "--store", "redis:x"),
            "store 'redis:x': must be one of memory:, sqlite:///pat",
        ),
        (("chats.jsonl", "--budget", 9, "--store", "sqlite:///no/such/folder/a.db"), ""),
        (("chats.jsonl", "--budget", 9, "--store", "sqlite:///chats.jsonl"), ""),
        (("chats.jsonl", "--budget", 9, "--out", "no/such/w.jsonl"), ""),
        (("chats.jsonl", "--budget", 4_000, "--out", "/dev/full"), "/dev/full: No space left on device"),
    ],
)
def test_what_makes_no_sense_is_said(run, folder, args, message):
    write("chats.jsonl", {"id": "good", "messages": chat(1)})
    before = (folder / "chats.jsonl").read_bytes()
    assert said(run("replay", *args)).startswith(message)
    assert (folder / "chats.jsonl").read_bytes() == before


def test_the_windows_never_go_where_the_input_is(run, folder):
    write("chats.jsonl", {"id": "good", "messages": chat(1)})
    write("more.jsonl", {"id": "more", "messages": chat(1)})
    (folder / "linked.jsonl").symlink_to("more.jsonl")
    (folder / "twin.jsonl").hardlink_to("more.jsonl")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for out in ("chats.jsonl", "more.jsonl", "./linked.jsonl", "twin.jsonl", folder / "chats.jsonl"):
        found = said(run("replay", "chats.jsonl", "more.jsonl", "--budget", 4_000, "--out", out))
        assert found == f"--out: {Path(out)} is one of the input files"
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before, "nothing was made, nothing changed"


@pytest.mark.parametrize(
    ("args", "word"),
    [
        (("replay",), "Missing argument"),
        (("replay", "chats.jsonl"), "Missing option"),
        (("replay", "chats.jsonl", "--budget", "many"), "'--budget'"),
        (("replay", "chats.jsonl", "--budget", 5, "--wrong"), "No such option"),
        (("expalin", "x"), "No such command"),
        (("show",), "Missing argument"),
    ],
)
def test_a_command_line_that_cannot_be_read(run, args, word):
    assert word in said(run(*args))


def test_an_unreadable_gzip(run, folder):
    whole = write("chats.jsonl.gz", *({"id": f"{n}", "messages": chat(9, size=n)} for n in range(50)))
    data = (folder / whole).read_bytes()
    (folder / "cut.jsonl.gz").write_bytes(data[: len(data) // 2])
    found = said(run("replay", "cut.jsonl.gz", "--budget", 4_000, "--store", "memory:"))
    assert found.startswith("cut.jsonl.gz line ")
    assert "cannot be read: Compressed file ended before the end-of-stream marker was reached" in found
    (folder / "false.jsonl.gz").write_text(GOOD)
    found = said(run("replay", "false.jsonl.gz", "--budget", 4_000))
    assert found == "false.jsonl.gz line 1: cannot be read: Not a gzipped file (b'{\"')"
    (folder / "bits.jsonl.gz").write_bytes(data[:40] + bytes(60) + data[100:])
    assert said(run("replay", "bits.jsonl.gz", "--budget", 4_000)).startswith("bits.jsonl.gz line 1: cannot be read: ")


def test_plain_text_in_a_packed_file_without_the_name(run, folder):
    (folder / "chats.jsonl").write_bytes(gzip.compress(GOOD.encode()))
    assert run("replay", "chats.jsonl", "--budget", 4_000)[0] == 0


def test_an_unknown_id_lists_what_is_near(run):
    assert said(run("show", "x")).startswith("nothing was replayed in this folder yet")
    write("chats.jsonl", *({"id": name, "messages": chat(1)} for name in ("trip-1", "trip-2", "shopping")))
    assert run("replay", "chats.jsonl", "--budget", 4_000, "--store", "sqlite:///a.db")[0] == 0
    near = "no conversation 'trip-3' in sqlite:///a.db; there is trip-2, trip-1"
    for command in ("show", "explain"):
        assert said(run(command, "trip-3")) == near
        assert said(run(command, "trip")) == "'trip' is a part of 2 ids: trip-1, trip-2"
        assert run(command, "shop")[0] == 0
        missing = "store 'sqlite:///none.db': there is nothing there"
        assert said(run(command, "trip", "--store", "sqlite:///none.db")) == missing
    assert said(run("explain", "shop", "--at", 9)) == "there is no call 9: shopping has 2, counted from 1"
    assert said(run("explain", "shop", "--at", 0)) == "there is no call 0: shopping has 2, counted from 1"


def test_a_full_disk_loses_nothing_that_was_stored(folder):
    write("chats.jsonl", *({"id": f"chat {n}", "messages": chat(30)} for n in range(4)))
    args = ("replay", "chats.jsonl", "--budget", 5_000, "--store", URL, "--out", "w.jsonl")

    def small_disk():
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))

    found = said(finish(process(*args, preexec_fn=small_disk)))
    assert "a.db: " in found
    assert "what was stored before is intact" in found
    assert not (folder / "w.jsonl").exists()
    code, out, _ = finish(process("show", "chat 0", "--json"))
    assert code == 0
    assert len(json.loads(out)["entries"]) > 10
    assert finish(process(*args))[0] == 0
    assert finish(process(*args[:-4], "--store", "memory:", "--out", "same.jsonl"))[0] == 0
    assert lines("w.jsonl") == lines("same.jsonl")


def test_a_full_disk_behind_stdout(folder):
    write("chats.jsonl", {"id": "good", "messages": chat(3)})
    for extra in ((), ("--json",)):
        with Path("/dev/full").open("wb") as full:
            started = process("replay", "chats.jsonl", "--budget", 4_000, *extra, stdout=full)
            _, err = started.communicate(timeout=60)
        assert (started.returncode, err) == (2, "transom: No space left on device\n")


def test_a_broken_pipe(folder):
    write("chats.jsonl", {"id": "good", "messages": chat(400, size=1)})
    assert finish(process("replay", "chats.jsonl", "--budget", 60_000))[0] == 0
    for command in (("show", "good"), ("show", "good", "--json"), ("explain", "good", "--all")):
        reader, writer = os.pipe()
        os.close(reader)
        started = process(*command, stdout=writer)
        os.close(writer)
        _, err = started.communicate(timeout=60)
        assert (started.returncode, err) == (2, "transom: the output was not read to its end\n")


def test_ctrl_c_is_one_line(folder):
    write("chats.jsonl", *({"id": f"chat {n}", "messages": chat(60)} for n in range(40)))
    url = "sqlite:///a.db"
    started = process("replay", "chats.jsonl", "--budget", 5_000, "--store", url, "--out", "w.jsonl")
    store, deadline = folder / "a.db-wal", time.monotonic() + 30
    while not store.exists() or store.stat().st_size < 100_000:
        assert time.monotonic() < deadline
        time.sleep(0.005)
    started.send_signal(signal.SIGINT)
    assert finish(started) == (130, "", f"transom: interrupted; go on with --store '{url}'\n")
    assert not list(folder.glob("*w.jsonl*"))
    assert finish(process("show", "chat 0", "--json"))[0] == 0
