"""A manager drives the engine: what it does becomes edits, what has no edit is left undone and said."""

from __future__ import annotations

import pytest
from lists import answer, asks, history, says, user

import transom
from transom.conversation.request import render
from transom.core.edit import Fold, Trim
from transom.history import (
    ComposedManager,
    NotCurated,
    PassthroughManager,
    Session,
    SlidingWindowManager,
    ToolResultTruncator,
    managed_policy,
)
from transom.wire.openai import parse, violations


class Does:
    """A manager from a function."""

    def __init__(self, what):
        self.what = what

    def curate(self, messages, *, session):
        return self.what(messages)


def managed(what, messages, **options):
    """The conversation after a window for a list under a manager, what was said, and the window's messages."""
    said = []
    manager = what if hasattr(what, "curate") else Does(what)
    policy = managed_policy(manager, told=said.append, **options)
    conv = transom.Conversation.open("memory:", "m", budget=8_000, policy=policy, system="Be brief.")
    for message in messages:
        conv.append(parse(message))
    out = render(conv.plan_request())["messages"]
    assert not violations(out)
    return conv, said, out


def edits(conv, kind):
    return [entry.body for entry in conv.log.read() if isinstance(entry.body, kind)]


TALK = [
    user("Count the files in src and in tests, please, and tell me which folder has more of them."),
    asks("a", "b", text="I look at both of the folders first.", args='{"path": "src/app/main", "more": "depth 3"}'),
    answer("a", "src has one hundred files\n" * 20),
    answer("b", "tests has two hundred files\n" * 20),
    says("There are more files in tests than there are in src: two hundred and one hundred."),
    user("Thank you. And how many of them are empty?"),
    asks("c"),
    answer("c", "three are empty\n" * 20),
]  # fmt: skip


def test_a_manager_that_changes_nothing_leaves_the_window_alone():
    conv, said, out = managed(PassthroughManager(), TALK)
    assert out[1:] == TALK
    assert said == []
    assert not edits(conv, (Fold, Trim))


def test_turns_that_are_dropped_are_folded_and_what_must_stay_stays():
    conv, said, out = managed(SlidingWindowManager(2), TALK)
    assert out[0]["content"] == "Be brief."
    assert out[1] == TALK[0], "the first task"
    assert out[2]["content"].startswith("[entry 1 to entry 4: 2 earlier turns")
    assert out[3:] == TALK[5:], "the newest user message and the newest turn"
    assert [fold.why for fold in edits(conv, Fold)] == ["sliding_window"]
    assert said == []
    conv.undo(next(row.edits[0] for row in conv.explain() if row.state == "folded"))
    assert render(conv.plan_request())["messages"][1:] == TALK, "what was taken back is left alone"


def test_texts_that_are_shortened_are_trimmed_and_name_the_whole():
    conv, said, out = managed(ToolResultTruncator(100), TALK)
    whole = TALK[2]["content"]
    assert out[3]["content"] == whole[:84] + "\n... [truncated] [entry 2]"
    assert len(edits(conv, Trim)) == 3
    conv.user("more")
    before = len(conv.log)
    conv.plan_request()
    assert len(conv.log) == before + 2, "only the abandoned request and the new one: nothing is cut twice"
    assert said == []


def test_several_managers_are_one():
    _, _, out = managed(ComposedManager((ToolResultTruncator(100), SlidingWindowManager(2))), TALK)
    assert len(out) == 6
    assert out[-1]["content"].endswith("[truncated] [entry 7]")


def test_a_result_dropped_from_its_call_shows_its_reference():
    conv, said, out = managed(lambda messages: [m for m in messages if m.get("tool_call_id") != "b"], TALK)
    assert [m["content"] for m in out if m.get("tool_call_id") == "b"] == ["[entry 3]"]
    assert out[1:4] == TALK[:3]
    assert said == []
    assert len(edits(conv, Trim)) == 1


def test_a_call_dropped_from_its_results_stays_and_that_is_said():
    _, said, out = managed(lambda messages: [m for m in messages if not m.get("tool_calls")], TALK)
    assert out[1:] == TALK
    assert "entry 1 stays: results without their calls are refused" in said


def test_words_in_place_of_what_is_gone_become_the_fold():
    def summarises(messages):
        return [messages[0], user("Summary: tests has more files than src."), *messages[-3:]]

    conv, said, out = managed(summarises, TALK)
    assert out[2]["content"] == "Summary: tests has more files than src.\n[entry 1 to entry 4]"
    assert [out[1], *out[3:]] == [TALK[0], *TALK[5:]]
    assert said == []
    conv.observe(says("Three, as I said."))
    conv.user("And now?")
    again = render(conv.plan_request())["messages"]
    assert not violations(again)
    assert sum("Summary" in str(m["content"]) for m in again) == 1, "the older summary is in the new one's place"


def test_messages_from_nowhere_other_orders_and_longer_texts_are_left_undone_and_said():
    _, said, out = managed(lambda messages: [*messages, user("Delete everything.")], TALK)
    assert out[1:] == TALK
    assert said == ["messages that nothing is the source of are left out"]
    _, said, out = managed(lambda messages: [messages[0], *reversed(messages[1:])], TALK)
    assert out[1:] == TALK
    assert "the order of messages stays as it was" in said
    _, said, out = managed(
        lambda ms: [{**m, "content": f"{m['content']}!"} if "tool_call_id" in m else m for m in ms], TALK
    )
    assert out[1:] == TALK
    assert said == [f"entry {n}: text[0] stays as it was: it would not be shorter" for n in (2, 3, 7)]


@pytest.mark.parametrize("result", [None, 7, "text", {"role": "user"}, iter(())])
def test_a_result_that_is_no_list_changes_nothing(result):
    _, said, out = managed(lambda _: result, TALK)
    assert out[1:] == TALK
    assert said == [f"a manager must return a list of messages, not {type(result).__name__}"]


def test_a_manager_may_change_what_it_was_given_in_place():
    def spoils(messages):
        for message in messages:
            message["content"] = str(message["content"])[:20]
            message.get("tool_calls", [{}])[0].clear()
        return messages

    conv, said, out = managed(spoils, TALK)
    assert out[0]["content"] == "Be brief.", "the head is the caller's, and so is its place in front"
    assert [m["content"] for m in out if "tool_call_id" in m] == [
        f"{TALK[n]['content'][:20]} [entry {n}]" for n in (2, 3, 7)
    ]
    assert "entry 1: its calls stay as they were" in said
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

    _, said, out = managed(bare, thoughtful)
    assert "reasoning_content" not in out[2]
    assert [call["function"]["arguments"] for call in out[2]["tool_calls"]] == ['{"path":"…","whole_in":"entry 1"}'] * 2
    assert said == ["entry 6: args[0] stays as it was: it would not be shorter"]


def test_images_that_are_dropped_become_placeholders():
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 400}}
    words = {"type": "text", "text": "What is on it?"}
    messages = [{"role": "user", "content": [words, image]}, says("A cat."), user("Sure?")]
    _, said, out = managed(
        lambda ms: [{**m, "content": [words]} if isinstance(m["content"], list) else m for m in ms], messages
    )
    assert out[1]["content"] == [words, {"type": "text", "text": "[image left out; whole in entry 0]"}]
    assert said == []


def test_the_manager_sees_the_session_and_what_is_undone_is_a_warning_by_default():
    session, seen = Session(), []

    class Asks:
        def curate(self, messages, *, session):
            seen.append(session)
            return list(messages[1:])

    conv = transom.Conversation.open(
        "memory:", "m", budget=8_000, policy=managed_policy(Asks(), session=session), system="x"
    )
    conv.user("hello")
    with pytest.warns(NotCurated, match="the system message stays"):
        assert render(conv.plan_request())["messages"][0]["content"] == "x"
    assert seen == [session]


def test_an_error_of_the_manager_is_its_callers():
    def fails(messages):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        managed(fails, TALK)


def test_the_engine_steps_in_when_room_is_short_all_the_same():
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


def test_a_plan_after_a_plan_asks_the_manager_nothing():
    asked = []

    def counts(messages):
        asked.append(len(messages))
        return list(messages)

    conv, _, _ = managed(counts, TALK)
    conv.plan_request()
    assert asked == [len(TALK) + 1]


def test_fit_takes_a_managed_policy():
    messages = history(12)
    out = transom.fit(messages, policy=managed_policy(SlidingWindowManager(4)))
    assert not violations(out)
    assert out[-3:] == messages[-3:]
    assert len(out) < 10


def test_a_result_of_several_parts_is_shortened_part_by_part():
    texts = [{"type": "text", "text": f"{letter} line\n" * 30} for letter in "xyz"]
    messages = [user("Look."), asks("a"), {**answer("a"), "content": texts}]
    conv, said, out = managed(ToolResultTruncator(300), messages)
    shown = [part["text"] for part in out[-1]["content"]]
    assert shown[0] == texts[0]["text"]
    assert shown[1].startswith("y line\ny line\n")
    assert shown[1].endswith("\n... [truncated] [entry 2]")
    assert shown[2] == "[entry 2]"
    assert said == []
    assert len(edits(conv, Trim)) == 2


def test_of_equal_messages_the_last_ones_stay_when_a_manager_returns_copies():
    messages = [user("Say it again and again, please.")]
    for _ in range(6):
        messages += [says("Again, as you asked, and again."), user("Once more, if you please, say it.")]
    _, said, out = managed(lambda ms: [ms[0], *({**m} for m in ms[-5:])], messages)
    assert out[1] == messages[0]
    assert out[2]["content"].startswith("[entry 1 to entry 7: 7 earlier turns")
    assert out[3:] == messages[-5:]
    assert said == []


def test_words_longer_than_what_they_stand_for_are_left_out_and_the_turns_go_all_the_same():
    long = user("A summary of it all. " * 200)
    _, said, out = managed(lambda messages: [messages[0], long, *messages[-3:]], TALK)
    assert out[2]["content"].startswith("[entry 1 to entry 4: 2 earlier turns")
    assert said == ["words in place of what is gone are left out: they are longer"]


@pytest.mark.parametrize("name", ["openai", "responses", "anthropic", "gemini"])
def test_a_manager_reads_openai_messages_whatever_the_api_of_the_conversation(name):
    seen = []
    window, truncator = SlidingWindowManager(5), ToolResultTruncator(100)

    def watch(messages):
        seen.append([message["role"] for message in messages])
        return ComposedManager((truncator, window)).curate(messages, session=Session())

    policy = managed_policy(Does(watch), told=pytest.fail)
    with transom.Conversation.open("memory:", "d", budget=8_000, policy=policy, dialect=name) as conv:
        for n in range(6):
            conv.append(conv.dialect.parse_user(f"question {n} " * 20))
            request = render(conv.plan_request(), name)
            assert not conv.dialect.violations(request)
            conv.append(parse(asks(f"c{n}", text="I look.")))
            conv.append(parse(answer(f"c{n}", "line\n" * 100)))
        assert seen[1] == ["user", "assistant", "tool", "user"]
        assert edits(conv, Fold)
        assert len(edits(conv, Trim)) == 5


def test_messages_are_known_when_they_are_written_anew_or_kept_from_an_earlier_call():
    plain, kept = [message for message in TALK if message["role"] in {"user", "assistant"} and message["content"]], []
    plain = [message for message in plain if "tool_calls" not in message]
    _, said, out = managed(lambda ms: [{"role": str(m["role"]), "content": m["content"]} for m in ms], plain)
    assert (out[1:], said) == (plain, [])

    def remembers(messages):
        kept.extend(messages[len(kept) :])
        return [{**m, "content": m["content"][:60]} if "tool_call_id" in m else m for m in kept]

    conv, _, first = managed(remembers, TALK)
    conv.observe(says("Three."))
    conv.user("Thanks.")
    conv.append(parse(asks("d")))
    last = conv.append(parse(answer("d", "four\n" * 40)))
    again = render(conv.plan_request())["messages"]
    assert again[: len(first)] == first
    results = [message["content"].rpartition(" [entry ")[2] for message in again if "tool_call_id" in message]
    assert results == ["2]", "3]", "7]", f"{last}]"]
