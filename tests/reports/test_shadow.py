"""`transom shadow` finds a planted harm, and none where there is none."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from recordings import TASK, recording, write_recordings

from transom.cli import main
from transom.core.budget import Budget
from transom.core.message import Assistant, Call, Text
from transom.core.policy import Policy
from transom.errors import ProviderError
from transom.importers import read
from transom.policies import policy_named
from transom.providers import PROVIDERS
from transom.providers.scripted import Fault, Reply, Scripted, ScriptedCall
from transom.reports.shadow import (
    Shadow,
    action_text,
    is_same_action,
    paired_difference,
    plan_shadow,
    run_shadow,
    wilson,
)

NEVER = "Never delete one."


def careful(dialect: str = "openai") -> Scripted:
    """A model that works on while it reads the rule; else it asks. Every fifth answer is another one, by chance."""
    answers = itertools.count()

    def answer(body: dict[str, Any]) -> Reply:
        if next(answers) % 5 == 4:
            return Reply(calls=(ScriptedCall("ls", '{"folder": "x"}'),))
        if NEVER in json.dumps(body):
            return Reply(calls=(ScriptedCall("ls", '{"folder": 1}'),))
        return Reply(text="What shall I do?")

    return Scripted(then=answer, dialect=dialect)


def forgetful() -> Policy:
    """A policy that drops the task: the harm that must be found."""
    return policy_named("sliding")


def asked(provider: Scripted, policy: Policy, *, said: dict[int, str] | None = None) -> Shadow:
    """The answers on twelve calls. The rule is said in a result, which `sliding` drops, and no first task keeps."""
    messages = recording(20, task="Count the files.", said=said or {0: NEVER})
    write_recordings(Path("chats.jsonl"), one=messages)
    records = list(read("chats.jsonl"))
    budget = Budget(context=2_500)
    plan = plan_shadow(records, provider, budget=budget, policy=policy, calls=12, max_tokens=100)
    assert len(plan.calls) == 12
    return run_shadow(plan, records, provider, budget=budget, policy=policy, max_tokens=100)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("dialect", ["openai", "anthropic", "responses", "gemini"])
def test_a_policy_that_drops_the_task_is_found(dialect: str) -> None:
    provider = careful(dialect)
    found = asked(provider, forgetful())
    assert provider.violations == []
    assert (len(found.answers), found.failed, len(provider.requests)) == (12, 0, 36)
    assert found.window is not None
    assert found.chance is not None
    assert found.window > found.chance > 0
    assert found.added_interval[0] > 0
    assert found.sentence.startswith("The window changes the next action: +")
    one = next(one for one in found.answers if one.window_differs and not one.chance_differs)
    assert (json.loads(one.whole[3:-1]), one.window) == ({"folder": 1}, "What shall I do?")


def test_nothing_is_found_where_the_window_is_the_whole_history() -> None:
    write_recordings(Path("chats.jsonl"), one=recording(20))
    records, budget = list(read("chats.jsonl")), Budget(context=200_000)
    passthrough, provider = policy_named("passthrough"), careful()
    plan = plan_shadow(records, provider, budget=budget, policy=passthrough, calls=12, max_tokens=100)
    found = run_shadow(plan, records, provider, budget=budget, policy=passthrough, max_tokens=100)
    assert (plan.is_changed, plan.eligible, plan.requests) == (False, 21, 36)
    assert found.added_interval[0] <= 0
    assert found.sentence.startswith("No harm beyond chance was found")
    whole, again, window = provider.requests[:3]
    assert whole == again == window


def test_a_text_that_stays_does_no_harm() -> None:
    found = asked(careful(), policy_named("sliding"), said=dict.fromkeys(range(20), NEVER))
    assert found.added_interval[0] <= 0


def test_a_request_that_fails_is_left_out_but_not_the_first() -> None:
    fault = Fault(kind="server", status=500)
    found = asked(Scripted("a", "a", fault, then="a"), forgetful())
    assert (len(found.answers), found.failed) == (11, 1)
    with pytest.raises(ProviderError):
        asked(Scripted(fault, then="a"), forgetful())


def turn(text: str = "", **calls: str) -> Assistant:
    parts = (Text(text),) if text else ()
    return Assistant(parts=parts, calls=tuple(Call(id=name, name=name, args=args) for name, args in calls.items()))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (turn(ls='{"a": 1, "b": 2}'), turn(ls='{"b":2,"a":1}'), True),
        (turn("words", ls="{}"), turn("other", ls=""), True),
        (turn(ls="{}", rm="{}"), turn(rm="{}", ls="{}"), True),
        (turn(ls='{"a": 1}'), turn(ls='{"a": 2}'), False),
        (turn(ls="{}"), turn("I would list."), False),
        (turn(ls="{broken"), turn(ls="{broken"), True),
        (turn("The tests pass now."), turn("Now the tests pass."), True),
        (turn("The tests pass."), turn("What shall I do?"), False),
        (turn(), turn(), True),
    ],
)
def test_the_same_action(one: Assistant, other: Assistant, same: bool) -> None:
    assert is_same_action(one, other) is same


def test_intervals() -> None:
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=1e-4)  # Newcombe 1998, table I
    assert wilson(0, 20) == pytest.approx((0.0, 0.1611), abs=1e-4)
    assert wilson(0, 0) == (0.0, 1.0)
    assert paired_difference(36, 12, 2, 0) == pytest.approx((0.0569, 0.3404), abs=1e-4)  # Newcombe 1998b, table II
    assert paired_difference(0, 0, 0, 0) == (-1.0, 1.0)
    low, high = paired_difference(0, 12, 0, 0)
    assert low > 0.6
    assert high == 1.0


def test_the_command(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(PROVIDERS, "scripted", "test_shadow:provider")
    monkeypatch.setenv("COLUMNS", "150")
    write_recordings(Path("chats.jsonl"), one=recording(20, task="Count the files.", said={0: NEVER}))
    args = ["shadow", "chats.jsonl", "--budget", "2500", "--policy", "sliding", "--model", "scripted", "--calls", "12"]
    assert main(args) == 2
    err = capsys.readouterr().err
    assert err == "transom: shadow sends requests to a model: there is no terminal to ask at, so add --yes\n"
    assert main([*args, "--yes"]) == 1
    out = capsys.readouterr().out
    assert "12 calls of " in out
    assert "36 requests to scripted:scripted, " in out
    assert "a price that is not known." in out
    assert "The window changes the next action: +" in out
    assert main([*args, "--yes", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["policy"], len(found["result"]["answers"])) == ("sliding", 12)
    assert TASK not in out


def test_files_of_the_same_name_are_all_asked(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(PROVIDERS, "scripted", "test_shadow:provider")
    for name in ("x", "y"):
        Path(name).mkdir()
        write_recordings(Path(name, "chats.jsonl"), one=recording(8, task=f"Count the files of {name}."))
    args = ["shadow", "x", "y", "--budget", "2500", "--policy", "sliding", "--model", "scripted", "--calls", "12"]
    main([*args, "--yes", "--json"])
    answers = json.loads(capsys.readouterr().out)["result"]["answers"]
    assert {one["conversation"] for one in answers} == {"one", "one-2"}


def provider(model: str, *, base_url: str | None = None) -> Scripted:
    return careful()


def test_an_action_is_on_one_line() -> None:
    turn = Assistant(parts=(), calls=(Call(id="1", name="ls", args='{\n  "folder": 1\n}'),))
    assert action_text(turn) == 'ls({ "folder": 1 })'
