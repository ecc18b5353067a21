"""What a window still holds of what the next step needs: small cases, counted by hand."""

from __future__ import annotations

import time

import pytest

from transom.evaluation.grounding import Grounding, History, grounding, identifiers, texts_of

NAME = "src/app/main.py"
LEFT, RIGHT = "l " * 200, " r" * 200
TEXT = LEFT + NAME + RIGHT


def user(text):
    return {"role": "user", "content": text}


def said(text):
    return {"role": "assistant", "content": text}


def history(*messages, tokens=100):
    """Each message is so many tokens."""
    found = History()
    for number, message in enumerate(messages, start=1):
        found.add(message, number * tokens)
    return found


def found(window, *, text=TEXT, reply=NAME):
    """Needed, present, wide, for one text of the history and the texts of a window."""
    it = grounding(history(user(text)), window, said(reply), 100, 1_000)
    return it.needed, it.present, it.wide


def cut(before, after):
    """The name with so many characters before and after it, as they stood."""
    return "|" + LEFT[len(LEFT) - before :] + NAME + RIGHT[:after] + "|"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("see https://a.example/x?y=1) now", ["https://a.example/x?y=1"]),
        ("open ./src/app.py, then ~/notes/a", ["./src/app.py", "~/notes/a"]),
        ("os.path and my_name or MyName", ["os.path", "my_name", "MyName"]),
        ("in 2024, 123 times, id 7f3a9c", ["2024", "7f3a9c"]),
        ('she said "not now" and left', ["not now"]),
        ("plain words, nothing else", []),
        ("twice.py twice.py", ["twice.py"]),
    ],
)
def test_identifiers(text, names):
    assert identifiers([text]) == names


LONGEST = "a/" * 99 + "bc"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (LONGEST, [LONGEST]),
        (LONGEST + "c", []),
        ("a.py " + "x" * 201 + " src/b.py", ["a.py", "src/b.py"]),
        ("at https://a.example/" + "x" * 300 + "/?q=" + "y" * 300 + ", c.py", ["https", "c.py"]),
        (r"one\nhttps://a.example/x", ["https://a.example/x"]),
    ],
)
def test_a_long_run_names_nothing_but_a_url(text, names):
    found = identifiers([text])
    assert [name.partition("://")[0] if len(name) > 200 else name for name in found] == names


@pytest.mark.parametrize("run", ["a", "a-", "a.", "a1-", "-", "_", "1", "nhttps:/"])
def test_identifiers_are_found_in_linear_time(run):
    begun = time.process_time()
    identifiers([run * (1_000_000 // len(run))])
    assert time.process_time() - begun < 8, "what is quadratic takes minutes"


def test_a_message_says_its_texts_and_the_values_of_its_arguments():
    calls = [{"function": {"name": "f", "arguments": '{"a": ["x", 1, true, null], "b": {"c": "y"}}'}}]
    content = [{"type": "text", "text": "one"}, {"type": "image_url", "image_url": {"url": "u"}}]
    message = {"role": "assistant", "content": content, "tool_calls": calls}
    assert list(texts_of(message)) == ["one", "x", "1", "y"]
    assert list(texts_of({"function_call": {"name": "f", "arguments": "{not json"}})) == ["{not json"]
    assert list(texts_of({"function_call": {"name": "f", "arguments": {"a": 2}}})) == ["2"], "as some write them"


@pytest.mark.parametrize(
    ("window", "counts"),
    [
        ([TEXT], (1, 1, 1)),
        ([], (1, 0, 0)),
        ([NAME], (1, 0, 0)),
        ([cut(40, 40)], (1, 1, 0)),
        ([cut(39, 80)], (1, 0, 0)),
        ([cut(80, 39)], (1, 0, 0)),
        ([cut(112, 112)], (1, 1, 0)),
        ([cut(112, 113)], (1, 1, 1)),
        ([cut(39, 200), cut(200, 39), cut(60, 60)], (1, 1, 0)),
    ],
)
def test_a_name_is_present_with_its_surroundings(window, counts):
    assert len(NAME) + 112 + 113 == 240
    assert found(window) == counts


def test_up_to_the_edge_of_a_text_is_enough():
    assert found(["new: " + NAME + " is it"], text=NAME + " is it") == (1, 1, 1), "all of a short text is wide"
    assert found([NAME + RIGHT[:40] + "."], text=NAME + RIGHT) == (1, 1, 0)
    assert found([NAME + RIGHT[:39] + "."], text=NAME + RIGHT) == (1, 0, 0)


def test_any_place_where_it_stood_will_do():
    both = history(user("other " * 20 + NAME + " other" * 20), user(TEXT))
    assert grounding(both, [cut(50, 50)], said(NAME), 200, 1_000).present == 1


def test_a_part_of_a_longer_name_is_not_the_name():
    assert found([f"x{TEXT}"], text="order 12345678 is late", reply="1234") == (0, 0, 0)
    assert found(["12345 and so on"], text="12345", reply="12345") == (1, 1, 1)
    assert found(["123456 and so on"], text="12345", reply="12345") == (1, 0, 0)


def test_what_was_never_said_is_not_needed():
    assert found([TEXT], reply="brand/new/file.py") == (0, 0, 0)


@pytest.mark.parametrize(("budget", "far"), [(200, 0), (199, 1)])
def test_far_is_further_back_than_the_budget(budget, far):
    past = history(user(TEXT), user("a"), user("b"))
    expected = Grounding(needed=1, present=1, wide=1, far_needed=far, far_present=far, far_wide=far)
    assert grounding(past, [TEXT], said(NAME), 300, budget) == expected


def test_a_later_mention_brings_it_near():
    past = history(user(TEXT), user("a"), user(f"again {NAME}"))
    assert grounding(past, [], said(NAME), 300, 100) == Grounding(needed=1)


def test_what_stands_in_the_head_is_never_far():
    late = {"role": "system", "content": TEXT}
    head = history({"role": "developer", "content": "a"}, late, user("b"), user("c"))
    assert grounding(head, [TEXT], said(NAME), 400, 10) == Grounding(needed=1, present=1, wide=1)
    after = history(user("b"), late, user("c"))
    assert grounding(after, [], said(NAME), 300, 10) == Grounding(needed=1, far_needed=1)


def test_it_adds_up():
    one = Grounding(needed=4, present=3, wide=2, far_needed=2, far_present=1)
    both = one.plus(Grounding(needed=4, present=1, far_needed=2, far_present=2, far_wide=1))
    assert both == Grounding(needed=8, present=4, wide=2, far_needed=4, far_present=3, far_wide=1)
    assert both.shares == (0.5, 0.75, 0.25)
    assert Grounding().shares == (None, None, None)
