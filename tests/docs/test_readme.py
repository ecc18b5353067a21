"""The README and the pages right behind it do what they say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import transom
from transom.conversation.render_window import render

ROOT = Path(__file__).parents[2]
README, OWN_LOOP, POLICY = (ROOT / name for name in ("README.md", "docs/own-loop.md", "docs/choose-a-policy.md"))


@pytest.fixture(autouse=True)
def in_a_new_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def blocks_of(page: Path) -> list[Any]:
    """The blocks of Python of a page, each short enough to be read at once."""
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert all(len([line for line in block.splitlines() if line]) <= 22 for block in blocks)
    return [compile(block, page.name, "exec") for block in blocks]


def test_the_readme_is_short():
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 150


def test_its_python_runs(capsys):
    quickstart, agent = blocks_of(README)
    for _ in range(2):  # the second time it goes on with the same conversation
        exec(quickstart, {})
        assert capsys.readouterr().out == "It is sunny.\n"
    exec(agent, {})
    assert capsys.readouterr().out == "The sky over Lisbon is clear.\n"
    with transom.Conversation.open("sqlite:///agent.db", "trip", budget=32_000) as conv:
        kinds = [type(entry.body).__name__ for entry in conv.log.read()]
    assert kinds == ["User", "Head", "Sent", "Assistant", "User", "Sent", "Assistant"]


def test_the_own_loop_runs(capsys):
    loop, fit = blocks_of(OWN_LOOP)
    for _ in range(2):
        exec(loop, {})
        said = """There is {"flight":"TP 571","time":"9:40"}. """
        assert re.fullmatch(re.escape(said) + r"\d+ tokens in the next window\n", capsys.readouterr().out)
    names: dict[str, Any] = {}
    exec(fit, names)
    assert names["short"] == names["messages"]
    with transom.Conversation.open("sqlite:///agent.db", "trip", budget=32_000) as conv:
        kinds = [type(entry.body).__name__ for entry in conv.log.read()]
        shown = render(conv.window())["messages"]
    turn = ["User", "Sent", "Assistant", "ToolResult", "Sent", "Assistant"]
    assert kinds == [turn[0], "Head", *turn[1:], *turn], "no request is logged that is never sent"
    assert [message["role"] for message in shown] == ["system", *["user", "assistant", "tool", "assistant"] * 2]


def test_the_own_policy_runs():
    (own,) = blocks_of(POLICY)
    names: dict[str, Any] = {}
    exec(own, names)
    messages = [{"role": "user", "content": "A flight to Lisbon, please."}]
    assert transom.fit(messages, budget=32_000, policy=names["mine"]) == messages
