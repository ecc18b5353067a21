"""A format that was asked for and is not there is one error; a conversation without messages is told of."""

from __future__ import annotations

import json

import pytest
from sessions import assistant, item, jsonl, said, text, user

from transom.errors import InvalidMessage
from transom.importers import read

HI, HELLO = {"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}
CALLING = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
CHAT = [HI, {"role": "assistant", "content": None, "tool_calls": [CALLING]}]
CONTENTS = [{"role": "user", "parts": [{"text": "Hi."}]}]
CLAUDE = [user("u1", None, "Hi."), assistant("a1", "u1", "m1", text("Hello."))]
CODEX = [{"type": "session_meta", "payload": {"id": "s1"}}, item(**said("user", "Hi."))]
PI = [
    {"type": "session", "id": "s", "timestamp": "2026-01-02T03:04:05Z", "cwd": "/"},
    {"type": "message", "message": {"role": "user", "content": "Hi."}},
]
SESSIONS = {"claude_code": CLAUDE, "codex": CODEX, "pi": PI}
TITLES = {"claude_code": "Claude Code", "codex": "Codex", "pi": "pi"}


@pytest.mark.parametrize("wanted", SESSIONS)
@pytest.mark.parametrize("layout", ["lines", "list"])
@pytest.mark.parametrize("content", [CHAT, [HI, HELLO], CONTENTS, [{"messages": CHAT}], [{"theme": "dark"}]])
def test_no_session(tmp_path, wanted, layout, content):
    path = tmp_path / "a.json"
    path.write_text(jsonl(*content) if layout == "lines" else json.dumps(content))
    with pytest.raises(InvalidMessage, match=f"this is no {TITLES[wanted]} session, but an object with the keys"):
        list(read(path, wanted))


@pytest.mark.parametrize("wanted", ["openai", "anthropic", "responses", "gemini", "langchain", *SESSIONS])
@pytest.mark.parametrize("layout", ["lines", "list"])
@pytest.mark.parametrize("found", SESSIONS)
def test_a_session_of_another_kind(tmp_path, wanted, layout, found):
    path = tmp_path / "a.json"
    path.write_text(jsonl(*SESSIONS[found]) if layout == "lines" else json.dumps(SESSIONS[found]))
    if wanted == found:
        assert [len(one.messages) for one in read(path, wanted)] == [len(SESSIONS[found]) - (found != "claude_code")]
        return
    with pytest.raises(InvalidMessage, match=f"but events of a {TITLES[found]} session: name another --format than"):
        list(read(path, wanted))


@pytest.mark.parametrize("messages", [CHAT, CONTENTS, [{"type": "message", "role": "user", "content": "Hi."}]])
def test_no_langchain_messages(tmp_path, messages):
    path = tmp_path / "a.json"
    path.write_text(json.dumps(messages))
    with pytest.raises(InvalidMessage, match="this is no LangChain messages, but an object with the keys"):
        list(read(path, "langchain"))


WRONG = [
    (wanted, messages)
    for wanted, messages in (
        ("openai", CONTENTS),
        ("anthropic", CHAT),
        ("anthropic", CONTENTS),
        ("responses", CHAT),
        ("responses", CONTENTS),
        ("gemini", CHAT),
    )
]


@pytest.mark.parametrize(("wanted", "messages"), WRONG)
def test_another_api(tmp_path, wanted, messages):
    path = tmp_path / "a.json"
    path.write_text(json.dumps(messages))
    [found] = read(path, wanted)
    with pytest.raises(InvalidMessage, match=r"is in another dialect's words|has no role"):
        found.facts()
