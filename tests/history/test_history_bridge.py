"""A manager as a policy: its changes become edits; a change without an edit is ignored and reported."""

from __future__ import annotations

import pytest
from message_lists import assistant, assistant_call, history, tool_result, user

import transom
from transom.conversation.render_window import render
from transom.core.edit import Fold, Trim
from transom.history import (
    ComposedManager,
    NotCurated,
    PassthroughManager,
    SlidingWindowManager,
    ToolResultTruncator,
    managed_policy,
)
from transom.wire.openai import parse, violations


class FunctionManager:
    """A manager that calls a function."""

    def __init__(self, function):
        self.function = function

    def curate(self, messages, *, session):
        return self.function(messages)


def managed(curate, messages, **options):
    """Append messages and build a window under a manager or a function. Returns the conversation, what was ignored, and
    the messages of the window."""
    ignored = []
    manager = curate if hasattr(curate, "curate") else FunctionManager(curate)
    policy = managed_policy(manager, on_ignored=ignored.append, **options)
    conv = transom.Conversation.open("memory:", "m", budget=8_000, policy=policy, system="Be brief.")
    for message in messages:
        conv.append(parse(message))
    out = render(conv.plan_request())["messages"]
    assert not violations(out)
    return conv, ignored, out


def edits(conv, kind):
    return [entry.body for entry in conv.log.read() if isinstance(entry.body, kind)]


TALK = [
    user("Count the files in src and in tests, please, and tell me which folder has more of them."),
    assistant_call(
        "a", "b", text="I look at both of the folders first.", args='{"path": "src/app/main", "more": "depth 3"}'
    ),
    tool_result("a", "src has one hundred files\n" * 20),
    tool_result("b", "tests has two hundred files\n" * 20),
    assistant("There are more files in tests than there are in src: two hundred and one hundred."),
    user("Thank you. And how many of them are empty?"),
    assistant_call("c"),
    tool_result("c", "three are empty\n" * 20),
]


def test_a_manager_that_changes_nothing_leaves_the_window_alone():
    conv, ignored, out = managed(PassthroughManager(), TALK)
    assert out[1:] == TALK
    assert ignored == []
    assert not edits(conv, (Fold, Trim))


def test_removed_turns_are_folded_except_required_ones():
    conv, ignored, out = managed(SlidingWindowManager(2), TALK)
    assert out[0]["content"] == "Be brief."
    assert out[1] == TALK[0], "the first task"
    assert out[2]["content"].startswith("[entry 1 to entry 4: 2 earlier turns")
    assert out[3:] == TALK[5:], "the newest user message and the newest turn"
    assert [fold.why for fold in edits(conv, Fold)] == ["sliding_window"]
    assert ignored == []
    conv.undo(next(row.edits[0] for row in conv.explain() if row.state == "folded"))
    assert render(conv.plan_request())["messages"][1:] == TALK, "what was undone is not folded again"


def test_shortened_texts_are_trimmed_and_name_their_entry():
    conv, ignored, out = managed(ToolResultTruncator(100), TALK)
    whole = TALK[2]["content"]
    assert out[3]["content"] == whole[:84] + "\n... [truncated] [entry 2]"
    assert len(edits(conv, Trim)) == 3
    conv.user("more")
    before = len(conv.log)
    conv.plan_request()
    assert len(conv.log) == before + 2, "only the abandoned request and the new one: nothing is trimmed twice"
    assert ignored == []


def test_a_composed_manager():
    _, _, out = managed(ComposedManager((ToolResultTruncator(100), SlidingWindowManager(2))), TALK)
    assert len(out) == 6
    assert out[-1]["content"].endswith("[truncated] [entry 7]")


def test_a_result_removed_without_its_call_becomes_a_reference():
    conv, ignored, out = managed(lambda messages: [m for m in messages if m.get("tool_call_id") != "b"], TALK)
    assert [m["content"] for m in out if m.get("tool_call_id") == "b"] == ["[entry 3]"]
    assert out[1:4] == TALK[:3]
    assert ignored == []
    assert len(edits(conv, Trim)) == 1


def test_a_call_removed_without_its_results_stays():
    _, ignored, out = managed(lambda messages: [m for m in messages if not m.get("tool_calls")], TALK)
    assert out[1:] == TALK
    assert "entry 1 is not removed: a result without its call is refused by the API" in ignored


def test_a_text_in_place_of_removed_turns_becomes_the_text_of_the_fold():
    def summarises(messages):
        return [messages[0], user("Summary: tests has more files than src."), *messages[-3:]]

    conv, ignored, out = managed(summarises, TALK)
    assert out[2]["content"] == "Summary: tests has more files than src.\n[entry 1 to entry 4]"
    assert [out[1], *out[3:]] == [TALK[0], *TALK[5:]]
    assert ignored == []
    conv.observe(assistant("Three, as I said."))
    conv.user("And now?")
    again = render(conv.plan_request())["messages"]
    assert not violations(again)
    assert sum("Summary" in str(m["content"]) for m in again) == 1, "the older summary is in the new one's place"


def test_new_messages_another_order_and_longer_texts_are_ignored():
    _, ignored, out = managed(lambda messages: [*messages, user("Delete everything.")], TALK)
    assert out[1:] == TALK
    assert ignored == ["new messages are left out, except a text in place of removed messages"]
    _, ignored, out = managed(lambda messages: [messages[0], *reversed(messages[1:])], TALK)
    assert out[1:] == TALK
    assert "the order of the messages is not changed" in ignored
    _, ignored, out = managed(
        lambda ms: [{**m, "content": f"{m['content']}!"} if "tool_call_id" in m else m for m in ms], TALK
    )
    assert out[1:] == TALK
    assert ignored == [f"entry {n}: text[0] is not changed: it would not be shorter" for n in (2, 3, 7)]


@pytest.mark.parametrize("result", [None, 7, "text", {"role": "user"}, iter(())])
def test_a_result_that_is_no_list_changes_nothing(result):
    _, ignored, out = managed(lambda _: result, TALK)
    assert out[1:] == TALK
    assert ignored == [f"a manager must return a list of messages, not {type(result).__name__}"]


def test_a_manager_may_change_its_messages_in_place():
    def spoils(messages):
        for message in messages:
            message["content"] = str(message["content"])[:20]
            message.get("tool_calls", [{}])[0].clear()
        return messages

    conv, ignored, out = managed(spoils, TALK)
    assert out[0]["content"] == "Be brief.", "the head is the caller's, and so is its place in front"
    assert [m["content"] for m in out if "tool_call_id" in m] == [
        f"{TALK[n]['content'][:20]} [entry {n}]" for n in (2, 3, 7)
    ]
    assert "entry 1: calls are not changed" in ignored
    assert conv.log[2].body.parts[0].text == TALK[2]["content"], "facts never change"


def test_arguments_and_reasoning_are_trimmed_too():
    thoughtful = [*TALK[:1], {**TALK[1], "reasoning_content": "hm " * 40}, *TALK[2:]]

    def bare(messages):
        out = []
        for message in messages:
            kept = {key: value for key, value in message.items() if key != "reasoning_content"}
            if "tool_calls" in kept:
                kept["tool_calls"] = [
                    {**call, "function": {**call["function"], "arguments": '{"path": "…"}'}}
                    for call in kept["tool_calls"]
                ]
            out.append(kept)
        return out

    _, ignored, out = managed(bare, thoughtful)
    assert "reasoning_content" not in out[2]
    assert [call["function"]["arguments"] for call in out[2]["tool_calls"]] == ['{"path":"…","whole_in":"entry 1"}'] * 2
    assert ignored == ["entry 6: args[0] is not changed: it would not be shorter"]


def test_removed_images_become_placeholders():
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 400}}
    words = {"type": "text", "text": "What is on it?"}
    messages = [{"role": "user", "content": [words, image]}, assistant("A cat."), user("Sure?")]
    _, ignored, out = managed(
        lambda ms: [{**m, "content": [words]} if isinstance(m["content"], list) else m for m in ms], messages
    )
    assert out[1]["content"] == [words, {"type": "text", "text": "[image left out; whole in entry 0]"}]
    assert ignored == []


def test_the_manager_gets_the_session_and_ignored_changes_are_warnings_by_default():
    session, seen = object(), []

    class DropsSystemMessage:
        def curate(self, messages, *, session):
            seen.append(session)
            return list(messages[1:])

    conv = transom.Conversation.open(
        "memory:", "m", budget=8_000, policy=managed_policy(DropsSystemMessage(), session=session), system="x"
    )
    conv.user("hello")
    with pytest.warns(NotCurated, match="the system message is not changed"):
        assert render(conv.plan_request())["messages"][0]["content"] == "x"
    assert seen == [session]


def test_an_exception_of_the_manager_is_raised():
    def fails(messages):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        managed(fails, TALK)


def test_the_base_policy_compacts_when_the_manager_does_not():
    policy = managed_policy(PassthroughManager())
    with transom.Conversation.open("memory:", "m", budget=700, policy=policy) as conv:
        for message in history(30, system=False):
            if message["role"] == "assistant":
                window = conv.plan_request()
                assert window.tokens <= 700
                assert not violations(render(window)["messages"])
            conv.append(parse(message))
    with pytest.raises(transom.InvalidSetting, match="unknown policy"):
        managed_policy(PassthroughManager(), base="magic")


def test_the_manager_is_called_once_for_each_new_message():
    lengths = []

    def counts(messages):
        lengths.append(len(messages))
        return list(messages)

    conv, _, _ = managed(counts, TALK)
    conv.plan_request()
    assert lengths == [len(TALK) + 1]


def test_fit_takes_a_managed_policy():
    messages = history(12)
    out = transom.fit(messages, budget=128_000, policy=managed_policy(SlidingWindowManager(4)))
    assert not violations(out)
    assert out[-3:] == messages[-3:]
    assert len(out) < 10


def test_a_result_of_several_parts_is_shortened_part_by_part():
    texts = [{"type": "text", "text": f"{letter} line\n" * 30} for letter in "xyz"]
    messages = [user("Look."), assistant_call("a"), {**tool_result("a"), "content": texts}]
    conv, ignored, out = managed(ToolResultTruncator(300), messages)
    rendered = [part["text"] for part in out[-1]["content"]]
    assert rendered[0] == texts[0]["text"]
    assert rendered[1].startswith("y line\ny line\n")
    assert rendered[1].endswith("\n... [truncated] [entry 2]")
    assert rendered[2] == "[entry 2]"
    assert ignored == []
    assert len(edits(conv, Trim)) == 2


def test_of_equal_copies_the_last_ones_stay():
    messages = [user("Say it again and again, please.")]
    for _ in range(6):
        messages += [assistant("Again, as you asked, and again."), user("Once more, if you please, say it.")]
    _, ignored, out = managed(lambda ms: [ms[0], *({**m} for m in ms[-5:])], messages)
    assert out[1] == messages[0]
    assert out[2]["content"].startswith("[entry 1 to entry 7: 7 earlier turns")
    assert out[3:] == messages[-5:]
    assert ignored == []


def test_a_text_that_is_longer_than_the_removed_turns_is_left_out():
    long = user("A summary of it all. " * 200)
    _, ignored, out = managed(lambda messages: [messages[0], long, *messages[-3:]], TALK)
    assert out[2]["content"].startswith("[entry 1 to entry 4: 2 earlier turns")
    assert ignored == ["a text in place of removed messages is left out: it is longer than they are"]


@pytest.mark.parametrize("name", ["openai", "responses", "anthropic", "gemini"])
def test_a_manager_gets_openai_messages_in_every_dialect(name):
    seen = []
    window, truncator = SlidingWindowManager(5), ToolResultTruncator(100)

    def watch(messages):
        seen.append([message["role"] for message in messages])
        return ComposedManager((truncator, window)).curate(messages, session=None)

    policy = managed_policy(FunctionManager(watch), on_ignored=pytest.fail)
    with transom.Conversation.open("memory:", "d", budget=8_000, policy=policy, dialect=name) as conv:
        for n in range(6):
            conv.append(conv.dialect.parse_user(f"question {n} " * 20))
            request = render(conv.plan_request(), name)
            assert not conv.dialect.violations(request)
            conv.append(parse(assistant_call(f"c{n}", text="I look.")))
            conv.append(parse(tool_result(f"c{n}", "line\n" * 100)))
        assert seen[1] == ["user", "assistant", "tool", "user"]
        assert edits(conv, Fold)
        assert len(edits(conv, Trim)) == 5


def test_rewritten_messages_and_those_of_an_earlier_call_are_recognised():
    plain, kept = [message for message in TALK if message["role"] in {"user", "assistant"} and message["content"]], []
    plain = [message for message in plain if "tool_calls" not in message]
    _, ignored, out = managed(lambda ms: [{"role": str(m["role"]), "content": m["content"]} for m in ms], plain)
    assert (out[1:], ignored) == (plain, [])

    def remembers(messages):
        kept.extend(messages[len(kept) :])
        return [{**m, "content": m["content"][:60]} if "tool_call_id" in m else m for m in kept]

    conv, _, first = managed(remembers, TALK)
    conv.observe(assistant("Three."))
    conv.user("Thanks.")
    conv.append(parse(assistant_call("d")))
    last = conv.append(parse(tool_result("d", "four\n" * 40)))
    again = render(conv.plan_request())["messages"]
    assert again[: len(first)] == first
    results = [message["content"].rpartition(" [entry ")[2] for message in again if "tool_call_id" in message]
    assert results == ["2]", "3]", "7]", f"{last}]"]
