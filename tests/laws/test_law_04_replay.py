"""Law 4: applying the stored log gives the live view, and every digest can be made again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from transom.core.codec import decode, encode
from transom.core.edit import Trim, Undo
from transom.core.entry import Entry, Sent
from transom.core.reducer import apply, build_view
from transom.core.view import View
from transom.testing.fakes import Entries
from transom.testing.random_logs import COUNTER, logs
from transom.testing.view_appearance import appearance_of


@given(logs())
def test_a_log_survives_storage(log: list[Entry]) -> None:
    stored = [encode(entry) for entry in log]
    assert [decode(line) for line in stored] == log
    assert [encode(decode(line)) for line in stored] == stored
    assert not any(b"\n" in line for line in stored)


@given(logs())
def test_the_stored_log_gives_the_live_view(log: list[Entry]) -> None:
    live = View.empty(Entries(log), COUNTER)
    for entry in log:
        live = apply(live, [entry])
    stored = Entries([decode(encode(entry)) for entry in log])
    assert appearance_of(build_view(stored, COUNTER)) == appearance_of(live)


@given(logs())
def test_every_true_digest_can_be_made_again(log: list[Entry]) -> None:
    stored = Entries([decode(encode(entry)) for entry in log])
    said = [entry for entry in log if isinstance(entry.body, Sent) and entry.body.fingerprint != "0" * 32]
    assert [build_view(stored, COUNTER, sent.seq).fingerprint() for sent in said] == [
        sent.body.fingerprint for sent in said
    ]


@given(logs(), st.booleans())
def test_counts_that_are_missing_are_made_by_the_view(log: list[Entry], foreign: bool) -> None:
    bare = [replace(entry, tokens=(7,) if foreign else (), counter="other" if foreign else "") for entry in log]
    assert appearance_of(build_view(Entries(bare), COUNTER)) == appearance_of(build_view(Entries(log), COUNTER))


def test_trims_that_point_at_trims_are_inert_however_many() -> None:
    body = [Trim(entry=at, part=("text", 0), note="[cut]") for at in range(1_500)]
    log = [Entry(seq=at, at=0.0, body=trim) for at, trim in enumerate(body)]
    log.append(Entry(seq=len(log), at=0.0, body=Undo(edit=len(log) - 1)))
    assert appearance_of(build_view(Entries(log), COUNTER)) == appearance_of(View.empty(Entries(), COUNTER))
