"""The list of a user's conversations: title, time, size and cost; the one that was used last comes first."""

from __future__ import annotations

from pathlib import Path

import pytest

from transom import Conversation, InvalidSetting
from transom.core.entry import Meta
from transom.core.message import Text, User
from transom.providers.model_prices import TokenPrices
from transom.providers.scripted import Scripted
from transom.stores import list_conversations, open_store
from transom.testing import FakeClock


def talk(place: str, name: str, text: str, clock: FakeClock, user_id: str | None = None) -> float | None:
    with Conversation.open(place, name, budget=8_000, clock=clock, user_id=user_id) as conv:
        conv.append(User(parts=(Text("<environment>"),)), Meta(injected=True))
        conv.run(text, provider=Scripted("Done."), prices=TokenPrices(input=3, output=15))
        return conv.usage.cost


def test_a_users_conversations_are_listed_with_what_they_are_about_and_what_they_cost(tmp_path: Path) -> None:
    place, clock = f"sqlite:///{tmp_path}/a.db", FakeClock()
    costs = {name: talk(place, name, f"Book {name}\nplease", clock, "ann") for name in ("lisbon", "porto")}
    talk(place, "other", "Hello", clock, "bob")
    talk(place, "faro", "x" * 200, clock)
    costs["lisbon"] = talk(place, "lisbon", "And breakfast", clock, "ann")
    found = list_conversations(place, user_id="ann")
    assert [(one.id, one.title, one.user_id, one.calls) for one in found] == [
        ("lisbon", "Book lisbon", "ann", 2),
        ("porto", "Book porto", "ann", 1),
    ]
    assert [one.cost for one in found] == [pytest.approx(costs[one.id]) for one in found]
    assert all(one.size > 500 and one.first < one.last for one in found)
    every = list_conversations(place)
    assert [one.id for one in every] == ["lisbon", "faro", "other", "porto"]
    assert len(every[1].title) == 80
    assert [one.id for one in list_conversations(place, limit=2)] == ["lisbon", "faro"]


def test_what_is_damaged_or_free_is_listed_too(tmp_path: Path) -> None:
    place = f"jsonl:///{tmp_path}/logs"
    with Conversation.open(place, "free", budget=8_000) as conv:
        conv.run("Go", provider=Scripted("Done."))
    with Conversation.open(place, "bad", budget=8_000) as conv:
        conv.user("Go")
    (file,) = (Path(tmp_path) / "logs").glob("bad*.jsonl")
    file.write_text("nonsense\n" + file.read_text("utf-8"), "utf-8")
    store = open_store(place)
    free, bad = list_conversations(store)
    assert store.names()  # a store object stays open
    store.close()
    assert (free.id, free.cost, free.damaged) == ("free", None, "")
    assert bad.damaged


def test_a_limit_is_a_number() -> None:
    with pytest.raises(InvalidSetting, match="limit must be a whole number"):
        list_conversations("memory:", limit=-1)
