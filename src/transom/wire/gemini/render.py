"""Renders slots as Gemini's contents, repaired where the API would refuse them. What was valid comes out unchanged.

The contents of a slot depend on that slot alone, so that they never change.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import cast

from msgspec.structs import replace

from transom import texts
from transom.core import message as m
from transom.core.message import Assistant, Call, Raw, Text, ToolResult, pieces_by_message
from transom.core.unit import Unit
from transom.wire.arguments import WRAPPED, as_object
from transom.wire.dialect import Rendered, join_roles
from transom.wire.fields import compact_json, deep_copy, without_lone_surrogates
from transom.wire.gemini.keys import CALL, DIALECT_NAME, RESPONSE, SIGNATURE, UNDER, key_of_part
from transom.wire.translate import translate_fact, unique_calls

ESCAPE = "skip_thought_signature_validator"
"""The signature that models which want one accept on a call of another model."""


def by_user(*parts: Raw, beside: Raw | None = None) -> Rendered:
    """A content of the user with these parts, without empty texts; a placeholder if no part is left. It is not joined
    with its neighbours: the API takes several in a row, and responses must stand alone (G4). `beside`: its other
    fields; None: only the role."""
    return Rendered(
        {**deep_copy({"role": "user"} if beside is None else beside), "parts": _kept(list(parts))}, joins=False
    )


def unit_contents(unit: Unit, *, strict: bool) -> list[Rendered]:
    """The contents of a unit: its head, then the results of its calls, in one content unless they came in several.

    `strict`: see `GeminiDialect`.
    """
    head, *answers = unit.shown_facts()
    if not isinstance(head, Assistant):
        return [_said(head)]
    own, turn = head.dialect == DIALECT_NAME, cast("Assistant", translate_fact(head, DIALECT_NAME))
    calls = unique_calls(unit, turn)
    if own:  # one that came without an id has none
        calls = tuple(call if came.id else replace(call, id="") for call, came in zip(calls, turn.calls, strict=True))
    else:
        calls = tuple(replace(call, args=call.args or "{}") for call in calls)
    out = _turn(replace(turn, calls=calls), own=own)
    if calls and (strict or not own):
        _sign(out)
    many = len(out)
    for answer, index in _in_order_of_calls(list(zip(answers, unit.answered_calls, strict=True)), calls):
        if len(out) == many or (answer.separate and answer.dialect == DIALECT_NAME):
            out.append(Rendered({"role": "user", "parts": []}, joins=False))
        out[-1].message["parts"].append(_response(cast("ToolResult", answer), calls[index]))
    return out


def _in_order_of_calls(answers: Sequence[tuple[m.Fact, int]], calls: Sequence[Call]) -> Sequence[tuple[m.Fact, int]]:
    """The answers, each with the index of its call. Answers to calls of one function without ids are in the order of
    the calls, because only their order says which is whose; tools that run at once end in any order."""
    places: dict[str, list[int]] = {}
    for place, (_, index) in enumerate(answers):
        if not calls[index].id:
            places.setdefault(calls[index].name, []).append(place)
    ordered = list(answers)
    for same in places.values():
        for place, answer in zip(same, sorted((answers[at] for at in same), key=itemgetter(1)), strict=True):
            ordered[place] = answer
    return ordered


def joined(contents: Sequence[Rendered]) -> list[Raw]:
    """The contents with neighbours of the model joined, because a call must follow the user (G1); those that came
    separately stay so.

    If the model calls a function before the first content of the user, a short user message is put before the content
    with the call.
    """
    for at, (content, _) in enumerate(contents):
        if content.get("role") != "model":
            break
        if any(key_of_part(each, CALL) for each in content["parts"]):
            contents = [*contents[:at], by_user({"text": texts.CONTINUE}), *contents[at:]]
            break
    return join_roles(contents, "parts")


def system(instructions: tuple[m.Instruction, ...]) -> Raw | None:
    """The system instruction of a request; None if the instructions have no part but empty texts.

    It has only texts: a placeholder stands for any other part. If there is only one instruction, and it came in
    Gemini's format, it keeps its other fields. Several become one list of parts.
    """
    parts = [part for each in instructions for part in _parts(each)]
    if not parts:
        return None
    beside = instructions[0].extra if [each.dialect for each in instructions] == [DIALECT_NAME] else None
    parts = [part if "text" in part else {"text": texts.left_out_marker("part")} for part in parts]
    out: Raw = without_lone_surrogates({**(beside or {}), "parts": parts})
    return out


def _said(fact: m.Fact) -> Rendered:
    """The content of a fact that is not a turn of the model."""
    if isinstance(fact, m.Failure):
        return Rendered({"role": "model", "parts": _kept([{"text": m.own_text(fact)}])})
    if own := m.own_text(fact):
        return by_user({"text": own})
    if isinstance(fact, m.Instruction):  # the API knows none in the middle
        return by_user({"text": texts.instruction_text(fact.role, "")}, *_kept(_parts(fact)))
    return by_user(*_parts(fact), beside=fact.extra if fact.dialect == DIALECT_NAME else None)


def _turn(turn: Assistant, *, own: bool) -> list[Rendered]:
    """The contents of a turn: as many as it came in, without those of which nothing shows."""
    contents = [[_part(item) for item in run if own or item != Text("")] for run in pieces_by_message(turn)]
    out: list[Raw] = [{"role": "model", "parts": _kept(parts)} for parts in contents if parts or len(contents) == 1]
    return [Rendered(content, joins=not (at or turn.separate)) for at, content in enumerate(out)]


def _sign(contents: list[Rendered]) -> None:
    """Put the signature `ESCAPE` on the first call of a turn, in place, unless it has one (G5)."""
    call = next(each for content, _ in contents for each in content["parts"] if key_of_part(each, CALL))
    if key_of_part(call, SIGNATURE) is None:
        call[SIGNATURE[CALL[1] in call]] = ESCAPE


# ---- parts


def _parts(fact: m.Fact) -> list[Raw]:
    """The parts of a fact, without empty texts."""
    return [_part(each) for each in translate_fact(fact, DIALECT_NAME).parts if each != Text("")]


def _kept(parts: list[Raw]) -> list[Raw]:
    """The parts without empty texts (G8), or a placeholder if nothing is left (G7). A signed empty text stays."""
    return [each for each in parts if each != {"text": ""}] or [{"text": texts.left_out_marker("part")}]


def _part(item: m.Addressed) -> Raw:
    """One piece of a turn or message as a part."""
    if isinstance(item, Text):
        return {"text": item.text, **deep_copy(item.extra or {})}
    if isinstance(item, m.Reasoning):
        return {"text": item.text, "thought": True, **deep_copy(item.extra or {})}
    if not isinstance(item, Call):
        return deep_copy(item.raw)
    out: Raw = deep_copy(item.extra or {CALL[0]: {}})
    body: Raw = out[key_of_part(out, CALL) or CALL[0]]
    body |= {"id": item.id} if item.id else {}
    body["name"] = item.name or texts.UNNAMED
    body |= {"args": deep_copy(as_object(item.args))} if item.args else {}
    return out


def _response(fact: ToolResult, call: Call) -> Raw:
    """The function response for a result, under the id and name of its call."""
    came = fact.extra if fact.dialect == DIALECT_NAME else None
    out: Raw = {key: value for key, value in deep_copy(came or {}).items() if key != "name"}
    snake = not came and key_of_part(call.extra or {}, CALL) == CALL[1]
    body: Raw = out.setdefault(key_of_part(out, RESPONSE) or RESPONSE[snake], {})
    body |= {"id": call.id} if call.id else {}
    body["name"] = call.name or texts.UNNAMED
    body["response"] = _answer(fact)
    if fact.dialect == DIALECT_NAME and (files := [each.raw for each in fact.parts if not isinstance(each, Text)]):
        body["parts"] = deep_copy(files)
    return out


def _answer(fact: ToolResult) -> Raw:
    """The response object of a result. Several texts become a list, as they are counted. Files of other dialects become
    placeholders."""
    heading = "error" if fact.failed else "output"
    if fact.dialect != DIALECT_NAME:
        parts, under = translate_fact(fact, DIALECT_NAME).parts, heading
        lines = [
            texts.left_out_marker(each.media) if isinstance(each, m.Media) else _part(each)["text"] for each in parts
        ]
    else:
        found = [each for each in fact.parts if isinstance(each, Text)]
        under = (found[0].extra or {}).get(UNDER, heading) if found else heading
        lines = [each.text for each in found]
        if under is None and len(lines) == 1:
            held = as_object(lines[0])
            if held.get(WRAPPED) != lines[0] and compact_json(held) == lines[0]:  # not trimmed since
                return deep_copy(held)
    return {heading if under is None else under: lines if len(lines) > 1 else "".join(lines)}
