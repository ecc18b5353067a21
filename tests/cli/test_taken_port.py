"""A port that another program has: the commands that serve say so in one line."""

from __future__ import annotations

import socket

import pytest

from transom import Conversation


@pytest.mark.parametrize(
    "command", [["proxy", "--upstream", "http://127.0.0.1:9"], ["inspect", "--no-open"]], ids=["proxy", "inspect"]
)
def test_a_port_that_is_taken_is_named(run, tmp_path, command):
    url = f"sqlite:///{tmp_path}/agent.db"
    with Conversation.open(url, "trip", budget=10_000) as conversation:
        conversation.user("hi")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, out, err = run(*command, "--store", url, "--port", str(port))
    assert (code, out) == (2, "")
    assert "Address already in use" in err
    assert str(port) in err
    assert len(" ".join(err.split())) < 200


@pytest.mark.parametrize(
    "command", [["proxy", "--upstream", "http://127.0.0.1:9", "--port", "0"], ["run", "true"]], ids=["proxy", "run"]
)
@pytest.mark.parametrize(
    "wrong", [["--store", "nowhere/agent.db"], ["--store", "sqlite:agent.db"], ["--store", "b.db", "--budget", "7"]]
)
def test_a_store_that_does_not_open_is_no_default(run, folder, command, wrong):
    (folder / "chats.jsonl").write_text('{"messages": [{"role": "user", "content": "hi"}]}\n')
    assert run("import", "chats.jsonl", "--store", "a.db")[0] == 0
    before = (folder / ".transom/last").read_text()
    code, _, err = run(command[0], *wrong, *command[1:])
    assert (code, err.count("\n")) == (2, 1)
    assert (folder / ".transom/last").read_text() == before
