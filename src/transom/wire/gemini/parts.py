"""Parts of a content, and what a tool responded, as parts of facts. Nothing is lost: what has no field stays as it is.

A part that is several things at once, which the API refuses, is read as several parts; one that is nothing, as an
empty text: so it comes when a signature has nothing else to stand on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from transom.core.message import Addressed, Call, Media, Other, Part, Raw, Reasoning, Text, ToolResult
from transom.errors import InvalidMessage
from transom.wire.gemini.words import CALL, FILES, LABEL, NAME, PART, RESPONSE, UNDER, kinds_of, spelt
from transom.wire.reading import a_text, an_object, compact, kind_of


def single(items: object, where: str, path: str) -> Iterator[tuple[Raw, str]]:
    """The parts in a list, each being one thing, with their paths. No list at all is an empty one."""
    if items is None:
        return
    if not isinstance(items, list):
        raise InvalidMessage(where, f"{path} must be a list of parts, not {kind_of(items)}")
    for at, item in enumerate(cast("list[object]", items)):
        raw, here = an_object(item, where, f"{path}[{at}]"), f"{path}[{at}]"
        if all(value is None for value in raw.values()):
            continue
        others = kinds_of(raw)[1:]
        yield ({key: value for key, value in raw.items() if key not in others} if others else raw), here
        yield from (({key: raw[key]}, here) for key in others)


def user_part(raw: Raw, where: str, path: str) -> Part:
    """A part of what the user says."""
    if isinstance(raw.get("text"), str) or not kinds_of(raw):
        return _text(raw)
    if raw.get("text") is not None:
        raise InvalidMessage(where, f"{path}.text must be a string, not {kind_of(raw['text'])}")
    if (key := spelt(raw, FILES)) is not None:
        body: Any = an_object(raw[key], where, f"{path}.{key}")
        mime = body.get("mimeType") or body.get("mime_type")
        return Media("image" if isinstance(mime, str) and mime.startswith("image/") else "file", raw)
    if spelt(raw, (*CALL, *RESPONSE)) is not None:  # a call by the user, a response by the model: words about one
        return Text(compact(raw))
    for kind in kinds_of(raw):
        an_object(raw[kind], where, f"{path}.{kind}")
    return Other(raw)


def model_part(raw: Raw, where: str, path: str) -> Addressed:
    """A part of what the model says, calls and thoughts among them."""
    if raw.get("thought") is True and isinstance(raw.get("text"), str):
        rest = {key: value for key, value in raw.items() if key not in {"thought", "text"}}
        return Reasoning(raw["text"], "thought", extra=rest or None)
    key = spelt(raw, CALL)
    return user_part(raw, where, path) if key is None else _call(raw, key, where, f"{path}.{key}.")


def response(raw: Raw, key: str, calls: list[Call], where: str, path: str) -> ToolResult:
    """A tool's answer, to the one of the open `calls` that it means, which it takes off the list."""
    body = an_object(raw[key], where, f"{path}.{key}")
    label = a_text(body, "id", where, f"{path}.{key}.")
    name = a_text(body, "name", where, f"{path}.{key}.")
    parts = answer(body.pop("response", None), where, f"{path}.{key}.response")
    if body.get("parts"):
        items = single(body.pop("parts"), where, f"{path}.{key}.parts")
        parts += tuple(_attached(item, where, at) for item, at in items)
    extra: Raw = {"name": name} if name else {}
    if raw != {RESPONSE[0]: {}}:
        extra[PART] = raw
    call = _meant(calls, label, name)
    if call is not None and call.id != label:
        extra[LABEL], label = label, call.id
    failed = bool(parts) and isinstance(parts[0], Text) and parts[0].extra == {UNDER: "error"}
    return ToolResult(parts=parts, call=label, extra=extra or None, shape="parts", failed=failed, dialect=NAME)


def answer(value: object, where: str, path: str) -> tuple[Part, ...]:
    """What a tool responded, as a text: the text under its only key, or all of it as JSON."""
    if value is None:
        return ()
    held = an_object(value, where, path)
    if len(held) == 1:
        ((key, text),) = held.items()
        if isinstance(text, str):
            return (Text(text, None if key == "output" else {UNDER: key}),)
    return (Text(compact(held), {UNDER: None}),)


def _text(raw: Raw) -> Text:
    rest = {key: value for key, value in raw.items() if key != "text"}
    return Text(raw.get("text") or "", rest or None)


def _attached(raw: Raw, where: str, path: str) -> Part:
    """A file beside a response; anything else there is not ours to read."""
    return user_part(raw, where, path) if spelt(raw, FILES) else Other(raw)


def _call(raw: Raw, key: str, where: str, path: str) -> Call:
    body = an_object(raw[key], where, path[:-1])
    label, name = a_text(body, "id", where, path), a_text(body, "name", where, path)
    args = body.get("args")
    if args is not None:
        args = compact(an_object(body.pop("args"), where, f"{path}args"))
    return Call(label, name, args or "", None if raw == {CALL[0]: {}} else raw)


def _meant(calls: list[Call], label: str, name: str) -> Call | None:
    """By its id; where one of the two has none, by its name."""
    for at, call in enumerate(calls):
        if call.id == label if call.id and label else call.name == name:
            return calls.pop(at)
    return None
