"""When a conversation leaves a snapshot."""

from __future__ import annotations

from test_conversation import opened


def test_a_snapshot_is_left_as_soon_as_the_log_has_so_many_entries(monkeypatch):
    monkeypatch.setattr("transom.conversation.appending.log_writer.SNAPSHOT_AT", 3)
    conv = opened("memory:")
    conv.user("one")
    conv.user("two")
    assert conv.log.load_snapshot() is None
    conv.user("three")
    assert conv.log.load_snapshot()[0] == 3
