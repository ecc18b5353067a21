"""Tools' answers as the function responses of one turn."""

from __future__ import annotations

from transom.core import texts
from transom.core.message import Call, Media, Raw, Text, ToolResult
from transom.wire.arguments import WRAPPED, as_object
from transom.wire.foreign import adopted
from transom.wire.gemini.words import CALL, CONTENT, LABEL, NAME, PART, RESPONSE, ROLELESS, UNDER, spelt
from transom.wire.reading import compact
from transom.wire.saying import copied


def responses(answers: list[tuple[ToolResult, Call]]) -> list[Raw]:
    """The contents that answer the calls of a turn: one, if they did not come in several."""
    out: list[Raw] = []
    for fact, call in answers:
        extra: Raw = (fact.extra or {}) if fact.dialect == NAME else {}
        if not out or fact.apart or CONTENT in extra or ROLELESS in extra:
            beside = copied(extra.get(CONTENT) or {})
            out.append({**({} if ROLELESS in extra else {"role": "user"}), **beside, "parts": []})
        out[-1]["parts"].append(_part(fact, call, extra))
    return out


def _part(fact: ToolResult, call: Call, extra: Raw) -> Raw:
    """One response, by the name and under the id of its call."""
    snake = call.extra is not None and spelt(call.extra, CALL) == CALL[1]
    out: Raw = copied(extra[PART]) if PART in extra else {RESPONSE[int(snake and not extra)]: {}}
    body: Raw = out[spelt(out, RESPONSE) or RESPONSE[0]]
    label = extra[LABEL] if LABEL in extra and fact.call == call.id else call.id
    if label:
        body["id"] = label
    body["name"] = call.name or texts.UNNAMED
    said, files = _content(fact)
    body["response"] = said
    if files:
        body["parts"] = files
    return out


def _content(fact: ToolResult) -> tuple[Raw, list[Raw]]:
    """What a tool responded, and the files beside it. Those of other dialects have no place there."""
    if fact.dialect != NAME:
        parts = adopted(fact, NAME).parts
        lines = [each.text if isinstance(each, Text) else _left_out(each) for each in parts]
        return _under("error" if fact.failed else "output", lines), []
    files = [copied(each.raw) for each in fact.parts if not isinstance(each, Text)]
    found = [each for each in fact.parts if isinstance(each, Text)]
    first: Raw = (found[0].extra or {}) if found else {}
    under = first.get(UNDER, "output")
    if under is None and len(found) == 1 and (held := _restored(found[0].text)) is not None:
        return held, files
    return _under(under if isinstance(under, str) else "output", [each.text for each in found]), files


def _under(key: str, lines: list[str]) -> Raw:
    """Each text by itself, as it is counted."""
    return {key: lines if len(lines) > 1 else "".join(lines)}


def _restored(text: str) -> Raw | None:
    """The object a text was made of; None if it has been trimmed since."""
    held = as_object(text)
    return copied(held) if held.get(WRAPPED) != text and compact(held) == text else None


def _left_out(part: object) -> str:
    return texts.left_out(part.media if isinstance(part, Media) else "part")
