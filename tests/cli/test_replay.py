"""`transom replay`: its figures, its files, and that the same input gives the same bytes."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_process import finish, start_command
from conversation_files import chat, read_jsonl, write_jsonl

from transom import Conversation
from transom.cli.demo import SESSION
from transom.conversation.appending.parse_messages import split_head
from transom.conversation.render_window import render
from transom.conversation.replay import replay
from transom.core.budget import Budget
from transom.core.policy import Policy
from transom.policies import policy_named
from transom.stores import MemoryStore
from transom.tokenizer import o200k


def expected(record, budget):
    """The lines of a replay, computed with the library and a memory store."""
    head, facts = split_head(record["messages"])
    policy: Policy = policy_named("default")
    conversation = Conversation(
        MemoryStore().open("x"), budget=Budget(context=budget), policy=policy, counter=o200k(), system=head
    )
    for step in replay(conversation, facts):
        broke = step.window.breaks
        yield {
            "conversation": record["id"],
            "at": step.at,
            "messages": [dict(message) for message in render(step.window)["messages"]],
            "tokens": step.window.tokens,
            "breaks": broke and {"slot": broke.slot, "entry": broke.entry, "why": broke.why},
        }


def test_out_has_a_line_for_each_call(run):
    records = [{"id": "one", "messages": chat(12)}, {"id": "two", "messages": chat(2)}]
    write_jsonl("chats.jsonl", *records)
    code, _, err = run("replay", "chats.jsonl", "--budget", 3_000, "--out", "windows.jsonl.gz")
    assert (code, err) == (0, "")
    found = read_jsonl("windows.jsonl.gz")
    assert found == [line for record in records for line in expected(record, 3_000)]
    assert [line["at"] for line in found] == [*range(2, 27, 2), 2, 4, 6]
    assert any(line["breaks"] for line in found)


def test_plain_and_packed_input_and_output_are_the_same(run, folder):
    record = {"id": "one", "messages": chat(3)}
    write_jsonl("a.jsonl", record)
    write_jsonl("b.jsonl.gz", record)
    (folder / "one.json").write_text(json.dumps(chat(3), indent=1))
    (folder / "object.json").write_text(json.dumps(record))
    for name in ("a.jsonl", "b.jsonl.gz", "one.json", "object.json"):
        assert run("replay", name, "--budget", 4_000, "--out", f"{name}.out")[0] == 0
        assert run("replay", name, "--budget", 4_000, "--out", f"{name}.out.gz")[0] == 0
    outputs = [read_jsonl(f"{name}.out{end}") for name in ("a.jsonl", "b.jsonl.gz", "one.json", "object.json")
               for end in ("", ".gz")]  # fmt: skip
    assert all(output == outputs[0] for output in outputs)
    assert len(outputs[0]) == 4
    packed = (folder / "a.jsonl.out.gz").read_bytes()
    assert packed[3:8] == bytes(5), "no file name, no time"
    assert not list(folder.glob(".*.part"))


def test_an_assistant_message_after_the_system_prompt_is_a_call(run):
    messages = [{"role": "system", "content": "Greet."}, {"role": "assistant", "content": "Hello!"}, *chat(1)[1:]]
    write_jsonl("chats.jsonl", {"id": "one", "messages": messages})
    _, out, _ = run("replay", "chats.jsonl", "--budget", 4_000, "--out", "w.jsonl", "--json")
    total = json.loads(out)["total"]
    assert (total["calls"], total["skipped"], total["invalid"]) == (3, 0, 0)
    found = read_jsonl("w.jsonl")
    assert [(line["at"], line["messages"]) for line in found] == [(at, messages[:at]) for at in (1, 3, 5)]


def test_json_is_one_object(run):
    write_jsonl("chats.jsonl", {"id": "one", "messages": chat(12)}, {"id": "two", "messages": [{"role": "assistant"}]})
    code, out, err = run("replay", "chats.jsonl", "--budget", 3_000, "--json", "--store", "memory:")
    found = json.loads(out)
    assert (code, err, out.count("\n")) == (0, "", 1)
    total = {**found["total"]}
    sizes = found["timeline"]["tokens"]
    assert found["files"] == [{"file": "chats.jsonl", "formats": {"openai": 2}, **total}]
    assert total.pop("seconds") > 0
    assert total.pop("ms_per_call") > 0
    record = {"id": "one", "messages": chat(12)}
    causes = [line["breaks"]["why"] for line in expected(record, 3_000) if line["breaks"]]
    whole = [line["tokens"] for line in expected(record, 1_000_000)]
    kept = total.pop("shared_tokens")
    assert total == {
        "conversations": 2,
        "calls": 13,
        "sent": 13,
        "invalid": 0,
        "over": 0,
        "refused": 0,
        "skipped": 1,
        "tokens": sum(sizes),
        "passthrough": sum(whole),
        "breaks": len(causes),
        "compactions": sum(cause in {"compaction", "digest"} for cause in causes),
        "sent_share": sum(sizes) / sum(whole),
        "cached_share": kept / sum(sizes),
    }
    assert 0 < kept < sum(sizes)
    assert found["timeline"]["conversation"] == "one"
    assert sizes == [line["tokens"] for line in expected(record, 3_000)]
    assert (found["budget"], found["policy"], found["store"]) == (3_000, "default", "memory:")


def test_a_call_that_cannot_fit_is_refused_with_its_bill(run):
    long = [{"role": "system", "content": "rule " * 400}, *chat(1)[1:]]
    write_jsonl("chats.jsonl", {"id": "one", "messages": long})
    code, out, _ = run("replay", "chats.jsonl", "--budget", 300, "--out", "w.jsonl", "--json")
    total = json.loads(out)["total"]
    assert code == 1, "every call was refused"
    assert (total["calls"], total["refused"], total["sent"], total["passthrough"]) == (2, 2, 0, 0)
    found = read_jsonl("w.jsonl")
    assert [sorted(line) for line in found] == [["at", "conversation", "refused"]] * 2
    bill = found[0]["refused"]
    assert bill["limit"] == 300
    assert bill["need"] > 300
    assert bill["head"] > 300
    need = bill["need"]
    assert json.loads(out)["needs"] == {"need": [need, need], "head": [need, need]}
    code, out, _ = run("replay", "chats.jsonl", "--budget", 300)
    assert code == 1
    assert f"refused: 2 calls need at least {need} tokens ({need} without messages)\n" in out
    assert "Tokens and shares" not in out


def test_refused_calls_print_what_they_need_and_are_in_no_sum(run):
    long, short = [{"role": "system", "content": "rule " * 400}, *chat(1)[1:]], chat(2)
    write_jsonl("chats.jsonl", {"id": "long", "messages": long}, {"id": "short", "messages": short})
    write_jsonl("short.jsonl", {"id": "short", "messages": short})
    code, out, _ = run("replay", "chats.jsonl", "--budget", 350, "--out", "w.jsonl", "--json")
    found = json.loads(out)
    alone = json.loads(run("replay", "short.jsonl", "--budget", 350, "--json")[1])["total"]
    needs = [line["refused"]["need"] for line in read_jsonl("w.jsonl") if "refused" in line]
    assert (code, found["total"]["refused"]) == (0, 2)
    assert found["needs"]["need"] == [min(needs), max(needs)]
    counted = ("sent", "tokens", "passthrough", "shared_tokens", "sent_share", "cached_share")
    assert {name: found["total"][name] for name in counted} == {name: alone[name] for name in counted}
    out = run("replay", "chats.jsonl", "--budget", 350)[1]
    text = " ".join(out.split())
    assert f"refused: 2 calls need at least {needs[0]} tokens ({needs[0]} without messages) " in text
    assert "Tokens and shares cover only the 3 calls that were sent." in text


def test_windows_on_stdout_and_the_rest_on_stderr(run, folder):
    write_jsonl("chats.jsonl", {"id": "one", "messages": chat(3)})
    args = ("replay", "chats.jsonl", "--budget", 4_000, "--store", "memory:", "--out")
    assert run(*args, "w.jsonl")[0] == 0
    expected_out = (folder / "w.jsonl").read_text()
    code, out, err = run(*args, "-")
    assert (code, out) == (0, expected_out)
    assert "tokens without compaction" in err
    code, out, err = run(*args, "-", "--json")
    assert (code, out) == (0, expected_out)
    assert json.loads(err)["total"]["calls"] == 4
    assert sorted(path.name for path in folder.iterdir()) == ["chats.jsonl", "w.jsonl"]


def test_an_id_that_comes_twice_is_two_conversations(run):
    write_jsonl("chats.jsonl", {"id": "same", "messages": chat(1)}, {"id": "same", "messages": chat(2)})
    write_jsonl("more.jsonl", {"id": "same", "messages": chat(1)})
    assert run("replay", "chats.jsonl", "more.jsonl", "--budget", 4_000, "--out", "w.jsonl")[0] == 0
    assert [(line["conversation"], line["at"]) for line in read_jsonl("w.jsonl")] == [
        ("same", at) for at in (2, 4, 2, 4, 6, 2, 4)
    ]
    _, out, _ = run("log", "same (3)", "--json")
    assert json.loads(out)["conversation"] == "same (3)"


def test_chart_draws_the_longest(run):
    write_jsonl("chats.jsonl", {"id": "short", "messages": chat(2)}, {"id": "long", "messages": chat(5)})
    assert "Window size in tokens, long\n" in run("replay", "chats.jsonl", "--budget", 4_000)[1]


def test_several_files_are_one_table_if_it_fits(run, monkeypatch):
    write_jsonl("a.jsonl", {"id": "a", "messages": chat(2)})
    write_jsonl("b.jsonl", {"id": "b", "messages": chat(3)})
    narrow = run("replay", "a.jsonl", "b.jsonl", "--budget", 4_000)[1]
    monkeypatch.setenv("COLUMNS", "140")
    wide = run("replay", "a.jsonl", "b.jsonl", "--budget", 4_000)[1]
    assert narrow.count("all files") == 2, "two tables where one has no room"
    assert wide.count("cached") == 1
    assert [line.split()[:3] for line in wide.splitlines() if line.startswith((" a.jsonl", " b.jsonl", " all"))] == [
        ["a.jsonl", "1", "3"],
        ["b.jsonl", "1", "4"],
        ["all", "files", "2"],
    ]


def test_the_hash_seed_changes_nothing(folder):
    seeds, dialects = ("1", "77"), ("responses", "anthropic")
    code = """
import sys
from transom.cli import main
session, *dialects = sys.argv[1:]
for dialect in dialects:
    args = ("--budget", "6000", "--out", f"{dialect}.gz", "--json", "--store", "memory:", "--dialect", dialect)
    assert main(["replay", session, *args]) == 0
"""
    for seed in seeds:
        (folder / seed).mkdir()
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", code, SESSION, *dialects]
        subprocess.run(command, cwd=folder / seed, env=environment, capture_output=True, check=True, timeout=60)
    for dialect in dialects:
        first, second = (folder / seed / f"{dialect}.gz" for seed in seeds)
        assert first.read_bytes() == second.read_bytes()
        assert len(read_jsonl(first)) > 40


def test_a_killed_replay_leaves_no_file_of_windows_and_is_repeated_in_another_store(run, folder):
    write_jsonl("chats.jsonl", *({"id": f"chat {n}", "messages": chat(40, size=100)} for n in range(10)))
    args = ("replay", "chats.jsonl", "--budget", 5_000, "--store")
    started = start_command(*args, "sqlite:///cut.db", "--out", "cut.jsonl.gz")
    deadline = time.monotonic() + 30
    while not (folder / ".cut.jsonl.gz.part").exists() and started.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.002)
    os.kill(started.pid, signal.SIGKILL)
    assert finish(started)[0] == -signal.SIGKILL, "it was not finished"
    assert not (folder / "cut.jsonl.gz").exists(), "the file is complete or not there"
    assert run(*args, "memory:", "--out", "cut.jsonl.gz")[0] == 0
    assert not (folder / ".cut.jsonl.gz.part").exists(), "the part of the killed one is removed"


def test_a_store_with_another_conversation_of_the_same_id_is_not_changed(run):
    write_jsonl("chats.jsonl", {"id": "one", "messages": chat(3)})
    write_jsonl("other.jsonl", {"id": "one", "messages": chat(4)})
    args = ("--store", "sqlite:///a.db", "--out", "w.jsonl")
    assert run("replay", "chats.jsonl", "--budget", 4_000, *args)[0] == 0
    before = run("log", "one", "--json"), read_jsonl("w.jsonl")
    error = r"transom: conversation 'one' is in the store already, with \d+ entries: replay into another store\n"
    for file in ("chats.jsonl", "other.jsonl"):
        code, out, err = run("replay", file, "--budget", 4_000, *args)
        assert (code, out) == (2, "")
        assert re.fullmatch(error, err)
    assert (run("log", "one", "--json"), read_jsonl("w.jsonl")) == before


@pytest.mark.parametrize(
    ("dialect", "keys"),
    [
        ("anthropic", {"system", "messages"}),
        ("responses", {"input"}),
        ("gemini", {"systemInstruction", "contents"}),
        ("mistral", {"messages"}),
    ],
)
def test_a_replay_in_another_dialect(run, dialect, keys):
    write_jsonl("chats.jsonl", {"id": "one", "messages": chat(3)})
    code, _, err = run("replay", "chats.jsonl", "--budget", 2_000, "--dialect", dialect, "--out", "w.jsonl")
    assert (code, err) == (0, "")
    lines = [json.loads(line) for line in Path("w.jsonl").read_text().splitlines()]
    assert len(lines) == 4
    for line in lines:
        assert set(line) == {"conversation", "at", "tokens", "breaks", *keys}


def test_without_a_budget_the_assumed_one_is_taken_and_named(run):
    write_jsonl("chats.jsonl", {"id": "one", "messages": chat(3)})
    code, out, err = run("replay", "chats.jsonl", "--json")
    assert (code, json.loads(out)["budget"]) == (0, 128_000)
    assert err == "transom: no budget given: assuming a context window of 128,000 tokens\n"
    assert run("explain", "one")[0] == 0
    assert "no conversation 'two' in sqlite:///.transom/replays.db; it has" in run("explain", "two")[2]
    Path("broken.json").write_text("[1,\n")
    assert run("replay", "broken.json")[2] == "transom: broken.json: not JSON: Expecting value (line 2 column 1)\n"
    Path("broken.json").write_text("[1,")
    assert run("replay", "broken.json")[2] == "transom: broken.json: not JSON: Expecting value (column 4)\n"
