"""Times in exported files: an import reads the same ones, and no clock ends an export."""

from __future__ import annotations

import pytest

from transom import Conversation
from transom.conversation.event_bus import ConversationRecorded
from transom.exporters import export
from transom.importers import import_file
from transom.stores import MemoryStore


def exported(tmp_path, times, name, heard=None):
    """A conversation whose clock gives these times, as a file in a format."""
    clock = iter(times)
    conv = Conversation.open(MemoryStore(), "trip", budget=1_000, clock=lambda: next(clock))
    conv.subscribe(ConversationRecorded, (heard if heard is not None else []).append)
    for number, _ in enumerate(times):
        if number % 2:
            conv.observe({"role": "assistant", "content": "ok"})
        else:
            conv.user("go on")
    path = tmp_path / "trip.jsonl"
    path.write_bytes(b"".join(export(conv.log, name)))
    return path


@pytest.mark.parametrize("name", ["claude_code", "codex", "pi"])
def test_times_within_a_millisecond_stay_apart(tmp_path, name):
    times = [1_764_000_000.0, 1_764_000_000.000125, 1_764_000_000.00025, 1_764_000_001.5]
    store = MemoryStore()
    [done] = import_file(exported(tmp_path, times, name), store)
    entries = [entry.at for entry in store.open(done.conversation).read() if entry.meta is None and entry.tokens]
    assert entries == pytest.approx(times, abs=1e-6)
    assert entries == sorted(set(entries))


@pytest.mark.parametrize("name", ["claude_code", "codex", "pi", "pydantic_ai"])
def test_a_clock_that_gives_milliseconds_ends_neither_an_export_nor_an_event(tmp_path, name):
    heard = []
    path = exported(tmp_path, [1_764_000_000_123.0, 1e18, -1e18], name, heard)
    store = MemoryStore()
    [done] = import_file(path, store)
    assert done.messages == 3
    assert [event.created_at.year for event in heard] == [9999, 9999, 1]
