"""The test kit, public: logs in few words, a fake clock, a fast counter, a log in memory, and tests for an own store.

`StoreConformance` needs pytest, so it is imported only when it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from transom.testing.builders import Item, call, hidden, image, result, says, talk, user
from transom.testing.fakes import Entries, FakeClock, MeteredCounter, MeteredLog, WordCounter
from transom.testing.samples import EVERY_KIND, entries_of, user_entries

if TYPE_CHECKING:
    from transom.testing.store_conformance import StoreConformance

__all__ = [
    "EVERY_KIND",
    "Entries",
    "FakeClock",
    "Item",
    "MeteredCounter",
    "MeteredLog",
    "StoreConformance",
    "WordCounter",
    "call",
    "entries_of",
    "hidden",
    "image",
    "result",
    "says",
    "talk",
    "user",
    "user_entries",
]


def __getattr__(name: str) -> Any:
    if name != "StoreConformance":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import pytest  # noqa: PLC0415

    pytest.register_assert_rewrite("transom.testing.store_conformance")
    from transom.testing.store_conformance import StoreConformance  # noqa: PLC0415

    return StoreConformance
