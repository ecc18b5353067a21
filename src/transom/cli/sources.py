"""Recorded conversations out of files. Whatever is wrong is said with the file, the line and the field."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, cast

from msgspec import Struct

from transom.core.message import Raw
from transom.drive.replay import Question
from transom.errors import InvalidMessage
from transom.wire.reading import kind_of

GZIP = b"\x1f\x8b"
SPREAD = "; JSON that goes over several lines belongs in a file named .json"


class Record(Struct, frozen=True, kw_only=True):
    """One conversation as it stood in a file: `messages` are not looked at yet.

    `begin` and `end`: how much of the file was read before and after it, from 0 to 1.
    """

    where: str
    id: str
    messages: list[Raw]
    questions: tuple[Question, ...] = ()
    begin: float = 0.0
    end: float = 1.0


def records(path: Path, *, questions: bool = False) -> Iterator[Record]:
    """The conversations of a file, in order, one in memory at a time. Raises OSError, InvalidMessage."""
    size = path.stat().st_size
    with path.open("rb") as raw:
        packed = path.suffix == ".gz" or raw.peek(2)[:2] == GZIP
        content = cast("IO[bytes]", gzip.GzipFile(fileobj=raw)) if packed else raw
        if _stem(path) + ".json" == path.name.removesuffix(".gz"):
            yield _record(_json(_read(content, str(path)), str(path)), str(path), _stem(path), questions, (0.0, 1.0))
            return
        begin = 0.0
        for count, (number, line) in enumerate(_lines(content, path)):
            where = f"{path} line {number}"
            end = min(1.0, raw.tell() / size) if raw.seekable() and size else 1.0
            hint = "" if count else SPREAD
            yield _record(_json(line, where, hint), where, f"{_stem(path)}:{number}", questions, (begin, end))
            begin = end


def _stem(path: Path) -> str:
    name = path.name.removesuffix(".gz")
    return name.removesuffix(".json") if name.endswith(".json") else name.removesuffix(".jsonl")


def _read(content: IO[bytes], where: str) -> bytes:
    try:
        return content.read()
    except (OSError, EOFError, zlib.error) as problem:
        raise _unreadable(where, problem) from problem


def _lines(content: IO[bytes], path: Path) -> Iterator[tuple[int, bytes]]:
    number = 0
    while True:
        number += 1
        try:
            line = content.readline()
        except (OSError, EOFError, zlib.error) as problem:
            raise _unreadable(f"{path} line {number}", problem) from problem
        if not line:
            return
        if line := line.strip():
            yield number, line


def _unreadable(where: str, problem: Exception) -> InvalidMessage:
    return InvalidMessage(where, f"cannot be read: {problem}")


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
    return Record(where=where, id=title or name, messages=listed, questions=asked, begin=span[0], end=span[1])


def _questions(value: object, where: str, count: int) -> Iterator[Question]:
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
            at = count
        if not isinstance(at, int) or isinstance(at, bool) or not 0 <= at <= count:
            shown = f"{at!r:.40}" if kind_of(at) == "a number" else kind_of(at)
            raise InvalidMessage(where, f"{path}.asked_at must be a whole number from 0 to {count}, not {shown}")
        yield Question(index=index, text=text, asked_at=at)


def _found(fields: dict[str, Any], key: str) -> str:
    """What stands under a key instead of what is needed."""
    value = fields.get(key)
    return "but is missing" if key not in fields else f"not {'an empty string' if value == '' else kind_of(value)}"
