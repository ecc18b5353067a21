"""Settings as a value: made of keywords, changed, shared, and what a sub-agent takes of them."""

from __future__ import annotations

import pytest

import transom
from transom import Budget, Conversation, InvalidSetting, Settings
from transom.stores import MemoryStore
from transom.testing.fakes import WordCounter


def test_keywords_and_their_settings_open_the_same_conversation() -> None:
    keywords = {"budget": 4_000, "policy": "sliding", "system": "Be brief.", "counter": WordCounter()}
    store = MemoryStore()
    requests = []
    for name, conv in (
        ("a", Conversation.open(store, "a", **keywords)),
        ("b", Conversation.open(store, "b", Settings.of(**keywords))),
        ("c", Conversation.open(store, "c", Settings.of(budget=9_000), **keywords)),
    ):
        with conv:
            conv.user("go")
            requests.append(conv.request())
            assert (conv.budget, conv.policy.name) == (Budget(context=4_000), "sliding"), name
    assert requests[0] == requests[1] == requests[2]


def test_the_settings_of_a_conversation_open_another_with_a_few_changed() -> None:
    store = MemoryStore()
    with Conversation.open(store, "a", budget=4_000, system="Be brief.", user_id="ann") as one:
        one.user("go")
        one.budget = 6_000
        with Conversation.open(store, "b", one.settings, policy="sliding") as other:
            assert (other.budget, other.policy.name, other.user_id) == (Budget(context=6_000), "sliding", "ann")
            other.user("go")
            assert other.request()["messages"][0] == {"role": "system", "content": "Be brief."}
        with pytest.raises(InvalidSetting, match="belongs to another user_id"):
            Conversation.open(store, "a", one.settings, user_id="bob")


def test_a_sub_agent_takes_the_budget_the_counter_the_redaction_and_the_owner() -> None:
    given = Settings.of(
        budget=4_000, policy="sliding", system="Be brief.", state={"a": "b"}, redact=str.upper, user_id="ann"
    )
    child = given.of_sub_agent()
    names = Settings.__struct_fields__
    same = {name for name in names if getattr(child, name) is getattr(given, name)}
    assert {"budget", "counter", "redact", "owner"} <= same
    assert (child.policy.name, child.system, child.state) == ("default", None, {})


def test_what_is_no_setting_is_refused() -> None:
    with pytest.raises(TypeError, match=r"there is no setting 'buget': did you mean 'budget'\?"):
        Settings.of(buget=4_000)
    with pytest.raises(
        TypeError, match=r"there is no setting 'model': there are budget, policy, system, .* summarizer$"
    ):
        Settings.of(model="gpt-4o")
    with pytest.raises(InvalidSetting, match="settings: must be Settings, not 4000"):
        Conversation.open("memory:", "x", 4_000)
    with pytest.raises(InvalidSetting, match="policy"):
        Settings.of(policy=None)


def test_fit_takes_settings_too() -> None:
    messages = [{"role": "user", "content": "words " * 50}, {"role": "assistant", "content": "so"}]
    messages += [{"role": "user", "content": f"and {number}"} for number in range(3)]
    assert transom.fit(messages, settings=Settings.of(budget=4_000)) == transom.fit(messages, budget=4_000) == messages


@pytest.mark.parametrize(("name", "value"), [("budget", 3_000), ("policy", "default")])
def test_the_constructor_takes_checked_values_only(name, value) -> None:
    with pytest.raises(InvalidSetting, match=rf"^{name}: must be a .*; or use Settings.of\({name}=…\)$"):
        Settings(**{name: value})
