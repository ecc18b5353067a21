"""Whatever a public callable is given, it works or says in one bounded line what is wrong."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

import transom
from transom import Conversation, TransomError
from transom.core.edit import Fold, Pin, Trim, Undo
from transom.core.message import Text, User
from transom.providers.scripted import Scripted
from transom.testing.fakes import WordCounter


class Broken:
    """An object that cannot even be shown."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")


class BrokenText(str):
    __slots__ = ()

    def __repr__(self) -> str:
        raise RuntimeError("no repr")


def nested(depth: int, wrap: Callable[[Any], Any]) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = wrap(value)
    return value


VALUES: dict[str, Any] = {
    "a deep list": nested(5_000, lambda inner: [inner]),
    "a deep object": nested(5_000, lambda inner: {"a": inner}),
    "a deep tuple": nested(5_000, lambda inner: (inner,)),
    "a deep message": {"role": "user", "content": nested(5_000, lambda inner: [inner])},
    "a list of deep messages": [{"role": "user", "content": nested(5_000, lambda inner: [inner])}],
    "a huge number": 10**6_000,
    "a huge number below 0": -(10**6_000),
    "a huge number in a list": [{"role": "user", "content": [{"type": "text", "text": "a", "n": 10**6_000}]}],
    "no number": float("nan"),
    "infinity": float("inf"),
    "half a character": "\ud83d",
    "half a character in an object": {"\ud83d": "\ud83d"},
    "a long text": "x" * 100_000,
    "a long text in an object": {"x" * 100_000: "x" * 100_000, "role": "x" * 100_000, "type": "x" * 100_000},
    "a list of long texts": ["x" * 100_000],
    "lines": "a\nb\0c" * 50,
    "bytes": b"\xff" * 1_000,
    "nothing": None,
    "true": True,
    "an empty text": "",
    "a function": lambda: 1 / 0,
    "a class": Broken,
    "without a repr": Broken(),
    "a text without a repr": BrokenText("x"),
    "in a list without a repr": [Broken()],
    "in an object without a repr": {"role": Broken(), "a": Broken()},
    "keys that are no texts": {1: 2, None: 3, (1,): 4},
    "a set": {1, 2},
}

MAY = (TransomError,)
LONGEST = 1_000


def talk(**settings: Any) -> Conversation:
    conv = Conversation.open("memory:", "x", **{"budget": 4_000, "counter": WordCounter(), **settings})
    conv.user("go")
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    conv.observe({"role": "assistant", "content": None, "tool_calls": [call]})
    return conv


SOUND: dict[str, Any] = {
    "arguments": "{}",
    "at": None,
    "budget": 4_000,
    "cache": False,
    "call": -1,
    "call_id": "c1",
    "error": 503,
    "content": "found",
    "dialect": "openai",
    "edit": Pin(entry=0),
    "entry": 0,
    "exception": None,
    "fact": User(parts=(Text("a"),)),
    "failed": False,
    "id": "y",
    "kind": object,
    "callback": print,
    "messages": [{"role": "user", "content": "go"}],
    "model": "openai:gpt-5",
    "meta": None,
    "mode": "chat",
    "name": "transom_read",
    "place": "memory:",
    "query": "go",
    "policy": "default",
    "reply": {"role": "assistant", "content": "so"},
    "state": None,
    "store": "memory:",
    "system": None,
    "tools": None,
    "view": None,
    "why": "",
    "counter": WordCounter(),
}
"""A value that works, by the name of the parameter."""
SOUND["window"] = SOUND["shown"] = talk().window()

TRUSTED = {"clock", "counter", "log", "ref", "failed", "cache", "exception", "new_head"}
"""Parameters that take objects of the library or of the caller's own code, and flags."""

METHODS = [
    name
    for name, value in inspect.getmembers(Conversation)
    if not name.startswith("_") and callable(value) and name != "close"
]
SETTERS = [name for name, value in inspect.getmembers(Conversation) if isinstance(value, property) and value.fset]
FUNCTIONS = ["fit", "open_store", "render"]


def cases() -> list[Any]:
    found: list[Any] = []
    for name in METHODS:
        found += [(name, each) for each in parameters_of(getattr(Conversation, name)) if each not in TRUSTED]
    found += [
        ("run", each)
        for each in transom.RunOptions.__annotations__
        if each not in {"approve", "cancel", "unavailable", "settings"}
    ]
    found += [(name, None) for name in SETTERS]
    for name in FUNCTIONS:
        found += [(name, each) for each in parameters_of(getattr(transom, name)) if each not in TRUSTED]
    return found


def parameters_of(function: Callable[..., Any]) -> list[str]:
    """The names of the parameters; the settings of a conversation by their own names."""
    names = [name for name in inspect.signature(function).parameters if name != "self"]
    if "changes" in names:
        return [*[name for name in names if name != "changes"], *transom.ConversationOptions.__annotations__]
    return [name for name in names if name != "settings"]  # of a run: below


def arguments_of(function: Callable[..., Any], parameter: str, value: object) -> dict[str, Any]:
    needed = {
        name: SOUND[name]
        for name, each in inspect.signature(function).parameters.items()
        if name not in {"self", "settings", "changes"} and each.default is inspect.Parameter.empty
    }
    if "budget" in parameters_of(function):
        needed |= {"budget": SOUND["budget"], "counter": SOUND["counter"]}
    runs = {"provider": Scripted(), "input": "go"} if getattr(function, "__name__", "") in {"run", "stream"} else {}
    return {**needed, **runs, **({"input": None} if runs and parameter == "messages" else {}), parameter: value}


def check(act: Callable[[], object], what: str) -> None:
    try:
        act()
    except MAY as refused:
        line = str(refused)
        assert len(line) <= LONGEST, f"{what}: {len(line):,} characters"
        assert "\n" not in line, what
        line.encode()
    except UserWarning:
        pass


@pytest.mark.parametrize(("name", "parameter"), cases())
def test_a_hostile_argument_works_or_is_refused_in_one_line(name, parameter, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for what, value in VALUES.items():
        if (
            parameter in {"store", "place"}
            and isinstance(value, str)
            and len(value) < 1_000
            and value not in {"", "\ud83d"}
        ):
            continue  # a path like any other
        conv = talk()
        if parameter is None:
            check(lambda: setattr(conv, name, value), f"{name} = {what}")  # noqa: B023 - called at once
        else:
            function = getattr(transom if name in FUNCTIONS and parameter != "at" else conv, name)
            given = arguments_of(function, parameter, value)
            check(lambda: function(**given), f"{name}({parameter}: {what})")  # noqa: B023 - called at once
        check(conv.window, f"a window after {name}: {what}")


@pytest.mark.parametrize("name", ["Budget", "Prices"])
def test_hostile_settings_are_refused_in_one_line(name):
    kind = getattr(transom, name)
    for field in kind.__struct_fields__:
        for what, value in VALUES.items():
            check(lambda: kind(**{field: value}), f"{name}({field}: {what})")  # noqa: B023 - called at once


@pytest.mark.parametrize(
    "edit", [Pin(entry=0), Undo(edit=0), Fold(first=0, last=0, text="a"), Trim(entry=0, part=("text", 0), note="a")]
)
def test_hostile_edits_are_refused_in_one_line(edit):
    for field in ("entry", "edit", "first", "last", "text", "note", "why"):
        if field in edit.__struct_fields__:
            for what, value in VALUES.items():
                conv = talk()
                hostile = replace(edit, **{field: value})
                check(lambda: conv.edit(hostile), f"{edit} {field}: {what}")  # noqa: B023 - called at once
                check(conv.window, f"a window after {edit} {field}: {what}")
