"""Recorded conversations out of files. Whatever is wrong is said with the file, the line and the field."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import IO, Any, cast

from msgspec import Struct

from transom.conversation.replay import Question
from transom.core.message import Raw
from transom.errors import InvalidMessage
from transom.measure.compare import Label
from transom.wire.checks import kind_of

GZIP = b"\x1f\x8b"
SPREAD = "; JSON that goes over several lines belongs in a file named .json"


class Record(Struct, frozen=True, kw_only=True):
    """One conversation as it stood in a file: `messages` are not looked at yet.

    `labels`: for the number of a question, its answer and the evidence before it, as far as both are known.
    `begin` and `end`: how much of the file was read before and after it, from 0 to 1.
    """

    where: str
    id: str
    messages: list[Raw]
    questions: tuple[Question, ...] = ()
    labels: dict[int, Label] = {}
    begin: float = 0.0
    end: float = 1.0


def records(path: Path, *, questions: bool = False) -> Iterator[Record]:
    """The conversations of a file, in order, one in memory at a time. Raises OSError, InvalidMessage."""
    size, name = path.stat().st_size, path.name.removesuffix(".gz")
    with path.open("rb") as raw:
        packed = path.suffix == ".gz" or raw.peek(2)[:2] == GZIP
        content = cast("IO[bytes]", gzip.GzipFile(fileobj=raw)) if packed else raw
        if name.endswith(".json"):
            value = _json(_read(content.read, str(path)), str(path))
            yield _record(value, str(path), name.removesuffix(".json"), questions, (0.0, 1.0))
            return
        begin, hint = 0.0, SPREAD
        for number, where, line in _lines(content, path):
            end = min(1.0, raw.tell() / size) if raw.seekable() and size else 1.0
            title = f"{name.removesuffix('.jsonl')}:{number}"
            yield _record(_json(line, where, hint), where, title, questions, (begin, end))
            begin, hint = end, ""


def _lines(content: IO[bytes], path: Path) -> Iterator[tuple[int, str, bytes]]:
    """The lines that are not empty, each with its number and how errors name it."""
    for number in count(1):
        where = f"{path} line {number}"
        line = _read(content.readline, where)
        if not line:
            return
        if line := line.strip():
            yield number, where, line


def _read(read: Callable[[], bytes], where: str) -> bytes:
    try:
        return read()
    except (OSError, EOFError, zlib.error) as problem:
        raise InvalidMessage(where, f"cannot be read: {problem}") from problem


def _json(text: bytes, where: str, hint: str = "") -> object:
    """The value of a text; `hint` is added to the error if the text only ends too early."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as problem:
        line = f"line {problem.lineno} " if problem.lineno > 1 else ""
        more = hint if problem.pos >= len(problem.doc) else ""
        raise InvalidMessage(where, f"not JSON: {problem.msg} ({line}column {problem.colno}){more}") from problem
    except (ValueError, RecursionError) as problem:
        raise InvalidMessage(where, f"not JSON: {problem}") from problem


def _record(value: object, where: str, name: str, questions: bool, span: tuple[float, float]) -> Record:
    if isinstance(value, list):
        value = {"messages": cast("list[object]", value)}
    if not isinstance(value, dict):
        raise InvalidMessage(where, f"a conversation must be an object, not {kind_of(value)}")
    fields = cast("dict[str, Any]", value)
    messages = fields.get("messages")
    if not isinstance(messages, list):
        hint = "; this looks like a single message" if "role" in fields else ""
        raise InvalidMessage(where, f"messages must be a list, {_found(fields, 'messages')}{hint}")
    title = fields.get("id")
    if title is not None and (not isinstance(title, str) or not title):
        raise InvalidMessage(where, f"id must be a text, {_found(fields, 'id')}")
    listed = cast("list[Raw]", messages)
    asked = tuple(_questions(fields.get("questions"), where, len(listed))) if questions else ()
    known = ((one.index, _label(fields["questions"][one.index], one.asked_at)) for one in asked)
    labels = {index: label for index, label in known if label is not None}
    begin, end = span
    return Record(where=where, id=title or name, messages=listed, questions=asked, labels=labels, begin=begin, end=end)


def _questions(value: object, where: str, most: int) -> Iterator[Question]:
    if value is None:
        return
    if not isinstance(value, list):
        raise InvalidMessage(where, f"questions must be a list, not {kind_of(value)}")
    for index, item in enumerate(cast("list[object]", value)):
        path = f"questions[{index}]"
        fields = cast("dict[str, Any]", item) if isinstance(item, dict) else {}
        text, at = fields.get("question"), fields.get("asked_at")
        if not isinstance(text, str) or not text:
            raise InvalidMessage(where, f"{path}.question must be a text, {_found(fields, 'question')}")
        if at is None:
            at = most
        if not isinstance(at, int) or isinstance(at, bool) or not 0 <= at <= most:
            shown = f"{at!r:.40}" if kind_of(at) == "a number" else kind_of(at)
            raise InvalidMessage(where, f"{path}.asked_at must be a whole number from 0 to {most}, not {shown}")
        yield Question(index=index, text=text, asked_at=at)


def _label(question: Raw, asked_at: int) -> Label | None:
    """What is known of a question; None without an answer, or without evidence before it (positions of messages)."""
    answer, places = question.get("answer"), question.get("evidence")
    listed = cast("list[object]", places) if isinstance(places, list) else []
    evidence = tuple(at for at in listed if isinstance(at, int) and 0 <= at < asked_at)
    return None if answer is None or not evidence else Label(str(answer), evidence)


def _found(fields: dict[str, Any], key: str) -> str:
    """What stands under a key instead of what is needed."""
    value = fields.get(key)
    return "but is missing" if key not in fields else f"not {'an empty string' if value == '' else kind_of(value)}"
