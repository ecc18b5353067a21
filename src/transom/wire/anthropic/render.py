"""Slots to Messages messages, mended where the API would refuse them; what was valid comes out as it came.

A slot's messages depend on it alone. `joined`, in the dialect, puts neighbours of one role together.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from msgspec.structs import replace

from transom.core import texts
from transom.core.codec import has_surrogates
from transom.core.message import (
    Addressed,
    Assistant,
    Call,
    Fact,
    Failure,
    Handoff,
    Instruction,
    Media,
    Note,
    Part,
    Raw,
    Recalled,
    Text,
    ToolResult,
    ordered,
    said,
)
from transom.core.unit import Slot, Unit, labels
from transom.wire.anthropic.blocks import content, filled, said_block, text_block
from transom.wire.anthropic.words import EMPTY, MESSAGE, MESSAGES, NAME, is_blank, is_label, is_name
from transom.wire.foreign import adopted, placed
from transom.wire.naming import place_label, safe_name
from transom.wire.saying import Apart, cleaned, copied

_OWN = frozenset({Note, Recalled, Handoff, Failure})


def shown(slot: Slot, *, mid_system: bool) -> list[Raw]:
    """A unit: its head, then the answers as they arrived. A fold: its text, then the units pinned out of it.

    A call still open gets no answer here: the planner closes calls by facts before a request.
    """
    if isinstance(slot, Unit):
        out = _unit(slot, mid_system=mid_system)
    else:
        out = [_words("user", slot.text)]
        for unit in slot.shown:
            out.extend(_unit(unit, mid_system=mid_system))
    return [_clean(message) for message in out]


def _clean(message: Raw) -> Raw:
    if not has_surrogates(message):
        return message
    fields = cleaned(message)
    return Apart(fields) if isinstance(message, Apart) else fields


def _unit(unit: Unit, *, mid_system: bool) -> list[Raw]:
    facts = unit.shown()
    head = facts[0]
    if isinstance(head, Instruction):
        return [_instruction(head, mid_system=mid_system)]
    if not isinstance(head, Assistant):
        return [_apart(_message(fact), fact) for fact in facts]
    turn = adopted(head, NAME)
    assert isinstance(turn, Assistant)
    calls = _named(_labelled(turn.calls, unit.key) if head.dialect == NAME else placed(turn, unit.key))
    out = list(_turn(replace(turn, calls=calls), own=head.dialect == NAME))
    out[0] = _apart(out[0], head)
    for fact, index in zip(facts[1:], unit.answers, strict=True):
        assert isinstance(fact, ToolResult)
        answer = adopted(fact, NAME)
        assert isinstance(answer, ToolResult)
        out.append(_apart(_answer(answer, calls[index].id), fact))
    return out


def _apart(message: Raw, fact: Fact) -> Raw:
    return Apart(message) if fact.apart and fact.dialect == NAME else message


# ---- what is not a turn


def _words(role: str, text: str) -> Raw:
    """Words of our own."""
    return {"role": role, "content": [text_block(EMPTY if is_blank(text) else text)]}


def _message(fact: Fact) -> Raw:
    if type(fact) in _OWN:
        return _words("assistant" if isinstance(fact, Failure) else "user", said(fact))
    return _plain("user", fact)


def _plain(role: str, fact: Fact) -> Raw:
    """A message that is nothing but content."""
    fact = fact if fact.dialect == NAME else replace(adopted(fact, NAME), shape="parts")
    return {**copied(fact.extra or {}), "role": role, "content": content(fact) or [text_block(EMPTY)]}


def _instruction(fact: Instruction, *, mid_system: bool) -> Raw:
    """In its place. Where it came in another dialect the user says it, since few models take the role there (A9)."""
    if fact.dialect == NAME:
        return _apart(_plain("system", fact), fact)
    if mid_system:
        return _plain("system", replace(fact, parts=_without_media(fact.parts)))
    return by_user(fact.role, _plain("user", fact))


def by_user(role: str, message: Raw) -> Raw:
    """An instruction as the user says it: marked as what it is. What only the system may say is left out."""
    said_before = message["content"]
    blocks = [text_block(said_before)] if isinstance(said_before, str) else cast("list[Raw]", said_before)
    out = [block if block["type"] in _SAID_BY_USER else text_block(texts.left_out("part")) for block in blocks]
    first = next((i for i, block in enumerate(out) if block["type"] == "text"), None)
    if first is None:
        out.insert(0, text_block(texts.instruction(role, "").rstrip()))
    else:
        out[first] = {**out[first], "text": texts.instruction(role, out[first]["text"])}
    said_so = {**message, "role": "user", "content": out}
    return Apart(said_so) if isinstance(message, Apart) else said_so


_SAID_BY_USER = frozenset({"text", "image", "document", "search_result", "container_upload"})


def _without_media(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """The parts where no image or file may stand."""
    return tuple([Text(texts.left_out(part.media)) if isinstance(part, Media) else part for part in parts])


# ---- turns


def _turn(turn: Assistant, *, own: bool) -> Iterator[Raw]:
    """The messages of a turn: one, or as many as it came in. Never nothing: what answers it needs it."""
    extra = copied({key: value for key, value in (turn.extra or {}).items() if key != MESSAGES})
    alone = turn.shape == "text" and not turn.calls and not turn.reasoning
    if own and alone and (words := content(turn)):
        yield {**extra, "role": "assistant", "content": words}
        return
    items = list(ordered(turn if own else replace(turn, parts=_without_media(turn.parts))))
    said_any = False
    for size, run in _runs(items, (turn.extra or {}).get(MESSAGES)):
        blocks = [block for item in run for block in said_block(item)]
        if blocks:
            plain = size is None and set(blocks[0]) == {"type", "text"}
            message: Raw = {**extra, "role": "assistant", "content": blocks[0]["text"] if plain else blocks}
            yield Apart(message) if said_any else message
            said_any, extra = True, {}
    if not said_any:
        yield {**extra, **_words("assistant", "")}


def _runs(items: list[Addressed], sizes: list[int | None] | None) -> Iterator[tuple[int | None, list[Addressed]]]:
    """The items by the messages they came in; all in one, if some are gone."""
    if not sizes or sum(1 if size is None else size for size in sizes) != len(items):
        yield len(items), items
        return
    at = 0
    for size in sizes:
        end = at + (1 if size is None else size)
        yield size, items[at:end]
        at = end


def _labelled(calls: tuple[Call, ...], key: int) -> tuple[Call, ...]:
    """The calls under ids and names that the API takes; those that it does stay as received."""
    given = labels(calls, key)
    taken, out = set(given), list[Call]()
    for index, (call, label) in enumerate(zip(calls, given, strict=True)):
        fresh = label
        if not is_label(label):
            fresh = place_label(key, index)
            while fresh in taken:
                fresh += "x"
            taken.add(fresh)
        out.append(call if call.id == fresh else replace(call, id=fresh))
    return tuple(out)


def _named(calls: tuple[Call, ...]) -> tuple[Call, ...]:
    """The calls under names that the API takes."""
    return tuple(call if is_name(call.name) else replace(call, name=safe_name(call.name)) for call in calls)


def _answer(fact: ToolResult, label: str) -> Raw:
    """A result under its call's label. Empty it may be, unless it says that the tool failed (A18)."""
    extra = dict(fact.extra or {})
    fields: Raw = extra.pop(MESSAGE, None) or {}
    block: Raw = {"type": "tool_result", "tool_use_id": label}
    answer = content(fact)
    if answer or fact.shape in {"text", "parts"}:
        block["content"] = answer
    if fact.failed:
        block |= {"is_error": True, "content": answer or EMPTY}
    return {**copied(fields), "role": "user", "content": [filled(block, extra)]}
