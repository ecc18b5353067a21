"""What a slot shows, in Gemini's contents: as they came, and mended where the API would refuse them.

All by what stands in the slot alone, so that its bytes never change. What was valid comes out unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from msgspec.structs import replace

from transom.core import texts
from transom.core.codec import has_surrogates
from transom.core.message import Assistant, Call, Fact, Failure, Instruction, Raw, ToolResult, ordered, said
from transom.core.tokens import clean
from transom.core.unit import Slot, Unit, labels
from transom.wire.foreign import adopted, placed
from transom.wire.gemini.response import responses
from transom.wire.gemini.words import CALL, CONTENT, CONTENTS, ESCAPE, NAME, ROLELESS, SIGNATURE, spelt
from transom.wire.gemini.write import call_part, kept, part, user_parts
from transom.wire.naming import safe_name
from transom.wire.saying import Apart, cleaned, copied

_MODEL = ("role", "parts")


def shown(slot: Slot, *, sign: bool, strict: bool) -> list[Raw]:
    """A unit: its head, then the answers to its calls, in one content if they did not come in several. A fold: its
    text, then the units pinned out of it. `sign`, `strict`: see the dialect.

    A call still open gets no answer here: the planner closes calls by facts before a request, so a window of a view
    that was not planned may break rule G3.
    """
    if isinstance(slot, Unit):
        return _sent(_unit(slot, sign, strict))
    out = _sent([{"role": "user", "parts": kept([{"text": clean(slot.text)}])}])
    for unit in slot.shown:
        out.extend(_sent(_unit(unit, sign, strict)))
    return out


def joined(contents: list[Raw]) -> list[Raw]:
    """A call must follow the user (G1): neighbours of the model are one content, unless they came apart; and a word of
    the user's goes before a call that would have none before it.

    Contents of the user stand as they are: this API takes them so, and responses stand by themselves (G4).
    """
    out: list[Raw] = []
    spoken = ours = False  # whether the user has spoken; whether the last content is a new one
    for content in contents:
        last = out[-1] if out else None
        if content.get("role") != "model":
            spoken = True
        elif not spoken and any(spelt(each, CALL) for each in content["parts"]):
            out.append({"role": "user", "parts": [{"text": texts.NUDGE}]})
            spoken = True
        elif last is not None and _merges(last, content):
            if not ours:
                last = out[-1] = type(last)({**last, "parts": list(last["parts"])})
            last["parts"].extend(content["parts"])
            ours = True
            continue
        out.append(content)
        ours = False
    return out


def system(instructions: tuple[Instruction, ...]) -> Raw | None:
    """The system instruction of a request, if it says anything: as it came if there is one and it is Gemini's."""
    parts = [part for each in instructions for part in user_parts(each)]
    if all(part == {"text": ""} for part in parts):
        return None
    beside: Raw = {}
    if [each.dialect for each in instructions] == [NAME]:
        beside = copied((instructions[0].extra or {}).get(CONTENT) or {})
    else:
        parts = [part if "text" in part else {"text": texts.left_out("part")} for part in parts]
    return _sent([{**beside, "parts": parts}])[0]


def _merges(last: Raw, content: Raw) -> bool:
    return last.get("role") == "model" and not isinstance(content, Apart) and tuple({**last, **content}) == _MODEL


def _sent(contents: list[Raw]) -> list[Raw]:
    """As they may leave: a lone surrogate has no UTF-8."""
    return [type(each)(cleaned(each)) if has_surrogates(each) else each for each in contents]


def _unit(unit: Unit, sign: bool, strict: bool) -> list[Raw]:
    head, *answers = unit.shown()
    if not isinstance(head, Assistant):
        return [_said(head)]
    own = head.dialect == NAME
    calls = _named(head, unit.key) if own else _placed(head, unit.key)
    turn = head if own else cast("Assistant", adopted(head, NAME))
    out = _turn(replace(turn, calls=calls), own=own)
    if calls and (strict if own else sign):
        _sign(out)
    if answers:
        pairs = [(answer, calls[at]) for answer, at in zip(answers, unit.answers, strict=True)]
        out.extend(responses(cast("list[tuple[ToolResult, Call]]", pairs)))
    return out


# ---- heads


def _said(fact: Fact) -> Raw:
    """What is no turn of the model: the user's words, or our own."""
    if isinstance(fact, Failure):
        return {"role": "model", "parts": kept([{"text": said(fact)}])}
    if own := said(fact):
        return {"role": "user", "parts": [{"text": own}]}
    parts = user_parts(fact)
    if isinstance(fact, Instruction):  # the API knows none in the middle
        return {"role": "user", "parts": [{"text": texts.instruction(fact.role, "")}, *kept(parts)]}
    extra: Raw = (fact.extra or {}) if fact.dialect == NAME else {}
    content: Raw = {} if extra.get(ROLELESS) else {"role": "user"}
    return {**content, **copied(extra.get(CONTENT) or {}), "parts": kept(parts)}


def _named(head: Assistant, key: int) -> tuple[Call, ...]:
    """The calls under ids unique in the turn; one that came without an id has none."""
    pairs = zip(head.calls, labels(head.calls, key), strict=True)
    return tuple(replace(c, id=label) if c.id and c.id != label else c for c, label in pairs)


def _placed(head: Assistant, key: int) -> tuple[Call, ...]:
    return tuple(replace(c, name=safe_name(c.name), args=c.args or "{}") for c in placed(head, key))


def _turn(turn: Assistant, *, own: bool) -> list[Raw]:
    """A turn's contents: those it came in, as long as all that was in them shows."""
    items = [call_part(i) if isinstance(i, Call) else part(i, own=own) for i in ordered(turn)]
    came: list[Any] = ((turn.extra or {}).get(CONTENTS) if own else None) or [[len(items), {}]]
    if sum(size for size, _ in came) != len(items):
        came = [[len(items), came[0][1]]]
    out: list[Raw] = []
    rest: Iterator[Raw | None] = iter(items)
    for size, beside in came:
        parts = [each for _, each in zip(range(size), rest, strict=False) if each is not None]
        out.append({"role": "model", **copied(beside), "parts": kept(parts)})
    return [Apart(content) if at or turn.apart else content for at, content in enumerate(out)]


def _sign(contents: list[Raw]) -> None:
    """Give the first call of a turn the signature that stands for none, unless it has one (G5)."""
    call = next(each for content in contents for each in content["parts"] if spelt(each, CALL))
    if spelt(call, SIGNATURE) is None:
        call[SIGNATURE[1] if CALL[1] in call else SIGNATURE[0]] = ESCAPE
