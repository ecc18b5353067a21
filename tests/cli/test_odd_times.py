"""A time that no calendar has is not printed; the rest of the list is."""

from __future__ import annotations

from transom import Conversation
from transom.stores import open_store


def test_a_conversation_whose_clock_gave_milliseconds(run, folder):
    store = open_store("sqlite:///a.db")
    for name, at in (("odd", 1.7e12), ("good", 1.7e9)):
        with Conversation.open(store, name, budget=4_000, clock=lambda at=at: at) as conversation:
            conversation.user("needle")
    store.close()
    code, out, err = run("conversations", "--store", "sqlite:///a.db")
    assert (code, err, "2023-11-14" in out, "odd" in out) == (0, "", True, True)
    code, out, err = run("search", "needle", "--store", "sqlite:///a.db")
    assert (code, err, "2023-11-14" in out, "odd: entry 0" in out) == (0, "", True, True)
