"""Every method that writes holds the lock of the conversation: several threads may use one."""

from __future__ import annotations

import inspect
from types import CodeType
from typing import Any

from transom import Conversation, FunctionTool
from transom.providers.scripted import Scripted, calls
from transom.testing import WordCounter

WRITES = {"_writer", "_append_facts", "_planner", "_own_loop"}
"""The names by which a method reaches the log or the plans."""

WITHOUT = {
    "__init__": "nobody else has it yet",
    "_use": "nobody else has it yet",
    "from_messages": "nobody else has it yet",
    "_append_facts": "its callers hold the lock",
    "_change": "sets one value",
    "_request_steps": "the planner calls what is in it, with the lock",
    "_exclusively": "takes the lock itself",
    "close": "takes the lock itself, and may be called again",
}


def locks_of(method: Any) -> int:
    """How often a method is wrapped in `_locked`."""
    count = 0
    while (inner := getattr(method, "__wrapped__", None)) is not None:
        count += method.__code__.co_qualname.startswith("_locked.")
        method = inner
    return count


def names_in(code: CodeType) -> set[str]:
    """The names that a function uses, also in the functions within it."""
    inner = (each for each in code.co_consts if isinstance(each, CodeType))
    return set(code.co_names).union(*map(names_in, inner))


def test_every_method_that_writes_is_locked_once() -> None:
    methods = {
        name: getattr(each, "__func__", each)
        for name, each in vars(Conversation).items()
        if inspect.isfunction(getattr(each, "__func__", each))
    }
    writing = {name for name, each in methods.items() if WRITES & names_in(inspect.unwrap(each).__code__)}
    assert {"user", "undo", "reject", "_log_pending", "_use_model"} <= writing
    locked = {name: locks_of(each) for name, each in methods.items()}
    assert {name: locked[name] for name in writing - WITHOUT.keys() if locked[name] != 1} == {}
    assert {name for name, count in locked.items() if count > 1} == set()


def test_the_lock_is_held_at_each_append() -> None:
    conv, held = Conversation.open("memory:", "c", budget=9_000, counter=WordCounter()), list[bool]()
    lock: Any = conv._guard.lock
    conv._writer.subscribe(lambda before, after, entries: held.append(lock._is_owned()))

    def pay(amount: int) -> str:
        return f"paid {amount}"

    asks = calls(("pay", {"amount": 5}), ("pay", {"amount": 6}))
    settings: dict[str, Any] = {"tools": [FunctionTool(pay, needs_approval=True)]}
    first, last = conv.run("Pay.", provider=Scripted(asks), **settings).pending
    conv.approve(first)
    conv.reject(last)
    conv.run(provider=Scripted("Done."), **settings)
    assert (len(held) > 8, all(held)) == (True, True)
