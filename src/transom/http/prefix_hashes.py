"""Digests of the beginnings of a conversation: equal digests mean equal beginnings.

There are three kinds:

- The *raw* digest is made of the bytes of the messages as they came. It is cheap.
- The *canonical* digest is made of the facts in them. Each is made of the one before it and of one more fact. It leaves
  out cache marks, ids of items and reasoning, because clients change or drop these between two requests. A string and
  a list of one text block are the same fact.
- The digest of the *outline* is canonical too, and leaves out what results say, because agents shorten old results.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from hashlib import blake2b, sha256
from typing import Any, cast

from transom.core.message import Assistant, Fact, Instruction, Part, Text, ToolResult, User

Digest = bytes

DIGEST_BYTES = 16


def begin(*names: str) -> Digest:
    """The digest before any message: where the other digests begin. `names`: whose messages they are, such as a tenant
    and a session; their order counts. Messages of two different owners have no digest in common."""
    return blake2b(json.dumps(names).encode(), digest_size=DIGEST_BYTES).digest()


def raw_digests(start: Digest, messages: Sequence[Any]) -> list[Digest]:
    """The raw digests of all beginnings of a list of messages, the shortest first: that of no message, of the first
    message, of the first two, and so on: one more digest than messages. `start`: from `begin`; `messages`: each as its
    bytes, or a `msgspec.Raw`.

    The length of each message is hashed before it, so that no two lists of messages have the same bytes. SHA-256,
    because processors have instructions for it: it takes half the time of BLAKE2.
    """
    state = sha256(start)
    out = [state.digest()]
    for raw in messages:
        state.update(b"%d:" % len(raw))
        state.update(raw)
        out.append(state.digest())
    return out


def after(digest: Digest, fact: Fact) -> Digest:
    """The canonical digest after one more fact. `digest`: from `begin`, or from `after` for the fact before. It is
    returned unchanged for a fact that no client sends, such as a note, and for a message without text, part and call:
    reasoning does not count. A result always counts, also an empty one."""
    for element in _elements(fact):
        digest = _linked(digest, element)
    return digest


def after_calls(outline: Digest, turn: Assistant) -> Digest | None:
    """A digest made of the outline before a turn (`outline_after`) and of the ids of its calls. None if the turn has no
    calls, or if one of them has no id.

    A turn is found by this digest also if the client has changed its text, or the results before it. The ids alone are
    not enough: a server may give two turns the same ids.
    """
    ids = [call.id for call in turn.calls]
    if not ids or not all(ids):
        return None
    return _linked(outline, ["ids", *ids])


def outline_after(outline: Digest, fact: Fact) -> Digest:
    """The digest of the outline after one more fact. `outline`: from `begin`, or from `outline_after` for the fact
    before. Of a result whose call has an id, only this id counts; all else counts as in `after`."""
    if isinstance(fact, ToolResult) and fact.call:
        return _linked(outline, ["result", fact.call])
    return after(outline, fact)


def _linked(digest: Digest, element: list[Any]) -> Digest:
    """The digest of a digest and of one more element."""
    text = json.dumps(element, sort_keys=True)
    return blake2b(text.encode(), digest_size=DIGEST_BYTES, key=digest).digest()


def _elements(fact: Fact) -> Iterator[list[Any]]:
    """What counts of a fact, one element for each text, part or call: how they are spread over messages does not count.
    Empty for a fact that no client sends."""
    if isinstance(fact, Assistant):
        for part in fact.parts:
            if not isinstance(part, Text):
                yield ["model", _unmarked(part.raw)]
            elif text := part.text.strip():
                yield ["model", text]
        for call in fact.calls:
            yield ["call", call.id, call.name, _arguments(call.args)]
    elif isinstance(fact, ToolResult):
        yield ["result", fact.call, *_contents(fact.parts)]
    elif isinstance(fact, (User, Instruction)):
        who = "user" if isinstance(fact, User) else fact.role
        yield from ([who, content] for content in _contents(fact.parts))


def _contents(parts: Sequence[Part]) -> Iterator[object]:
    for part in parts:
        if not isinstance(part, Text):
            yield _unmarked(part.raw)
        elif part.text:
            yield part.text


def _arguments(text: str) -> object:
    """The value of a call's arguments, because clients write the JSON anew; the text if they are no JSON."""
    try:
        return json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError):
        return text


def _unmarked(value: object) -> object:
    """A part without cache marks, ids and statuses, at every depth: a client may leave these away."""
    if isinstance(value, dict):
        fields = cast("dict[str, object]", value)
        return {key: _unmarked(item) for key, item in fields.items() if key not in {"cache_control", "id", "status"}}
    if isinstance(value, list):
        return [_unmarked(item) for item in cast("list[object]", value)]
    return value
