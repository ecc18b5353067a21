"""The text that entries were imported from: long texts are stored once, and the same bytes come out."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transom.core.entry import Entry
from transom.core.message import Assistant, Call, Media, Text, User
from transom.errors import InvalidMessage
from transom.importers.source_text import SourceText, TextReference, body_of, joined_text, source_of, split_text
from transom.stores import SqliteStore

LONG = 'é <b> \u2028 & \t"quoted" \\ 日本語 \x1b[0m ' * 5
ARGS = {"path": "a" * 100, "lines": [{"text": LONG}], "n": 1.50}
PICTURE = "QUJD" * 40
ENTRIES = [
    Entry(seq=0, at=0.0, body=User(parts=(Text(LONG), Media("image", {"url": f"data:image/png;base64,{PICTURE}"})))),
    Entry(seq=1, at=0.0, body=Assistant(calls=(Call("c", "f", json.dumps(ARGS)),))),
]
VALUE = {"b": LONG, "a": {"input": ARGS, "again": LONG, "data": PICTURE, "other": "o" * 200, "n": 1e400}}


def source(text, entries=ENTRIES):
    return SourceText(format="pi", first=0, pieces=split_text(text, entries))


def again(text, entries=ENTRIES):
    return joined_text(source(text, entries), lambda seq: entries[seq])


def html(text):
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026").replace("\u2028", "\\u2028")


@pytest.mark.parametrize("ascii_only", [False, True])
@pytest.mark.parametrize("form", [str, html])
@pytest.mark.parametrize("layout", [{}, {"indent": 2}, {"separators": (",", ":")}])
def test_texts_that_the_entries_have_are_stored_once(ascii_only, form, layout):
    text = form(json.dumps(VALUE, ensure_ascii=ascii_only, **layout))
    if form is html and ascii_only:
        return
    pieces = split_text(text, ENTRIES)
    kept = "".join(piece for piece in pieces if isinstance(piece, str))
    assert sum(isinstance(piece, TextReference) for piece in pieces) == 5
    assert (LONG[:9] in kept, "aaa" in kept, "QUJD" in kept, "ooo" in kept) == (False, False, False, True)
    assert again(text) == text


BROKEN = [
    "",
    '"',
    '{"a": "',
    f'{{"a": "{LONG}',
    '"\\ud83d' + "x" * 100 + '"',
    "\udcff\udc00" * 60,
    '"\\/' + "x" * 90 + '"',
]


@pytest.mark.parametrize("text", BROKEN)
def test_text_that_is_no_json_comes_out_too(text):
    assert again(text) == text
    assert again(f"{text}\n{json.dumps(LONG)}\n") == f"{text}\n{json.dumps(LONG)}\n"
    assert isinstance(split_text(f"{text}\n{json.dumps(LONG)}\n", ENTRIES)[-2], TextReference)


@given(st.lists(st.one_of(st.text(), st.text(min_size=80), st.just(LONG)), max_size=6), st.booleans(), st.data())
def test_any_text_comes_out_again(texts, ascii_only, data):
    entries = [Entry(seq=0, at=0.0, body=User(parts=tuple(Text(each) for each in texts if data.draw(st.booleans()))))]
    text = json.dumps(texts, ensure_ascii=ascii_only)
    assert again(text, entries) == text


def test_it_is_an_entry_that_every_store_keeps_and_no_window_shows(tmp_path):
    store = SqliteStore(tmp_path / "a.db")
    stored = source(f"{json.dumps(VALUE)}\udcff")
    log = store.open("x")
    log.append([*ENTRIES, Entry(seq=2, at=0.0, body=body_of(stored))], 0)
    found = source_of(store.open("x")[2])
    assert found == stored
    assert source_of(ENTRIES[0]) is None
    assert joined_text(found, store.open("x").__getitem__) == f"{json.dumps(VALUE)}\udcff"
    store.close()


def test_a_text_that_is_gone_is_an_error():
    blank = [Entry(seq=0, at=0.0, body=User(parts=(Text(""),))), ENTRIES[1]]
    with pytest.raises(InvalidMessage, match=r"entry 0: the text at parts.1.raw.url is not there any more"):
        joined_text(source(json.dumps(PICTURE)), lambda seq: blank[seq])
