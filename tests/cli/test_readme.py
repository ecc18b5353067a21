"""The README does what it says."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path
from typing import Any

from chat_process import PRICES, README_LINES

import transom
from transom.conversation.request import render
from transom.providers import PROVIDERS

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SAMPLES = re.findall(r"```text\n(.*?)```", README, re.DOTALL)


def test_its_python_runs(capsys):
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert [len([line for line in block.splitlines() if line]) <= 22 for block in blocks] == [True] * 4
    agent, fit, loop, own = (compile(block, "README.md", "exec") for block in blocks)
    names: dict[str, Any] = {}
    exec(agent, names)
    assert capsys.readouterr().out == "The sky over Lisbon is clear.\n"
    exec(fit, names)
    assert names["short"] == names["messages"]
    for _ in range(2):  # the second time it goes on with the same conversation
        exec(loop, names)
        said = """There is {"flight":"TP 571","time":"9:40"}. """
        assert re.fullmatch(re.escape(said) + r"\d+ tokens in the next window\n", capsys.readouterr().out)
    exec(own, names)
    assert transom.fit(names["messages"], policy=names["mine"]) == names["messages"]
    with transom.Conversation.open("sqlite:///agent.db", "trip", budget=32_000) as conv:
        kinds = [type(entry.body).__name__ for entry in conv.log.read()]
        shown = render(conv.window())["messages"]
    turn = ["User", "Sent", "Assistant", "ToolResult", "Sent", "Assistant"]
    assert kinds == [turn[0], "Head", *turn[1:], *turn], "no request is logged that is never sent"
    assert [message["role"] for message in shown] == ["system", *["user", "assistant", "tool", "assistant"] * 2]


def test_its_sample_of_the_demo_is_current(run):
    sample = next(
        text for text in re.findall(r"```text\n(.*?)```", README, re.DOTALL) if "Transom's own source" in text
    )
    out = run("demo")[1]
    assert steady(sample) == steady(out), "run `make reference`"


def test_its_sample_of_a_chat_is_current(run, folder, monkeypatch):
    monkeypatch.setitem(PROVIDERS, "scripted", "chat_process:readme")
    monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in README_LINES)))
    (folder / "prices.py").write_text(PRICES)
    code, out, err = run("chat", "prices", "--model", "scripted", "--budget", 8_000)
    assert (code, err) == (0, "")
    sample = next((text for text in SAMPLES if "/help lists" in text), "")
    assert steady(sample) == steady(out), f"paste this into the README:\n{out}"


def steady(text):
    """Without what differs from machine to machine: the time. Without empty ends of lines and of the text."""
    text = re.sub(r"ms per call +[\d.]+", "ms per call –", text)
    text = re.sub(r"(?m)^[█░]+ .*%.*$|[\d,]+ tokens$", "–", text)
    return [line.rstrip() for line in text.strip().splitlines()]


def test_what_it_points_at_is_there():
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / target).is_file(), target
