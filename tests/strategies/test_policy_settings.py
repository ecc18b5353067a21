"""`keep_recent`, `trigger` and `target`: what they do to windows, and how they are given."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

import transom
from transom.conversation.conversation import Conversation
from transom.core.budget import Budget, pressure
from transom.core.policy import Policy
from transom.core.unit import FoldedSlot
from transom.policies import DEFAULT, LAST_RESORT, policy_named
from transom.stores import MemoryStore
from transom.strategies import Digest, Omit, RollingRecord
from transom.testing import WordCounter

BUDGET = Budget(context=2_000)


def compactions(policy: Policy, turns: int = 110, *, tools: bool = True) -> list[tuple[float, float, float]]:
    """For each compaction: how full the window before it was, how full it is after it, and the share of the room that
    is whole turns."""
    found: list[tuple[float, float, float]] = []
    conversation = Conversation(
        MemoryStore().open("x"), budget=BUDGET, policy=policy, counter=WordCounter(), system="Be brief."
    )
    conversation.user("fix the tests in src/app.py")
    before = 0.0
    for turn in range(turns):
        window = conversation.request().window
        view = window.view
        fixed, limit = view.fixed_size, BUDGET.limits()
        full = pressure(view.total, fixed, limit)
        if window.breaks is not None and full < before:
            folds = sum(slot.size.tokens for slot in view.slots if isinstance(slot, FoldedSlot))
            whole = view.total.tokens - fixed.tokens - folds
            found.append((before, full, whole / (limit.tokens - fixed.tokens)))
        before = full
        if tools:
            function = {"name": "sh", "arguments": f'{{"cmd": "cat file_{turn}.py"}}'}
            calls = [{"id": f"c{turn}", "type": "function", "function": function}]
            conversation.observe({"role": "assistant", "content": None, "tool_calls": calls})
            conversation.tool_result(f"c{turn}", f"line {turn} of file_{turn}.py, and word_{turn}\n" * 8)
        else:
            conversation.observe({"role": "assistant", "content": f"answer {turn} has several plain words " * 4})
            conversation.user(f"question {turn} about several other things and places")
    assert len(found) > 2
    return found


def test_keep_recent_is_the_share_of_whole_turns() -> None:
    for keep_recent in (0.1, 0.3, 0.5):
        for _, _, whole in compactions(policy_named("default", keep_recent=keep_recent)):
            assert keep_recent - 0.08 < whole <= keep_recent + 0.001


def test_trigger_is_how_full_a_window_gets() -> None:
    for trigger in (0.5, 0.7, 0.9):
        for before, _, _ in compactions(policy_named("default", trigger=trigger)):
            assert trigger - 0.06 < before < trigger


@pytest.mark.parametrize("tools", [True, False])
def test_target_is_how_full_a_compaction_leaves_it_at_most(tools: bool) -> None:
    for target in (0.4, 0.6, 0.7):
        after = [full for _, full, _ in compactions(policy_named("default", target=target), tools=tools)]
        assert max(after) <= target + 0.01
        assert max(after) > target - 0.2
    assert max(full for _, full, _ in compactions(DEFAULT, tools=tools)) > 0.65


def test_a_compaction_leaves_room_below_a_lower_trigger() -> None:
    for tools in (True, False):
        found = compactions(policy_named("default", trigger=0.6), tools=tools)
        assert max(full for _, full, _ in found) < 0.6
        assert len(found) < 55


def test_without_settings_it_is_the_policy_itself() -> None:
    assert policy_named("default") is DEFAULT
    assert policy_named("default", keep_recent=None, trigger=None, target=None) is DEFAULT
    assert policy_named(DEFAULT) is DEFAULT


def test_settings_follow_the_name() -> None:
    whole = policy_named("default", keep_recent=0.3, trigger=0.9, target=0.7)
    assert whole.name == "default:keep_recent=0.3:trigger=0.9:target=0.7"
    assert policy_named("default:target=0.7:keep_recent=.3:trigger=0.9") == whole
    assert policy_named(whole.name) == whole
    assert policy_named(DEFAULT, keep_recent=0.3, trigger=0.9, target=0.7) == whole
    codex = policy_named("codex:trigger=0.8")
    assert (codex.trigger, codex.target, codex.name) == (0.8, policy_named("codex").target, "codex:trigger=0.8")


def test_they_work_wherever_a_policy_is_named() -> None:
    turns = [
        [
            {"role": "user", "content": f"do step {n} with file_{n}.py, please"},
            {"role": "assistant", "content": f"step {n} is done, see result_{n}.txt"},
        ]
        for n in range(60)
    ]
    messages = [message for turn in turns for message in turn]
    default, large = (
        transom.fit(messages, budget=1_000, policy=name) for name in ("default", "default:keep_recent=0.6")
    )
    assert len(large) > len(default)
    assert large == transom.fit(messages, budget=1_000, policy=policy_named("default", keep_recent=0.6))
    with transom.Conversation.open("memory:", "x", budget=1_000, policy="default:trigger=0.5") as conversation:
        assert conversation.policy.trigger == 0.5


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("default:keep_recent=2", "policy: keep_recent must be a share of the room, from 0 to 1, not '2'"),
        ("default:keep_recent=nan", "policy: keep_recent must be a share of the room, from 0 to 1, not 'nan'"),
        ("default:keep_recent", "policy: keep_recent must be a share of the room, from 0 to 1, not ''"),
        ("default:recent=0.2", "policy: there is no setting 'recent': there are keep_recent, clip, trigger, target"),
        ("default:trigger=0.2:trigger=0.2", "policy: a setting is given twice"),
        ("default:target=0.9:trigger=0.8", "policy: target 0.9 must not be above trigger 0.8"),
        (
            "default:keep_recent=0.75",
            "policy: keep_recent 0.75 must be at least 0.1 below target 0.8: records have what is between them",
        ),
        ("default:target=0.05", "policy: target 0.05 is too low: records need at least 0.1 of the room"),
        ("default:trigger=0", "policy: trigger 0 is too low: it must be at least 0.125"),
        ("default:trigger=0.12", "policy: trigger 0.12 is too low: it must be at least 0.125"),
        ("sliding:keep_recent=0.2", "policy sliding has no keep_recent: default, recall, summary and native have it"),
        ("defaul:keep_recent=0.2", "unknown policy 'defaul:keep_recent=0.2': there are default, "),
    ],
)
def test_a_wrong_setting_says_what_is_right(name: str, why: str) -> None:
    with pytest.raises(transom.InvalidSetting) as problem:
        policy_named(name)
    assert str(problem.value).startswith(why)
    assert "\n" not in str(problem.value)


@pytest.mark.parametrize("value", [True, "much", -0.1, float("nan"), [0.2]])
def test_a_setting_is_a_number(value: object) -> None:
    with pytest.raises(transom.InvalidSetting, match="must be a share of the room"):
        policy_named("default", keep_recent=value)  # pyright: ignore[reportArgumentType]


def test_a_policy_of_ones_own_compacts_at_its_trigger() -> None:
    for steps in ((Digest(),), (Omit(),), (RollingRecord(),)):
        for trigger in (0.4, 0.9):
            policy = Policy(name="mine", pressure=steps, last_resort=LAST_RESORT, trigger=trigger)
            for tools in (True, False):
                found = compactions(policy, tools=tools)
                assert all(trigger - 0.07 < before < trigger for before, _, _ in found)
                assert all(after < trigger for _, after, _ in found)
                assert len(found) < 70


def test_a_target_follows_the_trigger() -> None:
    assert Policy(pressure=(Omit(),), trigger=0.5).target_share == 0.375
    for trigger in (0.8, 0.95, 1.0, float("inf")):
        assert Policy(pressure=(Omit(),), trigger=trigger).target_share == 0.6
    assert replace(DEFAULT, trigger=0.5).target_share == 0.375
    assert Policy(pressure=(Omit(),), trigger=0.5, target=0.5).target_share == 0.5
    assert policy_named("sliding:trigger=0.5").target == 0.45
    assert policy_named("manus", trigger=0.3).target == pytest.approx(0.2)
    assert policy_named("manus", trigger=0.9).target == 0.4
    for target in (0.51, 0.6, 0.61, 1.0):
        with pytest.raises(transom.InvalidSetting, match=f"policy: target {target} must not be above trigger 0.5"):
            Policy(pressure=(Omit(),), trigger=0.5, target=target)


def test_a_policy_needs_no_name() -> None:
    assert Policy(pressure=(Omit(),)).name == "custom"
    with Conversation.open("memory:", "x", budget=4_000, policy=Policy(pressure=(Omit(),), trigger=0.5)) as conv:
        assert conv.policy.trigger == 0.5


@pytest.mark.parametrize(("setting", "share"), [({"trigger": 0.5}, "trigger=0.5"), ({"target": 0.3}, "target=0.3")])
def test_a_share_that_starts_nothing_is_refused_with_the_way_to_set_it(setting: dict, share: str) -> None:
    with pytest.raises(transom.InvalidSetting) as caught:
        Policy(**setting)
    expected = f"policy: without strategies nothing happens at {share}; for the default policy with it, give policy="
    assert str(caught.value) == f'{expected}"default:{share}"'
    name, _, value = share.partition("=")
    assert getattr(policy_named(f"default:{share}"), name) == float(value)


def test_a_policy_with_a_lower_trigger_is_the_same_by_name_and_by_hand() -> None:
    by_hand = replace(DEFAULT, trigger=0.5)
    assert compactions(policy_named("default:trigger=0.5")) == compactions(by_hand)


@pytest.mark.parametrize("name", ["letta", "openhands", "codex"])
def test_a_lower_trigger_is_where_it_compacts(name):
    with transom.Conversation.open("memory:", "x", budget=4_000, policy=policy_named(name, trigger=0.5)) as conv:
        for n in range(60):
            conv.user(f"message {n} " + "word " * 40)
            assert conv.request().window.size.tokens <= 0.55 * 4_000
            conv.observe({"role": "assistant", "content": f"answer {n} " + "reply " * 40})
