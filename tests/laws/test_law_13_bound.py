"""Law 13, case by case: bound reasoning shows only on the prefix it was made on."""

from __future__ import annotations

import pytest
from log_laws import check_all_undone
from msgspec.structs import replace

from oracle import check_definition
from transom.core.edit import Edit, Fold, Pin, Trim, Undo
from transom.core.entry import Meta, Sent
from transom.core.message import REASONING_REFUSED, Assistant, Failure, Head, Instruction, Reasoning, Text, User
from transom.core.reducer import build_view
from transom.testing import says, talk
from transom.testing.fakes import Entries
from transom.testing.random_logs import COUNTER, LogBuilder, Step, write_log
from transom.testing.view_appearance import appearance_of


def conversation(*, sent: bool = True) -> LogBuilder:
    """0: the user, 1: the request, 2: a reply with bound reasoning, 3: the user again."""
    builder = LogBuilder()
    builder.append(User(parts=(Text("a task with many words " * 9),)))
    if sent:
        builder.append(Sent(fingerprint=builder.view.fingerprint(), limit=100, tokens=1, messages=1))
    reply = says("well", thought="bound to what I saw", bound=True, answers=1 if sent else None)
    for entry in talk(reply, "go on " * 40, after=builder.log)[len(builder.log) :]:
        builder.append(entry.body)
    return builder


def visible_reasoning(builder: LogBuilder) -> list[str]:
    facts = [fact for unit in builder.view.visible_units() for fact in unit.shown_facts()]
    return [thought.text for fact in facts if isinstance(fact, Assistant) for thought in fact.reasoning]


def test_it_hides_when_its_prefix_is_trimmed_and_comes_back_with_the_undo() -> None:
    builder = conversation()
    whole = builder.view.total
    assert visible_reasoning(builder) == ["bound to what I saw"]
    builder.append(Trim(entry=0, part=("text", 0), note="[cut]"))
    assert visible_reasoning(builder) == []
    builder.append(Undo(edit=4))
    assert visible_reasoning(builder) == ["bound to what I saw"]
    assert builder.view.total == whole


def test_what_changes_behind_it_does_not_matter() -> None:
    builder = conversation()
    builder.append(Trim(entry=3, part=("text", 0), note="[cut]"))
    assert visible_reasoning(builder) == ["bound to what I saw"]


def test_a_new_head_hides_it() -> None:
    builder = conversation()
    builder.append(Head(messages=(Instruction(parts=(Text("be brief"),)),)))
    assert visible_reasoning(builder) == []


def test_a_pinned_turn_that_surfaces_out_of_a_fold_has_lost_its_prefix() -> None:
    for pin_first in (True, False):
        builder = conversation()
        edits = [Pin(entry=2), Fold(first=0, last=3, text="[folded]")]
        for edit in edits if pin_first else reversed(edits):
            builder.append(edit)
        assert [unit.key for unit in builder.view.visible_units()] == [1]
        assert visible_reasoning(builder) == []
        builder.append(Undo(edit=5 if pin_first else 4))
        assert visible_reasoning(builder) == ["bound to what I saw"]


def test_in_a_log_nobody_sent_from_it_is_bound_to_what_stood_before_it() -> None:
    builder = conversation(sent=False)
    assert visible_reasoning(builder) == ["bound to what I saw"]
    builder.append(Fold(first=0, last=0, text="[folded]"))
    assert visible_reasoning(builder) == []


def test_an_answer_to_a_request_that_is_not_in_flight_was_made_on_another_window() -> None:
    builder = conversation()
    for entry in talk(says("again", thought="late", bound=True, answers=1), after=builder.log)[len(builder.log) :]:
        builder.append(entry.body)
    assert visible_reasoning(builder) == ["bound to what I saw"]


def test_what_a_fold_saves_does_not_depend_on_how_entries_are_chunked() -> None:
    builder = conversation()
    tight = "x" * 10  # saves bytes only as long as the reasoning shows
    builder.append(Trim(entry=0, part=("text", 0), note="[cut]"))
    builder.append(Fold(first=1, last=1, text=tight))
    assert appearance_of(build_view(Entries(builder.log), COUNTER)) == appearance_of(builder.view)
    assert [unit.key for unit in builder.view.visible_units()] == [0, 1, 3]


def prompt(text: str, **fields: object) -> Head:
    """A system prompt. `fields`: what its text has beside the text."""
    return Head(messages=(Instruction(parts=(Text(text, fields or None),), shape="parts"),))


def test_cache_marks_of_the_head_may_move() -> None:
    builder = LogBuilder([])
    builder.append(prompt("be brief", cache_control={"type": "ephemeral"}))
    for body in conversation().log[:1]:
        builder.append(body.body)
    builder.append(Sent(fingerprint=builder.view.fingerprint(), limit=100, tokens=1, messages=1))
    builder.append(Assistant(parts=(Text("well"),), reasoning=(Reasoning("hm", bound=True),), answers=2))
    for head in (prompt("be brief"), prompt("be brief", cache_control={"type": "ephemeral", "ttl": "1h"})):
        builder.append(head)
        assert visible_reasoning(builder) == ["hm"]
    builder.append(prompt("be polite"))
    assert visible_reasoning(builder) == []


def test_the_first_head_was_there_when_turns_were_made_elsewhere() -> None:
    builder = conversation(sent=False)
    builder.append(prompt("be brief"))
    assert visible_reasoning(builder) == ["bound to what I saw"]
    builder.append(Trim(entry=0, part=("text", 0), note="[cut]"))
    assert visible_reasoning(builder) == []
    builder = conversation(sent=False)
    builder.append(Trim(entry=0, part=("text", 0), note="[cut]"))
    builder.append(prompt("be brief"))
    assert visible_reasoning(builder) == [], "what was stale does not come back"


def test_what_is_made_elsewhere_was_made_on_the_whole_list() -> None:
    builder = conversation(sent=False)
    builder.append(Fold(first=0, last=1, text="[folded]"))
    builder.append(Assistant(parts=(Text("so"),), reasoning=(Reasoning("on the whole list", bound=True),)))
    assert visible_reasoning(builder) == []
    builder.append(Sent(fingerprint=builder.view.fingerprint(), limit=100, tokens=1, messages=1))
    turn = Assistant(parts=(Text("so"),), reasoning=(Reasoning("read", bound=True),), answers=len(builder.log) - 1)
    read = LogBuilder(builder.log)
    read.append(turn)
    assert visible_reasoning(read) == ["read"], "it answers our request"
    again = LogBuilder(builder.log)
    again.log.append(replace(read.log[-1], meta=Meta(source=7)))
    again.view = build_view(Entries(again.log), COUNTER)
    assert visible_reasoning(again) == [], "it came in a list: nobody knows what was sent"


def refusable() -> LogBuilder:
    """0: the user, 1: a turn with bound reasoning, 2: the user, 3, 4: turns with free and with bound reasoning."""
    builder = LogBuilder()
    builder.append(User(parts=(Text("a task"),)))
    builder.append(Assistant(parts=(Text("a"),), reasoning=(Reasoning("first", bound=True),)))
    builder.append(User(parts=(Text("go on"),)))
    builder.append(Assistant(parts=(Text("b"),), reasoning=(Reasoning("free"),)))
    builder.append(Assistant(parts=(Text("c"),), reasoning=(Reasoning("last", bound=True),)))
    return builder


def test_a_refusal_hides_what_is_before_the_newest_user_message_and_what_is_bound_behind_it() -> None:
    builder = refusable()
    before = builder.view.total
    assert visible_reasoning(builder) == ["first", "free", "last"]
    builder.append(Failure(failure=REASONING_REFUSED))
    assert visible_reasoning(builder) == ["free"]
    assert builder.view.total.bytes < before.bytes
    builder.append(Failure(failure=REASONING_REFUSED))
    assert visible_reasoning(builder) == [], "there is none left before it: so all of it"
    assert appearance_of(build_view(Entries(builder.log), COUNTER)) == appearance_of(builder.view)
    check_definition(builder.log)


def test_another_failure_hides_nothing() -> None:
    builder = refusable()
    builder.append(Failure(failure="bad_request"))
    assert visible_reasoning(builder) == ["first", "free", "last"]


HIDES = {
    "a fold": [Fold(first=0, last=2, text="[folded]")],
    "a fold in a fold": [Fold(first=0, last=1, text="[folded]"), Fold(first=0, last=2, text="[all]")],
    "a fold with a pinned turn": [Pin(entry=1), Fold(first=0, last=2, text="[folded]")],
    "a fold with a pinned turn that its text carries": [
        Pin(entry=1),
        Fold(first=0, last=2, text="[folded]", excerpted=(1,)),
    ],
    "a trim of the reasoning": [Trim(entry=1, part=("reasoning", 0))],
    "a trim before bound reasoning": [Trim(entry=0, part=("text", 0), note="[cut]")],
    "a fold of everything": [Fold(first=0, last=4, text="[all]")],
}


@pytest.mark.parametrize("bound", [False, True], ids=["free", "bound"])
@pytest.mark.parametrize("hides", HIDES)
def test_a_refusal_does_not_depend_on_edits(hides: str, *, bound: bool) -> None:
    """0: the user, 1: a turn, 2: the user, 3, 4: turns; then edits, a refusal, and everything undone."""
    builder = LogBuilder()
    builder.append(User(parts=(Text("a task with many words " * 9),)))
    builder.append(Assistant(parts=(Text("a"),), reasoning=(Reasoning("first", bound=bound),)))
    builder.append(User(parts=(Text("go on"),)))
    builder.append(Assistant(parts=(Text("b"),), reasoning=(Reasoning("free"),)))
    builder.append(Assistant(parts=(Text("c"),), reasoning=(Reasoning("last", bound=bound),)))
    for edit in HIDES[hides]:
        assert builder.view.refusal(edit) is None
        builder.append(edit)
    builder.append(Failure(failure=REASONING_REFUSED))
    check_all_undone(builder.log)
    for edit in reversed([entry for entry in builder.log if isinstance(entry.body, Edit)]):
        builder.append(Undo(edit=edit.seq))
    assert visible_reasoning(builder) == (["free"] if bound else ["free", "last"])
    check_definition(builder.log)
    assert appearance_of(build_view(Entries(builder.log), COUNTER)) == appearance_of(builder.view)


def test_a_refused_turn_in_a_fold_stays_without_its_reasoning_when_the_fold_is_undone() -> None:
    log = write_log([Step("user"), Step("user"), Step("reply"), Step("fold"), Step("other", c=5)])
    assert isinstance(log[-1].body, Failure)
    check_all_undone(log)
    check_definition(log)
