"""What a public signature takes or returns can be imported from `transom` or a documented module."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
import typing
from collections.abc import Iterator

import pytest

import transom

DOCUMENTED = ("transom", "transom.stores", "transom.strategies", "transom.policies", "transom.readback")
DOCUMENTED += ("transom.providers", "transom.conversation.events", "transom.summaries", "transom.search")
DOCUMENTED += ("transom.redaction",)
PUBLIC = {
    getattr(importlib.import_module(name), each)
    for name in DOCUMENTED
    for each in importlib.import_module(name).__all__
    if inspect.isclass(getattr(importlib.import_module(name), each))
}
CALLABLES = [
    *[
        (f"Conversation.{name}", value)
        for name, value in inspect.getmembers(transom.Conversation)
        if not name.startswith("_") and callable(value)
    ],
    *[
        (f"Conversation.{name}", value.fget)
        for name, value in inspect.getmembers(transom.Conversation)
        if isinstance(value, property)
    ],
    *[(name, getattr(transom, name)) for name in transom.__all__ if inspect.isfunction(getattr(transom, name))],
]


def classes_in(hint: object) -> Iterator[type]:
    if inspect.isclass(hint) and not typing.get_args(hint):
        yield hint
    for inner in typing.get_args(hint):
        if isinstance(inner, list):
            for each in inner:
                yield from classes_in(each)
        else:
            yield from classes_in(inner)


@pytest.mark.parametrize(("name", "function"), CALLABLES, ids=[name for name, _ in CALLABLES])
def test_the_types_of_a_signature_are_public(name, function):
    hints = typing.get_type_hints(inspect.unwrap(function))
    found = {each for hint in hints.values() for each in classes_in(hint) if each.__module__.startswith("transom")}
    assert sorted(each.__qualname__ for each in found - PUBLIC) == [], name


def test_the_package_exports_few_names_that_are_there():
    assert len(transom.__all__) <= 60
    assert sorted(set(transom.__all__)) == sorted(transom.__all__)
    assert all(hasattr(transom, name) for name in transom.__all__)


def test_dir_lists_names_before_they_are_used():
    code = "import transom.summaries as s; print(set(s.__all__) <= set(dir(s)))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "True\n"
