"""The first task is all that the user says before the model's first answer, and it is in every window."""

from __future__ import annotations

from transom import Budget, Conversation
from transom.core.reducer import MOST_TASK_MESSAGES
from transom.testing import WordCounter


def opened(context: int, *said: str) -> Conversation:
    conv = Conversation.from_messages([], budget=Budget(context=context), counter=WordCounter())
    for words in said:
        conv.user(words)
    return conv


def work(conv: Conversation, turns: int) -> None:
    for number in range(turns):
        conv.request()
        call = {"id": f"c{number}", "type": "function", "function": {"name": "read", "arguments": "{}"}}
        conv.observe({"role": "assistant", "content": "I read on. " * 5, "tool_calls": [call]})
        conv.tool_result(call["id"], f"line {number} " * 60)


def shown(conv: Conversation) -> str:
    return "\n".join(str(message.get("content")) for message in conv.request()["messages"])


def test_each_message_before_the_first_answer_is_in_every_window():
    said = ("The data is in /srv/data.", "Write to /srv/out.", "Count the primes.")
    conv = opened(600, *said)
    work(conv, 20)
    conv.user("Go on.")
    work(conv, 20)
    text = shown(conv)
    assert conv.view.first_task == (0, 1, 2)
    assert [words for words in said if words not in text] == []
    assert "record of" in text  # the rest was compacted


def test_what_is_said_while_the_first_answer_is_made_is_behind_it():
    conv = opened(600, "Count.")
    conv.request()
    conv.user("The primes.")
    conv.user("Quickly.")
    assert conv.view.first_task == (0, 2, 3)  # no answer yet
    conv.observe({"role": "assistant", "content": "Ten."})
    assert (conv.view.first_task, conv.view.newest_user) == ((0,), 3)


def test_a_greeting_of_the_model_is_no_answer():
    conv = opened(600)
    conv.extend([{"role": "assistant", "content": "How can I help?"}, {"role": "user", "content": "Count."}])
    conv.user("The primes.")
    conv.observe({"role": "assistant", "content": "Ten."})
    conv.user("And now?")
    assert conv.view.first_task == (1, 2)


def test_a_task_that_is_larger_than_the_budget_is_clipped():
    conv = opened(900, *(f"file {name}: " + f"{name} has words " * 200 for name in ("one", "two", "three")))
    assert conv.window().tokens <= 900
    work(conv, 12)
    text = shown(conv)
    assert [f"file {name}: " in text for name in ("one", "two", "three")] == [True] * 3
    assert [f"whole in entry {at}" in text for at in range(3)] == [True] * 3


def test_of_many_messages_the_first_ones_are_the_task():
    conv = opened(400, *(f"Note {number} of the user is this." for number in range(40)))
    work(conv, 8)
    assert conv.view.first_task == tuple(range(MOST_TASK_MESSAGES))
    assert conv.window().tokens <= 400


def test_the_smallest_window_names_a_task_that_has_no_room_for_excerpts():
    conv = opened(70, *(f"Note {number} says what the user wants in the end." * 4 for number in range(8)))
    work(conv, 4)
    window = conv.window()
    assert window.tokens <= 70
    assert all(window.view.is_present(key) for key in window.view.first_task)
