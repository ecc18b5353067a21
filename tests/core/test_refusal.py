"""The one predicate: every reason for which an edit does not apply, and that it then changes nothing."""

from __future__ import annotations

import pytest

from transom.core.edit import Edit, Fold, Pin, Trim, Undo
from transom.core.entry import Sent
from transom.core.reducer import apply, build_view
from transom.core.view import View
from transom.testing import Entries, WordCounter, call, hidden, image, result, says, talk, user

LONG = "a message with words enough to be worth something " * 5
LOG = talk(
    LONG,  # 0
    says("", call("sh", '{"cmd": "cat a long file name.txt"}'), thought="hm"),  # 1
    result("output " * 40),  # 2
    hidden("aside"),  # 3
    user(LONG, image("data:" + "A" * 100)),  # 4
    Fold(first=0, last=1, text="[folded]"),  # 5
    Undo(edit=5),  # 6
    Pin(entry=4),  # 7
    Sent(fingerprint="0", limit=9, tokens=9, messages=3),  # 8
    LONG,  # 9
    says("", call("sh"), thought="hm"),  # 10
)
ODD = Trim(entry=1, part=("args", 0), note="{")


def view() -> View:
    return build_view(Entries(LOG), WordCounter())


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        (Fold(first=0, last=2, text="[x]"), "no visible slots from 0 to 2"),
        (Fold(first=2, last=4, text="[x]"), "no visible slots from 2 to 4"),
        (Fold(first=4, last=0, text="[x]"), "no visible slots from 4 to 0"),
        (Fold(first=-1, last=0, text="[x]"), "no visible slots from -1 to 0"),
        (Fold(first=0, last=99, text="[x]"), "no visible slots from 0 to 99"),
        (Fold(first=0, last=1, text=" \n"), "a fold must show a text"),
        (Fold(first=0, last=9, text="[x]"), "its end 9 is not before the request in flight, 8"),
        (Fold(first=0, last=0, text="y" * 250), "it would add 0 bytes"),
        (Fold(first=0, last=0, text="y" * 251), "it would add 1 bytes"),
        (Fold(first=4, last=4, text="[x]"), "it would add 35 bytes"),
        (
            Trim(entry=3, part=("text", 0), note="[x]"),
            "entry 3 is no message, tool result or note that a window can have",
        ),
        (
            Trim(entry=5, part=("text", 0), note="[x]"),
            "entry 5 is no message, tool result or note that a window can have",
        ),
        (Trim(entry=99, part=("text", 0), note="[x]"), "there is no entry 99 in this log: its entries are 0 to 10"),
        (Trim(entry=-1, part=("text", 0), note="[x]"), "there is no entry -1 in this log: its entries are 0 to 10"),
        (Trim(entry=0, part=("text", 1), note="[x]"), "entry 0 has no part text[1]"),
        (Trim(entry=1, part=("args", 0), keep=((0, 1),), note="{}"), "only a text keeps spans, not args"),
        (Trim(entry=4, part=("image", 0)), "image needs a note in its place"),
        (Trim(entry=0, part=("text", 0), note="  "), "nothing would be shown of a text"),
        (Trim(entry=1, part=("args", 0), note="{"), "the note in place of arguments must be JSON"),
        (Trim(entry=0, part=("text", 0), keep=((3, 3),)), "spans must be rising and apart"),
        (Trim(entry=0, part=("text", 0), keep=((0, 3), (3, 5))), "spans must be rising and apart"),
        (Trim(entry=0, part=("text", 0), keep=((-2, 3),)), "spans reach beyond the text of 250 characters"),
        (Trim(entry=0, part=("text", 0), keep=((0, 251),)), "spans reach beyond the text of 250 characters"),
        (Trim(entry=0, part=("text", 0), keep=((0, 250),)), "it would not be shorter"),
        (Trim(entry=0, part=("text", 0), note="y" * 250), "it would not be shorter"),
        (Trim(entry=10, part=("reasoning", 0)), "this turn is at work: its reasoning stays with its calls"),
        (Pin(entry=3), "entry 3 is no message, tool result or note that a window can have"),
        (Pin(entry=99), "there is no entry 99 in this log: its entries are 0 to 10"),
        (Undo(edit=5), "entry 5 is no live edit"),
        (Undo(edit=6), "entry 6 is no live edit"),
        (Undo(edit=0), "entry 0 is no live edit"),
        (Undo(edit=99), "there is no entry 99 in this log: its entries are 0 to 10"),
    ],
)
def test_an_edit_that_does_not_apply_says_why_and_is_inert(edit: Edit, why: str) -> None:
    before = view()
    assert before.refusal(edit) == why
    after = apply(before.with_log(Entries(talk(edit, after=LOG))), talk(edit, after=LOG)[-1:])
    assert (after.total, after.fingerprint(), after.first_break) == (
        before.total,
        before.fingerprint(),
        before.first_break,
    )


def test_a_unit_that_is_open_is_not_folded() -> None:
    log = talk(LONG, call("sh"), LONG)
    edit = Fold(first=0, last=2, text="[x]")
    assert build_view(Entries(log), WordCounter()).refusal(edit) == "a unit in it is open"


@pytest.mark.parametrize(
    "edit",
    [
        Fold(first=0, last=4, text="[x]"),
        Fold(first=0, last=0, text="y" * 249),
        Trim(entry=2, part=("text", 0), keep=((0, 5), (9, 20)), note="[x]"),
        Trim(entry=1, part=("args", 0), note="{}"),
        Trim(entry=4, part=("image", 0), note="[image]"),
        Trim(entry=1, part=("reasoning", 0)),
        Pin(entry=2),
        Undo(edit=7),
    ],
)
def test_an_edit_that_applies(edit: Edit) -> None:
    assert view().refusal(edit) is None
