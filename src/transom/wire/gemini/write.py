"""Parts of facts as parts of a content."""

from __future__ import annotations

from transom.core import texts
from transom.core.message import Addressed, Call, Fact, Raw, Reasoning, Text
from transom.wire.arguments import as_object
from transom.wire.foreign import adopted
from transom.wire.gemini.words import CALL, NAME, RESPONSE, kinds_of, spelt
from transom.wire.saying import copied


def user_parts(fact: Fact) -> list[Raw]:
    """The parts of what a user says, in whatever dialect it came."""
    own = fact.dialect == NAME
    written = (part(each, own=own) for each in adopted(fact, NAME).parts)
    return [each for each in written if each is not None]


def kept(parts: list[Raw]) -> list[Raw]:
    """The parts of a content, which has some, and says something (G7)."""
    return parts if any(each != {"text": ""} for each in parts) else [{"text": texts.left_out("part")}]


def part(item: Addressed, *, own: bool) -> Raw | None:
    """One part; None if it says nothing. `own`: it came in this dialect, which takes an empty text among others."""
    if isinstance(item, Text):
        return {"text": item.text, **copied(item.extra or {})} if item.text or own else None
    if isinstance(item, Reasoning):
        return {"text": item.text, "thought": True, **copied(item.extra or {})}
    assert not isinstance(item, Call)
    if not kinds_of(item.raw):
        return None
    if spelt(item.raw, (*CALL, *RESPONSE)) is not None:  # none that is answered, or an answer
        return {"text": texts.left_out("part")}
    return copied(item.raw)


def call_part(call: Call) -> Raw:
    """A call as it came, or as it was trimmed."""
    out: Raw = copied(call.extra) if call.extra else {CALL[0]: {}}
    body: Raw = out[spelt(out, CALL) or CALL[0]]
    if call.id:
        body["id"] = call.id
    body["name"] = call.name or texts.UNNAMED
    if call.args:
        body["args"] = copied(as_object(call.args))
    return out
