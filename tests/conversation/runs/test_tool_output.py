"""What a tool returns, as the model reads it: JSON or text. No object that a tool returns ends the run."""

from __future__ import annotations

import datetime as dt
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import pydantic
import pytest

from transom import AsyncConversation, Conversation
from transom.core.message import Assistant, Call, ToolResult
from transom.errors import InvalidMessage
from transom.providers.scripted import Scripted, call
from transom.wire.dialects import DIALECTS


class City(pydantic.BaseModel):
    name: str
    day: dt.date = dt.date(2026, 1, 2)


@dataclass
class Report:
    city: City
    note: bytes


class Mute:
    """An object, and an exception below, that cannot even be shown."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")


class MuteError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no str")


def nested(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


def after(value: object, *, dialect: str = "openai", on_loop: bool = False) -> tuple[str, bool]:
    """The text of the result that a tool with this value gets, and whether it failed."""

    def tool() -> object:
        if isinstance(value, BaseException):
            raise value
        return value

    provider = Scripted(call("tool"), "Done.", dialect=dialect)
    with Conversation.open("memory:", "c", budget=10_000) as conv:
        if on_loop:
            result = anyio.run(lambda: AsyncConversation(conv).run("Go", provider=provider, tools=[tool]))
        else:
            result = conv.run("Go", provider=provider, tools=[tool])
        assert (result.text, provider.violations) == ("Done.", [])
        (found,) = [entry.body for entry in conv.log if isinstance(entry.body, ToolResult)]
        return "".join(part.text for part in found.parts), found.failed


def given(value: object, *, dialect: str = "openai") -> tuple[str, bool]:
    """As `after`, with the value given to `tool_result` in a loop of one's own."""
    with Conversation.open("memory:", "c", budget=10_000, dialect=dialect) as conv:
        conv.user("Go")
        conv.append(Assistant(calls=(Call(id="c", name="tool", args="{}"),), dialect=dialect))
        conv.tool_result("c", value)
        (found,) = [entry.body for entry in conv.log if isinstance(entry.body, ToolResult)]
        return "".join(part.text for part in found.parts), found.failed


ROME = '{"name":"Rome","day":"2026-01-02"}'


READ_AS: list[tuple[object, str]] = [
    (City(name="Rome"), ROME),
    ([City(name="Rome")], f"[{ROME}]"),
    ({"city": City(name="Rome")}, f'{{"city":{ROME}}}'),
    (Report(City(name="Rome"), b"warm"), f'{{"city":{ROME},"note":"warm"}}'),
    ({}, "{}"),
    ([], "[]"),
    (None, "[no output]"),
    ("", "[no output]"),
    (b"caf\xc3\xa9", "café"),
    (b"\x89PNG", "[4 bytes of binary data, not shown]"),
    (bytearray(b"a\0b"), "[3 bytes of binary data, not shown]"),
    ({"image": b"\xff"}, '{"image":"[1 byte of binary data, not shown]"}'),
    ({1: 2, (3, 4): City(name="Rome"), None: True}, f'{{"1":2,"(3, 4)":{ROME},"null":true}}'),
    ({1: "a", "1": "b"}, "{1: 'a', '1': 'b'}"),
    ([1j, 2], '["1j",2]'),
    (City, f"<class '{__name__}.City'>"),
    (float("nan"), "nan"),
    ([float("inf"), 1], "[inf, 1]"),
    (dt.datetime(2026, 1, 2, 3, 4, tzinfo=dt.UTC), "2026-01-02T03:04:00Z"),
    ({"when": dt.date(2026, 1, 2)}, '{"when":"2026-01-02"}'),
    ((1, 2), "[1,2]"),
    ({"b", "a", "c"}, '["a","b","c"]'),
    ({"found": [{10, 9}, {2, "b", "a"}]}, '{"found":[[9,10],[2,"a","b"]]}'),
    ({(2, "b"), (2, "a")}, '[[2,"a"],[2,"b"]]'),
    ({Decimal("NaN"), Decimal(1)}, '["1","NaN"]'),
    (Path("a/b"), "a/b"),
    ([{"type": "image_url"}, {"type": "text"}], '[{"type":"image_url"},{"type":"text"}]'),
]


@pytest.mark.parametrize(("value", "read"), READ_AS)
def test_what_the_model_reads(value: object, read: str) -> None:
    assert after(value) == (read, False)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(("value", "read"), READ_AS)
def test_a_loop_of_ones_own_gives_the_model_the_same(value: object, read: str, dialect: str) -> None:
    assert given(value, dialect=dialect) == after(value, dialect=dialect)
    if dialect == "openai":
        assert given(value) == (read, False)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_empty_object_in_every_dialect(dialect: str) -> None:
    assert after({}, dialect=dialect) == ("{}", False)


def iter_lines() -> Iterator[str]:
    yield "a line"


UNREADABLE = "the tool ran, but its result cannot be read: "


@pytest.mark.parametrize("on_loop", [False, True])
@pytest.mark.parametrize(
    ("value", "read"),
    [
        (nested(200_000), UNREADABLE + "it is nested too deep"),
        (Mute(), UNREADABLE + "RuntimeError: no repr"),
        ([Mute()], UNREADABLE + "RuntimeError: no repr"),
        (iter_lines(), UNREADABLE + "TypeError: it is a generator; the tool must return a list or a text"),
        (MuteError(), "MuteError: (it has no text: its __str__ failed)"),
    ],
)
def test_what_cannot_be_read_is_a_failed_result(value: object, read: str, *, on_loop: bool) -> None:
    assert after(value, on_loop=on_loop) == (read, True)


async def coroutine() -> str:
    return "a text"


@pytest.mark.parametrize("make", [lambda: nested(200_000), Mute, lambda: [Mute()], iter_lines, coroutine])
def test_a_loop_of_ones_own_is_told_what_cannot_be_read(make: Callable[[], Any]) -> None:
    value = make()
    with pytest.raises(InvalidMessage, match="tool_result: the content cannot be read: "):
        given(value)
    if inspect.iscoroutine(value):
        value.close()
