"""Texts that models have read and logs that were stored keep their meaning. See README.md beside this file."""

from __future__ import annotations

import inspect
import json
from pathlib import Path

import pytest

from golden import LOGS, RENAMED, TEXTS, read, render, says
from transom import quoting, texts
from transom.core.codec import encode
from transom.core.entry import Body, Sent
from transom.core.reducer import build_view
from transom.testing import Entries, WordCounter

LINES = [json.loads(line) for line in TEXTS.read_text("utf-8").splitlines()]


@pytest.mark.parametrize("line", LINES, ids=lambda line: line["call"])
def test_a_text_shown_to_a_model_is_what_it_was(line: dict) -> None:
    assert says(line) == line["shows"]


def test_every_text_has_a_golden_line() -> None:
    members = vars(quoting) | vars(texts)
    functions = {name for name, value in members.items() if name[0] != "_" and inspect.isfunction(value)}
    constants = {
        name for name, value in members.items() if name.isupper() and name[0] != "_" and isinstance(value, str)
    }
    assert {RENAMED.get(line["call"], line["call"]) for line in LINES} >= functions | constants


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_a_stored_log_shows_what_it_showed(path: Path) -> None:
    assert render(read(path)) == path.with_suffix(".txt").read_text("utf-8")


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_a_stored_log_is_written_as_it_was(path: Path) -> None:
    assert [encode(entry) for entry in read(path)] == path.read_bytes().splitlines()


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_what_was_sent_can_be_made_again(path: Path) -> None:
    log = read(path)
    sent = [entry for entry in log if isinstance(entry.body, Sent)]
    made = [build_view(Entries(log), WordCounter(), entry.seq).fingerprint() for entry in sent]
    assert made == [entry.body.fingerprint for entry in sent]


def test_the_golden_logs_hold_every_kind_of_entry() -> None:
    assert {type(entry.body) for path in LOGS for entry in read(path)} == set(Body.__args__)
