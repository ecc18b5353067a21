"""The rules between messages: calls and their results, and how a request may end.

Messages of one role that follow one another are one turn (A7, R), and the rules hold for turns.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, cast

from transom.wire.dialect import Violation

Json = dict[str, Any]

_WORDS = frozenset({"text", "thinking", "redacted_thinking"})
_THOUGHTS = frozenset({"thinking", "redacted_thinking"})


class _Turn(NamedTuple):
    role: object
    blocks: list[tuple[int, Json]]
    """With the index of the message each stands in."""


def of_turns(messages: list[Json], thinking: Json) -> Iterator[Violation]:
    """A1 to A5 for every turn, A11, A12 and A14 for the last. `thinking`: the request's own setting."""
    turns = _turns(messages)
    before = _Turn(None, [])
    for turn in turns:
        yield from _of_results(turn, before)
        yield from _unanswered(before, turn)
        yield from _of_calls(turn)
        before = turn
    yield from _unanswered(before, _Turn(None, []))
    yield from _of_the_end(len(messages) - 1, turns[-1])
    if thinking.get("type") == "enabled" and len(turns) > 1:
        yield from _of_thinking(turns[-2], turns[-1])


def _turns(messages: list[Json]) -> list[_Turn]:
    turns: list[_Turn] = []
    for index, message in enumerate(messages):
        role = message.get("role")
        if not turns or turns[-1].role != role:
            turns.append(_Turn(role, []))
        turns[-1].blocks.extend((index, block) for block in _blocks(message.get("content")))
    return turns


def _blocks(content: object) -> list[Json]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    items = cast("list[object]", content) if isinstance(content, list) else []
    return [cast("Json", item) if isinstance(item, dict) else {} for item in items]


def _calls(turn: _Turn) -> list[tuple[int, str]]:
    if turn.role != "assistant":
        return []
    calls = [(at, block.get("id")) for at, block in turn.blocks if block.get("type") == "tool_use"]
    return [(at, label) for at, label in calls if isinstance(label, str)]


def _results(turn: _Turn) -> list[tuple[int, object]]:
    if turn.role != "user":
        return []
    return [(at, block.get("tool_use_id")) for at, block in turn.blocks if block.get("type") == "tool_result"]


def _of_calls(turn: _Turn) -> Iterator[Violation]:
    seen = set[str]()
    for at, label in _calls(turn):
        if label in seen:  # A5 (D: `tool_use ids must be unique`; R: across turns they need not be)
            yield Violation("A5", at, f"two calls share the id {label!r}")
        seen.add(label)


def _of_results(turn: _Turn, before: _Turn) -> Iterator[Violation]:
    called, seen = {label for _, label in _calls(before)}, set[str]()
    for at, label in _results(turn):
        if not isinstance(label, str) or label not in called:
            # A2 (D; P: openhands, "unexpected `tool_use_id` found in `tool_result` blocks")
            yield Violation("A2", at, f"no call {label!r} in the turn before it")
        elif label in seen:  # A4 (P: openhands, "each tool_use must have a single result")
            yield Violation("A4", at, f"a second result for {label!r}")
        else:
            seen.add(label)
    if turn.role == "user":
        other = False
        for at, block in turn.blocks:
            if block.get("type") != "tool_result":
                other = True
            elif other:  # A3 (D; E: language-servers#1235; R: none of 312 accepted ones)
                yield Violation("A3", at, "a result behind other content")
                break


def _unanswered(turn: _Turn, after: _Turn) -> Iterator[Violation]:
    answered = {label for _, label in _results(after) if isinstance(label, str)}
    missing = sorted({(at, label) for at, label in _calls(turn) if label not in answered})
    for at in sorted({at for at, _ in missing}):
        # A1 (D, E: "`tool_use` ids were found without `tool_result` blocks immediately after")
        yield Violation("A1", at, f"no result for {', '.join(label for where, label in missing if where == at)}")


def _of_the_end(index: int, turn: _Turn) -> Iterator[Violation]:
    if turn.role != "assistant" or not turn.blocks:
        return
    last = turn.blocks[-1][1]
    text = last.get("text")
    if last.get("type") == "text" and isinstance(text, str) and text != text.rstrip():
        # A11 (E: forgecode#1872, `final assistant content cannot end with trailing whitespace`)
        yield Violation("A11", index, "the model's last words end in white space")
    if last.get("type") in _WORDS:  # A12 (D); R: it may end with what the provider's tools do (`pause_turn`)
        yield Violation("A12", index, "ends with the model's own words")


def _of_thinking(turn: _Turn, last: _Turn) -> Iterator[Violation]:
    """A14 (D: "Expected `thinking` or `redacted_thinking`, but found `tool_use`"), in the loop that goes on now."""
    if not (_results(last) and _calls(turn)):
        return
    at, first = turn.blocks[0]
    if first.get("type") not in _THOUGHTS:
        yield Violation("A14", at, f"thinking is enabled, and the turn begins with {first.get('type')!r}")
