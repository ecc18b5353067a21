"""Messages are counted as they are sent, also those that hold the images and files of tool results."""

from __future__ import annotations

import pytest

from oracle import check_definition
from transom.core.edit import Edit, Fold, Pin, Trim, Undo
from transom.core.message import Assistant, Call, Media, Text, ToolResult
from transom.core.reducer import apply, build_view
from transom.core.tokens import FormatCounter
from transom.testing import Entries, WordCounter, image, says, talk, user
from transom.testing.view_appearance import appearance_of
from transom.wire.openai import OPENAI_CHAT, OpenAIChatDialect
from transom.wire.rendering import render_messages

FILE = Media("file", {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,QUJD"}})
A, B = Call("call_a", "look", "{}"), Call("call_b", "look", "{}")


class Moving(FormatCounter):
    """Counts as the core does, with the message behind results, which the oracle knows too."""

    moves_media = True


def seen(at: str, *parts: Text | Media) -> ToolResult:
    return ToolResult(call=at, parts=parts or (Text("nothing"),))


def cut(entry: int, kind: str = "image", at: int = 0) -> Trim:
    return Trim(entry=entry, part=(kind, at), note="[cut]")


TURN = Assistant(parts=(Text("I look"),), calls=(A, B))
WORDS = "what do you see there " * 9
BOTH = (user(WORDS), TURN, seen(A.id, image(), image()), seen(B.id, image()))
LOGS = {
    "no media": ((user(WORDS), TURN, seen(A.id), seen(B.id)), 4),
    "an image": ((user(WORDS), TURN, seen(A.id, Text("this"), image()), seen(B.id)), 5),
    "a file": ((user(WORDS), TURN, seen(A.id), seen(B.id, FILE)), 5),
    "images in two results": (BOTH, 5),
    "an image of the user": ((user(WORDS, image()), says("nice")), 2),
    "one image is trimmed": ((*BOTH, cut(2)), 5),
    "all images are trimmed": ((*BOTH, cut(2), cut(2, at=1), cut(3)), 4),
    "and the newest comes back": ((*BOTH, cut(2), cut(2, at=1), cut(3), Undo(edit=6)), 5),
    "trimmed before another comes": ((*BOTH[:3], cut(2), cut(2, at=1), seen(B.id, image())), 5),
    "trimmed, then a text comes": ((*BOTH[:3], cut(2), cut(2, at=1), seen(B.id)), 4),
    "a file is trimmed": ((user(WORDS), TURN, seen(A.id, FILE), seen(B.id), cut(2, "file")), 4),
    "in a fold": ((*BOTH, Fold(first=0, last=1, text="[all]")), 1),
    "pinned in a fold": ((*BOTH, Pin(entry=1), Fold(first=0, last=1, text="[all]")), 5),
    "trimmed in a fold": ((*BOTH, Pin(entry=1), Fold(first=0, last=1, text="[all]"), cut(2), cut(2, at=1), cut(3)), 4),
    "a fold is undone after trims": (
        (*BOTH, Fold(first=0, last=1, text="[all]"), cut(2), cut(2, at=1), cut(3), Undo(edit=4)),
        4,
    ),
    "two turns": ((*BOTH, TURN, seen(A.id, image()), seen(B.id)), 9),
}


@pytest.mark.parametrize("name", LOGS)
def test_the_count_of_messages_is_what_is_sent(name: str) -> None:
    bodies, sent = LOGS[name]
    log = talk(*bodies)
    view = build_view(Entries(log), OPENAI_CHAT.format_counter(WordCounter()))
    assert view.total.messages == sent == len(render_messages(view, OPENAI_CHAT))
    check_definition(log, Moving(WordCounter()))
    one_by_one = build_view(Entries(log), Moving(WordCounter()), 0)
    for entry in log:
        one_by_one = apply(one_by_one, [entry])
    assert appearance_of(one_by_one) == appearance_of(build_view(Entries(log), Moving(WordCounter())))
    for edit in reversed([entry for entry in log if isinstance(entry.body, Edit) and not isinstance(entry.body, Undo)]):
        if view.refusal(Undo(edit=edit.seq)) is None:
            log = talk(*(entry.body for entry in log), Undo(edit=edit.seq))
    bare = build_view(Entries(log), OPENAI_CHAT.format_counter(WordCounter()))
    assert bare.total.messages == len(render_messages(bare, OPENAI_CHAT))


def test_a_server_that_takes_images_in_results_gets_no_message_for_them() -> None:
    dialect = OpenAIChatDialect(media_in_results=True)
    view = build_view(Entries(talk(*BOTH)), dialect.format_counter(WordCounter()))
    assert view.total.messages == 4 == len(render_messages(view, dialect))
