"""Facts to items: a turn as the items it came in, mended where the API would refuse them.

What is sent depends on one slot alone, so that a slot's bytes never change. What was valid comes out unchanged.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import groupby
from typing import Any, cast

from msgspec.structs import replace

from transom.core import texts
from transom.core.message import (
    Assistant,
    Call,
    Fact,
    Failure,
    Handoff,
    Instruction,
    Note,
    Part,
    Raw,
    Reasoning,
    Recalled,
    Text,
    ToolResult,
    ordered,
    said,
)
from transom.core.tokens import clean
from transom.core.unit import Slot, Unit
from transom.wire.foreign import adopted, placed
from transom.wire.openai_responses.items import (
    BARE,
    CALLS,
    HEARD,
    INSTRUCTIONS,
    NAME,
    OUTPUTS,
    SAID,
    TEXTS,
    Group,
    remembered,
)
from transom.wire.openai_responses.mend import bound, labelled, mended, orphaned
from transom.wire.reading import compact
from transom.wire.saying import copied

_OWN = frozenset({Note, Recalled, Handoff, Failure})


def shown(slot: Slot, *, strict: bool = False) -> list[Raw]:
    """A unit: its head, then the answers as they arrived. A fold: its text, then the units pinned out of it.

    `strict`: the calls of a turn stand together behind all else it holds. A call still open gets no answer here: the
    planner closes calls by facts before a request.
    """
    if isinstance(slot, Unit):
        return _unit(slot, strict)
    out: list[Raw] = [{"role": "user", "content": clean(slot.text)}]
    for unit in slot.shown:
        out.extend(_unit(unit, strict))
    return out


def item(fact: Fact) -> Raw:
    """The item a fact came from, or for a fact of our own the message that says it. Not for a turn: see `shown`."""
    if type(fact) in _OWN:
        return {"role": "assistant" if isinstance(fact, Failure) else "user", "content": said(fact)}
    extra: Raw = {key: value for key, value in copied(fact.extra or {}).items() if key not in {BARE, INSTRUCTIONS}}
    if isinstance(fact, ToolResult):
        label = {"call_id": fact.call} if fact.call else {}
        return {"type": "function_call_output", **label, **_content(fact.parts, fact.shape, "output", HEARD), **extra}
    first = fact.parts[0] if fact.parts else None
    if (fact.extra or {}).get(BARE) and first is not None and not isinstance(first, Text):
        return copied(first.raw)
    speaker = fact.role if isinstance(fact, Instruction) else "user"
    return {"role": speaker, **_content(fact.parts, fact.shape, "content", HEARD), **extra}


def _unit(unit: Unit, strict: bool) -> list[Raw]:
    facts = [adopted(fact, NAME) for fact in unit.shown()]
    head = facts[0]
    if not isinstance(head, Assistant):
        return [mended(item(fact)) for fact in facts]
    out = _turn(unit, head)
    if strict:  # R4
        out.sort(key=lambda each: each.get("type") in CALLS)
    if not head.calls:
        return out
    calls = _named(unit, head)
    for fact, index in zip(facts[1:], unit.answers, strict=True):
        out.append(mended({**item(fact), "type": OUTPUTS[_kind(calls[index])], "call_id": calls[index].id}))
    return out


def _named(unit: Unit, head: Assistant) -> tuple[Call, ...]:
    return labelled(head.calls, unit.key) if unit.head.dialect == NAME else placed(head, unit.key)


def _turn(unit: Unit, head: Assistant) -> list[Raw]:
    """The items of a turn. Another dialect's empty texts are no messages here; that it said nothing at all is said."""
    whole = unit.head
    assert isinstance(whole, Assistant)
    items = turn_items(replace(head, calls=_named(unit, head)))
    if whole.dialect != NAME:
        items = [each for each in items if not _blank(each)]
    else:
        lost = len(head.reasoning) < len(whole.reasoning) or any(thought.extra is None for thought in head.reasoning)
        items = bound(items if head.parts == whole.parts else orphaned(items), lost=lost)
    return [mended(each) for each in items] or [{"role": "assistant", "content": texts.left_out("part")}]


def turn_items(turn: Assistant) -> list[Raw]:
    """The items a turn came in. Nothing in them is shared with the turn."""
    out: list[Raw] = []
    groups, content = deque(_groups(turn)), list[Part]()
    for piece in ordered(turn):
        if isinstance(piece, Reasoning):
            out.append(copied(piece.extra or {"type": "reasoning", "summary": []}))
        elif isinstance(piece, Call):
            out.append(_call(piece))
        else:
            content.append(piece)
            if len(content) >= groups[0].parts:
                out.append(_said(groups.popleft(), content))
                content = []
    return out


def _groups(turn: Assistant) -> list[Group]:
    """What stands in one item: as it came, or else each run of parts is one message."""
    found = remembered(turn.extra, len(turn.parts))
    if found is not None:
        return found
    runs = [len(list(run)) for letter, run in groupby(turn.order or "p" * len(turn.parts)) if letter == "p"]
    return [Group(run, "text" if turn.shape == "text" else "parts") for run in runs]


def _said(group: Group, content: list[Part]) -> Raw:
    first = content[0]
    if group.shape == "item":
        # in the place of a built-in call that was trimmed stand our words
        return {"role": "assistant", "content": first.text} if isinstance(first, Text) else copied(first.raw)
    return {"role": "assistant", **_content(content, group.shape, "content", SAID), **copied(group.rest or {})}


def _content(parts: Sequence[Part], shape: str, key: str, plain: str) -> Raw:
    """A string stays a string as long as one can hold it."""
    if shape in {"null", "absent", "empty"} and not any(not isinstance(part, Text) or part.text for part in parts):
        return {} if shape == "absent" else {key: None if shape == "null" else []}
    if shape == "text":
        if not parts:
            return {key: ""}
        first = parts[0]
        if len(parts) == 1 and isinstance(first, Text) and not first.extra:
            return {key: first.text}
    return {key: [_part(part, plain) for part in parts]}


def _part(part: Part, plain: str) -> Raw:
    if not isinstance(part, Text):
        return copied(part.raw)
    extra: Raw = copied(part.extra or {})
    kind: Any = extra.pop("type", plain)
    return {"type": kind, TEXTS.get(kind, "text"): part.text, **extra}


def _call(call: Call) -> Raw:
    """A call as it came; arguments that were no text are still in `extra`, and come out so unless a trim has changed
    them."""
    kind = _kind(call)
    out: Raw = {**copied(call.extra or {}), "type": kind}
    field = CALLS[kind]
    if call.id:
        out["call_id"] = call.id
    if call.name:
        out["name"] = call.name
    if call.args and (out.get(field) is None or compact(out[field]) != call.args):
        out[field] = call.args
    return out


def _kind(call: Call) -> str:
    kind = (call.extra or {}).get("type")
    return kind if kind in CALLS else "function_call"


def _blank(each: Raw) -> bool:
    """A message that says nothing."""
    content: Any = each.get("content") if each.get("role") == "assistant" else None
    if isinstance(content, list):
        return all(part.get("text") == "" for part in cast("list[Raw]", content))
    return content == ""
