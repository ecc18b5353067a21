"""Server tools: tools that Anthropic runs itself, with the call and its result among the blocks of the model.

A result stands behind its call, in the same reply or, where the turn also calls a client's tool, at the top of the next
one (with code that calls tools, at the top of a later one). While such a tool waits, a user message holds results
alone. `repaired` makes a list of messages obey this: it moves texts of the user behind the reply with the result, and
leaves out calls without a result and results without a call. What was valid comes out unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from transom import texts
from transom.core import message as m
from transom.core.message import Assistant, Other, Raw
from transom.wire.dialect import Rendered
from transom.wire.fields import as_dict, dicts, text


def call_of(block: Raw) -> str:
    """The id of a call of the provider's own tool; empty for any other block."""
    kind = text(block, "type")
    return text(block, "id") if kind.endswith("_tool_use") else ""


def result_of(block: Raw) -> str:
    """The id of the call that this result of the provider's own tool belongs to; empty for any other block."""
    kind = text(block, "type")
    return text(block, "tool_use_id") if kind.endswith("_tool_result") else ""


def caller_of(block: Raw) -> str:
    """The id of the provider's call whose code has made this call of a client's tool; empty for any other block."""
    return text(as_dict(block.get("caller")), "tool_id")


def remove_last_thoughts(blocks: list[Any]) -> None:
    """Remove the thinking at the end of a turn's blocks, in place: the API takes no turn that ends with thinking."""
    while blocks and as_dict(blocks[-1]).get("type") in ("thinking", "redacted_thinking"):
        blocks.pop()


def with_pending_calls(turn: Assistant) -> Assistant:
    """A copy of the turn that says which calls of the provider's own tools reach into other turns: `pending_calls` and
    `continued_calls`."""
    blocks = [part.raw for part in turn.parts if isinstance(part, Other)]
    callers = [caller_of(call.extra or {}) for call in turn.calls]
    return m.with_pending_calls(turn, map(call_of, blocks), sorted(map(result_of, blocks)), callers)


class _Place(NamedTuple):
    """Where a block stands: index of the message, and of the block in it."""

    message: int
    block: int


def repaired(messages: Sequence[Rendered]) -> Sequence[Rendered]:
    """The messages of a window in which the API takes the calls and results of its own tools. The given messages are
    not changed; if they have no such calls and results, the same list is returned.

    While such a tool waits, only results may follow: texts of the user are moved behind the reply with the result. A
    call whose result does not come is left out, and a placeholder stands for a result without its call.
    """
    if not _may_have_server_tools(messages):
        return messages  # nearly every window has no such tool
    out = _with_texts_behind(messages)
    # A turn may go on with an earlier one only by a call that is left out: then what waits beside it is unfit too.
    while unfit := _unfit(out):
        out = [_without(rendered, unfit.get(at, set())) for at, rendered in enumerate(out)]
    return out


_PLAIN = frozenset({"text", "tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document"})
"""Blocks that are no part of the provider's own tools."""


def _may_have_server_tools(messages: Sequence[Rendered]) -> bool:
    """Whether a message may have a part of the provider's own tools. (Plain loops: generators take three times as
    long.)"""
    for rendered in messages:
        content = rendered.message["content"]
        if not isinstance(content, str):
            for block in content:
                if block["type"] not in _PLAIN or "caller" in block:
                    return True
    return False


def _blocks(rendered: Rendered) -> list[Raw]:
    return dicts(rendered.message["content"])


def _is_models(rendered: Rendered) -> bool:
    return rendered.message["role"] == "assistant"


def _holds_results(rendered: Rendered) -> bool:
    """Whether a message is the user's and holds results of calls and nothing else."""
    blocks = _blocks(rendered)
    return rendered.message["role"] == "user" and bool(blocks) and all(b.get("type") == "tool_result" for b in blocks)


def _needed(rendered: Rendered) -> Iterator[str]:
    """The ids of calls that this message of the model has results of, or whose code made its calls."""
    for block in _blocks(rendered):
        yield from (label for label in (result_of(block), caller_of(block)) if label)


# ---- the order


def _with_texts_behind(messages: Sequence[Rendered]) -> list[Rendered]:
    """The messages in an order in which only results stand between a call and the turn with its result."""
    out, held = list[Rendered](), list[Rendered]()
    waiting, has_calls = set[str](), False
    needed = _needed_next(messages)
    for at, rendered in enumerate(messages):
        if _is_models(rendered):
            if at == 0 or not _is_models(messages[at - 1]):  # a new turn
                if not waiting & (needed[at] or set()):
                    out += held
                    held.clear()
                    waiting.clear()
                has_calls = False
            for block in _blocks(rendered):
                waiting.add(call_of(block))
                waiting.discard(result_of(block))
                has_calls = has_calls or block.get("type") == "tool_use"
            waiting.discard("")
            out.append(rendered)
        elif _holds_results(rendered):
            out.append(rendered)
        else:
            if not waiting:
                out += held
                held.clear()
            following = needed[at]
            is_held = bool(waiting) and (has_calls if following is None else bool(waiting & following))
            (held if is_held else out).append(rendered)
    return out if waiting else out + held


def _needed_next(messages: Sequence[Rendered]) -> list[set[str] | None]:
    """For each message what its turn or, if it is not the model's, the next one needs; None if none follows."""
    out: list[set[str] | None] = [None] * len(messages)
    following: set[str] | None = None
    for at in range(len(messages) - 1, -1, -1):
        if _is_models(messages[at]):
            is_last = at + 1 == len(messages) or not _is_models(messages[at + 1])
            following = {*(set[str]() if is_last or following is None else following), *_needed(messages[at])}
        out[at] = following
    return out


# ---- what is left out


def _unfit(messages: Sequence[Rendered]) -> dict[int, set[int]]:
    """The blocks to be left out, by message: calls whose result does not come, results without a call, and calls of a
    client's tool that name a call which is left out, or no longer waits. A call stays if its result may still come
    after the window."""
    waiting, with_result = dict[str, _Place](), set[_Place]()
    without_call, callers = set[_Place](), list[tuple[_Place, _Place | None]]()
    calls, needed = set[_Place](), _needed_next(messages)
    for at, rendered in enumerate(messages):
        if not _is_models(rendered):
            if not _holds_results(rendered):
                waiting.clear()  # no call that waits can get a result any more
            continue
        is_new_turn = at == 0 or not _is_models(messages[at - 1])
        if is_new_turn and waiting.keys().isdisjoint(needed[at] or ()):
            waiting.clear()
        for index, block in enumerate(_blocks(rendered)):
            place = _Place(at, index)
            if label := call_of(block):
                waiting[label] = place
                calls.add(place)
            elif label := result_of(block):
                called = waiting.pop(label, None)
                (without_call if called is None else with_result).add(called or place)
            elif label := caller_of(block):
                callers.append((place, waiting.get(label)))
    fit = with_result.union(waiting.values())
    unfit: dict[int, set[int]] = {}
    for place in (*(calls - fit), *without_call, *(place for place, called in callers if called not in fit)):
        unfit.setdefault(place.message, set()).add(place.block)
    return unfit


def _without(rendered: Rendered, unfit: set[int]) -> Rendered:
    """A copy of a message without these blocks: a placeholder for a result, a client's call without its caller."""
    if not unfit:
        return rendered
    content = list[Raw]()
    for index, block in enumerate(_blocks(rendered)):
        if index not in unfit:
            content.append(block)
        elif block.get("type") == "tool_use":
            content.append({key: value for key, value in block.items() if key != "caller"})
        elif result_of(block):
            content.append({"type": "text", "text": texts.left_out_marker("part")})
    remove_last_thoughts(content)
    message = {**rendered.message, "content": content or [{"type": "text", "text": texts.left_out_marker("text")}]}
    return replace(rendered, message=message)
