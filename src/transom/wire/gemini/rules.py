"""Which rules of Gemini's generateContent a request breaks. Written from the rules, not from the code that renders.

Each names its source: D the provider's documentation, E an error text seen in public, R a recorded exchange.
Contents of one role in a row are one turn (R: 93 accepted; G3 is counted over merged turns, R: 4 accepted).

- G1 (E: gemini-cli#11814): a turn with function calls comes after the user; so the first turn has none.
- G2 (E: generative-ai#368): function responses come right after the turn with the calls.
- G3 (E: gemini-cli#4217): as many function responses as function calls.
- G4 (E: opencode#43479; R: 0 of 483 accepted have it): a content with function responses holds nothing else.
- G5 (E: 5ire#405): the first call of each step of the current turn is signed. Only if `strict`: Gemini 3 wants it,
  others do not (R: unsigned ones accepted).
- G6 (E: crewAI#6973; R: none accepted ends otherwise): the last content is the user's, or ends in what the model does
  itself (its code, its search), of which nothing is known.
- G7 (R: all accepted have them): there are contents, and parts in each.

Without a number (D, the shape of a request): content, role, part, call, response, system, text. These are no
violations: two contents of one role in a row (G7), a blank text (G8), a content without a role (D: may be left blank).
What is in a `cachedContent` comes before the contents, unseen: a call or a response may refer to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from msgspec import Struct

from transom.wire.dialect import Violation

Json = dict[str, Any]
Finding = tuple[str, str]


class Turn(Struct):
    """Neighbouring contents of one role, each with its position: the parts that are objects."""

    model: bool
    contents: list[tuple[int, list[Json]]]

    @property
    def first(self) -> int:
        return self.contents[0][0]


def violations(request: object, *, strict: bool = False) -> list[Violation]:
    """Everything in a request that the API would refuse, in the order of its contents; none for a valid one."""
    fields = _json(request)
    found = [Violation(rule, -1, why) for rule, why in _of_system(fields)]
    contents: object = fields.get("contents")
    if not isinstance(contents, list) or not contents:
        return [*found, Violation("G7", -1, "no contents")]
    listed = cast("list[object]", contents)
    for index, content in enumerate(listed):
        found.extend(Violation(rule, index, why) for rule, why in _of_content(content))
    turns = _turns(listed)
    found.extend(_of_order(turns, cached=bool(fields.get("cachedContent") or fields.get("cached_content"))))
    if strict:
        found.extend(_of_signatures(turns))
    return sorted(found, key=lambda violation: violation.index)


def _json(value: object) -> Json:
    return cast("Json", value) if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _either(fields: Json, camel: str, snake: str) -> Any:
    """A field in one of its two spellings."""
    return fields[camel] if fields.get(camel) is not None else fields.get(snake)


def _call(part: Json) -> Any:
    return _either(part, "functionCall", "function_call")


def _response(part: Json) -> Any:
    return _either(part, "functionResponse", "function_response")


# ---- one content by itself


def _of_system(fields: Json) -> Iterator[Finding]:
    system: object = _either(fields, "systemInstruction", "system_instruction")
    if system is None:
        return
    parts = _list(_json(system).get("parts"))
    if not parts or not all(isinstance(_json(part).get("text"), str) for part in parts):  # D: text only
        yield "system", "the system instruction is not an object with text parts"
    if _has_surrogate(system):
        yield "text", "a lone surrogate in the system instruction"


def _of_content(content: object) -> Iterator[Finding]:
    if not isinstance(content, dict):
        yield "content", "not an object"
        return
    fields = _json(cast("object", content))
    role = fields.get("role")
    if role not in ("user", "model", None):  # D: user or model
        yield "role", f"no such role: {role!r:.40}"
    if _has_surrogate(fields):  # a request is UTF-8, which has no lone surrogates
        yield "text", "a lone surrogate"
    parts = _list(fields.get("parts"))
    if not parts:
        yield "G7", "no parts"
    for at, part in enumerate(parts):
        yield from _of_part(f"parts[{at}]", part, model=role == "model")
    held = [_response(_json(part)) is not None for part in parts]
    if any(held) and not all(held):
        yield "G4", "function responses and other parts in one content"


_BESIDE = frozenset(
    {
        *("thought", "thoughtSignature", "thought_signature", "videoMetadata", "video_metadata"),
        *("partMetadata", "part_metadata", "mediaResolution", "media_resolution"),
    }
)
"""D: what a part has beside its data."""

_DATA = (
    *("text", "inlineData", "inline_data", "fileData", "file_data", "functionCall", "function_call"),
    *("functionResponse", "function_response", "executableCode", "executable_code", "codeExecutionResult"),
    *("code_execution_result", "toolCall", "tool_call", "toolResponse", "tool_response"),
)
"""D: the union field of a part; the last four R."""

_WORDS = ("text", "inlineData", "inline_data", "fileData", "file_data", "functionCall", "function_call")


def _of_part(where: str, part: object, *, model: bool) -> Iterator[Finding]:
    fields = _json(part)
    data = [key for key in _DATA if fields.get(key) is not None]
    if not data and any(isinstance(fields[key], dict) for key in fields if key not in _BESIDE):
        return  # a kind that came up later
    if len(data) != 1:  # D: a union field
        yield "part", f"{where} is {len(data)} things at once"
        return
    value = fields[data[0]]
    if data[0] == "text":
        if not isinstance(value, str):
            yield "part", f"{where}.text is not a string"
    elif not isinstance(value, dict):  # D: all other kinds are messages
        yield "part", f"{where}.{data[0]} is not an object"
    elif data[0] in {"functionCall", "function_call"}:
        yield from _of_call(where, _json(cast("object", value)), model=model)
    elif data[0] in {"functionResponse", "function_response"}:
        yield from _of_response(where, _json(cast("object", value)), model=model)


def _of_call(where: str, call: Json, *, model: bool) -> Iterator[Finding]:
    if not model:
        yield "call", f"{where} is a call by the user"
    if not _is_name(call.get("name")) or not isinstance(call.get("id"), (str, type(None))):  # D: required; optional
        yield "call", f"{where} has no name, or an id that is no text"
    if not isinstance(call.get("args"), (dict, type(None))):  # D: a Struct
        yield "call", f"{where} has arguments that are no object"


def _of_response(where: str, response: Json, *, model: bool) -> Iterator[Finding]:
    if model:
        yield "response", f"{where} is a response by the model"
    if not _is_name(response.get("name")) or not isinstance(response.get("id"), (str, type(None))):
        yield "response", f"{where} has no name, or an id that is no text"
    if not isinstance(response.get("response"), dict):  # D: required, a Struct
        yield "response", f"{where} has no response, or one that is no object"


def _is_name(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _has_surrogate(value: object) -> bool:
    stack: list[object] = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            if not item.isascii() and any("\ud800" <= char <= "\udfff" for char in item):
                return True
        elif isinstance(item, dict):
            members = cast("Json", item)
            stack.extend(members)
            stack.extend(members.values())
        elif isinstance(item, list):
            stack.extend(cast("list[object]", item))
    return False


# ---- contents together


def _turns(contents: list[object]) -> list[Turn]:
    turns: list[Turn] = []
    for at, content in enumerate(contents):
        fields = _json(content)
        model = fields.get("role") == "model"
        if not turns or turns[-1].model != model:
            turns.append(Turn(model, []))
        turns[-1].contents.append((at, [_json(part) for part in _list(fields.get("parts"))]))
    return turns


def _of_order(turns: list[Turn], *, cached: bool) -> Iterator[Violation]:
    open_calls = None if cached else 0  # of the turn before; None: nobody can tell
    for at, turn in enumerate(turns):
        if turn.model:
            calls = sum(_call(part) is not None for _, parts in turn.contents for part in parts)
            if calls and not at and not cached:
                yield Violation("G1", turn.first, "a function call before anything the user said")
            open_calls = calls
            if at == len(turns) - 1 and _speaks_last(turn):
                yield Violation("G6", turn.contents[-1][0], "the last content is the model's")
        else:
            yield from _of_responses(turn, open_calls)
            open_calls = 0


def _speaks_last(turn: Turn) -> bool:
    """Whether a turn of the model ends in its words or a call, and not in what it does itself (D: code, tools)."""
    said = [part for _, parts in turn.contents for part in parts if part.get("thought") is not True]
    return not said or any(said[-1].get(key) is not None for key in _WORDS)


def _of_responses(turn: Turn, calls: int | None) -> Iterator[Violation]:
    """A turn of the user behind one with so many calls."""
    seen = 0
    for at, (index, parts) in enumerate(turn.contents):
        held = sum(_response(part) is not None for part in parts)
        before = turn.contents[at - 1][1] if at else []
        if held and (calls == 0 or any(_response(part) is None for part in before)):
            yield Violation("G2", index, "a function response that is not right behind its call")
        seen += held
    if calls and seen != calls:
        yield Violation("G3", turn.first, f"{seen} function responses to {calls} calls")


def _of_signatures(turns: list[Turn]) -> Iterator[Violation]:
    """Of the current turn: what came after the user's last own words."""
    asked = [at for at, turn in enumerate(turns) if not turn.model and _speaks(turn)]
    for turn in turns[asked[-1] if asked else 0 :]:
        calls = [(at, part) for at, parts in turn.contents for part in parts if _call(part) is not None]
        if turn.model and calls and not _either(calls[0][1], "thoughtSignature", "thought_signature"):
            yield Violation("G5", calls[0][0], "the first call of a step is not signed")


def _speaks(turn: Turn) -> bool:
    return any(_response(part) is None for _, parts in turn.contents for part in parts)
