"""Gemini's contents to facts: a model's turn, a user's words, and each response of a tool by itself.

Input is copied: what the caller does to it afterwards never reaches the log.
"""

from __future__ import annotations

from typing import Any, cast

from msgspec.structs import replace

from transom.core.message import Addressed, Assistant, Call, Instruction, Part, Raw, Reasoning, Text, ToolResult, User
from transom.errors import InvalidMessage
from transom.wire.dialect import Placed
from transom.wire.gemini.parts import answer, model_part, response, single, user_part
from transom.wire.gemini.words import CALL, CONTENT, CONTENTS, NAME, RESPONSE, ROLELESS, spelt
from transom.wire.reading import kind_of, owned

_USERS = frozenset({"user", "function"})
"""Who speaks to the model. `function`: whose the responses of tools once were."""


def parse(contents: list[object], where: str) -> list[Placed]:
    """The facts that contents hold, each with its content's position. Raises InvalidMessage.

    Contents of the model behind its own open calls belong to the same turn: together they are answered.
    """
    reader = _Reader()
    for at, item in enumerate(contents):
        reader.take(at, item, f"{where}content {at}")
    return reader.out


def turn(content: object, where: str) -> Assistant:
    """One content of the model by itself. Raises InvalidMessage."""
    fields, role = _opened(content, where)
    if role not in {"model", None}:
        raise InvalidMessage(where, f"role must be model, not {role!r}")
    return _turn(_items(fields, where), fields)


def instruction(content: object, where: str) -> Instruction:
    """What stands as a system instruction: a content, whatever its role. Raises InvalidMessage."""
    if not isinstance(content, dict):
        raise InvalidMessage(where, f"must be a text or an object with parts, not {kind_of(content)}")
    fields = owned(cast("dict[object, object]", content), where)
    parts = tuple(user_part(raw, where, path) for raw, path in single(fields.pop("parts", None), where, "parts"))
    return Instruction(parts=parts, shape="parts", extra={CONTENT: fields} if fields else None, dialect=NAME)


def user(content: object, where: str) -> User:
    """What the user says: a text, or a list of parts. Raises InvalidMessage."""
    return User(parts=_content(content, where), dialect=NAME)


def result(call: str, content: object, where: str) -> ToolResult:
    """A tool's answer: a text, a list of texts and files, or the response object. Raises InvalidMessage."""
    if isinstance(content, dict):
        parts = answer(owned(cast("dict[object, object]", content), where), where, "response")
    else:
        parts = _content(content, where)
    return ToolResult(call=call, parts=parts, dialect=NAME)


def _content(content: object, where: str) -> tuple[Part, ...]:
    if isinstance(content, str):
        return (Text(content),)
    parts: list[Part] = []
    for raw, path in single(owned({"parts": content}, where)["parts"], where, "content"):
        if spelt(raw, (*CALL, *RESPONSE)):
            raise InvalidMessage(where, f"{path} is a part of its own kind: hand over what it holds")
        parts.append(user_part(raw, where, path))
    return tuple(parts)


class _Reader:
    """Reads content after content. What a content is can depend on the one before it."""

    def __init__(self) -> None:
        self.out: list[Placed] = []
        self.calls: list[Call] = []
        """Those of the last turn that no response has come to yet."""
        self.role = ""

    def take(self, at: int, content: object, where: str) -> None:
        fields, role = _opened(content, where)
        if role == "model":
            self._model(at, fields, where)
        else:
            self._user(at, fields, where, roleless=role is None)
        self.role = "model" if role == "model" else "user"

    def _model(self, at: int, fields: Raw, where: str) -> None:
        items = _items(fields, where)
        said = _turn(items, fields)
        last = self.out[-1][1] if self.role == "model" else None
        if not items:  # says nothing, and takes nobody's place
            self.out.append((at, said))
        elif isinstance(last, Assistant) and last.calls:
            self.out[-1] = (self.out[-1][0], _longer(last, said, fields))
            self.calls += said.calls
        else:
            self.out.append((at, replace(said, apart=self.role == "model")))
            self.calls = list(said.calls)

    def _user(self, at: int, fields: Raw, where: str, *, roleless: bool) -> None:
        parts: list[Part] = []
        results: list[ToolResult] = []
        for raw, path in single(fields.pop("parts", None), where, "parts"):
            if (key := spelt(raw, RESPONSE)) is not None:
                results.append(response(raw, key, self.calls, where, path))
            else:
                parts.append(user_part(raw, where, path))
        extra: Raw = ({CONTENT: fields} if fields else {}) | ({ROLELESS: True} if roleless else {})
        if results:
            follows = bool(self.out) and isinstance(self.out[-1][1], ToolResult)
            first = results[0]
            results[0] = replace(first, apart=follows, extra={**(first.extra or {}), **extra} or None)
            self.out.extend((at, result) for result in results)
            extra = {}
        if parts or not results:
            self.out.append((at, User(parts=tuple(parts), shape="parts", extra=extra or None, dialect=NAME)))


def _opened(content: object, where: str) -> tuple[Raw, str | None]:
    """A content's fields without its role, and the role."""
    if not isinstance(content, dict):
        raise InvalidMessage(where, f"a content must be an object, not {kind_of(content)}")
    fields = owned(cast("dict[object, object]", content), where)
    role = fields.pop("role", None)
    if role not in (None, "model", *_USERS):
        shown = f"{role[:40]!r}" if isinstance(role, str) else kind_of(role)
        raise InvalidMessage(where, f"role must be user or model, not {shown}")
    return fields, role


def _items(fields: Raw, where: str) -> list[Addressed]:
    return [model_part(raw, where, path) for raw, path in single(fields.pop("parts", None), where, "parts")]


def _turn(items: list[Addressed], rest: Raw) -> Assistant:
    thoughts = tuple(item for item in items if isinstance(item, Reasoning))
    calls = tuple(item for item in items if isinstance(item, Call))
    parts = tuple(item for item in items if not isinstance(item, (Reasoning, Call)))
    extra: Raw | None = {CONTENTS: [[len(items), rest]]} if rest else None
    return Assistant(
        parts=parts, calls=calls, reasoning=thoughts, order=_order(items), shape="parts", extra=extra, dialect=NAME
    )


def _longer(turn: Assistant, more: Assistant, rest: Raw) -> Assistant:
    """A turn and another content of it."""
    known: list[Any] = (turn.extra or {}).get(CONTENTS) or [[_length(turn), {}]]
    return replace(
        turn,
        parts=turn.parts + more.parts,
        calls=turn.calls + more.calls,
        reasoning=turn.reasoning + more.reasoning,
        order=_letters(turn) + _letters(more),
        extra={CONTENTS: [*known, [_length(more), rest]]},
    )


def _length(turn: Assistant) -> int:
    return len(turn.parts) + len(turn.calls) + len(turn.reasoning)


def _letters(turn: Assistant) -> str:
    return turn.order or "r" * len(turn.reasoning) + "p" * len(turn.parts) + "c" * len(turn.calls)


def _order(items: list[Addressed]) -> str:
    """How a turn stood on the wire; empty if thoughts, then parts, then calls."""
    letters = "".join("r" if isinstance(i, Reasoning) else "c" if isinstance(i, Call) else "p" for i in items)
    return "" if letters == "".join(sorted(letters, key="rpc".index)) else letters
