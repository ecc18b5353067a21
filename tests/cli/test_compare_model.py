"""`transom compare --model`: the same policy with and without a model's summaries."""

from __future__ import annotations

import json

import pytest
from conversation_files import chat, write_jsonl

from transom.providers import PROVIDERS
from transom.providers.scripted import Fault, Scripted

ANSWER = "## User intent\n- what the user asks, one question after the other\n## Progress\n- [done] all are answered"


def answers(model: str, *, base_url: str | None = None) -> Scripted:
    return Scripted(then=ANSWER)


def fails(model: str, *, base_url: str | None = None) -> Scripted:
    return Scripted(then=Fault(kind="server", status=500))


@pytest.fixture
def long_chat(folder, monkeypatch):
    write_jsonl("chats.jsonl", {"id": "one", "messages": chat(40)})
    monkeypatch.setitem(PROVIDERS, "scripted", "test_compare_model:answers")


def compared(run, *args):
    code, out, _ = run("compare", "chats.jsonl", "--budget", 4_000, "--jobs", 1, "--json", *args)
    return code, json.loads(out)


def without_times(figures):
    return {name: figure for name, figure in figures.items() if name not in {"seconds", "ms_per_call"}}


@pytest.mark.usefixtures("long_chat")
def test_each_policy_that_shows_summaries_has_a_row_with_the_models(run):
    code, found = compared(run, "--policies", "default,summary,codex,sliding", "--model", "scripted:m")
    rows = {one["policy"]: one for one in found["policies"]}
    assert (code, found["model"]) == (0, "scripted:m")
    assert list(rows) == ["default", "summary", "summary + model", "codex", "codex + model", "sliding"]
    for plain in compared(run, "--policies", "default,summary,codex,sliding")[1]["policies"]:
        assert without_times(rows[plain["policy"]]) == without_times(plain)
        assert (plain["summaries"], plain["failed_summaries"]) == (0, 0)
    for name in ("summary + model", "codex + model"):
        one = rows[name]
        assert (one["invalid"], one["over"], one["failed_summaries"]) == (0, 0, 0)
        assert one["summaries"] > 0
        of_requests = 1.25 * one["tokens"] - 1.15 * one["shared_tokens"]
        assert one["anthropic"]["paid"] > of_requests + one["summaries"] * 5 * 20, "answers have 20 tokens or more"
    args = ("compare", "chats.jsonl", "--budget", 4_000, "--jobs", 1, "--policies", "summary", "--model", "scripted:m")
    out = run(*args)[1]
    made = rows["summary + model"]["summaries"]
    assert f"Summaries by scripted:m, priced in the costs: summary {made}." in " ".join(out.split())


@pytest.mark.usefixtures("long_chat")
def test_a_model_that_fails_is_counted(run, monkeypatch):
    monkeypatch.setitem(PROVIDERS, "scripted", "test_compare_model:fails")
    code, found = compared(run, "--policies", "summary", "--model", "scripted:m")
    plain, with_model = found["policies"]
    assert code == 0
    assert (with_model["summaries"], plain["failed_summaries"]) == (0, 0)
    assert with_model["failed_summaries"] > 0


@pytest.mark.usefixtures("long_chat")
@pytest.mark.parametrize(
    ("policies", "model", "why"),
    [
        ("default,sliding", "scripted:m", "none of these policies shows a summary"),
        ("summary", "nobody:m", "provider: must be name:model"),
    ],
)
def test_what_cannot_be_compared_is_refused_at_once(run, policies, model, why):
    code, out, err = run("compare", "chats.jsonl", "--budget", 4_000, "--policies", policies, "--model", model)
    assert (code, out) == (2, "")
    assert why in " ".join(err.split())
