"""Long messages in a record: an outline keeps each wish and each option; what a program wrote ends with its result."""

from __future__ import annotations

import json

import pytest

import transom
from transom.strategies.digest.key_sentences import Rarity, Worth
from transom.strategies.digest.message_outline import outline
from transom.texts import is_record

WISHES = "\n".join(
    [
        "I understand, thank you. Is there any way you could:",
        *(f"- apply the {word} to this order, because it was promised to me on the phone" for word in ("credit", "x")),
        "",
        "```",
        "code = 1",
        "```",
        "---",
        "If none of this is possible, I keep the order. " + "Thank you for all of your time. " * 9,
    ]
)


def shown(text, most, **how):
    return [text[start:end] for start, end in outline(text, most, Worth(Rarity([text])), **how)]


def test_each_wish_of_a_list_is_kept_and_code_is_not():
    lines = shown(WISHES, 330)
    assert lines[0] == "I understand, thank you. Is there any way you could:\n"
    assert lines[1].startswith("- apply the credit to this order")
    assert lines[2].startswith("- apply the x to this order")
    assert lines[3].startswith("If none of this is possible, I keep the order.")
    assert len(lines) == 4


def test_a_line_is_not_cut_within_a_word():
    paths = "\n".join(f"See /home/coder/.claude/plugins/cache/market/{at}/{'abcdefghij' * 9}/skill" for at in range(9))
    for line in shown(paths, 200):
        assert line[-1] == "/" or not line[-1].isalnum(), line


@pytest.mark.parametrize("most", [60, 100, 200, 400, 900])
def test_an_outline_has_about_so_many_characters(most):
    text = "\n".join(f"{at}. " + "words of a line that goes on " * 9 for at in range(40))
    lines = shown(text, most)
    assert sum(map(len, lines)) <= max(most, 2 * 60 + 2)
    assert lines[0].startswith("0. words")


def test_an_outline_from_the_end_has_the_last_items():
    text = "Options\n" + "\n".join(f"{at}. do the thing number {at}, which takes long" for at in range(40)) + "\nWhich?"
    first, *items, last = shown(text, 200, reply="Go on")
    assert (first, last) == ("Options\n", "Which?")
    assert items[-1].startswith("39. do")
    assert [int(one.split(".")[0]) for one in items] == list(range(40 - len(items), 40))


@pytest.mark.parametrize("mark", ["{}.", "({})", "**{})**", "- **Option {}:**"])
@pytest.mark.parametrize("reply", ["c", "C, please", "a or C"])
def test_the_items_that_a_reply_names_come_first(mark, reply):
    options = [f"{mark.format(letter)} The {letter} way. " + "It has its price. " * 4 for letter in "ABCDEFGH"]
    text = "Which one?\n" + "\n".join(options) + "\nTell me."
    lines = shown(text, 120, reply=reply)
    named = {one for one in "ABCDEFGH" if any(f"The {one} way." in line for line in lines)}
    assert named >= ({"A", "C"} if "or" in reply else {"C"})


def test_a_line_that_only_announces_code_is_left_out():
    text = "Committed.\nIt went well.\nCurrent state:\n```\nM README.md\n```\nIn short:\nall done."
    assert shown(text, 400) == ["Committed.\n", "It went well.\n", "In short:\n", "all done."]


def test_a_paragraph_has_no_outline():
    assert outline("One sentence. " * 90, 100, Worth(Rarity([]))) is None


def turn(at):
    args = json.dumps({"file_path": f"/app/src/module_{at}.py"})
    call = {"id": f"c{at}", "type": "function", "function": {"name": "Read", "arguments": args}}
    yield {"role": "assistant", "content": None, "tool_calls": [call]}
    yield {"role": "tool", "tool_call_id": f"c{at}", "content": f"name_{at} = value_{at}\n" + "def run(): pass\n" * 40}


def record(*messages):
    rest = [message for at in range(60) for message in turn(at)]
    conv = transom.Conversation.from_messages([{"role": "user", "content": "Go."}, *messages, *rest], budget=6_000)
    return next(m["content"] for m in conv.request()["messages"] if is_record(m["content"] or ""))


def test_the_options_that_a_user_chooses_from_are_in_the_record():
    options = "I looked at all of it. " * 40 + "\n\nWe can:\n\n1. Stay on version 5.\n2. Take the alpha of version 6.\n"
    text = record({"role": "assistant", "content": options}, {"role": "user", "content": "2"})
    assert "1. Stay on version 5." in text
    assert "2. Take the alpha of version 6." in text


def test_of_a_pasted_test_run_the_record_has_its_result():
    output = (
        "<bash-stdout>" + "".join(f"test_{at}.py PASSED\n" for at in range(90)) + "3 failed, 87 passed</bash-stdout>"
    )
    text = record({"role": "user", "content": output}, {"role": "user", "content": "Some fail."})
    assert "3 failed, 87 passed" in text
    assert "test_0.py PASSED" not in text


REVIEW = """## Review of the change

**Verdict: approve, the merged result is correct.**

I can see two issues:

1. The summary is treated as a message of its own and so gets a session that nobody asked for, in all of the templates.
2. Sessions are never closed when the file ends early, which leaves the handle open until the process ends, at times.

Some more words about the history of the code, which was written long ago by several people in a hurry, as it seems.

Let me fix these issues:
"""


@pytest.mark.parametrize("most", [120, 200, 300, 400])
def test_a_verdict_comes_first_and_an_announcement_not_without_what_it_announces(most):
    found = "".join(shown(REVIEW, most))
    assert "**Verdict: approve, the merged result is correct.**" in found
    assert "Let me fix these issues" not in found
    assert "I can see two issues" not in found or "1. The summary" in found


def test_what_takes_the_place_of_an_announcement_is_no_announcement_either():
    assert shown("beta.\ngamma:\nbeta:\nbeta beta:", 20) == ["beta.\n"]
