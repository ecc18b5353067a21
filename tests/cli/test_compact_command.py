"""`transom compact` makes a stored conversation smaller, says by how much, and can be undone."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import transom
from transom.cli import main

WORDS = "The harbour of Lisbon has a crane with the number {}, which lifts containers from the ship MV-{}. "


@pytest.fixture
def store(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path}/logs.db"
    with transom.Conversation.open(url, "trip", budget=100_000) as conv:
        for turn in range(10):
            conv.user(f"Question {turn}? " + "".join(WORDS.format(turn, n) for n in range(20)))
            conv.request()
            conv.observe({"role": "assistant", "content": "".join(WORDS.format(turn, n) for n in range(20, 40))})
    return url


def test_a_compaction_is_reported_and_undone(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["compact", "trip", "--budget", "100000", "--store", store, "--note", "The crane is CR-7.", "--json"]
    assert main(command) == 0
    done = json.loads(capsys.readouterr().out)
    assert done["tokens_after"] < done["tokens_before"]
    assert (done["made_by"], done["degraded"]) == ("", True)
    assert "The crane is CR-7." in done["text"]
    with transom.Conversation.open(store, "trip", budget=100_000) as conv:
        assert conv.summary is not None
        assert conv.summary.text == done["text"]
    assert main(["undo", "trip", "--store", store]) == 0
    capsys.readouterr()
    with transom.Conversation.open(store, "trip", budget=100_000) as conv:
        assert conv.summary is None
        assert conv.window_usage.used == done["tokens_before"]


def test_a_dry_run_says_the_same_and_appends_nothing(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    def printed(*options: str) -> str:
        assert main(["compact", "trip", "--budget", "100000", "--store", store, *options]) == 0
        return capsys.readouterr().out

    with transom.Conversation.open(store, "trip", budget=100_000) as conv:
        entries = len(conv.log)
    dry = printed("--dry-run", "--json")
    assert "nothing changed (dry run)" in " ".join(printed("--dry-run").split())
    with transom.Conversation.open(store, "trip", budget=100_000) as conv:
        assert len(conv.log) == entries
    assert printed("--json") == dry


def test_a_dry_run_asks_no_model(no_model: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*no_model, "--dry-run"]) == 2
    assert "--dry-run asks no model" in capsys.readouterr().err


def test_every_command_says_the_tokens_that_the_provider_counts(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    with transom.Conversation.open(store, "trip", budget=100_000) as conv:
        for turn in range(3):
            conv.user(f"And {turn}?")
            conv.request()
            used = round(conv.window().size.tokens * 1.3)
            reply = {"role": "assistant", "content": "No."}
            conv.observe({"choices": [{"message": reply}], "usage": {"prompt_tokens": used, "completion_tokens": 2}})
        assert conv.view.calibration > 1.1
        used = conv.window_usage.used

    def found(*command: str) -> dict[str, object]:
        assert main([*command, "--store", store, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    assert found("window", "trip")["tokens"] == used
    assert found("explain", "trip")["tokens"] == used
    assert found("pin", "trip", "0", "--dry-run")["tokens"][0] == used
    assert found("compact", "trip", "--dry-run")["tokens_before"] == used
    found("compact", "trip")
    assert found("undo", "trip", "--dry-run")["tokens"][1] == used


def test_the_tokens_saved_are_printed(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compact", "trip", "--budget", "100000", "--store", store]) == 0
    printed = capsys.readouterr().out
    assert re.match(r"trip: [\d,]+ → [\d,]+ tokens, [\d,]+ saved\n\nNext\n  transom undo trip --store ", printed)
    assert "The summary is" not in printed


@pytest.fixture
def no_model(store: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The command, with a model on a port where nobody listens."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    return ["compact", "trip", "--budget", "100000", "--store", store, "--model", "openai:m@http://127.0.0.1:9/v1"]


def test_a_model_that_fails_is_printed(no_model: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(no_model) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "No summary in the window: openai:m: " in printed
    assert "The summary is" not in printed


def test_a_model_that_fails_is_in_the_json(no_model: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*no_model, "--json"]) == 0
    done = json.loads(capsys.readouterr().out)
    assert done["failure"].startswith("openai:m: ")
    assert (done["summary"], done["degraded"]) == (None, False)
