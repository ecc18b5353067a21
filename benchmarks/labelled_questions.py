"""Labelled questions: recorded conversations that have them, and how much of their evidence a window has.

A conversation has them beside its messages: `{"id", "messages", "questions": [{"question", "asked_at", "answer",
"evidence", "category"}]}`. `evidence` are the positions of the messages that answer it. Each question is put at the end
of the window where it was asked, on a branch that nobody keeps: the policy does not know it before.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from transom import render
from transom.conversation.conversation import Conversation
from transom.conversation.replay import replay
from transom.core.budget import Budget
from transom.core.entry import Entry
from transom.core.log import PendingLog
from transom.core.message import Text, User
from transom.core.policy import Policy
from transom.core.reducer import apply
from transom.errors import BudgetImpossible
from transom.evaluation.grounding import NEAR, texts_of
from transom.importers import Recorded
from transom.stores import MemoryStore
from transom.tokenizer import o200k

_WORDS = re.compile(r"[^\W_]+")
_COMMON = frozenset(
    _WORDS.findall(
        "the and for are was were with that this have has had you your from they their his her she him not but what "
        "when where who why how all can will would could should there here been being about into than then them our "
        "out its did does just like more some"
    )
)
"""Words of an answer that carry no meaning."""


class Asked(NamedTuple):
    """A question with its known answer, asked after the first `at` messages."""

    text: str
    at: int
    answer: str
    evidence: tuple[int, ...]
    category: str


def questions_in(path: Path) -> dict[str, list[Asked]]:
    """The questions of each conversation of a packed file that have an answer and evidence, by its id."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return {body["id"]: list(_questions(body)) for body in map(json.loads, lines)}


def _questions(body: dict[str, Any]) -> Iterator[Asked]:
    for one in body.get("questions") or ():
        at = one.get("asked_at")
        at = len(body["messages"]) if at is None else at
        evidence = tuple(place for place in one.get("evidence") or () if isinstance(place, int) and 0 <= place < at)
        if one.get("answer") is not None and evidence:
            yield Asked(one["question"], at, str(one["answer"]), evidence, one.get("category") or "")


def evidence_found(record: Recorded, questions: Sequence[Asked], policy: Policy, budget: int) -> list[float]:
    """Of each question, in the order in which they are asked: the usable share of its evidence; 0 where no window
    fits."""
    head, facts = record.facts()
    conversation = Conversation(
        MemoryStore().open(record.id), budget=Budget(context=budget), policy=policy, counter=o200k(), system=head
    )
    waiting, found = sorted(questions, key=lambda one: one.at), list[float]()

    def ask_until(at: float) -> None:
        while len(found) < len(waiting) and waiting[len(found)].at <= at:
            one = waiting[len(found)]
            evidence = ["\n".join(texts_of(record.messages[place])) for place in one.evidence]
            found.append(usable(evidence, one.answer, _texts_when_asked(conversation, one.text)))

    def asking() -> Iterator[Any]:
        for at, fact in facts:
            ask_until(at)
            yield at, fact

    for _ in replay(conversation, asking(), injected=record.injected_in(facts)):
        pass
    ask_until(float("inf"))
    return found


def _texts_when_asked(conversation: Conversation, question: str) -> list[str]:
    """The texts of the window in which a question is asked; none if it is refused."""
    view, ahead = conversation.view, list[Entry]()
    branch = view.with_log(PendingLog(view.log, ahead))
    entry = branch.entry(User(parts=(Text(question),)), 0.0)
    ahead.append(entry)
    try:
        window = conversation.window(view=apply(branch, (entry,)))
    except BudgetImpossible:
        return []
    return [text for message in render(window)["messages"] for text in texts_of(message)]


def usable(evidence: Sequence[str], answer: str, window: Sequence[str]) -> float:
    """The share of the evidence (texts of earlier messages) from which the window lets the model give `answer`.

    A window shows of a text its spans of at least 40 characters, or all of it. The text counts if what is shown of it
    has every word of the answer that the text has (words of 3 letters or more that carry meaning, and numbers). If the
    text has no such word, it counts if at least half of it is shown.
    """
    shingles = {text[at : at + NEAR] for text in window for at in range(len(text) - NEAR + 1)}
    return sum(_tells(text, answer, window, shingles) for text in evidence) / len(evidence)


def _tells(text: str, answer: str, window: Sequence[str], shingles: set[str]) -> bool:
    shown = bytearray([any(text in other for other in window)]) * len(text)
    for at in range(len(text) - NEAR + 1):
        if text[at : at + NEAR] in shingles:
            shown[at : at + NEAR] = b"\1" * NEAR
    if needed := (_words(answer) - _COMMON) & _words(text):
        return needed <= _words("".join(char if on else " " for char, on in zip(text, shown, strict=True)))
    return 2 * sum(shown) >= len(text)


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORDS.findall(text) if len(word) >= 3 or word.isdigit()}
