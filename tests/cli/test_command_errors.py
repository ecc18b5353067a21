"""Errors: each is one line on stderr and an exit code, and nothing that was stored is lost."""

from __future__ import annotations

import gzip
import json
import os
import re
import resource
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from command_process import finish, start_command
from conversation_files import chat, read_jsonl, write_jsonl

from transom.conversation.conversation import Conversation
from transom.stores import open_store

URL = "sqlite:///a.db?synchronous=normal"
GOOD = json.dumps({"id": "good", "messages": chat(1)})


def error_line(result):
    """The line of an error. The exit code is 2, and stdout is empty."""
    code, out, err = result
    assert (code, out, err.count("\n")) == (2, "", 1), result
    assert err.startswith("transom: ")
    return err.removeprefix("transom: ").removesuffix("\n")


INVALID_LINES = (
    ('{"id": "x", "messages": [', "chats.jsonl line 3: not JSON: Expecting value (column 26)"),
    ("[" * 100_000, "chats.jsonl line 3: nested too deeply: a message may have 100 levels"),
    ("nonsense", "chats.jsonl line 3: not JSON: Expecting value (column 1)"),
    ("\udcff", "chats.jsonl line 3: not JSON: no text in UTF-8 (byte 1)"),
    ("7", "chats.jsonl line 3: a conversation must be an object, not a number"),
    ('{"id": "x"}', "chats.jsonl line 3: messages must be a list, but is missing"),
    (
        '{"role": "user", "content": "hi"}',
        "chats.jsonl line 3: messages must be a list, but is missing; this looks like a single message",
    ),
    ('{"id": "x", "messages": {}}', "chats.jsonl line 3: messages must be a list, not an object"),
    ('{"id": 7.5, "messages": []}', "chats.jsonl line 3: id must be a text, not a number"),
    (
        '{"id": "x", "messages": [{"role": "user", "content": "a"}, {"content": "b"}]}',
        "chats.jsonl line 3, message 1: the message has no role",
    ),
    (
        '{"id": "x", "messages": [{"role": "user", "content": 5}]}',
        "chats.jsonl line 3, message 0: content must be a string, a list of parts or null, not a number",
    ),
    ('{"id": "x", "messages": ["hello"]}', "chats.jsonl line 3, message 0: a message must be an object, not a string"),
    ('{"id": "x", "messages": null}', "chats.jsonl line 3: messages must be a list, not null"),
)


@pytest.mark.parametrize(("line", "message"), INVALID_LINES, ids=range(len(INVALID_LINES)))
def test_an_error_names_the_invalid_line(run, folder, line, message):
    (folder / "chats.jsonl").write_bytes(f"{GOOD}\n\n{line}\n".encode(errors="surrogateescape"))
    found = error_line(run("replay", "chats.jsonl", "--budget", 4_000, "--out", "w.jsonl"))
    assert found.startswith(message) if message.endswith(": ") else found == message
    assert sorted(file.name for file in folder.iterdir()) == [".transom", "chats.jsonl"], (
        "no file of windows, and no part of one"
    )
    code, out, _ = run("log", "good", "--json")
    assert code == 0, "what came before the invalid line is stored"
    assert len(json.loads(out)["entries"]) == 7


def test_an_error_in_a_json_file_names_the_line(run, folder):
    (folder / "chat.json").write_text('[\n {"role": "user"},\n nonsense\n]')
    assert (
        error_line(run("replay", "chat.json", "--budget", 9))
        == "chat.json: not JSON: Expecting value (line 3 column 2)"
    )


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("missing.jsonl", "--budget", 100), "missing.jsonl: No such file or directory"),
        (("empty", "--budget", 100), "empty: no file in this folder is named .json, .jsonl, .ndjson, .eval (or "),
        (("chats.jsonl", "--budget", 9, "--format", "word"), "unknown format 'word': there are openai, responses, "),
        (("chats.jsonl", "--budget", 9, "--dialect", "morse"), "unknown dialect 'morse': there are openai, mistral, "),
        (
            ("chats.jsonl", "--budget", -5),
            "Invalid value for '--budget': tokens: must be a whole number of tokens, such as 128000 or 128k, not '-5'",
        ),
        (
            ("chats.jsonl", "--budget", 0),
            "Invalid value for '--budget': tokens: must be a whole number of tokens, such as 128000 or 128k, not '0'",
        ),
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
        (("chats.jsonl", "--budget", 9, "--out", "no/such/w.jsonl"), "no/such/w.jsonl: No such file or directory"),
        (("chats.jsonl", "--budget", 4_000, "--out", "/dev/full"), "/dev/full: No space left on device"),
    ],
)
def test_invalid_options_raise_one_line(run, folder, args, message):
    write_jsonl("chats.jsonl", {"id": "good", "messages": chat(1)})
    (folder / "empty").mkdir()
    before = (folder / "chats.jsonl").read_bytes()
    assert error_line(run("replay", *args)).startswith(message)
    assert (folder / "chats.jsonl").read_bytes() == before


def test_files_without_a_conversation_are_an_error(run, folder):
    (folder / "empty.jsonl").write_text("")
    (folder / "other").write_text("")
    for names, listed in (
        (["empty.jsonl", "empty.jsonl"], "empty.jsonl"),
        (["empty.jsonl", "other"], "empty.jsonl, other"),
        (["other", "empty.jsonl", "./other"], "other, empty.jsonl"),
    ):
        for command in ("replay", "compare"):
            assert error_line(run(command, *names, "--budget", 4_000)) == f"no conversation in {listed}"
    many = [f"{number}.jsonl" for number in range(9)]
    for name in many:
        (folder / name).write_text("")
    line = error_line(run("import", *many))
    assert line == f"no conversation in {', '.join(many[:8])} and 1 more"


def test_windows_are_never_written_to_an_input_file(run, folder):
    write_jsonl("chats.jsonl", {"id": "good", "messages": chat(1)})
    write_jsonl("more.jsonl", {"id": "more", "messages": chat(1)})
    (folder / "linked.jsonl").symlink_to("more.jsonl")
    (folder / "twin.jsonl").hardlink_to("more.jsonl")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for out in ("chats.jsonl", "more.jsonl", "./linked.jsonl", "twin.jsonl", folder / "chats.jsonl"):
        found = error_line(run("replay", "chats.jsonl", "more.jsonl", "--budget", 4_000, "--out", out))
        assert found == f"--out: {Path(out)} is one of the input files"
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before, "no file was created or changed"


@pytest.mark.parametrize(
    ("args", "word"),
    [
        (("replay",), "Missing argument"),
        (("compare", "chats.jsonl"), "Missing option"),
        (
            ("replay", "chats.jsonl", "--budget", "many"),
            "value for '--budget': tokens: must be a whole number of tokens, such as 128000 or 128k, not 'many' (",
        ),
        (("explain", "demo", "--at", "foo"), "value for '--at': must be a whole number, not 'foo' ("),
        (("explain", "demo", "--at", "9" * 5_000), "value for '--at': must be a whole number, not '999"),
        (("window", "x", "--budget", 5, "--as", "pdf"), "value for '--as': 'pdf' is not one of 'table', 'text'"),
        (
            ("search", "x", "--since", "yesterday"),
            "value for '--since': must be a time, as in 2026-11-23 or 2026-11-23T18:00:00, not 'yesterday' (",
        ),
        (("search", "x", "--limit", 0), "value for '--limit': must be at least 1, not '0' ("),
        (("search", "x", "--limit", 4_000), "value for '--limit': must be at most 1000, not '4000' ("),
        (("proxy", "--upstream", "x", "--timeout", "soon"), "value for '--timeout': must be a number, not 'soon' ("),
        (("replay", "chats.jsonl", "--budget", 5, "--wrong"), "No such option"),
        (("expalin", "x"), "No such command"),
        (("log",), "which conversation? Give its ID"),
    ],
)
def test_an_invalid_command_line_is_one_line(run, args, word):
    assert word in error_line(run(*args))


def test_a_search_of_a_damaged_store_names_the_conversation_in_one_form(run, folder):
    with closing(open_store("jsonl:///logs")) as store:
        for name in ("whole", "broken"):
            with Conversation.open(store, name, budget=4_000) as conv:
                conv.user("a needle")
    (broken,) = (folder / "logs").glob("broken*.jsonl")
    first, *rest = broken.read_bytes().splitlines(keepends=True)
    broken.write_bytes(first + b"x" * 30 + b"\n" + b"".join(rest))
    code, out, err = run("search", "needle", "--store", "jsonl:///logs")
    assert (code, out.splitlines()[0].split(":")[0]) == (0, "whole")
    assert re.fullmatch(r"transom: not searched: \S+broken\S*\.jsonl: the line at byte \d+ is damaged.*\n", err)
    assert run("search", "haystack", "--store", "jsonl:///logs")[0] == 1
    code, out, err = run("search", "haystack", "--store", "jsonl:///logs", "--user", "ana")
    assert (code, out) == (1, "")
    assert err.endswith("\ntransom: nothing found in 2 conversations\n")


def test_an_unreadable_gzip(run, folder):
    whole = write_jsonl("chats.jsonl.gz", *({"id": f"{n}", "messages": chat(9, size=n)} for n in range(50)))
    data = (folder / whole).read_bytes()
    (folder / "cut.jsonl.gz").write_bytes(data[: len(data) // 2])
    found = error_line(run("replay", "cut.jsonl.gz", "--budget", 4_000, "--store", "memory:"))
    assert found.startswith("cut.jsonl.gz line ")
    assert "cannot be read: Compressed file ended before the end-of-stream marker was reached" in found
    (folder / "false.jsonl.gz").write_text(GOOD)
    found = error_line(run("replay", "false.jsonl.gz", "--budget", 4_000))
    assert found == "false.jsonl.gz line 1: cannot be read: Not a gzipped file (b'{\"')"
    (folder / "bits.jsonl.gz").write_bytes(data[:40] + bytes(60) + data[100:])
    assert error_line(run("replay", "bits.jsonl.gz", "--budget", 4_000)).startswith(
        "bits.jsonl.gz line 1: cannot be read: "
    )


def test_a_compressed_file_needs_no_gz_in_its_name(run, folder):
    (folder / "chats.jsonl").write_bytes(gzip.compress(GOOD.encode()))
    assert run("replay", "chats.jsonl", "--budget", 4_000)[0] == 0


def test_of_many_ids_the_most_similar_are_listed(run):
    names = ["trip-1", *(f"shopping {number}" for number in range(6)), "trip-2"]
    write_jsonl("chats.jsonl", *({"id": name, "messages": chat(1)} for name in names))
    assert run("replay", "chats.jsonl", "--budget", 4_000, "--store", "a.db")[0] == 0
    missing = "no conversation {!r} in a.db; it has 8 conversations, "
    for part, listed in (
        ("trip-3", "the most similar: trip-2, trip-1"),
        ("zzz", "for example trip-1, shopping 0, shopping 1, shopping 2, shopping 3"),
    ):
        assert error_line(run("log", part, "--store", "a.db")) == missing.format(part) + listed


def test_an_unknown_id_lists_similar_ids(run, folder):
    assert error_line(run("log", "x")).startswith("nothing was replayed in this folder yet")
    write_jsonl("chats.jsonl", *({"id": name, "messages": chat(1)} for name in ("trip-1", "trip-2", "shopping")))
    assert run("replay", "chats.jsonl", "--budget", 4_000, "--store", "sqlite:///a.db")[0] == 0
    near = "no conversation 'trip-3' in sqlite:///a.db; it has 3 conversations: trip-1, trip-2, shopping"
    for command in ("log", "explain"):
        assert error_line(run(command, "trip-3")) == near
        assert error_line(run(command, "trip")) == "'trip' is a part of 2 ids: trip-1, trip-2"
        assert run(command, "shop")[0] == 0
        assert run(command, "shop", "--store", "a.db")[0] == 0
        for store in ("sqlite:///none.db", "none.db", "none/"):
            assert error_line(run(command, "trip", "--store", store)) == f"store {store!r}: there is nothing there"
            assert not list(folder.glob("none*"))
    assert error_line(run("explain", "shop", "--at", 9)) == "there is no call 9: shopping has 2, counted from 1"
    assert error_line(run("explain", "shop", "--at", 0)) == "there is no call 0: shopping has 2, counted from 1"


@pytest.mark.parametrize("more", [(), ("--html", "-")])
def test_an_imported_conversation_without_calls_names_the_way_to_have_some(run, folder, more):
    write_jsonl("chats.jsonl", {"id": "trip", "messages": chat(1)})
    assert run("import", "chats.jsonl", "--store", "sqlite:///a.db")[0] == 0
    assert error_line(run("explain", "trip", "--at", -1, *more, "--store", "a.db")) == (
        "there is no call -1: trip was imported and has no calls; "
        "`transom replay FILE` makes the calls that its file has"
    )


def test_a_long_id_is_named_by_its_ends(run, folder):
    names = [f"{letter}{'x' * 500}{letter}" for letter in "ab"]
    write_jsonl("chats.jsonl", *({"id": name, "messages": chat(1)} for name in names))
    assert run("import", "chats.jsonl", "--store", "a.db")[0] == 0
    shown = ", ".join(f"{letter}{'x' * 39}…{'x' * 29}{letter}" for letter in "ab")
    assert error_line(run("log", "xx", "--store", "a.db")) == f"'xx' is a part of 2 ids: {shown}"
    assert error_line(run("log", "zz", "--store", "a.db")).endswith(f"it has 2 conversations: {shown}")


RED = "\x1b[31m"


def test_control_characters_in_an_error_are_removed(run, folder):
    url = ("--store", "sqlite:///a.db")
    write_jsonl("chats.jsonl", *({"id": f"{RED}lamb {n}\x07", "messages": chat(1)} for n in (1, 2)))
    assert run("replay", "chats.jsonl", "--budget", 4_000, *url)[0] == 0
    assert error_line(run("read", "amb", "entry 3", *url)) == "'amb' is a part of 2 ids: [31mlamb 1 , [31mlamb 2"
    assert error_line(run("read", "zzz", "entry 3", *url)).endswith("it has 2 conversations: [31mlamb 1 , [31mlamb 2")
    (folder / f"{RED}.jsonl").write_text("nonsense")
    assert error_line(run("replay", f"{RED}.jsonl", "--budget", 9)).startswith("[31m.jsonl line 1: not JSON: ")
    assert error_line(run("replay", f"{RED}none.jsonl", "--budget", 9)) == "[31mnone.jsonl: No such file or directory"
    assert error_line(run(f"{RED}replay")).startswith("No such command ")
    write_jsonl("chats.jsonl", {"id": "x", "messages": [{"role": RED, "content": "a"}]})
    for line in (error_line(run("replay", "chats.jsonl", "--budget", 9)), error_line(run("replay", RED))):
        assert line.isprintable()


def test_a_full_disk_loses_nothing_that_was_stored(run, folder):
    write_jsonl("chats.jsonl", *({"id": f"chat {n}", "messages": chat(30)} for n in range(4)))
    args = ("replay", "chats.jsonl", "--budget", 5_000, "--store", URL, "--out", "w.jsonl")

    def limit_file_size():
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))

    found = error_line(finish(start_command(*args, preexec_fn=limit_file_size)))
    assert "a.db: " in found
    assert "what was stored before is intact" in found
    assert not (folder / "w.jsonl").exists()
    code, out, _ = run("log", "chat 0", "--json")
    assert code == 0
    assert len(json.loads(out)["entries"]) > 10
    assert "replay into another store" in error_line(run(*args))
    assert run(*args[:-4], "--store", "memory:", "--out", "w.jsonl")[0] == 0
    assert {row["conversation"] for row in read_jsonl("w.jsonl")} == {f"chat {n}" for n in range(4)}


def test_a_full_disk_behind_stdout(folder):
    write_jsonl("chats.jsonl", {"id": "good", "messages": chat(3)})
    for extra in ((), ("--json",)):
        with Path("/dev/full").open("wb") as full:
            started = start_command("replay", "chats.jsonl", "--budget", 4_000, *extra, stdout=full)
            _, err = started.communicate(timeout=60)
        assert (started.returncode, err) == (2, "transom: No space left on device\n")


def test_a_broken_pipe(run, folder):
    write_jsonl("chats.jsonl", {"id": "good", "messages": chat(100, size=1)})
    assert run("replay", "chats.jsonl", "--budget", 60_000)[0] == 0
    for command in (("log", "good"), ("log", "good", "--json"), ("explain", "good", "--all")):
        reader, writer = os.pipe()
        os.close(reader)
        started = start_command(*command, stdout=writer)
        os.close(writer)
        _, err = started.communicate(timeout=60)
        assert (started.returncode, err) == (0, ""), "the reader has closed the pipe"


@pytest.mark.parametrize("closed", [1, 2])
@pytest.mark.parametrize(("args", "code"), [(("replay", "chats.jsonl", "--budget", 4_000), 0), (("bogus",), 2)])
def test_output_to_a_closed_stream_is_dropped(run, folder, closed, args, code):
    write_jsonl("chats.jsonl", {"id": "good", "messages": chat(1)})
    for extra in ((), ("--out", "-")) if not code else ((),):
        found, out, err = finish(start_command(*args, *extra, preexec_fn=lambda: os.close(closed)))
        expected = {1: bool(code) or bool(extra), 2: not code}[closed]  # what the other stream has
        assert (found, bool(err if closed == 1 else out)) == (code, expected)
        assert not (out if closed == 1 else err)
        assert "Traceback" not in out + err
    assert code or run("log", "good", "--json")[0] == 0, "nothing was printed into the store"


@pytest.mark.parametrize("closed", [(0,), (0, 1), (0, 2), (1, 2), (0, 1, 2)])
def test_no_file_gets_the_number_of_a_closed_stream(folder, closed):
    code = """
import sys
from transom.cli.streams import prepare_streams
prepare_streams()
with open("found", "w") as file:
    print("dropped, or read by the test")
    print(file.fileno() > 2, sys.stdin.read(), sep="", file=file)
"""

    def close():
        for number in closed:
            os.close(number)

    subprocess.run([sys.executable, "-c", code], input="", text=True, capture_output=True, check=True, preexec_fn=close)
    assert (folder / "found").read_text() == "True\n"


@pytest.mark.parametrize("module", ["transom.cli.run_command", "typer", "transom.cli.replay", "tiktoken"])
def test_ctrl_c_during_an_import_is_one_line(folder, module):
    write_jsonl("chats.jsonl", {"id": "good", "messages": chat(1)})
    code = f"""
import sys
class Stop:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Stop())
from transom.cli import main
sys.exit(main(["replay", "chats.jsonl", "--budget", "4000", "--store", "memory:"]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "transom: interrupted\n")


def test_a_command_that_waits_for_a_locked_store_says_so_once(run, folder):
    write_jsonl("chats.jsonl", {"id": "good", "messages": chat(1)})
    assert run("replay", "chats.jsonl", "--budget", 4_000, "--store", "sqlite:///a.db")[0] == 0
    printed = run("log", "good", "--json")
    with closing(sqlite3.connect("a.db", isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        waiting = start_command("log", "good", "--json")
        assert waiting.stderr.readline() == f"transom: {folder}/a.db is locked: waiting for another process\n"
        other.execute("ROLLBACK")
    assert finish(waiting) == printed


def test_ctrl_c_is_one_line(run, folder):
    write_jsonl("chats.jsonl", *({"id": f"chat {n}", "messages": chat(60)} for n in range(400)))
    url = "sqlite:///a.db"
    started = start_command("replay", "chats.jsonl", "--budget", 5_000, "--store", url, "--out", "w.jsonl")
    store, deadline = folder / "a.db-wal", time.monotonic() + 30
    while not store.exists() or store.stat().st_size < 100_000:
        assert time.monotonic() < deadline
        time.sleep(0.005)
    started.send_signal(signal.SIGINT)
    assert finish(started) == (130, "", "transom: interrupted\n")
    assert not list(folder.glob("*w.jsonl*"))
    assert run("log", "chat 0", "--json")[0] == 0


def test_the_module_is_the_command_line_too(tmp_path):
    run = [sys.executable, "-m", "transom", "replay", "nofile", "--budget", "9"]
    done = subprocess.run(run, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "transom: nofile: No such file or directory\n")


def test_a_part_that_a_session_shares_with_its_subagents_means_the_session(run):
    write_jsonl(
        "trips.jsonl", *({"id": name, "messages": chat(2)} for name in ("trip-1", "trip-1#side-1", "trip-1#side-2"))
    )
    assert run("replay", "trips.jsonl", "--budget", 2_000)[0] == 0
    code, out, _ = run("log", "ip-1")
    assert code == 0
    assert out.startswith("trip-1: ")


def test_an_error_says_the_way_out(run, folder):
    write_jsonl("two.jsonl", [{"id": name, "messages": chat(1)} for name in ("a", "b")])
    assert run("import", "two.jsonl", "--store", "s.db")[0] == 0
    line = error_line(run("explain", "--store", "s.db"))
    assert line == "which conversation? Give its ID: `transom conversations` lists them (try --help)"
    line = error_line(run("import", "s.db", "--store", "t.db"))
    assert "a SQLite database, and no file of messages; if it is a store of Transom, give it with --store" in line
    line = error_line(run("grep", "a", "(", "--store", "s.db"))
    assert "it is a regular expression" in line
    assert r"to find the text itself, give '\('" in line
    Path("bytes.json").write_bytes(b"\xea\xff")
    assert "not JSON: no text in UTF-8 (byte 1)" in error_line(run("import", "bytes.json"))
    line = error_line(run("replay", "two.jsonl", "--budget", 10**20))
    assert "tokens: must be a whole number of tokens, such as 128000 or 128k, and at most 2^60, not " in line


def test_a_lone_surrogate_is_searched_for_as_it_is_stored(run, folder):
    write_jsonl("a.jsonl", [{"id": "a", "messages": [{"role": "user", "content": "odd \ud800 text"}]}])
    assert run("import", "a.jsonl", "--store", "s.db")[0] == 0
    assert "odd ? text" in run("grep", "a", "\udcff", "--store", "s.db")[1]
