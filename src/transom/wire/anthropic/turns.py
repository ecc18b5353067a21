"""The rules between messages: calls and their results, and how a request may end.

Messages of one role that follow one another are one turn (A7, R), and the rules hold for turns.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import dropwhile
from typing import NamedTuple

from transom.wire.dialect import Violation
from transom.wire.judging import Json, dicts, text

_THOUGHTS = frozenset({"thinking", "redacted_thinking"})
_LABELLED = {"tool_use": ("assistant", "id"), "tool_result": ("user", "tool_use_id")}


class _Turn(NamedTuple):
    role: object
    blocks: list[tuple[int, Json]]
    """With the index of the message each stands in."""

    def labels(self, kind: str) -> list[tuple[int, str]]:
        """Of its calls or its results; none if somebody of this role has no such blocks."""
        role, key = _LABELLED[kind]
        return [(at, text(each, key)) for at, each in self.blocks if self.role == role and each.get("type") == kind]


def of_turns(messages: list[Json], thinking: Json) -> Iterator[Violation]:
    """A1 to A5 for every turn, A11, A12 and A14 for the last. `thinking`: the request's own setting."""
    turns = _turns(messages)
    for before, turn in zip([_Turn(None, []), *turns], [*turns, _Turn(None, [])], strict=True):
        yield from _of_results(turn, before)
        yield from _unanswered(before, turn)
    yield from _of_the_end(len(messages) - 1, turns[-1])
    if thinking.get("type") == "enabled" and len(turns) > 1:
        yield from _of_thinking(turns[-2], turns[-1])


def _turns(messages: list[Json]) -> list[_Turn]:
    turns: list[_Turn] = []
    for index, message in enumerate(messages):
        role, content = message.get("role"), message.get("content")
        if not turns or turns[-1].role != role:
            turns.append(_Turn(role, []))
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) and content else dicts(content)
        turns[-1].blocks.extend((index, block) for block in blocks)
    return turns


def _of_results(turn: _Turn, before: _Turn) -> Iterator[Violation]:
    called, seen = {label for _, label in before.labels("tool_use")}, set[str]()
    for at, label in turn.labels("tool_result"):
        if label not in called:  # A2 (D; P: openhands, "unexpected `tool_use_id` found in `tool_result` blocks")
            yield Violation("A2", at, f"no call {label!r} in the turn before it")
        elif label in seen:  # A4 (P: openhands, "each tool_use must have a single result")
            yield Violation("A4", at, f"a second result for {label!r}")
        seen.add(label)
    behind = dropwhile(lambda each: each[1].get("type") == "tool_result", turn.blocks)
    late = next((at for at, block in behind if block.get("type") == "tool_result"), None)
    if turn.role == "user" and late is not None:  # A3 (D; E: language-servers#1235; R: none of 312 accepted ones)
        yield Violation("A3", late, "a result behind other content")


def _unanswered(turn: _Turn, after: _Turn) -> Iterator[Violation]:
    calls, answered = turn.labels("tool_use"), {label for _, label in after.labels("tool_result")}
    missing, seen = dict[int, list[str]](), set[str]()
    for at, label in calls:
        if label in seen:  # A5 (D: `tool_use ids must be unique`; R: across turns they need not be)
            yield Violation("A5", at, f"two calls share the id {label!r}")
        elif label not in answered:
            missing.setdefault(at, []).append(label)
        seen.add(label)
    for at, labels in missing.items():
        # A1 (D, E: "`tool_use` ids were found without `tool_result` blocks immediately after")
        yield Violation("A1", at, f"no result for {', '.join(sorted(labels))}")


def _of_the_end(index: int, turn: _Turn) -> Iterator[Violation]:
    last = turn.blocks[-1][1] if turn.role == "assistant" and turn.blocks else {}
    if last.get("type") == "text" and text(last, "text") != text(last, "text").rstrip():
        # A11 (E: forgecode#1872, `final assistant content cannot end with trailing whitespace`)
        yield Violation("A11", index, "the model's last words end in white space")
    if last.get("type") in ("text", *_THOUGHTS):  # A12 (D); R: it may end with a provider's own tool (`pause_turn`)
        yield Violation("A12", index, "ends with the model's own words")


def _of_thinking(turn: _Turn, last: _Turn) -> Iterator[Violation]:
    """A14 (D: "Expected `thinking` or `redacted_thinking`, but found `tool_use`"), in the loop that goes on now."""
    if turn.labels("tool_use") and last.labels("tool_result"):
        at, first = turn.blocks[0]
        if first.get("type") not in _THOUGHTS:
            yield Violation("A14", at, f"thinking is enabled, and the turn begins with {first.get('type')!r}")
