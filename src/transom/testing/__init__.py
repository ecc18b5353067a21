"""The public test kit: what Transom itself is tested with, for a strategy, policy, store or dialect of your own.

- Logs in a few words: `talk("fix it", call("sh"), result("ok"))`; a fake clock, a fast counter, a log in memory.
- `logs()`: random logs for Hypothesis.
- `appearance_of(view)`: what a view shows, as plain values that can be compared.
- `transom.testing.laws`: what holds of every log, view and window, as functions such as `check_plan`.
- `StrategyConformance`, `PolicyConformance`, `StoreConformance`, `DialectConformance`: classes of tests, to inherit
  from.

Names that need pytest or Hypothesis are imported at first use: `pip install "transom[testing]"`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from transom.testing.builders import Item, call, hidden, image, result, says, talk, user
from transom.testing.fakes import Entries, FakeClock, WordCounter
from transom.testing.samples import EVERY_KIND, entries_of, user_entries
from transom.testing.view_appearance import Appearance, appearance_of

if TYPE_CHECKING:
    from transom.testing.dialect_conformance import DialectConformance
    from transom.testing.policy_conformance import PolicyConformance, StrategyConformance
    from transom.testing.random_logs import LogBuilder, Step, budgets, logs, states, steps, work_logs, write_log
    from transom.testing.store_conformance import StoreConformance

__all__ = [
    "EVERY_KIND",
    "Appearance",
    "DialectConformance",
    "Entries",
    "FakeClock",
    "Item",
    "LogBuilder",
    "PolicyConformance",
    "Step",
    "StoreConformance",
    "StrategyConformance",
    "WordCounter",
    "appearance_of",
    "budgets",
    "call",
    "entries_of",
    "hidden",
    "image",
    "logs",
    "result",
    "says",
    "states",
    "steps",
    "talk",
    "user",
    "user_entries",
    "work_logs",
    "write_log",
]

_CONFORMANCE = {
    "PolicyConformance": "transom.testing.policy_conformance",
    "StrategyConformance": "transom.testing.policy_conformance",
    "DialectConformance": "transom.testing.dialect_conformance",
    "StoreConformance": "transom.testing.store_conformance",
}
"""The module of each class of tests. All other names that are not imported above are in `random_logs`."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in _CONFORMANCE:  # so that a failed `assert` in it shows its values
        import pytest  # noqa: PLC0415

        pytest.register_assert_rewrite(_CONFORMANCE[name])
    return getattr(import_module(_CONFORMANCE.get(name, "transom.testing.random_logs")), name)
