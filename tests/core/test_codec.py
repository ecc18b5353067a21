"""What storage must not lose: lone surrogates, integers of any size, kinds of entries from a later version."""

from __future__ import annotations

import json

import pytest

from transom.core.codec import decode, encode
from transom.core.entry import Entry, Meta
from transom.core.message import Opaque, Text, User


def test_an_entry_of_an_unknown_kind_passes_through() -> None:
    line = b'{"seq":3,"at":1.5,"body":{"kind":"from_later","n":123456789012345678901234567890,"x":[null,"y"]}}'
    entry = decode(line)
    raw = {"kind": "from_later", "n": 123456789012345678901234567890, "x": [None, "y"]}
    assert entry == Entry(seq=3, at=1.5, body=Opaque(raw=raw))
    assert encode(entry) == line


def test_lone_surrogates_are_stored_escaped() -> None:
    entry = Entry(seq=0, at=0.0, body=User(parts=(Text("a \ud83d b 汉"),), extra={"\udc00": "\ud800"}))
    line = encode(entry)
    assert b"\\ud83d" in line
    assert line.isascii()
    assert decode(line) == entry


def test_integers_of_any_size_in_what_is_not_ours() -> None:
    entry = Entry(seq=0, at=0.0, body=User(extra={"n": -(2**80)}), meta=Meta(extra={"m": 2**64}))
    assert decode(encode(entry)) == entry


def test_fields_of_a_later_version_do_not_stop_the_reader() -> None:
    line = b'{"seq":0,"at":0.0,"body":{"kind":"user","mood":"calm"},"colour":"blue"}'
    assert decode(line) == Entry(seq=0, at=0.0, body=User())


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"null",
        b"[]",
        b"{",
        b'{"seq":0}',
        b'{"seq":0,"at":0.0,"body":7}',
        b'{"seq":0,"at":0.0,"body":{}}',
        b'{"seq":"zero","at":0.0,"body":{"kind":"user"}}',
        b'{"seq":0,"at":0.0,"body":{"kind":"user","parts":7}}',
        b'{"seq":0,"at":0.0,"body":{"kind":["user"]}}',
        b"\xff\xfe",
        b"[" * 100_000,
    ],
)
def test_what_is_no_entry_is_a_value_error(line: bytes) -> None:
    with pytest.raises(ValueError, match=r"^not an entry: |^Expecting|codec|^Extra"):
        decode(line)


def test_content_that_is_not_json_is_a_type_error() -> None:
    with pytest.raises(TypeError):
        encode(Entry(seq=0, at=0.0, body=User(extra={"when": object()})))


def test_a_line_is_json_without_line_ends() -> None:
    line = encode(Entry(seq=0, at=0.0, body=User(parts=(Text("two\nlines\u2028three"),))))
    assert b"\n" not in line
    assert json.loads(line)["body"]["parts"] == [{"part": "text", "text": "two\nlines\u2028three"}]
