"""What an import remembers in the log: which entries were imported, from which format; not the text of the file."""

from __future__ import annotations

import io
import json

import pytest

from transom.conversation.conversation import Conversation
from transom.core.entry import Entry
from transom.core.message import Fact, Opaque
from transom.errors import InvalidMessage, InvalidSetting
from transom.exporters import export
from transom.importers import import_file
from transom.importers.logs.import_mark import ImportMark, mark_of
from transom.stores import MemoryStore

SAID = [{"role": "user", "content": "Count."}, {"role": "assistant", "content": "Two."}]


def imported(store, *messages, name="a"):
    data = json.dumps({"id": name, "messages": list(messages)}).encode()
    [done] = import_file(io.BytesIO(data), store)
    return done.messages, done.earlier


def mark(seq, **more):
    return Entry(seq=seq, at=0.0, body=Opaque(raw={"kind": "imported", "format": "openai", "first": 0, **more}))


def test_each_import_marks_its_own_entries():
    store = MemoryStore()
    assert imported(store, *SAID) == (2, 0)
    assert imported(store, *SAID) == (0, 2)
    assert imported(store, *SAID, SAID[0]) == (1, 2)
    found = [mark_of(entry) for entry in store.open("a").read()]
    assert [one for one in found if one] == [ImportMark(format="openai", first=0), ImportMark(format="openai", first=3)]


def test_messages_added_since_may_be_in_the_file_or_not():
    store, more = MemoryStore(), {"role": "user", "content": "And then?"}
    imported(store, *SAID)
    with Conversation.open(store, "a", budget=1_000) as conversation:
        conversation.user("And then?")
    assert imported(store, *SAID) == (0, 2)
    assert imported(store, *SAID, more) == (0, 3)
    assert imported(store, *SAID, {"role": "user", "content": "Shorter."}) == (1, 2)
    said = [entry.body.parts[0].text for entry in store.open("a").read() if isinstance(entry.body, Fact)]
    assert said == ["Count.", "Two.", "And then?", "Shorter."]
    with pytest.raises(InvalidSetting, match="already, and its message 1 is not what stream line 1 has there"):
        imported(store, SAID[0], more)


def test_a_damaged_mark_is_an_error():
    with pytest.raises(InvalidMessage, match="entry 3: the mark of an import cannot be read: Expected `int`"):
        mark_of(mark(3, lines="x"))


def test_a_text_that_is_no_unicode_is_exported_as_json_escapes_it():
    store = MemoryStore()
    [done] = import_file(io.BytesIO(b'[{"role": "user", "content": "a \\ud83d b"}]'), store)
    data = b"".join(export(store.open(done.conversation)))
    assert data == b'{"messages":[{"role":"user","content":"a \\ud83d b"}]}\n'
