"""Whatever is done to a message that was handed out is noticed, and it is read like any other."""

from __future__ import annotations

import copy
import json
import pickle
from collections import OrderedDict
from operator import delitem, iadd, imul, ior, setitem

import msgspec
import pytest

from transom.wire.handed import Apart, Seal, SealedDict, SealedList, handed

MESSAGE = {"role": "user", "content": [{"type": "text", "text": "hello", "sizes": [3, None, 1.5]}]}

CHANGES = {
    "set": lambda message: setitem(message, "content", "poisoned"),
    "delete": lambda message: delitem(message, "content"),
    "pop": lambda message: message.pop("content"),
    "pop of nothing": lambda message: message.pop("name", None),
    "popitem": lambda message: message.popitem(),
    "clear": lambda message: message.clear(),
    "update": lambda message: message.update(name="x"),
    "setdefault": lambda message: message.setdefault("name", "x"),
    "or": lambda message: ior(message, {"name": "x"}),
    "set in a list": lambda message: setitem(message["content"], 0, "poisoned"),
    "slice of a list": lambda message: setitem(message["content"], slice(0, 1), []),
    "delete in a list": lambda message: delitem(message["content"], 0),
    "append": lambda message: message["content"].append("x"),
    "extend": lambda message: message["content"].extend(["x"]),
    "insert": lambda message: message["content"].insert(0, "x"),
    "pop of a list": lambda message: message["content"].pop(),
    "remove": lambda message: message["content"].remove(message["content"][0]),
    "clear of a list": lambda message: message["content"].clear(),
    "reverse": lambda message: message["content"].reverse(),
    "sort": lambda message: message["content"].sort(),
    "add to a list": lambda message: iadd(message["content"], ["x"]),
    "times a list": lambda message: imul(message["content"], 2),
    "deep": lambda message: setitem(message["content"][0], "cache_control", {"type": "ephemeral"}),
    "deeper": lambda message: message["content"][0]["sizes"].append(4),
}
READS = {
    "get": lambda message: message.get("content"),
    "copy": lambda message: message.copy(),
    "or": lambda message: message | {"name": "x"},
    "add": lambda message: message["content"] + ["x"],
    "spread": lambda message: {**message, "content": [*message["content"]]},
    "sorted": lambda message: sorted(message["content"][0]["sizes"], key=str),
    "json": json.dumps,
    "msgspec": msgspec.json.encode,
    "deepcopy": copy.deepcopy,
    "pickle": pickle.dumps,
    "repr": repr,
    "equal": lambda message: message == MESSAGE,
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_every_change_breaks_the_seal_of_all_and_reaches_nothing_else(change):
    seal, ours = Seal(), copy.deepcopy(MESSAGE)
    one, other = handed([ours, ours], seal)
    change(one)
    assert not seal.whole
    assert other == ours == MESSAGE


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_reading_breaks_nothing(read):
    seal = Seal()
    (one,) = handed([MESSAGE], seal)
    read(one)
    assert seal.whole


READING = (
    "class_getitem contains doc eq ge getattribute getitem gt hash init iter le len lt ne new repr reversed sizeof"
)


@pytest.mark.parametrize(
    ("ours", "dunders", "names"),
    [
        (SealedDict, f"{READING} sizeof or ror", "copy fromkeys get items keys values"),
        (SealedList, f"{READING} sizeof add mul rmul", "copy count index"),
    ],
)
def test_no_way_of_changing_one_was_forgotten(ours, dunders, names):
    """A later Python may have more ways: then this says so. (`__init__` once more is nobody's way.)"""
    reading = {f"__{name}__" for name in dunders.split()} | {*names.split()}
    ways = vars(ours.__base__).keys() - reading
    assert ways == vars(ours).keys() & ways


def test_a_copy_is_plain_with_the_same_json():
    (one,) = handed([MESSAGE], Seal())
    assert [type(each) for each in (copy.copy(one), one.copy(), copy.copy(one["content"]))] == [dict, dict, list]
    for deep in (copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        assert deep == MESSAGE
        assert [type(each) for each in (deep, deep["content"], deep["content"][0])] == [dict, list, dict]
    assert json.dumps(one) == json.dumps(MESSAGE)
    assert msgspec.json.encode(one) == msgspec.json.encode(MESSAGE)
    assert isinstance(one, dict)
    assert repr(one) == repr(MESSAGE)


def test_what_stands_apart_does_so_when_it_is_handed_out():
    one, other = handed([Apart(MESSAGE), MESSAGE], Seal())
    assert isinstance(one, Apart)
    assert not isinstance(other, Apart)


def test_other_kinds_of_dict_and_list_are_copied_too():
    class Pieces(list):
        pass

    inner = Pieces([OrderedDict(type="text")])
    (message,) = handed([OrderedDict(role="user", content=inner)], seal := Seal())
    assert message == {"role": "user", "content": [{"type": "text"}]}
    message["content"][0]["text"] = "poisoned"
    assert not seal.whole
    assert inner == [{"type": "text"}]
