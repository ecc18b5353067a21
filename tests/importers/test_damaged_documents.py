"""A file in which one value is another one is read, or refused in one line. It never ends in another error."""

from __future__ import annotations

import copy
import io
import json
import random
from pathlib import Path
from typing import Any

import pytest

from transom import TransomError
from transom.exporters import export
from transom.importers import FORMATS, import_file, read
from transom.stores import MemoryStore

CHAT = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "Count."}]},
    {
        "role": "assistant",
        "content": "I look.",
        "reasoning_content": "Hm.",
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "ls", "arguments": '{"path":"."}'}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "a b"},
    {"role": "assistant", "content": "Two."},
]
WRONG: list[Any] = [None, "", "x", 7, -1.5, True, [], {}, ["x"], [None], {"type": "x"}, [[]], {"role": None}]


def places_in(value: object, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every value inside one."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, one in inside for place in places_in(one, (*path, key)))]


def changed(value: Any, path: tuple[Any, ...], draw: random.Random) -> Any:
    """The value with another one at a place, or with nothing there."""
    if not path:
        return draw.choice(WRONG)
    out = copy.deepcopy(value)
    holder = out
    for key in path[:-1]:
        holder = holder[key]
    if isinstance(holder, dict) and draw.random() < 0.3:
        del holder[path[-1]]
    else:
        holder[path[-1]] = draw.choice(WRONG)
    return out


@pytest.mark.parametrize("format_name", sorted(FORMATS))
def test_a_damaged_value_is_read_or_refused(format_name: str) -> None:
    store = MemoryStore()
    if FORMATS[format_name].written:
        [done] = import_file(io.BytesIO(json.dumps(CHAT).encode()), store)
        data = b"".join(export(store.open(done.conversation), format_name))
    else:
        sample = min((Path(__file__).parent / "samples" / "formats" / format_name).glob("*.json*"))
        data = json.dumps(json.loads(sample.read_bytes())).encode() if sample.suffix == ".json" else sample.read_bytes()
    lines = [json.loads(line) for line in data.splitlines()] if b"\n" in data.strip() else [json.loads(data)]
    draw = random.Random(format_name)
    places = [(number, place) for number, line in enumerate(lines) for place in places_in(line)]
    read_again = 0
    for number, place in draw.sample(places * 6, k=min(250, 6 * len(places))):
        damaged = [changed(line, place, draw) if at == number else line for at, line in enumerate(lines)]
        text = "\n".join(json.dumps(line) for line in damaged).encode()
        for named in (None, format_name):
            try:
                for found in read(io.BytesIO(text), named):
                    found.facts()
                    read_again += 1
            except TransomError as error:
                assert "\n" not in str(error)
                assert len(str(error)) < 500
    assert read_again > 20
