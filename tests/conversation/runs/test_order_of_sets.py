"""The sets in what a tool returns are sorted, at any depth: two processes write the same bytes for the same value."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec
import pydantic
import pytest

from transom.conversation.appending.parse_messages import result_content
from transom.wire.fields import compact_json

WORDS = [f"word {n}" for n in range(20)]


@dataclass(frozen=True)
class Data:
    words: frozenset[str] = frozenset(WORDS)


@dataclass(slots=True)
class Holder:
    inner: list[Data] = field(default_factory=lambda: [Data()])
    words: set[str] = field(default_factory=lambda: {*WORDS})


class Struct(msgspec.Struct, frozen=True, rename="camel", tag=True):
    some_words: frozenset[str] = frozenset(WORDS)


class Model(pydantic.BaseModel, frozen=True):
    words: set[str] = {*WORDS}
    pairs: dict[str, set[str]] = pydantic.Field(default={"k": {*WORDS}}, serialization_alias="p")
    inner: Data = Data()


class Pair(NamedTuple):
    words: set[str]
    number: int


VALUES: dict[str, Any] = {
    "a set": {*WORDS},
    "a dataclass": Data(),
    "a dataclass that holds others": Holder(),
    "a struct": [Struct()],
    "a pydantic model": Model(),
    "a model in a dataclass": {"a": Holder(inner=[Model()])},  # type: ignore[list-item]
    "a named tuple": Pair({*WORDS}, 1),
    "a dict of sets": defaultdict(set, {"b": {*WORDS}, "a": {1}}),
}


@pytest.mark.parametrize("name", VALUES)
def test_each_set_is_a_sorted_list(name: str) -> None:
    before = repr(VALUES[name])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        content = result_content(VALUES[name])
    text = content if isinstance(content, str) else compact_json(content)
    assert compact_json(sorted(WORDS)) in text
    assert repr(VALUES[name]) == before, "the value of the caller is as it was"


def test_an_attrs_class_too() -> None:
    attrs = pytest.importorskip("attrs")
    made = attrs.make_class("Made", {"words": attrs.field()}, frozen=True)
    assert result_content(made(frozenset(WORDS))) == {"words": sorted(WORDS)}


def test_sets_in_a_set_are_sorted_too() -> None:
    assert result_content({frozenset("dc"), frozenset("ba")}) == '[["a","b"],["c","d"]]'


def test_the_fields_stay_as_their_class_writes_them() -> None:
    assert result_content(Struct()) == {"type": "Struct", "someWords": sorted(WORDS)}
    assert result_content(Model()) == {
        "words": sorted(WORDS),
        "pairs": {"k": sorted(WORDS)},
        "inner": {"words": sorted(WORDS)},
    }


def test_two_processes_write_the_same() -> None:
    code = "import test_order_of_sets as t, json; print(json.dumps([t.result_content(v) for v in t.VALUES.values()]))"
    path = os.pathsep.join(sys.path)
    written = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path},
            capture_output=True,
            check=True,
        ).stdout
        for seed in "123"
    ]
    assert written[0] == written[1] == written[2]
