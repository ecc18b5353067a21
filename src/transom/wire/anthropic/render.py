"""Renders slots as messages of the Messages API, repaired where it would refuse them. What was valid comes out
unchanged.

A slot's messages depend on that slot alone. `AnthropicDialect.join` then joins neighbours of one role.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import cast

from msgspec.structs import replace

from transom import texts
from transom.core import message as m
from transom.core.message import Assistant, Call, Fact, Raw, Text, pieces_by_message
from transom.core.unit import Unit
from transom.wire.anthropic.parse import DIALECT_NAME, SIGNED
from transom.wire.anthropic.server_tools import remove_last_thoughts
from transom.wire.arguments import as_object
from transom.wire.dialect import Rendered
from transom.wire.fields import as_parts, deep_copy, is_text, without_lone_surrogates
from transom.wire.translate import safe_name, translate_fact, unique_calls

EMPTY = texts.left_out_marker("text")
"""The placeholder where the API wants a text and there is none (A10)."""

is_label = re.compile(r"[a-zA-Z0-9_-]+").fullmatch
"""Whether the API takes a text as a call's id (A6)."""

_is_name = re.compile(r"[a-zA-Z0-9_-]{1,128}").fullmatch


def sent_name(name: str) -> str:
    """A tool's name as it is sent: changed (`safe_name`) only if the API would refuse it."""
    return name if _is_name(name) else safe_name(name)


def is_blank(text: str) -> bool:
    """Whether the API counts a text as missing (A10): it is empty or has only white space."""
    return not text.strip()


def text_message(text: str, role: str = "user") -> Raw:
    """A message with a text of ours, or the placeholder if it is blank. `role`: "user" or "assistant"."""
    return {"role": role, "content": [_text(EMPTY if is_blank(text) else text)]}


def unit_messages(unit: Unit, *, unsigned: bool) -> list[Rendered]:
    """The messages of a unit. An instruction of another dialect becomes a marked user message: older models take no
    system message in the middle (A9). `unsigned`: see `AnthropicDialect`."""
    head, *answers = unit.shown_facts()
    if isinstance(head, m.Instruction):
        is_own = head.dialect == DIALECT_NAME
        return [_plain("system", head) if is_own else instruction_by_user(head.role, _plain("user", head))]
    if not isinstance(head, Assistant):
        own = m.own_text(head)
        if own:
            return [Rendered(text_message(own, "assistant" if isinstance(head, m.Failure) else "user"))]
        return [_plain("user", head)]
    turn = cast("Assistant", _adopted(head))
    calls = unique_calls(unit, turn, is_label)
    pairs = zip(answers, unit.answered_calls, strict=True)
    return [
        *_turn(replace(turn, calls=calls), unsigned=unsigned),
        *(_answer(cast("m.ToolResult", fact), calls[at]) for fact, at in pairs),
    ]


def system_of(instructions: Sequence[m.Instruction]) -> str | list[Raw]:
    """The system prompt of these instructions, as they came: a string or a list of blocks. Several become one list.

    Blank texts are left out, and a placeholder stands for anything that is not a text. The result is empty if nothing
    is left.
    """
    contents = [_content(translate_fact(fact, DIALECT_NAME), "prompt") for fact in instructions]
    whole = contents[0] if len(contents) == 1 else [block for content in contents for block in as_parts(content)]
    sent: str | list[Raw] = without_lone_surrogates(whole)
    return sent


def instruction_by_user(role: str, rendered: Rendered) -> Rendered:
    """An instruction as a user message, with a mark that names its `role` ("system", "developer"). `rendered`: the
    message of the instruction under any role; it is not changed. The mark stands in front of the first text, or is a
    text of its own. A placeholder stands for blocks that only the system may send."""
    message = rendered.message
    blocks = [each if each["type"] in _USER_BLOCKS else _left_out("part") for each in as_parts(message["content"])]
    at = next((at for at, block in enumerate(blocks) if block["type"] == "text"), None)
    if at is None:
        blocks.insert(0, _text(texts.instruction_text(role, "").rstrip()))
    else:
        blocks[at] = {**blocks[at], "text": texts.instruction_text(role, blocks[at]["text"])}
    return Rendered({**message, "role": "user", "content": blocks}, rendered.joins)


_USER_BLOCKS = {"text", "image", "document", "search_result", "container_upload"}
_MISPLACED = {"tool_use", "tool_result", *SIGNED}
"""Blocks that would be read as another fact if they stood in a message as they are."""


def _adopted(fact: Fact) -> Fact:
    """The fact in this dialect. One of another dialect has blocks, so that it can be joined."""
    return fact if fact.dialect == DIALECT_NAME else replace(translate_fact(fact, DIALECT_NAME), shape="parts")


def _plain(role: str, fact: Fact) -> Rendered:
    """A fact without calls and results as one message, with a placeholder if it is empty: the API refuses that."""
    own = _adopted(fact)
    return _message(role, _content(own, role) or [_text(EMPTY)], own.extra, joins=not own.separate)


def _message(role: str, content: str | list[Raw], extra: Raw | None, *, joins: bool) -> Rendered:
    """A message with its other fields."""
    return Rendered({**deep_copy(extra or {}), "role": role, "content": content}, joins)


def _turn(turn: Assistant, *, unsigned: bool) -> list[Rendered]:
    """The messages of a turn: as many as it came in. There is always one, because results need it. The turn does not
    end with thinking: the API does not take it there, also behind a call and where a blank text was left out."""
    contents: list[str | list[Raw]] = []
    if turn.shape == "text":
        contents.append(_content(turn, "assistant"))
    else:
        for run in reversed(pieces_by_message(turn)):
            blocks = [b for item in run for b in _block(item, "assistant", unsigned=unsigned)]
            if not contents:
                remove_last_thoughts(blocks)
            if blocks:
                contents.insert(0, blocks)
    first, *more = [each for each in contents if each] or [[_text(EMPTY)]]
    out = [_message("assistant", first, turn.extra, joins=not turn.separate)]
    return out + [_message("assistant", content, None, joins=False) for content in more]


def _answer(fact: m.ToolResult, call: Call) -> Rendered:
    """The message of a result, under its call's id. Only a failed one must have content (A18)."""
    own = translate_fact(fact, DIALECT_NAME)
    block: Raw = {"type": "tool_result", "tool_use_id": call.id}
    content = _content(own, "user")
    if own.shape != "absent" or content:
        block["content"] = content
    if fact.failed:
        block |= {"is_error": True, "content": content or EMPTY}
    return _message("user", [_filled(block, own.extra)], None, joins=not own.separate)


# ---- blocks


def _content(fact: Fact, role: str) -> str | list[Raw]:
    """The content of a fact, without blank texts. A string stays a string."""
    if fact.shape == "text":
        text = "".join(part.text for part in fact.parts if isinstance(part, Text))
        return "" if is_blank(text) else text
    return [block for part in fact.parts for block in _block(part, role)]


def _block(item: m.Addressed, role: str, *, unsigned: bool = False) -> Iterator[Raw]:
    """The block of a part, call or reasoning; none if the API would not take it; else maybe a placeholder."""
    if isinstance(item, Text):
        if not is_blank(item.text):
            yield _filled(_text(item.text), item.extra)
    elif isinstance(item, Call):
        given = deep_copy(as_object(item.args))
        yield _filled({"type": "tool_use", "id": item.id, "name": sent_name(item.name), "input": given}, item.extra)
    elif isinstance(item, m.Reasoning):  # taken back only encrypted, or with its signature, except by some servers
        extra = item.extra or {}
        if item.field == "redacted_thinking" or (
            item.field in SIGNED and (unsigned or is_text(extra.get("signature")))
        ):
            yield _filled({"type": item.field, SIGNED[item.field]: item.text}, extra)
    elif isinstance(item, m.Media) and role != "user":
        yield _left_out(item.media)
    elif isinstance(item, m.Other) and (role == "prompt" or item.raw["type"] in _MISPLACED):
        yield _left_out("part")
    else:
        yield deep_copy(item.raw)


def _text(text: str) -> Raw:
    """A text block."""
    return {"type": "text", "text": text}


def _left_out(kind: str) -> Raw:
    """A text block with a placeholder."""
    return _text(texts.left_out_marker(kind))


def _filled(block: Raw, extra: Raw | None) -> Raw:
    """The block with its other fields, which never replace its own."""
    return {**block, **deep_copy(extra or {}), **block}
