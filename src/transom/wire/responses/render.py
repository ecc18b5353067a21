"""Renders facts as items: a turn as the items it came in, repaired where the API would refuse them.

The items of a slot depend on that slot alone, so that they never change. What was valid comes out unchanged. Repairs
share no code with `rules`, so that each tests the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, groupby, repeat
from typing import Any

from msgspec.structs import replace

from transom import texts
from transom.core import message as m
from transom.core.message import Assistant, Call, Fact, Part, Raw, Text, pieces_by_message
from transom.core.unit import Unit
from transom.wire.arguments import sent_text
from transom.wire.dialect import Rendered
from transom.wire.fields import deep_copy, text
from transom.wire.responses.built_in_tools import BUILT_IN_OUTPUTS, call_item, is_built_in, is_clients, output_items
from transom.wire.responses.parse import (
    ANSWERS,
    APPROVAL_RESPONSE,
    CALLS,
    COMPACTIONS,
    DIALECT_NAME,
    INSTRUCTIONS,
    ITEMS,
    MODEL_TEXT,
    OUTPUTS,
    SETTINGS,
    TEXTS,
    USER_TEXT,
    approval_request,
    approved_request,
    is_models,
    kind,
)
from transom.wire.translate import safe_name, translate_fact, unique_calls, with_failed_mark


def item(fact: Fact) -> Raw:
    """The item that a fact was read from; for a fact that we added, a message with its text; for a result, its item
    without the type and the id of the call, which `unit_items` adds. `fact`: one of this dialect (`translate_fact`
    makes it that), but no turn of the model. The item shares nothing with the fact, and is not repaired."""
    if words := m.own_text(fact):
        return {"role": "assistant" if isinstance(fact, m.Failure) else "user", "content": words}
    fact = with_failed_mark(fact)
    extra: Raw = deep_copy(fact.extra or {})
    extra.pop(INSTRUCTIONS, None)
    content = _content(fact.parts, fact.shape, USER_TEXT)
    if isinstance(fact, m.ToolResult):
        return {"output": content, **({} if extra.get("type") in BUILT_IN_OUTPUTS else extra)}
    first = fact.parts[0] if fact.parts else None
    if isinstance(first, m.Other) and text(first.raw, "type") in SETTINGS:
        return deep_copy(first.raw)
    return {"role": fact.role if isinstance(fact, m.Instruction) else "user", "content": content, **extra}


def takes(label: str) -> bool:
    """Whether the API takes a label as a call's id: it has at most 64 characters (R7)."""
    return len(label) <= 64


def unit_items(unit: Unit, *, strict: bool) -> list[Raw]:
    """The items of a unit. `strict`: the calls of a turn stand together behind all its other items."""
    head, *answers = (translate_fact(fact, DIALECT_NAME) for fact in unit.shown_facts())
    if not isinstance(head, Assistant):
        return [repair(item(head))]
    calls = unique_calls(unit, head, takes)
    out = _turn(unit.first_fact, replace(head, calls=calls))
    if strict:  # R4
        out.sort(key=lambda each: each.get("type") in CALLS or is_clients(each))
    behind = list[Raw]()
    for fact, index in zip(answers, unit.answered_calls, strict=True):
        call = calls[index]
        if is_built_in(call):
            assert isinstance(fact, m.ToolResult)
            output, *message = output_items(fact, call)
            out.append(output)
            behind += message  # no message stands between outputs
        else:
            out.append(repair({**item(fact), "type": OUTPUTS[_kind(call)], "call_id": call.id}))
    return out + behind


def _turn(whole: Fact, head: Assistant) -> list[Raw]:
    """The items of a turn, at least a placeholder. `whole`: without trims. Reasoning at its end is left out (R5)."""
    assert isinstance(whole, Assistant)
    items = list(_items(head))
    if whole.dialect == DIALECT_NAME:
        thoughts = [thought.extra for thought in head.reasoning]
        lost = len(thoughts) < len(whole.reasoning) or any(not is_sendable(thought or {}) for thought in thoughts)
        items = items if head.parts == whole.parts else without_orphans(items)
        items = from_newest_compaction(with_distinct_ids(items, lost=True) if lost else items)
        while items and items[-1].get("type") == "reasoning":  # R5: nothing that it produced follows
            items.pop()
    return [repair(each) for each in items] or [left_out()]


def _items(turn: Assistant) -> Iterator[Raw]:
    """The items that a turn came in. Neighbouring parts of another dialect become one message, if they have content."""
    known: list[Raw | None] = (turn.extra or {}).get(ITEMS, [])
    messages = chain(known, repeat({"role": "assistant", **({"content": ""} if turn.shape == "text" else {})}))
    for run in pieces_by_message(turn):
        for spoken, group in groupby(run, lambda piece: not isinstance(piece, (Call, m.Reasoning))):
            pieces = list(group)
            if not spoken:
                yield from map(_item, pieces)
            elif known or any(part != Text("") for part in pieces):
                yield _said(next(messages), pieces)


def _item(piece: Any) -> Raw:
    """The item of a call or of reasoning."""
    if isinstance(piece, m.Reasoning):
        return deep_copy(piece.extra or {"type": "reasoning"})
    if is_built_in(piece):
        return call_item(piece)
    fields: Raw = {"type": _kind(piece), "call_id": piece.id, "name": safe_name(piece.name)}
    given = sent_text(piece.args) if _kind(piece) == "function_call" else piece.args  # a custom tool takes free text
    return {**deep_copy(piece.extra or {}), **fields, CALLS[_kind(piece)]: given}


def _said(message: Raw | None, parts: list[Any]) -> Raw:
    """The item of a message of the model. `message`: its fields; None for an item that is a part by itself."""
    if message is None:  # where such an item was trimmed stand our words
        first: Part = parts[0]
        return {"role": "assistant", "content": first.text} if isinstance(first, Text) else deep_copy(first.raw)
    empty = message.get("content")
    content: Any = _content(() if empty == [] else parts, "text" if empty == "" else "parts", MODEL_TEXT)
    return {**deep_copy(message), "content": content}


def _content(parts: Sequence[Part], shape: str, plain: str) -> Any:
    """A content. A string stays a string if one string can hold it. `plain`: the type of text parts here."""
    first = parts[0] if parts else Text("")
    if shape != "parts" and len(parts) < 2 and isinstance(first, Text) and not first.extra:
        return first.text
    return [_part(part, plain) for part in parts]


def _part(part: Part, plain: str) -> Raw:
    """A content part as it was read."""
    if not isinstance(part, Text):
        return deep_copy(part.raw)
    extra: Raw = {"type": plain, **deep_copy(part.extra or {})}
    return {**extra, TEXTS.get(extra["type"], "text"): part.text}


def _kind(call: Call) -> str:
    """The type of a call's item."""
    return (call.extra or {}).get("type", "function_call")


# ---- repairs

_NEED_NO_ID = frozenset(
    {*CALLS, "message", "tool_search_call", "tool_search_output", "shell_call", "shell_call_output", "apply_patch_call"}
)
"""Types of items that the API accepts without an id."""

_ID_PREFIXES = {"computer_call": "cu", "local_shell_call": "lsh"}
"""For calls that the client answers and that need an id: what the id begins with."""

_PARTS_TAKEN = {"assistant": {"output_text", "refusal"}, "result": {"input_text", "input_image", "input_file"}}
"""The only types of parts that a message of the model, and an output of a call (`result`), may have."""

_PARTS_OF_CHAT = frozenset({"text", "image_url", "file"})
"""Types of parts of the chat API, which this API refuses."""


def left_out() -> Raw:
    """A message of the assistant that says that a part was left out."""
    return {"role": "assistant", "content": texts.left_out_marker("part")}


# ---- reasoning and what it produced


def _unbound(item: Raw) -> Raw:
    """A copy of an item of the model without the id that binds it to reasoning. A compaction stays as it is. A call of
    a built-in tool that needs an id, and that the client answers, gets a new one; any other item that needs its id
    becomes a placeholder."""
    if kind(item) in COMPACTIONS:  # it was made of all that went before, and R9 wants it untouched
        return item
    if kind(item) in _ID_PREFIXES and is_clients(item):  # its output stays, so it does: under an id that nothing binds
        return {**item, "id": f"{_ID_PREFIXES[kind(item)]}_{item['call_id']}"}
    if kind(item) not in _NEED_NO_ID:
        return left_out()
    nameless = _without(item, "id")
    return _easy_message(nameless) if kind(item) == "message" else nameless


def _easy_message(item: Raw) -> Raw:
    """A message of the model without an id: one string as content, no status, as the SDK's types want it."""
    content: str | list[Raw] = item["content"]
    if not isinstance(content, str):
        parts = [_repaired_part(part, "assistant") for part in content]
        content = "".join(part[TEXTS[part["type"]]] for part in parts)
    return {**_without(item, "status"), "content": content}


def is_sendable(reasoning: Raw) -> bool:
    """Whether a reasoning item may be sent: it has an id, or is encrypted. The SDK's types want an id; OpenAI, which
    encrypted it, does not."""
    return isinstance(reasoning.get("id"), str) or isinstance(reasoning.get("encrypted_content"), str)


def _without(item: Raw, *keys: str) -> Raw:
    """An item without these keys."""
    return {key: value for key, value in item.items() if key not in keys}


def without_orphans(items: list[Raw]) -> list[Raw]:
    """A turn's items after some were trimmed. The output of a tool search whose call is gone becomes a placeholder."""
    asked = [item.get("call_id") for item in items if kind(item) == "tool_search_call"]
    alone = [item for item in items if kind(item) == "tool_search_output" and item.get("call_id") not in asked]
    return [left_out() if item in alone else item for item in items]


def from_newest_compaction(items: list[Raw]) -> list[Raw]:
    """A turn's items from its newest compaction on; all of them if there is none. Before the compaction stay calls,
    which have outputs, and the messages that `responses.compact` has kept: these are there only if messages of the user
    are among them.

    Items of the model have no ids here unless reasoning precedes them: some models ask by such an id for the reasoning,
    which went into the compaction.
    """
    newest = max((at for at, item in enumerate(items) if kind(item) in COMPACTIONS), default=-1)
    if newest < 0:
        return items
    has_kept = any(kind(item) == "message" and not is_models(item) for item in items[:newest])
    staying = ("message", *CALLS) if has_kept else CALLS
    before = [item for item in items[:newest] if kind(item) in staying or is_clients(item)]
    out, has_reasoning = list[Raw](), False
    for item in (*before, *items[newest:]):
        has_reasoning = has_reasoning or kind(item) == "reasoning"
        is_bound = kind(item) in ("message", *CALLS) and is_models(item) and not has_reasoning
        out.append(_unbound(item) if is_bound else item)
    return out


def with_distinct_ids(items: list[Raw], *, lost: bool = False) -> list[Raw]:
    """The items, in which no id comes twice, because the API refuses that: the later item loses its id.

    Reasoning cannot be sent without its id. Where some is missing, the API would ask for it by the ids of what it
    produced (R6). So from there on, the turn has neither reasoning nor ids. `lost`: some is missing before the first
    item.
    """
    out: list[Raw] = []
    seen = set[str]()
    for item in items:
        label: Any = None if kind(item) == "local_shell_call_output" else item.get("id")  # that names its call
        is_repeated = isinstance(label, str) and label in seen
        if not is_repeated and not lost:  # nearly always
            out.append(item)
            if isinstance(label, str):
                seen.add(label)
            continue
        models = is_models(item)
        lost = models and (lost or (is_repeated and kind(item) == "reasoning"))
        if lost and kind(item) == "reasoning":
            continue
        said = _unbound(item) if models and (is_repeated or lost) else item
        out.append(_without(said, "id") if is_repeated and said.get("id") == label else said)
        if isinstance(label, str):
            seen.add(label)
    return out


# ---- approvals


def without_orphaned_answers(messages: Sequence[Rendered]) -> Sequence[Rendered]:
    """The items without the answers to requests for an approval that the API refuses: those whose request is not before
    them, and second ones. A placeholder stands for one directly behind reasoning, which something must follow (R5)."""
    if not any(rendered.message.get("type") == APPROVAL_RESPONSE for rendered in messages):
        return messages  # nearly every window has no approval
    waiting, out = set[str](), list[Rendered]()
    for rendered in messages:
        waiting.add(approval_request(rendered.message))
        label = approved_request(rendered.message)
        if rendered.message.get("type") != APPROVAL_RESPONSE or (label and label in waiting):
            out.append(rendered)
            waiting.discard(label)
        elif out and out[-1].message.get("type") == "reasoning":
            out.append(replace(rendered, message=left_out()))
    return out


# ---- one item by itself


def repair(item: Raw) -> Raw:
    """Repair an item and return it; it may be changed in place, or replaced. A valid item stays as it is."""
    answer = kind(item) in ANSWERS
    if answer or kind(item) == "message":
        key, role = ("output", "result") if answer else ("content", item["role"])
        if role == "assistant" and not isinstance(item.get("id"), str):
            return _easy_message(item)
        item[key] = [_repaired_part(part, role) for part in item[key]] if isinstance(item[key], list) else item[key]
    elif kind(item) == "reasoning" and not isinstance(item.get("summary"), list):
        item["summary"] = []
    elif kind(item) in COMPACTIONS and not isinstance(item.get("encrypted_content"), str):  # R9: nothing is left of it
        return left_out()
    return item


def _repaired_part(part: Raw, role: str) -> Raw:
    """A content part that this role may have; a text or a placeholder for any other."""
    given, plain = part.get("type"), MODEL_TEXT if role == "assistant" else USER_TEXT
    type_ = given if isinstance(given, str) else ""
    # new kinds of parts come for the model to hear: the caller knows its model
    if type_ in _PARTS_TAKEN[role] if role in _PARTS_TAKEN else type_ and type_ not in _PARTS_OF_CHAT:
        return part
    words = part.get(TEXTS.get(type_ or plain, ""))
    medium = next((medium for medium in ("image", "file") if medium in type_), "part")
    return {"type": plain, "text": words if isinstance(words, str) else texts.left_out_marker(medium)}
