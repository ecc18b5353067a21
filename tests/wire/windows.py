"""From messages to a window by the shortest road: parse, fold, close what is open, render."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator
from itertools import islice, takewhile
from pathlib import Path

import transom
from transom.core.entry import Entry
from transom.core.message import Head, Instruction, Text, ToolResult
from transom.core.pairing import call_labels
from transom.core.reducer import apply, build_view
from transom.core.view import View
from transom.texts import ABORTED
from transom.tokenizer import o200k
from transom.wire.openai import OPENAI_CHAT, parse


class Letters:
    """One token a character: for tests that do not need the real thing."""

    name = "letters"

    def count(self, text: str) -> int:
        return len(text)


def entries(bodies: Iterable, first: int = 0) -> list[Entry]:
    return [Entry(seq=seq, at=0.0, body=body) for seq, body in enumerate(bodies, start=first)]


def viewed(*bodies, counter=None) -> View:
    """The view of a log that holds these."""
    return build_view(entries(bodies), counter or Letters())


def imported(messages: list[dict], tools: Iterable[dict] = (), counter=None) -> View:
    """The view of an imported conversation: its leading instructions are the head; at its end open calls are closed."""
    facts = [parse(message, f"messages[{i}]") for i, message in enumerate(messages)]
    lead = tuple(takewhile(lambda fact: isinstance(fact, Instruction), facts))
    log = entries([Head(messages=lead, tools=tuple(tools)), *facts[len(lead) :]])
    view = build_view(log, counter or o200k())
    closing = entries(closures(view), len(log))
    log.extend(closing)
    return apply(view, closing)


def closures(view: View) -> Iterator[ToolResult]:
    """Rule 3: a made result for each open call, at its place, under the label it has on the wire."""
    for key in view.open_units:
        unit = view.open_unit(key)
        calls = unit.first_fact.calls
        for index in unit.open_calls:
            label = call_labels(calls, key)[index]
            yield ToolResult(synthetic=True, place=(key, index), parts=(Text(ABORTED),), call=label)


def rendered(view: View) -> list[dict]:
    """What the provider would get."""
    head = OPENAI_CHAT.render_head(view.head_entry.body) if view.head_entry is not None else []
    return OPENAI_CHAT.join([*head, *(message for slot in view.slots for message in OPENAI_CHAT.render_slot(slot))])


def fitted(messages: list, **settings) -> list[dict]:
    """A list as `fit` gives it back where there is room for all of it."""
    return transom.fit(messages, **{"budget": 100_000, **settings})


def as_sent(messages: list[dict]) -> list[dict]:
    """Recorded messages without what only tolerant servers accepted: a null name, null or no calls, an index."""
    return [_as_sent(message) for message in messages]


def _as_sent(message: dict) -> dict:
    out = {key: value for key, value in message.items() if value or key not in ("name", "tool_calls")}
    if message["role"] == "assistant":
        out.pop("annotations", None)
    if out.get("tool_calls"):
        out["tool_calls"] = [{key: x for key, x in call.items() if key != "index"} for call in out["tool_calls"]]
    return out


def conversations(file: Path, most: int | None = None) -> Iterator[dict]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, islice(lines, most))
