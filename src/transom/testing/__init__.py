"""The test kit, public: what Transom itself is tested with, for a strategy, policy, store or dialect of your own.

- Logs in a few words: `talk("fix it", call("sh"), result("ok"))`; a fake clock, a fast counter, a log in memory.
- `logs()`: random logs for Hypothesis. `HISTORIES`: random message lists, valid or damaged, without Hypothesis.
- `appearance`: a second, slow implementation of the view; `appearance_of(view)` is what must equal it.
- `StoreConformance`: the tests of a store, to inherit from.

What needs pytest or Hypothesis is imported when it is first asked for: `pip install "transom[testing]"`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from transom.testing.builders import Item, call, hidden, image, result, says, talk, user
from transom.testing.fakes import Entries, FakeClock, MeteredCounter, MeteredLog, WordCounter
from transom.testing.histories import HISTORIES, anthropic_history, openai_history
from transom.testing.oracle import Appearance, appearance
from transom.testing.samples import EVERY_KIND, entries_of, user_entries
from transom.testing.view_appearance import appearance_of

if TYPE_CHECKING:
    from transom.testing.random_logs import LogBuilder, Step, logs, steps
    from transom.testing.store_conformance import StoreConformance

__all__ = [
    "EVERY_KIND",
    "HISTORIES",
    "Appearance",
    "Entries",
    "FakeClock",
    "Item",
    "LogBuilder",
    "MeteredCounter",
    "MeteredLog",
    "Step",
    "StoreConformance",
    "WordCounter",
    "anthropic_history",
    "appearance",
    "appearance_of",
    "call",
    "entries_of",
    "hidden",
    "image",
    "logs",
    "openai_history",
    "result",
    "says",
    "steps",
    "talk",
    "user",
    "user_entries",
]

_LAZY = {
    "LogBuilder": "transom.testing.random_logs",
    "Step": "transom.testing.random_logs",
    "StoreConformance": "transom.testing.store_conformance",
    "logs": "transom.testing.random_logs",
    "steps": "transom.testing.random_logs",
}
"""Where the names are that need pytest or Hypothesis."""


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name.endswith("Conformance"):  # so that a failed `assert` in it shows its values
        import pytest  # noqa: PLC0415

        pytest.register_assert_rewrite(_LAZY[name])
    return getattr(import_module(_LAZY[name]), name)
