"""A replay that continues a stored one: with the same settings, and without another writer."""

from __future__ import annotations

import pytest

from transom import Budget, Conversation
from transom.conversation.appending.parse_messages import split_head
from transom.conversation.replaying.replay import replay
from transom.conversation.replaying.sole_writer import SoleWriterLog
from transom.core.codec import encode
from transom.core.policy import Policy
from transom.errors import InvalidSetting, StoreUnavailable
from transom.policies import policy_named
from transom.stores import MemoryStore
from transom.strategies import ClipTurn
from transom.testing.fakes import FakeClock, WordCounter

MESSAGES = [{"role": role, "content": f"message {n}"} for n in range(4) for role in ("user", "assistant")]
TOOL = {"type": "function", "function": {"name": "ls", "parameters": {"type": "object"}}}
DEFAULT = policy_named("default")


def steps(store, *, budget=1_000, policy=DEFAULT, tools=None, messages=MESSAGES):
    head, facts = split_head(messages)
    conversation = Conversation(
        SoleWriterLog(store.open("x")),
        budget=budget,
        policy=policy,
        counter=WordCounter(),
        system=head,
        clock=FakeClock(),
    )
    return replay(conversation, facts, tools=tools)


def stored(store):
    return [encode(entry) for entry in store.open("x").read()]


def bodies(store):
    return [entry.body for entry in store.open("x").read()]


@pytest.mark.parametrize("ahead", [0, 1, 2])
def test_of_two_replays_at_once_one_is_refused_and_the_log_is_that_of_one(ahead):
    """The first has done `ahead` calls when the second begins; then they take turns."""
    alone, store = MemoryStore(), MemoryStore()
    windows = list(steps(alone))
    first = steps(store)
    for _ in range(ahead):
        next(first)
    second = steps(store)
    with pytest.raises(
        StoreUnavailable, match=r"^another process is writing conversation 'x', perhaps the same replay"
    ):
        for _ in zip(first, second, strict=True):
            pass
    last = list(steps(store))
    assert [(step.at, step.window.fingerprint) for step in last] == [
        (step.at, step.window.fingerprint) for step in windows
    ]
    assert bodies(store) == bodies(alone)


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"budget": 900}, "context was 1000, is 900"),
        ({"budget": Budget(context=1_000, max_messages=9)}, "max_messages was none, is 9"),
        ({"policy": policy_named("passthrough")}, "cannot be continued: policy was default, is passthrough"),
        ({"policy": Policy(name="default")}, "other strategies in "),
        ({"tools": [TOOL]}, "other tools"),
        ({"messages": [*MESSAGES, {"role": "user", "content": "More."}]}, "other messages"),
    ],
)
def test_other_settings_are_named(changed, what):
    store = MemoryStore()
    list(steps(store))
    before = stored(store)
    with pytest.raises(InvalidSetting) as error:
        list(steps(store, **changed))
    assert str(error.value).startswith("conversation 'x' is in the store already and cannot be continued: ")
    assert what in str(error.value)
    assert "\n" not in str(error.value)
    assert stored(store) == before


def test_a_policy_of_the_same_name_with_other_settings_is_another_one():
    policy = Policy(name="mine", arrival=(ClipTurn(share=0.1),), trigger=0.9)
    same = Policy(name="mine", arrival=(ClipTurn(share=0.1),), trigger=0.9)
    other = Policy(name="mine", arrival=(ClipTurn(share=0.2),), trigger=0.8)
    store = MemoryStore()
    windows = list(steps(store, policy=policy))
    assert [step.at for step in steps(store, policy=same)] == [step.at for step in windows]
    with pytest.raises(
        InvalidSetting, match=r"policy settings: other strategies in arrival, trigger was 0\.9, is 0\.8$"
    ):
        list(steps(store, policy=other))
