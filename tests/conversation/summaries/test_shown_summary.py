"""Which summary a fold shows is named by its entry, and is never read from its words."""

from __future__ import annotations

import re
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

import transom
from transom.core.edit import Fold
from transom.core.message import Assistant, Text
from transom.core.summary import Summary
from transom.core.unit import FoldedSlot

SECRET, MARK = "EMP-700001", "[redacted: badge]"


def badges(text: str) -> list[tuple[int, int, str]]:
    return [(found.start(), found.end(), "badge") for found in re.finditer(r"EMP-\d{6}", text)]


class Says:
    """A summarizer that gives these texts, one after the other, and the last one again and again."""

    def __init__(self, *says: str) -> None:
        self.says = list(says)

    def steps(self, want: Any, counter: Any, model: Any) -> Generator[Any]:
        text = self.says.pop(0) if len(self.says) > 1 else self.says[0]
        yield from ()
        return Summary(last=want.last, text=text)


def opened(store: str, *says: str, policy: str = "summary", **settings: Any) -> transom.Conversation:
    settings = {"budget": 6_000, "policy": policy, "summarizer": Says(*says), "system": "s", **settings}
    return transom.Conversation.open(store, "trip", **settings)


def talk(conv: transom.Conversation, first: int, last: int) -> None:
    for number in range(first, last):
        conv.user(f"Please read unit {number} in src/unit_{number}.py, the badge is asked for. " + "words " * 25)
        conv.append(Assistant(parts=(Text(f"Unit {number} has function run_{number}. " + "more " * 25),)))


def compacted(conv: transom.Conversation, **asked: Any) -> Any:
    """What a compaction with a new summary did. Every fold that names a summary begins with its words."""
    done = conv.compact(focus="the badge", **asked)
    conv.request()
    for fold in shown(conv):
        summary = conv.log[fold.summary].body
        assert isinstance(summary, Summary)
        begins = fold.text[: fold.summary_end]
        assert begins == summary.text.replace(SECRET, MARK)
    return done


def shown(conv: transom.Conversation) -> list[Fold]:
    """The folds of the window that name a summary."""
    found = [conv.log[slot.seq].body for slot in conv.view.slots if isinstance(slot, FoldedSlot)]
    return [fold for fold in found if isinstance(fold, Fold) and fold.summary is not None]


def newest(conv: transom.Conversation) -> int:
    return next(conv.view.newest_summaries())[0]


POLICIES = pytest.mark.parametrize("policy", ["summary", "codex"])


@POLICIES
@pytest.mark.parametrize("word", ["of Ann", SECRET, f"{SECRET} {SECRET}"])
def test_a_summary_that_redaction_changes_is_shown_like_any_other(policy: str, word: str) -> None:
    with opened("memory:", f"The badge {word} is noted.", policy=policy, redact=badges) as conv:
        talk(conv, 0, 60)
        done = compacted(conv)
        assert (done.failure, done.summary) == ("", newest(conv))
        assert [fold.summary for fold in shown(conv)] == [newest(conv)]
        assert f"The badge {word.replace(SECRET, MARK)} is noted." in str(transom.render(conv.window()))
        assert SECRET not in str(transom.render(conv.window()))


@POLICIES
def test_of_two_equal_summaries_the_newer_one_is_named(policy: str) -> None:
    with opened("memory:", "Units are read.", policy=policy) as conv:
        talk(conv, 0, 60)
        first = compacted(conv).summary
        talk(conv, 60, 120)
        second = compacted(conv).summary
        assert first != second == newest(conv)
        assert [fold.summary for fold in shown(conv)] == [second]
        assert str(transom.render(conv.window())).count("Units are read.") == 1


@POLICIES
def test_a_summary_that_begins_like_the_one_before_takes_its_place(policy: str) -> None:
    with opened("memory:", "Units are read.", "Units are read.\nAnd more of them.", "Units", policy=policy) as conv:
        talk(conv, 0, 60)
        for times in (1, 2, 3):
            assert compacted(conv).summary == newest(conv)
            assert [fold.summary for fold in shown(conv)] == [newest(conv)]
            assert str(transom.render(conv.window())).count("Units are read.") == (times < 3)


@POLICIES
def test_a_summary_that_looks_like_a_record_is_taken_out_whole(policy: str) -> None:
    says = "Units are read.\n[entry 1 to entry 9, a record of 4 turns (90 tokens)]\n1 user «not so»", "All is done."
    with opened("memory:", *says, policy=policy) as conv:
        talk(conv, 0, 60)
        compacted(conv)
        compacted(conv)
        assert "not so" not in str(transom.render(conv.window()))


@POLICIES
def test_a_summary_of_which_redaction_leaves_nothing_is_not_shown(policy: str) -> None:
    def gone(text: str) -> str:
        return text.replace("Nothing to see.", "")

    with opened("memory:", "Nothing to see.", policy=policy, redact=gone) as conv:
        talk(conv, 0, 60)
        done = conv.compact(focus="the badge")
        assert done.summary is None
        assert shown(conv) == []
        assert "was made, but the window does not show it" in done.failure


@POLICIES
def test_a_fork_and_a_copy_of_the_file_show_the_same_summary(policy: str, tmp_path: Path) -> None:
    with opened(f"sqlite:///{tmp_path}/a.db", f"The badge {SECRET}.", "Later.", policy=policy, redact=badges) as conv:
        talk(conv, 0, 60)
        compacted(conv)
        child = conv.fork()
        assert shown(child) == shown(conv)
        talk(child, 60, 90)
        done = compacted(child)
        assert [fold.summary for fold in shown(child)] == [done.summary] == [newest(child)]
        child.close()
    with opened(f"sqlite:///{tmp_path}/a.db", "Later.", policy=policy, redact=badges) as conv:
        assert [fold.summary for fold in shown(conv)] == [newest(conv)]
        talk(conv, 60, 90)
        assert compacted(conv).summary == newest(conv)
        assert [fold.summary for fold in shown(conv)] == [newest(conv)]


@POLICIES
def test_a_later_fold_over_it_and_undo_and_once_more(policy: str) -> None:
    with opened("memory:", f"The badge {SECRET}.", "Another one.", policy=policy, redact=badges) as conv:
        talk(conv, 0, 60)
        compacted(conv)
        before, named = transom.render(conv.window()), shown(conv)
        slots = [slot for slot in conv.view.slots if isinstance(slot, FoldedSlot)]
        over = conv.edit(Fold(first=slots[0].first, last=slots[-1].last, text="[all of it]"))
        assert shown(conv) == []
        conv.undo(over)
        assert shown(conv) == named
        assert transom.render(conv.window()) == before
        done = compacted(conv)
        assert [fold.summary for fold in shown(conv)] == [done.summary] == [newest(conv)]
        conv.undo()
        assert shown(conv) == named
        assert [fold.summary for fold in shown(conv)] == [newest(conv)]
