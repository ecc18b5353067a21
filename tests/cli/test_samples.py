"""The samples of commands in the documentation are what the commands print."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

from chat_process import PRICES, SAMPLE_LINES

from transom.providers import PROVIDERS

DOCS = Path(__file__).parents[2] / "docs"


def sample(page, words):
    """The sample of a page that has these words."""
    found = re.findall(r"```text\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)
    return next((text for text in found if words in text), "")


def test_the_sample_of_the_demo_is_current(run):
    out = run("demo")[1]
    assert steady(sample("command-line.md", "Transom's own source")) == steady(out), "run `make reference`"


def test_the_sample_of_a_chat_is_current(run, folder, monkeypatch):
    monkeypatch.setitem(PROVIDERS, "scripted", "chat_process:sample")
    monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in SAMPLE_LINES)))
    (folder / "prices.py").write_text(PRICES)
    code, out, err = run("chat", "prices", "--model", "scripted", "--budget", 8_000)
    assert (code, err) == (0, "")
    assert steady(sample("chat.md", "/help lists")) == steady(out), f"paste this into docs/chat.md:\n{out}"


def steady(text):
    """Without what differs from machine to machine: the time. Without empty ends of lines and of the text."""
    text = re.sub(r"ms per call +[\d.]+", "ms per call –", text)
    text = re.sub(r"(?m)^[█░]+ .*%.*$|[\d,]+ tokens$", "–", text)
    return [line.rstrip() for line in text.strip().splitlines()]
