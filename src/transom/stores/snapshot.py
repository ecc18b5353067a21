"""A view as bytes and back, so that opening a long log does not fold it again.

Rule: a snapshot is only ever a shortcut. `thaw` raises ValueError for whatever is not exactly this log, this tokenizer
and this version, and the caller folds the log instead. Change `_MAGIC` when a fold would give another view than before.

Folds nest without bound, so the tree is written as a list in which kids stand before the fold that holds them. A unit
that shows is fetched from the log again; a folded one is taken from here.
"""

from __future__ import annotations

import hashlib
import json
import sys
from array import array
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from transom.core.codec import decode, encode, plain
from transom.core.edit import Fold, Trim
from transom.core.entry import Entry, Sent
from transom.core.log import Log
from transom.core.message import Fact, Head
from transom.core.prices import SinceBreak
from transom.core.tokens import ZERO, Size, TokenCounter, fact_size
from transom.core.unit import AppliedTrim, Folded, Slot, Unit, pinned_units_in
from transom.core.view import View

_MAGIC = b"transom view 3\n"
_SUM = 16


class _Leaf(Struct, frozen=True, array_like=True, tag=0, gc=False):
    """A unit without its entries. `size` is None where no cut makes it differ from `whole`; `facts` what the entries
    of a unit that has them measure, to check those that are fetched."""

    key: int
    seqs: tuple[int, ...]
    untrimmed_size: Size
    size: Size | None
    open_calls: tuple[int, ...]
    answered_calls: tuple[int, ...]
    trims: tuple[AppliedTrim, ...]
    pins: tuple[int, ...]
    signed_prefix: str
    signature_stale: bool
    facts: Size | None


class _Node(Struct, frozen=True, array_like=True, tag=1, gc=False):
    """A fold over the last `kids` things of the list. What surfaces from it follows from them."""

    first: int
    last: int
    seq: int
    text: str
    why: str
    tokens: int
    children: int
    size: Size
    untrimmed_size: Size
    unit_count: int
    carries: tuple[int, ...]


class _Same(Struct, frozen=True, kw_only=True):
    """What stands in the snapshot as it stands in the view."""

    length: int
    total: Size
    head_size: Size
    sent_tokens: int
    sent_digest: str
    since_break: SinceBreak
    first_task: int | None
    newest_user: int | None
    newest_unit: int
    notes: dict[str, tuple[int, str]]
    synthetic_results: dict[str, tuple[int, int]]
    late_results: tuple[tuple[int, tuple[int, int]], ...]
    undone: tuple[tuple[int, Fold | Trim], ...]
    shared_slots: int
    first_break: tuple[int, int, str] | None
    calibration: float


class _State(_Same, frozen=True, kw_only=True):
    """A view, its slots in post-order. `last`: a hash of the last entry, which ties the snapshot to its log."""

    counter: str
    last: str
    slots: list[_Leaf | _Node]
    unit_of: bytes
    head_entry: int | None
    in_flight: int | None
    open_units: list[int]
    has_signed: bool


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(_State)


def freeze(view: View) -> bytes:
    """The view as bytes that `thaw` understands; the entries themselves stay in the log."""
    state = _State(
        counter=view.counter.name,
        last=_fingerprint(view.log, view.length),
        slots=_flat(view.slots),
        unit_of=_little(view.unit_of[: view.length]).tobytes(),
        head_entry=None if view.head_entry is None else view.head_entry.seq,
        in_flight=None if view.in_flight is None else view.in_flight.seq,
        open_units=list(view.open_units),
        has_signed=view.prefix_digest.has_signed,
        **{name: getattr(view, name) for name in _Same.__struct_fields__},
    )
    try:
        content = _encoder.encode(state)
    except (UnicodeEncodeError, OverflowError):  # lone surrogates, numbers beyond 64 bits: JSON carries them
        content = plain(state)
    return _MAGIC + _sum(content) + content


def thaw(data: bytes, log: Log, counter: TokenCounter) -> View:
    """The view that was frozen, over its log. Raises ValueError if the bytes are not a view of this log and counter."""
    state = _read(data)
    if state.counter != counter.name:
        raise ValueError(f"counted by {state.counter}, not {counter.name}")
    if len(log) < state.length:
        raise ValueError(f"made of {state.length} entries, the log has {len(log)}")
    if _fingerprint(log, state.length) != state.last:
        raise ValueError("made of another log")
    view = View.empty(log, counter)
    for name in _Same.__struct_fields__:
        setattr(view, name, getattr(state, name))
    view.unit_of = array("q")
    view.unit_of.frombytes(state.unit_of)
    view.unit_of = _little(view.unit_of)
    view.slots = _grown(view, state.slots)
    view.keys = [slot.first for slot in view.slots]
    view.head_entry = _trace(view, state.head_entry, Head)
    view.in_flight = _trace(view, state.in_flight, Sent)
    view.open_units = dict.fromkeys(state.open_units)
    view.prefix_digest.has_signed = state.has_signed
    return view


def _read(data: bytes) -> _State:
    start = len(_MAGIC) + _SUM
    content = data[start:]
    if not data.startswith(_MAGIC) or data[len(_MAGIC) : start] != _sum(content):
        raise ValueError("no snapshot of this version, or a damaged one")
    if content.startswith(b"{"):  # a msgpack map never begins so
        return msgspec.convert(json.loads(content), _State)
    return _decoder.decode(content)


def _sum(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=_SUM).digest()


def _fingerprint(log: Log, n: int) -> str:
    """A hash of entry n − 1 in the form it has once stored, whichever log keeps it."""
    return _sum(encode(decode(encode(log[n - 1])))).hex() if n else ""


def _little(numbers: array[int]) -> array[int]:
    """The same file on every machine."""
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def _flat(slots: Sequence[Slot]) -> list[_Leaf | _Node]:
    """Everything in post-order: walked from the right, each fold before its kids, and then turned round."""
    out: list[_Leaf | _Node] = []
    stack = list(slots)
    while stack:
        slot = stack.pop()
        if isinstance(slot, Unit):
            out.append(_leaf(slot))
        else:
            out.append(_Node(children=len(slot.children), **_fields(slot, "children", "pinned_units", "cached_digest")))
            stack.extend(slot.children)
    out.reverse()
    return out


def _leaf(unit: Unit) -> _Leaf:
    fields = _fields(unit, "entries", "cached_digest")
    if unit.size == unit.untrimmed_size:
        fields["size"] = None
    return _Leaf(facts=None if unit.entries is None else _size_of(unit.entries), **fields)


def _grown(view: View, flat: Sequence[_Leaf | _Node]) -> list[Slot]:
    slots: list[Slot] = []
    for item in flat:
        if isinstance(item, _Leaf):
            slots.append(_unit(view, item))
        else:
            kids = tuple(slots[-item.children :])
            del slots[-item.children :]
            pinned = tuple(unit for kid in kids for unit in pinned_units_in(kid))
            slots.append(Folded(children=kids, pinned_units=pinned, **_fields(item, "children")))
    return slots


def _unit(view: View, leaf: _Leaf) -> Unit:
    entries = None
    if leaf.facts is not None:
        entries = tuple(view.fetch(seq) for seq in leaf.seqs)
        if _size_of(entries) != leaf.facts:
            raise ValueError(f"unit {leaf.key} is not what it was")
    return Unit(  # field by field, since most of an opening is spent here
        key=leaf.key,
        seqs=leaf.seqs,
        untrimmed_size=leaf.untrimmed_size,
        size=leaf.untrimmed_size if leaf.size is None else leaf.size,
        entries=entries,
        open_calls=leaf.open_calls,
        answered_calls=leaf.answered_calls,
        trims=leaf.trims,
        pins=leaf.pins,
        signed_prefix=leaf.signed_prefix,
        signature_stale=leaf.signature_stale,
    )


def _fields(value: Struct, *without: str) -> dict[str, Any]:
    """What a struct holds, by name."""
    fields = asdict(value)
    for name in without:
        del fields[name]
    return fields


def _size_of(entries: Iterable[Entry]) -> Size:
    """What the facts of a unit measure by themselves, before labels and edits: tells whether they are the same."""
    size = ZERO
    for entry in entries:
        fact = entry.body if isinstance(entry.body, Fact) else None
        if fact is None:
            raise ValueError(f"entry {entry.seq} is no fact")
        size = size.plus(fact_size(fact, entry.tokens))
    return size


def _trace(view: View, seq: int | None, kind: type[Head | Sent]) -> Entry | None:
    if seq is None:
        return None
    entry = view.fetch(seq)
    if type(entry.body) is not kind:
        raise ValueError(f"entry {seq} is not what it was")
    return entry
