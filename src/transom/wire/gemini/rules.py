"""Checks which rules of Gemini's generateContent a request breaks. Written from the rules, not from the code that
renders.

Each rule names its source: D the provider's documentation, E an error text seen in public, R a recorded exchange.
Contents of one role in a row are one turn (R: 93 accepted; G3 is counted over merged turns, R: 4 accepted).

- G1 (E: gemini-cli#11814): a turn with function calls comes after the user; so the first turn has none.
- G2 (E: generative-ai#368): function responses come directly after the turn with the calls.
- G3 (E: gemini-cli#4217): there are as many function responses as function calls.
- G4 (E: opencode#43479; R: 0 of 483 accepted have it): a content with function responses has no other parts.
- G5 (E: 5ire#405): the first call of each step of the current turn has a thought signature. Checked only if `strict`:
  Gemini 3 wants it, other models do not (R: unsigned ones accepted).
- G6 (E: crewAI#6973; R: none accepted ends otherwise): the last content is the user's, or ends with a part of the
  model's own tools (code, search), about which nothing is known.
- G7 (R: all accepted have them): there are contents, and parts in each.
- G8 (E: ai-gateway#2686, on Vertex; R: no accepted request has one): a part is not an empty text and nothing else. One
  with a signature, and white space, are taken.

Rules without a number (D, the form of a request): content, role, part, call, response, system, text. These are not
violations: two contents of one role in a row (G7), a content without a role (D: may be left out). A `cachedContent`
precedes the contents and is not in the request: a call or a response may refer to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from types import NoneType
from typing import NamedTuple

from transom.core.message import Raw
from transom.wire import violations as v
from transom.wire.dialect import Violation
from transom.wire.fields import as_dict, as_list, dicts

_CALL, _RESPONSE = "functionCall", "functionResponse"
_WORDS = ("text", "inlineData", "fileData", _CALL)
_DATA = {*_WORDS, _RESPONSE, "executableCode", "codeExecutionResult", "toolCall", "toolResponse"}
"""D: the union field of a part; the last two R."""
_BESIDE = frozenset({"thought", "thoughtSignature", "videoMetadata", "partMetadata", "mediaResolution"})
"""D: what a part has beside its data."""
_TEXT = (str, NoneType)
_BODIES = {
    _CALL: {"name": v.Must("call", v.NON_EMPTY), "id": v.Must("call", _TEXT), "args": v.Must("call", (dict, NoneType))},
    _RESPONSE: {
        "name": v.Must("response", v.NON_EMPTY),
        "id": v.Must("response", _TEXT),
        "response": v.Must("response", dict),
    },
}


class _MergedTurn(NamedTuple):
    """Neighbouring contents of one role. `model`: it is the model's. `contents`: the index and parts of each."""

    model: bool
    contents: list[tuple[int, list[Raw]]]

    @property
    def parts(self) -> list[Raw]:
        """All parts of the contents that make up the turn, in order."""
        return [part for _, parts in self.contents for part in parts]


def violations(request: object, *, strict: bool = False) -> list[Violation]:
    """Every rule that a request breaks, in the order of its contents; empty for a valid one. `strict`: check G5 too."""
    fields = _camel(request)
    contents = as_list(fields.get("contents"))
    models = groupby(enumerate(contents), lambda each: as_dict(each[1]).get("role") == "model")
    turns = [_MergedTurn(model, [(at, _parts(content)) for at, content in group]) for model, group in models]
    order = _of_order(turns, cached=bool(fields.get("cachedContent")))
    return v.collect_violations(
        _of_request(fields), map(_of_content, contents), order, _of_signatures(turns) if strict else ()
    )


def _camel(value: object) -> Raw:
    """An object's fields with their keys in camel case, without nulls."""
    fields = as_dict(value).items()
    return {re.sub("_([a-z])", lambda m: m[1].upper(), key): item for key, item in fields if item is not None}


def _parts(content: object) -> list[Raw]:
    """The parts of a content, with keys in camel case."""
    return [_camel(part) for part in as_list(as_dict(content).get("parts"))]


def _of_request(fields: Raw) -> Iterator[v.Finding]:
    """Findings in the system instruction, and an empty list of contents."""
    system = fields.get("systemInstruction")
    parts = _parts(system)
    if system is not None and not (parts and all(isinstance(part.get("text"), str) for part in parts)):  # D: text only
        yield "system", "the system instruction is not an object with text parts"
    yield from v.lone_surrogates(system)
    if not as_list(fields.get("contents")):
        yield "G7", "no contents"


# ---- one content by itself


def _of_content(content: object) -> Iterator[v.Finding]:
    """Findings in one content by itself."""
    fields, parts = as_dict(content), _parts(content)
    role = fields.get("role")
    yield from v.lone_surrogates(content)
    if role not in ("user", "model", None):  # D: user or model
        yield "role", f"no such role: {v.short_repr(role)}"
    if not isinstance(content, dict):
        yield "content", "not an object"
    elif not parts:
        yield "G7", "no parts"
    for at, part in enumerate(parts):
        yield from _of_part(f"parts[{at}]", part, model=role == "model")
    for at, part in enumerate(dicts(fields.get("parts"))):
        data = [key for key in part if part[key] is not None and not _DATA.isdisjoint(_camel({key: 0}))]
        if len(data) > len(_DATA.intersection(_camel(part))):  # D: a union field
            yield "part", f"parts[{at}] has the same data in both spellings"
    if len({_RESPONSE in part for part in parts}) > 1:
        yield "G4", "function responses and other parts in one content"


def _of_part(where: str, part: Raw, *, model: bool) -> Iterator[v.Finding]:
    """Findings in one part. `model`: its content is the model's."""
    data = [key for key in part if key in _DATA]
    if not data:  # a kind that came up later
        data = [key for key in part if key not in _BESIDE and isinstance(part[key], dict)]
    if len(data) != 1:  # D: a union field
        yield "part", f"{where} is {len(data)} things at once"
        return
    kind = data[0]
    if part == {"text": ""}:  # G8 (E: ai-gateway#2686, `Model input cannot be empty`)
        yield "G8", f"{where} is an empty text"
    yield from v.wrong_fields(where, part, {kind: v.Must("part", str if kind == "text" else dict)})
    if kind == _CALL and not model:
        yield "call", f"{where} is a call by the user"
    if kind == _RESPONSE and model:
        yield "response", f"{where} is a response by the model"
    yield from v.wrong_fields(f"{where}.{kind}", part[kind], _BODIES.get(kind, {}))


# ---- contents together


def _of_order(turns: list[_MergedTurn], *, cached: bool) -> Iterator[Violation]:
    """Violations of G1, G2, G3 and G6, between turns. `cached`: other contents may come before these."""
    calls = None if cached else 0  # of the turn before; None: nobody can tell
    for at, turn in enumerate(turns):
        if not turn.model:
            yield from _of_responses(turn, calls)
            calls = 0
            continue
        calls = sum(_CALL in part for part in turn.parts)
        if calls and not at and not cached:
            yield Violation("G1", turn.contents[0][0], "a function call before anything the user said")
        said = [part for part in turn.parts if part.get("thought") is not True]
        if at == len(turns) - 1 and not (said and said[-1].keys().isdisjoint(_WORDS)):
            yield Violation("G6", turn.contents[-1][0], "the last content is the model's")


def _of_responses(turn: _MergedTurn, calls: int | None) -> Iterator[Violation]:
    """Violations in a turn of the user. `calls`: those of the turn before it; None if their number cannot be known."""
    before: list[Raw] = []
    for index, parts in turn.contents:
        behind = calls == 0 or not all(_RESPONSE in part for part in before)
        if behind and any(_RESPONSE in part for part in parts):
            yield Violation("G2", index, "a function response that is not right behind its call")
        before = parts
    seen = sum(_RESPONSE in part for part in turn.parts)
    if calls and seen != calls:
        yield Violation("G3", turn.contents[0][0], f"{seen} function responses to {calls} calls")


def _of_signatures(turns: list[_MergedTurn]) -> Iterator[Violation]:
    """Violations of G5 in the current turn: everything after the user's last message that is not only responses."""
    asked = [
        at for at, turn in enumerate(turns) if not turn.model and not all(_RESPONSE in part for part in turn.parts)
    ]
    for turn in turns[asked[-1] if asked else 0 :]:
        calls = [(at, part) for at, parts in turn.contents for part in parts if _CALL in part]
        if turn.model and calls and not calls[0][1].get("thoughtSignature"):
            yield Violation("G5", calls[0][0], "the first call of a step is not signed")
