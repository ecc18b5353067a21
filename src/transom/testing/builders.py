"""Builds logs in a few words: `talk("fix it", call("sh", '{"cmd": "ls"}'), result("ok"), says("done"))`.

A string is a user message. Neighbouring `call(…)`s are one turn with parallel calls. `result(…)` is the result of the
oldest open call of the newest turn. A fact, edit or trace stands for itself. Seqs, times, ids and token counts are
filled in.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from transom.clock import Clock
from transom.core.edit import Trim
from transom.core.entry import Body, Entry, Meta
from transom.core.message import Assistant, Call, Media, Part, Reasoning, Text, ToolResult, User
from transom.core.tokens import FormatCounter, TokenCounter
from transom.core.trims import apply_trim, find_part
from transom.testing.fakes import FakeClock, WordCounter


class CallItem(Struct, frozen=True):
    """A call to be written: what `call` returns. `id` None: the call gets an id, made of the seq of its entry and its
    index in the turn ("call_3_0")."""

    name: str
    args: str = "{}"
    id: str | None = None


class TurnItem(Struct, frozen=True, kw_only=True):
    """A turn of the model to be written: what `says` returns. `asks`: its calls; `thought`: its reasoning, empty for
    none, which is signed for its prefix if `bound`; `answers`: the seq of the `Sent` that it replies to."""

    text: str = ""
    asks: tuple[CallItem, ...] = ()
    thought: str = ""
    bound: bool = False
    answers: int | None = None


class ResultItem(Struct, frozen=True):
    """A result to be written: what `result` returns. `to`: the id of its call; None for the oldest open call of the
    newest turn."""

    text: str
    to: str | None = None


class HiddenItem(Struct, frozen=True):
    """A fact to be written that no window contains: what `hidden` returns."""

    item: str | Body | CallItem | TurnItem | ResultItem


Item = str | Body | CallItem | TurnItem | ResultItem | HiddenItem
"""One item of a log, as `talk` takes it. A string is a user message."""


def call(name: str, args: str = "{}", *, label: str | None = None) -> CallItem:
    """A tool call of the model, as an item of `talk`. `args`: its arguments, as the model wrote them (JSON). `label`:
    the provider's id; None: `talk` makes an id up."""
    return CallItem(name, args, label)


def result(text: str, *, to: str | None = None) -> ResultItem:
    """The result of a tool call, as an item of `talk`. `to`: the id of the call; None: the oldest open call of the
    newest turn."""
    return ResultItem(text, to)


def says(text: str, *asks: CallItem, thought: str = "", bound: bool = False, answers: int | None = None) -> TurnItem:
    """A turn of the model, as an item of `talk`. `asks`: its calls; `thought`: its reasoning, empty for none.

    `bound`: the reasoning is signed for its prefix. `answers`: the seq of the `Sent` that the turn replies to; None: of
    none.
    """
    return TurnItem(text=text, asks=asks, thought=thought, bound=bound, answers=answers)


def user(*parts: str | Part) -> User:
    """A user message of several parts; a string is a text part."""
    return User(parts=tuple(Text(part) if isinstance(part, str) else part for part in parts), shape="parts")


def image(url: str = "data:image/png;base64,AAAA") -> Media:
    """An image part in the format of OpenAI's chat API."""
    return Media("image", {"type": "image_url", "image_url": {"url": url}})


def hidden(item: str | Body | CallItem | TurnItem | ResultItem) -> HiddenItem:
    """Mark an item with `include_in_context` false: it is stored, and no window contains it."""
    return HiddenItem(item)


def talk(
    *items: Item, after: Sequence[Entry] = (), clock: Clock | None = None, counter: TokenCounter | None = None
) -> list[Entry]:
    """Build a log: the entries of `after`, and then one entry for each item.

    A string is a user message. The other items are what `call`, `result`, `says`, `user` and `hidden` return, or any
    body of an entry. Neighbouring calls are one turn, and so one entry. Returns a new list; `after` is not changed.

    `clock`: the times of the entries; by default a second apart. `counter`: counts their tokens; by default
    `WordCounter`. Raises ValueError for a `result` without `to` when no call of the newest turn is open.
    """
    log = list(after)
    clock = clock or FakeClock(start=log[-1].at + 1.0 if log else 0.0)
    counter = counter or WordCounter()
    for item in _turns(items):
        meta, inner = (Meta(include_in_context=False), item.item) if isinstance(item, HiddenItem) else (None, item)
        log.append(entry(_body(inner, log), log, at=clock(), counter=counter, meta=meta))
    return log


def entry(body: Body, log: Sequence[Entry], *, at: float, counter: TokenCounter, meta: Meta | None = None) -> Entry:
    """Make the entry with which `log` would go on: with this body, its seq, and its token counts by `counter`. Nothing
    is appended. `at`: its time, in seconds. A trim is counted by the part that it trims in `log`; 0 tokens if there is
    no such part."""
    form = None
    if isinstance(body, Trim) and 0 <= body.entry < len(log):
        found = find_part(log[body.entry], body.part)
        form = apply_trim(found[0], body) if found else None
    tokens = FormatCounter(counter).count_body(body, form)
    return Entry(seq=len(log), at=at, body=body, tokens=tokens, counter=counter.name, meta=meta)


def _turns(items: Sequence[Item]) -> Iterator[Item]:
    """The items, with neighbouring calls joined into one turn."""
    run: list[CallItem] = []
    for item in items:
        if isinstance(item, CallItem):
            run.append(item)
            continue
        if run:
            yield TurnItem(asks=tuple(run))
            run = []
        yield item
    if run:
        yield TurnItem(asks=tuple(run))


def _body(item: str | Body | CallItem | TurnItem | ResultItem, log: Sequence[Entry]) -> Body:
    """The body of the entry for an item."""
    if isinstance(item, str):
        return User(parts=_text(item))
    if isinstance(item, CallItem):
        item = TurnItem(asks=(item,))
    if isinstance(item, TurnItem):
        return _turn(item, len(log))
    return _answer(item, log) if isinstance(item, ResultItem) else item


def _text(text: str) -> tuple[Part, ...]:
    """A text as the parts of a message."""
    return (Text(text),) if text else ()


def _turn(turn: TurnItem, seq: int) -> Assistant:
    """The fact for a turn."""
    calls = tuple(
        Call(f"call_{seq}_{index}" if ask.id is None else ask.id, ask.name, ask.args)
        for index, ask in enumerate(turn.asks)
    )
    reasoning = (Reasoning(turn.thought, bound=turn.bound),) if turn.thought else ()
    shape = "text" if turn.text else "null"
    return Assistant(parts=_text(turn.text), shape=shape, calls=calls, reasoning=reasoning, answers=turn.answers)


def _answer(item: ResultItem, log: Sequence[Entry]) -> ToolResult:
    """The fact for a result."""
    if item.to is not None:
        return ToolResult(parts=_text(item.text), call=item.to)
    waiting: list[Call] = []
    for earlier in log:
        if isinstance(earlier.body, Assistant):
            waiting = list(earlier.body.calls)
        elif isinstance(earlier.body, ToolResult):
            answered = next((one for one in waiting if one.id == earlier.body.call), None)
            waiting = [one for one in waiting if one is not answered]
    if not waiting:
        raise ValueError(f"no call waits for the result {item.text[:40]!r}")
    return ToolResult(parts=_text(item.text), call=waiting[0].id, legacy=waiting[0].legacy)
