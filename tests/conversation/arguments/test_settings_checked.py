"""What is given wrongly is refused where it is given, with a message that says what would be right."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from transom import Conversation, Directive, FunctionTool, InvalidSetting, Policy, Profile, Retry, SubAgent
from transom.core.message import Note
from transom.policies.last_resort import LAST_RESORT
from transom.providers import provider_named
from transom.providers.scripted import Scripted
from transom.providers.sdk_errors import provider_error
from transom.proxy.app import ProxySettings
from transom.summaries import LlmSummarizer


@pytest.mark.parametrize(
    ("name", "right"),
    [
        ("openai:qwen3@localhost:8000/v1", "qwen3@http://localhost:8000/v1"),
        ("openai:qwen3@localhost", "qwen3@http://localhost"),
        ("openai:qwen3@127.0.0.1:11434", "qwen3@http://127.0.0.1:11434"),
        ("anthropic:m@models.example.com/v1", "m@http://models.example.com/v1"),
    ],
)
def test_an_address_without_a_scheme_is_no_part_of_the_model(name: str, right: str) -> None:
    with pytest.raises(InvalidSetting, match=r"begins with http:// or https://") as caught:
        provider_named(name)
    assert right in str(caught.value)


@pytest.mark.parametrize("address", ["", "not a url", "http://", "https:///v1", "http://a b"])
def test_an_address_that_names_no_server_is_refused_when_it_is_given(address: str) -> None:
    with pytest.raises(InvalidSetting, match=r"^provider: .*the address of a server") as caught:
        provider_named(f"openai:gpt-5@{address}")
    assert repr(address) in str(caught.value)
    assert "\n" not in str(caught.value)


class Unknown:
    """A type that no schema has."""


def find(where: Unknown) -> str:
    """Find."""
    return str(where)


def test_a_parameter_without_a_schema_is_one_line() -> None:
    with pytest.raises(InvalidSetting) as caught:
        FunctionTool(find)
    assert str(caught.value) == f"tool 'find': a parameter has no schema: type {Unknown} is not supported"


@pytest.mark.parametrize("name", ["claude-sonnet@20250514", "org/model@1.5", "org/model@v2"])
def test_a_model_may_have_a_version_behind_an_at(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
    assert provider_named(f"anthropic:{name}").model == name


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"max_steps": 0}, "max_steps: must be a whole number above 0"),
        (
            {"max_cost": float("inf")},
            "max_cost: must be a number above 0 and at most 1,000,000,000,000,000,000, not inf",
        ),
        (
            {"max_total_tokens": 10**400},
            "max_total_tokens: must be a whole number above 0 and at most 1,000,000,000,000,000,000",
        ),
        ({"timeout": 1e200}, "timeout: must be a number above 0 and at most 1,000,000,000"),
        ({"tool_timeout": float("nan")}, "tool_timeout: must be a number above 0"),
        ({"agent_timeout": "1"}, "agent_timeout: must be a number above 0 and at most 1,000,000,000, not '1'"),
        ({"retry": 3}, "retry: must be a Retry"),
        ({"provider": "nobody:x"}, "provider: must be name:model"),
        ({"fallbacks": "openai:x"}, "fallbacks: must be a list"),
        ({"unavailable": "shell"}, "unavailable: must be names of tools"),
        ({"budget": -1}, "budget"),
        ({"policy": "unknown"}, "unknown"),
    ],
)
def test_settings_of_a_sub_agent_are_checked_when_it_is_built(settings: dict, words: str) -> None:
    with pytest.raises(InvalidSetting, match=words):
        SubAgent("research", "Finds facts.", **settings)


def look() -> str:
    """Look."""
    return "seen"


@pytest.mark.parametrize("name", ["get weather", "wetter.lesen", "x" * 65, "größe"])
def test_a_name_that_no_provider_takes_is_refused_when_the_tool_is_given(name: str) -> None:
    with pytest.raises(InvalidSetting, match="a name has 1 to 64 letters"):
        FunctionTool(look, name=name)


@pytest.mark.parametrize(
    ("mode", "settings", "words"),
    [
        ("chat", {"profile": Profile(rules=3)}, "profile: rules must be a text, not 3"),
        ("agent", {"profile": Profile(persona=None)}, "profile: persona must be a text"),
        ("run", {"directive": Directive(run_id="a", text=["b"])}, "directive: text must be a text"),
        ("run", {"directive": Directive(run_id="a", text="b", completed="yes")}, "completed must be True or False"),
    ],
)
def test_the_fields_of_a_mode_are_checked(mode, settings, words) -> None:
    with Conversation.open("memory:", "x", budget=4_000) as conv:
        with pytest.raises(InvalidSetting, match=words):
            conv.set_mode(mode, **settings)
        assert conv.mode == ""


def test_a_script_in_a_list_is_refused_at_once() -> None:
    with pytest.raises(InvalidSetting, match="a step is a text, a Reply, a Fault or a function"):
        Scripted(["Hi."])


def test_an_answer_that_is_no_json_is_tried_again() -> None:
    try:
        json.loads("<html>")
    except ValueError as error:
        found = provider_error(error)
    assert (found.kind, found.is_retryable) == ("malformed", True)


def test_what_a_mode_has_announced_holds_after_reopening_until_a_mode_is_set(tmp_path) -> None:
    store = f"sqlite:///{tmp_path}/x.db"
    profile = Profile(rules="You book trips.", persona="You are Ada.")
    with Conversation.open(store, "x", budget=8_000) as conv:
        conv.set_mode("chat", profile)
        conv.run("Hello", provider=Scripted("Hi."))
        conv.set_mode("agent")
        conv.run("Go on", provider=Scripted("Yes."))
        announced = [entry.body.text for entry in conv.log if isinstance(entry.body, Note)]
    with Conversation.open(store, "x", budget=8_000) as conv:
        conv.run("And now?", provider=Scripted("So."))
        assert [entry.body.text for entry in conv.log if isinstance(entry.body, Note)] == announced
        conv.set_mode("chat", profile)
        conv.run("Thanks", provider=Scripted("Bye."))
        later = [entry.body.text for entry in conv.log if isinstance(entry.body, Note)][len(announced) :]
        assert any("Chat" in text or "chat" in text for text in later)


def test_a_callers_own_state_of_that_name_is_taken_back_as_ever(tmp_path) -> None:
    store = f"sqlite:///{tmp_path}/x.db"
    with Conversation.open(store, "x", budget=8_000, state={"mode": "plan"}) as conv:
        conv.run("Hello", provider=Scripted("Hi."))
    with Conversation.open(store, "x", budget=8_000) as conv:
        conv.run("And now?", provider=Scripted("So."))
        notes = [entry.body.text for entry in conv.log if isinstance(entry.body, Note)]
        assert notes == ["[mode] plan", "[mode] no longer applies."]


@pytest.mark.parametrize("flag", [True, False])
@pytest.mark.parametrize(
    "make",
    [
        lambda flag: Retry(attempts=flag),
        lambda flag: Retry(wait=flag),
        lambda flag: Retry(longest=flag),
        lambda flag: Policy(name="p", last_resort=LAST_RESORT, trigger=flag),
        lambda flag: Policy(name="p", last_resort=LAST_RESORT, target=flag),
        lambda flag: Policy(name="p", last_resort=LAST_RESORT, soft_trigger=flag),
        lambda flag: ProxySettings(upstream="http://a", max_body=flag),
        lambda flag: ProxySettings(upstream="http://a", concurrency=flag),
        lambda flag: ProxySettings(upstream="http://a", timeout=flag),
        lambda flag: LlmSummarizer(share=flag),
        lambda flag: LlmSummarizer(retries=flag),
        lambda flag: LlmSummarizer(result_tokens=flag),
        lambda flag: LlmSummarizer(answer_tokens=flag),
    ],
)
def test_a_bool_is_no_number(make: Callable[[Any], object], flag: bool) -> None:
    with pytest.raises(InvalidSetting, match=str(flag)):
        make(flag)
