"""Translates facts into another dialect: their content stays, and the fields of their own format are dropped.

Content that the other dialect cannot express becomes a placeholder text. Reasoning is left out: only the provider that
wrote it takes it back.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, cast

from msgspec.structs import replace

from transom import texts
from transom.core import message as m
from transom.core.message import Assistant, Call, Fact, Text
from transom.core.pairing import call_labels
from transom.core.unit import Unit
from transom.wire.arguments import CUSTOM_TYPES, function_arguments, takes_text
from transom.wire.fields import as_dict
from transom.wire.media import translate_media

Takes = Callable[[str], object]
"""Whether an API accepts a label as the id of a call."""

_REFUSED = re.compile(r"[^a-zA-Z0-9_-]")


@lru_cache(maxsize=1024)
def safe_name(name: str) -> str:
    """A tool name that every API takes: at most 64 letters, digits, _ and -. Other characters become _, and an empty
    name becomes `texts.UNNAMED`."""
    return _REFUSED.sub("_", name)[:64] or texts.UNNAMED


def translate_fact(fact: Fact, target: str, *, keep_custom: bool = False) -> Fact:
    """The fact in the dialect `target`; the same object if it is in that dialect already.

    Only what the fact says is kept: reasoning and all `extra` fields are dropped, and a placeholder text stands for
    each part that `target` cannot express. A call of a custom tool becomes one of a function, as `tools_in` declares
    the tool; with `keep_custom` it stays one where `target` has such tools. Calls keep their ids here: `unique_calls`
    gives the ids under which they are sent.
    """
    if fact.dialect == target:
        return fact
    parts = _parts(fact, target)
    plain = len(parts) == 1 and isinstance(parts[0], Text)
    shape = "text" if plain or (not parts and not isinstance(fact, Assistant)) else "parts" if parts else "null"
    changed: dict[str, Any] = {"parts": parts, "shape": shape, "extra": None, "dialect": target, "separate": False}
    if isinstance(fact, Assistant):
        order = "".join(letter for letter in fact.order if letter in "pc")
        calls = tuple(_call(call, target, keep_custom=keep_custom) for call in fact.calls)
        changed |= {"reasoning": (), "calls": calls, "order": order if len(parts) == len(fact.parts) else ""}
    elif isinstance(fact, m.ToolResult):
        changed["legacy"] = False
    elif isinstance(fact, m.Instruction) and target not in {"openai", "responses"}:  # only OpenAI's know developers
        changed["role"] = "system"
    return cast("Fact", replace(fact, **changed))


def _call(call: Call, target: str, *, keep_custom: bool) -> Call:
    if keep_custom and takes_text(call) and target in CUSTOM_TYPES:
        return Call(call.id, call.name, call.args, {"type": CUSTOM_TYPES[target]})
    return Call(call.id, call.name, function_arguments(call))


def with_failed_mark(fact: Fact) -> Fact:
    """The fact for an API that has no field for failed results: the text of a failed result begins with "[failed]". If
    it does so already, and for any other fact, the same object."""
    if not isinstance(fact, m.ToolResult) or not fact.failed:
        return fact
    first, rest = (fact.parts[0], fact.parts[1:]) if fact.parts else (None, ())
    if isinstance(first, Text):
        said = texts.tool_failed(first.text)
        return fact if said == first.text else replace(fact, parts=(replace(first, text=said), *rest))
    return replace(fact, parts=(Text(texts.FAILED), *fact.parts), shape="parts" if fact.parts else "text")


def failed_content(content: object) -> object:
    """The content of a chat message with the mark of failed results in front. `content`: a text or a list of parts; any
    other value counts as an empty text."""
    if isinstance(content, list):
        parts = cast("list[object]", content)
        first = as_dict(parts[0]) if parts else {}
        if isinstance(first.get("text"), str):
            return [{**first, "text": texts.tool_failed(first["text"])}, *parts[1:]]
        return [{"type": "text", "text": texts.FAILED}, *parts]
    return texts.tool_failed(content if isinstance(content, str) else "")


def without_failed_mark(fact: Fact) -> Fact:
    """The fact as the log has it: a tool result whose first part is a text that begins with "[failed]" becomes a failed
    one. Any other fact is returned as it is.

    The mark and one blank behind it are removed from the text of such a result, if `with_failed_mark` would make the
    same text again. It would not, so the mark stays, if something else than a blank follows it, or nothing, or a second
    mark.
    """
    first = fact.parts[0] if isinstance(fact, m.ToolResult) and fact.parts else None
    if not isinstance(first, Text) or not first.text.startswith(texts.FAILED):
        return fact
    said = first.text.removeprefix(f"{texts.FAILED} ")
    first = replace(first, text=said) if texts.tool_failed(said) == first.text else first
    return replace(cast("m.ToolResult", fact), failed=True, parts=(first, *fact.parts[1:]))


def user_turn_after(turn: Assistant, target: str) -> str:
    """The text of the user message that must follow `turn`, which has no calls, at the end of a window:
    `texts.CONTINUE`.

    Empty if the turn is in the dialect `target` and ends with a part of the provider's own tools: the provider goes on
    by itself.
    """
    own = turn.dialect == target and turn.parts and isinstance(turn.parts[-1], m.Other)
    return "" if own and (turn.order or "p")[-1] == "p" else texts.CONTINUE


def unique_calls(unit: Unit, turn: Assistant, takes: Takes | None = None) -> tuple[Call, ...]:
    """The calls of a unit's turn, each under an id that no other call of the turn has (`call_labels`).

    `turn` is the head of the unit, translated into this dialect. Calls of another dialect get ids made of their places,
    and names that every API takes. The dialect's own calls keep each id that the API `takes` (None: it takes every id).
    """
    if unit.first_fact.dialect != turn.dialect:
        return tuple(Call(f"call-{unit.key}-{i}", safe_name(c.name), c.args) for i, c in enumerate(turn.calls))
    known = turn.calls if takes is None else [c if takes(c.id) else replace(c, id="") for c in turn.calls]
    names = call_labels(known, unit.key)
    if [call.id for call in turn.calls] == [*names]:
        return turn.calls  # nearly always
    pairs = zip(turn.calls, names, strict=True)
    return tuple([call if call.id == label else replace(call, id=label) for call, label in pairs])


def _parts(fact: Fact, target: str) -> tuple[m.Part, ...]:
    """The content of a fact in the dialect `target`; a refusal of the chat API becomes a text."""
    out = [_part(part, fact.dialect, target) for part in fact.parts]
    refusal = fact.extra.get("refusal") if fact.extra and fact.dialect == "openai" else None
    if isinstance(refusal, str) and refusal:  # chat keeps these words of the model beside its content
        out.append(Text(refusal))
    return tuple(out)


def _part(part: m.Part, source: str, target: str) -> m.Part:
    """One part in the dialect `target`; a placeholder text if that cannot express it."""
    if isinstance(part, Text):
        return Text(part.text)
    if isinstance(part, m.Media):
        raw = translate_media(part, source, target)
        return Text(texts.left_out_marker(part.media)) if raw is None else m.Media(part.media, raw)
    return Text(texts.left_out_marker("part"))
