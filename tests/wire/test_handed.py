"""A message that was handed out is a dict, and tells when it is changed."""

from __future__ import annotations

import copy
import json
import pickle
from operator import delitem, ior, setitem

import msgspec
import pytest

from transom.wire.handed import Message, Seal, apart, handed, is_apart

MESSAGE = {"role": "user", "content": [{"type": "text", "text": "hello"}]}

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
}
READS = {
    "get": lambda message: message.get("content"),
    "copy": lambda message: message.copy(),
    "or": lambda message: message | {"name": "x"},
    "spread": lambda message: {**message},
    "json": json.dumps,
    "msgspec": msgspec.json.encode,
    "deepcopy": copy.deepcopy,
    "pickle": pickle.dumps,
    "repr": repr,
    "equal": lambda message: message == MESSAGE,
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_every_change_breaks_the_seal_of_all(change):
    seal = Seal()
    one, _ = handed([MESSAGE, MESSAGE], seal)
    change(one)
    assert not seal.whole
    assert MESSAGE == {"role": "user", "content": [{"type": "text", "text": "hello"}]}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_reading_breaks_nothing(read):
    seal = Seal()
    (one,) = handed([MESSAGE], seal)
    read(one)
    assert seal.whole


def test_no_way_of_changing_a_dict_was_forgotten():
    """A dict of a later Python may have more ways: then this says so. (`__init__` once more is nobody's way.)"""
    names = (
        "class_getitem contains doc eq ge getattribute getitem gt hash init iter le len lt ne new or repr reversed ror"
    )
    reading = {f"__{name}__" for name in (*names.split(), "sizeof")}
    reading |= {"copy", "fromkeys", "get", "items", "keys", "values"}
    assert vars(dict).keys() - reading == vars(Message).keys() & vars(dict).keys() - reading


def test_a_copy_is_a_plain_dict_with_the_same_json():
    (one,) = handed([MESSAGE], Seal())
    assert [type(each) for each in (copy.copy(one), one.copy(), pickle.loads(pickle.dumps(one)))] == [dict] * 3
    deep = copy.deepcopy([one])
    assert deep == [MESSAGE]
    assert deep[0]["content"] is not one["content"]
    assert json.dumps(one) == json.dumps(MESSAGE)
    assert msgspec.json.encode(one) == msgspec.json.encode(MESSAGE)
    assert isinstance(one, dict)
    assert repr(one) == repr(MESSAGE)


def test_what_stands_apart_does_so_when_it_is_handed_out():
    one, other = handed([apart(MESSAGE), MESSAGE], Seal())
    assert is_apart(one)
    assert not is_apart(other)
