"""The most telling sentences of a message: rare words, nothing that was quoted before, the user's wish and question."""

from __future__ import annotations

import json

import transom
from transom.strategies.digest.key_sentences import Rarity, Worth, key_sentences
from transom.strategies.digest.passages import sentences
from transom.texts import is_record

ASKS = "Can you confirm with a yes that you would like to proceed with this change to the order?"
FACTS = [f"The refund for the {thing} is {amount} dollars." for thing, amount in (("hose", 289.73), ("lamp", 200.8))]


def shown(text, most, worth, **how):
    return [text[start:end] for start, end in key_sentences(text, most, worth, **how)]


def test_what_is_said_again_and_again_is_worth_less_than_what_is_said_once():
    messages = [f"{ASKS} {fact} Thank you for all of your patience with this order." for fact in FACTS]
    worth = Worth(Rarity([*messages, *[ASKS] * 9, *["Thank you for all of your patience with this order."] * 9]))
    assert shown(messages[0], 60, worth) == ["The refund for the hose is 289.73 dollars. "]


def test_words_that_were_quoted_are_worth_less_in_the_next_quote():
    text = "The old lamp is broken at its foot, says Mia. The new hose leaks near the tap, says Tom."
    worth = Worth(Rarity([text]))
    (first,) = shown(text, 50, worth)
    worth.quote(first)
    (second,) = shown(text, 50, worth)
    assert {first.strip(), second.strip()} == {text[:45], text[46:]}


def test_what_only_announces_comes_last():
    text = "Here are the details of the order #W2575533:\nthe skateboard costs 260.56 dollars, and it was sent today\n"
    assert shown(text, 60, Worth(Rarity([text]))) == [text.split("\n")[1] + "\n"]


def test_the_ends_of_what_the_user_says_are_worth_more():
    middle = "Orla saw 14 herons near Tuam. Finn counted 92 crates in Cork. Maeve weighs 31 stones in Sligo. "
    text = f"Please look at all of this that was said. {middle}Is there any of it that we do not have?"
    words = shown(text, 110, Worth(Rarity([text])), ends=9.0)
    assert words == ["Please look at all of this that was said. ", "Is there any of it that we do not have?"]


def test_of_a_sentence_that_is_too_long_the_beginning_is_shown():
    text = "word after word " * 20
    (beginning,) = shown(text, 60, Worth(Rarity([text])))
    assert 0 < len(beginning) <= 220
    assert text.startswith(beginning)


def test_sentences_are_the_whole_text():
    for text in (
        "",
        "Hm.",
        "One. " * 99,
        "word " * 900,
        "一。" * 300,
        "1. a thing to do\n2. another thing to do\n" * 9,
    ):
        assert "".join(text[start:end] for start, end in sentences(text)) == text
    starts = [
        start for start, _ in sentences("We do these: 1. the first thing that we do is long enough to stand alone.")
    ]
    assert starts == [0], "the number of a list ends no sentence"


def turn(at, text=None):
    call = {
        "id": f"c{at}",
        "type": "function",
        "function": {"name": "Read", "arguments": json.dumps({"path": f"/{at}"})},
    }
    yield {"role": "assistant", "content": text, "tool_calls": [call]}
    yield {"role": "tool", "tool_call_id": f"c{at}", "content": f"name_{at} = {at}\n" + "def run(): pass\n" * 40}


def record(*messages, budget=6_000):
    rest = [message for at in range(100, 160) for message in turn(at)]
    conv = transom.Conversation.from_messages([{"role": "user", "content": "Go."}, *messages, *rest], budget=budget)
    return next(m["content"] for m in conv.request()["messages"] if is_record(m["content"] or ""))


def test_long_words_beside_a_call_are_quoted_without_a_failure():
    found = "The cache is written twice: once by the importer and once by the reader, which holds no lock. " * 3
    text = record(*turn(1, "Let me look."), *turn(2, found), *turn(3, "Next."))
    assert "the reader, which holds no lock" in text
    assert "Let me look." not in text


def test_records_that_were_made_without_room_are_made_again():
    conv = transom.Conversation.open("memory:", "room", budget=6_000)
    conv.user("Begin.")
    for at in range(12):
        conv.user(f"Is the graph of part {at} right? It shows no data at all for the month of May.")
        conv.observe({"role": "assistant", "content": f"Part {at} reads the file may_{at}.csv, which is empty. " * 12})
    conv.user("x" * 9 + " data " * 30_000)
    conv.request()
    conv.observe({"role": "assistant", "content": "That is a lot."})
    conv.user("Go on.")
    conv.request()
    for at in range(12, 24):
        conv.observe({"role": "assistant", "content": f"Part {at} reads the file may_{at}.csv, which is empty. " * 12})
        conv.user(f"Is the graph of part {at} right? It shows no data at all for the month of May.")
        window = conv.request()["messages"]
    text = "\n".join(m["content"] for m in window)
    assert sum(f"part {at} right" in text for at in range(12)) >= 9
