"""Law: for any list and any manager the window is valid and within the budget."""

from __future__ import annotations

import copy

from hypothesis import given, settings
from hypothesis import strategies as st
from message_lists import DAMAGED, SYSTEM, assistant_call, tool_result, user

import transom
from transom.conversation.render_window import render
from transom.core.edit import Fold, Trim
from transom.core.policy import Policy
from transom.errors import BudgetImpossible
from transom.history import managed_policy
from transom.testing import WordCounter
from transom.wire.openai import parse, violations

_NONSENSE = st.sampled_from(
    [
        *(None, 7, "x", [], {}, {1: 2}, {"x": object()}, {"role": "robot"}, {"role": "user", "content": 3}),
        *(
            {"role": "tool", "tool_call_id": []},
            tool_result("nobody"),
            assistant_call("a"),
            assistant_call("zz", text="I will"),
            SYSTEM,
        ),
        user("Summary: all is well."),
    ]
)
_KINDS = ["drop", "drop", "cut", "cut", "tail", "grow", "double", "swap", "insert", "retype", "strip", "spoil"]
_STEP = st.tuples(st.sampled_from(_KINDS), st.integers(0, 20), _NONSENSE)


class RandomManager:
    """Makes the same random changes to every list."""

    def __init__(self, steps, copies):
        self.steps, self.copies = steps, copies

    def curate(self, messages, *, session):
        out = copy.deepcopy(list(messages)) if self.copies else list(messages)
        for kind, number, nonsense in self.steps:
            if not out:
                break
            at = number % len(out)
            message = out[at] if isinstance(out[at], dict) else {}
            text = message.get("content")
            if kind == "drop":
                del out[at : at + 1 + number % 3]
            elif kind in {"cut", "tail", "grow"} and isinstance(text, str):
                new = text[: number * 3] + "…" if kind == "cut" else text[-number * 3 :] if kind == "tail" else text * 2
                out[at] = {**message, "content": new}
            elif kind == "double":
                out.insert(0, out[at])
            elif kind == "swap":
                out[at], out[-1] = out[-1], out[at]
            elif kind == "insert":
                out.insert(at, copy.copy(nonsense))
            elif kind == "retype":
                out[at] = {**message, "content": [{"type": "text", "text": "anew"}], "role": "user"}
            elif kind == "strip":
                out[at] = {key: value for key, value in message.items() if key in {"role", "tool_call_id"}}
            elif kind == "spoil" and isinstance(out[at], dict):
                out[at].clear() if number % 2 else out[at].update(content="spoilt", tool_calls=nonsense)
        return sometimes_none(out, self.steps)


def sometimes_none(out, steps):
    """The list; sometimes None, which is no list."""
    return None if steps and steps[-1][1] == 20 else out


MANAGERS = st.builds(RandomManager, st.lists(_STEP, max_size=6), st.booleans())


def conversations(messages, manager, budget, base):
    """Append a list to a conversation. Yields it before each turn of the model and at the end, with what was
    ignored."""
    ignored = []
    policy = managed_policy(manager, base=base, on_ignored=ignored.append)
    lead = SYSTEM["content"] if messages[:1] == [SYSTEM] else None
    conv = transom.Conversation.open("memory:", "m", budget=budget, policy=policy, system=lead, counter=WordCounter())
    for message in messages[1 if lead else 0 :]:
        if message["role"] == "assistant":
            yield conv, ignored
        conv.append(parse(message))
    yield conv, ignored


@given(
    DAMAGED,
    MANAGERS,
    st.integers(60, 2_000),
    st.sampled_from([None, 3, 6, 20]),
    st.sampled_from(["default", "sliding"]),
)
def test_any_messages_under_any_manager_give_a_valid_window(messages, manager, context, most, base):
    budget = transom.Budget(context=context, max_messages=most)
    for conv, _ in conversations(messages, manager, budget, base):
        try:
            window = conv.plan_request()
        except BudgetImpossible as refused:
            assert refused.bill["need"] > refused.bill["limit"]
            continue
        out = render(window)["messages"]
        assert not out or not violations(out)
        assert window.tokens <= context
        assert most is None or len(out) <= most
        assert render(conv.window())["messages"] == out
        if messages[:1] == [SYSTEM]:
            assert out[0] == SYSTEM


@given(DAMAGED, MANAGERS)
def test_no_manager_removes_the_task_the_newest_message_or_the_newest_turn(messages, manager):
    """If the budget has room they are in the window. A shortened one names the entry with the whole."""
    for conv, _ in conversations(messages, manager, transom.Budget(context=100_000), "default"):
        conv.plan_request()
        view = conv.view
        for key in (*view.required, view.newest_unit):
            assert key < 0 or view.is_visible(key)
        whole = "".join(
            str(m.get("content")) + str(m.get("tool_calls")) for m in render(conv.plan_request())["messages"]
        )
        for entry in conv.log.read():
            if isinstance(entry.body, Trim) and entry.body.part[0] != "reasoning":
                assert f"entry {entry.body.entry}" in entry.body.note
            if isinstance(entry.body, Fold) and view.is_live(entry.seq) and view.slot_of(entry.seq) is not None:
                assert entry.body.text in whole


@given(DAMAGED, MANAGERS)
def test_after_all_edits_of_a_manager_are_undone_the_window_is_the_log(messages, manager):
    *_, (conv, _) = conversations(messages, manager, transom.Budget(context=100_000), "default")
    conv.plan_request()
    plain = transom.Conversation.open(
        "memory:", "p", budget=100_000, policy="passthrough", system=(conv.head.messages and SYSTEM["content"]) or None,
        counter=WordCounter(),
    )  # fmt: skip
    for message in messages[1 if conv.head.messages else 0 :]:
        plain.append(parse(message))
    plain.plan_request()
    while any(row.edits for row in conv.explain()):
        conv.undo()
    bare = Policy(name="bare", trigger=float("inf"))
    conv.policy = bare
    assert render(conv.plan_request())["messages"] == render(plain.plan_request())["messages"]


def test_the_random_managers_cause_every_edit_and_every_notice():
    """The law proves nothing if no manager ever does anything."""
    kinds, notices = set(), set()

    @settings(max_examples=400)
    @given(DAMAGED, MANAGERS)
    def run(messages, manager):
        for conv, ignored in conversations(messages, manager, transom.Budget(context=100_000), "default"):
            conv.plan_request()
            kinds.update(type(entry.body) for entry in conv.log.read())
            notices.update(ignored)

    run()
    assert {Fold, Trim} <= kinds
    for what in (
        "order",
        "no list|must return",
        "new messages",
        "calls are not changed",
        "not be shorter",
        "system message",
    ):
        assert any(word in line for line in notices for word in what.split("|")), what
