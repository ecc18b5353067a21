"""Input files: every format, folders, stdin. Windows are for the API that a conversation was recorded with."""

from __future__ import annotations

import gzip
import io
import json
from types import SimpleNamespace

import pytest
from conversation_files import chat, read_jsonl, write_jsonl

HI = {"role": "user", "content": "Count the files."}
TEXT = [{"type": "text", "text": "Two."}]
CALL = {"type": "tool_use", "id": "t1", "name": "ls", "input": {"path": "."}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "a b"}
BLOCKS = [
    HI,
    {"role": "assistant", "content": [CALL]},
    {"role": "user", "content": [RESULT]},
    {"role": "assistant", "content": TEXT},
]
ITEMS = [
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Count the files."}]},
    {"type": "function_call", "call_id": "c1", "name": "ls", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c1", "output": "a b"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Two."}]},
]
CONTENTS = [{"role": "user", "parts": [{"text": "Hi."}]}, {"role": "model", "parts": [{"text": "Hello."}]}]
CLAUDE = [
    {"type": "user", "uuid": "u1", "parentUuid": None, "message": BLOCKS[0]},
    {"type": "assistant", "uuid": "u2", "parentUuid": "u1", "message": {"id": "m1", **BLOCKS[1]}},
    {"type": "user", "uuid": "u3", "parentUuid": "u2", "message": BLOCKS[2]},
    {"type": "assistant", "uuid": "u4", "parentUuid": "u3", "message": {"id": "m2", **BLOCKS[3]}},
]
CODEX = [
    {"type": "session_meta", "payload": {"id": "s1", "base_instructions": {"text": "You are Codex."}}},
    *({"type": "response_item", "payload": item} for item in ITEMS),
]
LANGCHAIN = [
    {"type": "human", "data": {"content": "Hi."}},
    {"type": "ai", "data": {"content": "Hello.", "tool_calls": []}},
]


@pytest.fixture
def mixed(folder):
    """A folder with a file in each format."""
    box = folder / "box"
    box.mkdir()
    write_jsonl(box / "claude.jsonl", *CLAUDE)
    write_jsonl(box / "codex.jsonl.gz", *CODEX)
    (box / "langchain.json").write_text(json.dumps(LANGCHAIN))
    (box / "gemini.json").write_text(json.dumps({"contents": CONTENTS}))
    write_jsonl(box / "own.jsonl", {"id": "own", "messages": chat(1)})
    (box / "settings.json").write_text('{"theme": "dark"}')
    return box


def test_a_folder_with_every_format(run, mixed):
    code, out, err = run("replay", mixed, "--budget", 4_000, "--out", "w.jsonl")
    formats = "Claude Code session: 1, Codex session: 1, Gemini: 1, LangChain messages: 1, OpenAI Chat: 1"
    text = " ".join(out.split())
    assert (code, text.startswith("5 conversations from box (Claude Code session: 1, Codex session: 1,")) == (0, True)
    assert err == f"transom: {mixed}/settings.json: skipped, it holds an object with the keys 'theme'\n"
    found = json.loads(run("replay", mixed, "--budget", 4_000, "--json", "--store", "memory:")[1])["files"]
    assert [(file["file"], file["invalid"], file["refused"]) for file in found] == [(str(mixed), 0, 0)]
    assert found[0]["formats"] == {"claude_code": 1, "codex": 1, "gemini": 1, "langchain": 1, "openai": 1}
    assert len(formats.split(", ")) == len(found[0]["formats"])
    windows = {(line["conversation"], line["at"]): line for line in read_jsonl("w.jsonl")}
    assert windows["claude", 3]["messages"] == BLOCKS[:3]
    assert windows["codex", 3]["input"] == ITEMS[:3]
    assert windows["codex", 3]["instructions"] == "You are Codex."
    assert windows["gemini", 1]["contents"] == CONTENTS[:1]
    assert windows["langchain", 1]["messages"] == [{"role": "user", "content": "Hi."}]
    assert windows["own", 4]["messages"] == chat(1)[:4]


def test_passthrough_sends_as_many_tokens_as_it_predicts(run, mixed):
    for dialect in ((), ("--dialect", "gemini"), ("--dialect", "responses")):
        out = run("replay", mixed, "--budget", 4_000, "--policy", "passthrough", "--json", *dialect)[1]
        total = json.loads(out)["total"]
        assert total["tokens"] == total["passthrough"] > 0


@pytest.mark.parametrize(
    ("dialect", "key"),
    [("openai", "messages"), ("responses", "input"), ("anthropic", "messages"), ("gemini", "contents")],
)
def test_conversations_are_translated_into_another_dialect(run, mixed, dialect, key):
    args = ("--budget", 4_000, "--dialect", dialect, "--out", "w.jsonl", "--json")
    code, out, _ = run("replay", mixed, *args)
    assert (code, json.loads(out)["total"]["invalid"]) == (0, 0)
    found = read_jsonl("w.jsonl")
    assert len(found) == 8
    assert all(key in line for line in found)


def test_compare_reads_the_same_files(run, mixed):
    code, out, _ = run("compare", mixed, "--budget", 4_000, "--policies", "passthrough", "--json")
    found = json.loads(out)
    formats = {"claude_code": 1, "codex": 1, "gemini": 1, "langchain": 1, "openai": 1}
    assert (code, found["files"]) == (0, [{"file": str(mixed), "formats": formats}])
    assert (found["policies"][0]["calls"], found["policies"][0]["invalid"]) == (8, 0)
    code, out, _ = run("compare", mixed / "claude.jsonl", "--budget", 4_000, "--policies", "passthrough")
    assert (code, out.splitlines()[0]) == (0, "1 conversation from claude.jsonl (Claude Code session)")


def test_tools_and_system_prompt_of_a_body_are_counted(run, folder):
    tool = {"name": "ls", "description": "Lists a folder. " * 100, "input_schema": {"type": "object"}}
    bodies = {
        "bare": {"model": "claude-x", "messages": BLOCKS},
        "system": {"model": "claude-x", "messages": BLOCKS, "system": "You count. " * 100},
        "tools": {"model": "claude-x", "messages": BLOCKS, "tools": [tool]},
    }
    tokens = {}
    for name, body in bodies.items():
        (folder / f"{name}.json").write_text(json.dumps(body))
        for dialect in ((), ("--dialect", "openai"), ("--dialect", "responses"), ("--dialect", "gemini")):
            out = run("replay", f"{name}.json", "--budget", 9_000, "--json", "--store", "memory:", *dialect)[1]
            tokens.setdefault(name, []).append(json.loads(out)["timeline"]["tokens"][0])
    for bare, system, tools in zip(tokens["bare"], tokens["system"], tokens["tools"], strict=True):
        assert system - bare > 200
        assert tools - bare > 300


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_stdin(run, monkeypatch, pack):
    body = json.dumps({"id": "piped", "messages": chat(2)}).encode()
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(pack(body))))
    code, out, err = run("replay", "-", "--budget", 4_000)
    assert (code, err, out.splitlines()[0]) == (0, "", "1 conversation from stdin (OpenAI Chat)")
    assert run("explain", "piped")[0] == 0


def test_many_files_are_counted_and_not_named(run):
    for number in range(9):
        write_jsonl(f"{number}.jsonl", {"id": str(number), "messages": chat(1)})
    out = run("replay", *(f"{number}.jsonl" for number in range(9)), "--budget", 4_000)[1]
    assert out.splitlines()[0] == "9 conversations from 9 files (OpenAI Chat)"


def test_a_session_that_is_still_written_is_replayed_to_its_last_whole_line(run, folder):
    (folder / "live.jsonl").write_text("".join(json.dumps(line) + "\n" for line in CLAUDE) + '{"type": "us')
    code, _, err = run("replay", "live.jsonl", "--budget", 4_000)
    notice = "live.jsonl line 5: left out, it is not written to its end"
    assert (code, err) == (0, f"transom: {notice}\n")


def test_indented_json_in_a_jsonl_file(run, folder):
    text = json.dumps({"id": "one", "messages": chat(1)}, indent=2).encode()
    (folder / "chat.jsonl").write_bytes(text)
    (folder / "packed.jsonl").write_bytes(gzip.compress(text))
    assert run("replay", "chat.jsonl", "packed.jsonl", "--budget", 4_000)[0] == 0


def test_a_file_without_a_conversation_is_an_error_of_one_line(run, folder):
    (folder / "settings.json").write_text('{"theme": "dark"}')
    code, out, err = run("replay", "settings.json", "--budget", 4_000)
    assert (code, out) == (2, "")
    assert err.startswith("transom: settings.json: no conversation is recognised here, but an object with the keys ")
    assert "openai, responses, anthropic, gemini, claude_code, codex" in err
    assert err.count("\n") == 1


def test_an_invalid_conversation_in_a_folder_is_skipped(run, mixed):
    write_jsonl(mixed / "bad.jsonl", {"id": "bad", "messages": [{"role": "user", "content": 5}]})
    for command in ("replay", "compare"):
        code, out, err = run(command, mixed, "--budget", 4_000)
        assert (code, out.startswith("5 conversations from box")) == (0, True)
        bad = f"transom: {mixed}/bad.jsonl line 1, message 0: skipped, content must be a string, a list of parts "
        assert err.splitlines()[0].startswith(bad)
    code, out, err = run("replay", mixed / "bad.jsonl", "--budget", 4_000)
    assert (code, out) == (2, "")


@pytest.mark.parametrize("dialect", ["openai", "anthropic", "responses", "gemini"])
def test_windows_of_an_earlier_replay_are_no_conversations(run, folder, dialect):
    (folder / "chats").mkdir()
    write_jsonl("chats/chat.jsonl", {"id": "one", "messages": chat(3)})
    for budget, out in ((4_000, "windows.jsonl"), (30, "refused.jsonl")):
        run("replay", "chats/chat.jsonl", "--budget", budget, "--dialect", dialect, "--out", out)
        (folder / out).rename(folder / "chats" / out)
    code, out, err = run("replay", "chats", "--budget", 4_000, "--json", "--store", "memory:")
    assert (code, json.loads(out)["total"]["conversations"]) == (0, 1)
    why = "skipped, it holds windows that `transom replay --out` wrote"
    assert err == "".join(f"transom: chats/{name}.jsonl line 1: {why}\n" for name in ("refused", "windows"))
    code, _, err = run("replay", "chats/windows.jsonl", "--budget", 4_000)
    assert (code, err.count("\n"), "but windows that `transom replay --out` wrote. " in err) == (2, 1, True)


def test_windows_are_not_written_into_an_input_folder(run, mixed):
    code, _, err = run("replay", mixed, "--budget", 4_000, "--out", mixed / "w.jsonl")
    assert (code, err) == (2, f"transom: --out: {mixed}/w.jsonl is in one of the input folders\n")


def test_a_wrong_format_is_an_error_and_an_empty_conversation_is_told_of(run, folder):
    write_jsonl(folder / "chat.jsonl", {"id": "own", "messages": chat(1)}, {"id": "none", "messages": []})
    write_jsonl(folder / "none.jsonl", {"type": "summary", "summary": "Counting", "leafUuid": "x"})
    for command in ("replay", "compare"):
        code, out, err = run(command, "chat.jsonl", "--budget", 4_000, "--format", "claude_code")
        assert (code, out) == (2, "")
        assert err.startswith("transom: chat.jsonl: this is no Claude Code session, but an object with the keys")
        code, out, err = run(command, "chat.jsonl", "--budget", 4_000)
        assert (code, err) == (0, "transom: chat.jsonl line 2: skipped, none has no messages\n")
        assert out.startswith("1 conversation from chat.jsonl")
        assert run(command, "none.jsonl", "--budget", 4_000)[2] == (
            "transom: none.jsonl: skipped, none has no messages\ntransom: no conversation in none.jsonl\n"
        )
