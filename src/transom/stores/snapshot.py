"""Encodes a view as bytes and decodes it, so that opening a long log need not apply all its entries again.

Rule: a snapshot is only ever a shortcut. `decode_view` raises ValueError unless the bytes belong to exactly this log,
this token counter and this version of the library; then the caller applies the entries of the log.

A snapshot has the parts of a view that the log does not have. The rest is read from the log again: the entries of the
units in the window, the head, the request in flight, the open calls. Folds may nest to any depth, so the slots are
written as a list in which the children of a fold precede it.
"""

from __future__ import annotations

import hashlib
import json
import sys
from array import array
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, cast, get_args, get_type_hints

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, replace

from transom.core.codec import decode, encode, plain
from transom.core.entry import CallPlace, Entry, Sent
from transom.core.log import Log
from transom.core.message import Fact, Head
from transom.core.persistent import IntVector, Vector, vector
from transom.core.reducer import apply
from transom.core.tokens import ZERO, Size, TokenCounter, fact_size
from transom.core.unit import FoldedSlot, Slot, Unit, pinned_units_in, with_open_calls
from transom.core.view import View
from transom.stores.base import StoredLog
from transom.stores.view_cache import view_cache

_CHECKSUM_BYTES = 16


_APART = {"log", "counter", "slots", "head_entry", "in_flight", "approvals", "hashed"}
"""The fields of a view that a snapshot has in another form, or not at all."""

_Fields: Any = msgspec.defstruct(
    "_Fields", [(name, kind) for name, kind in get_type_hints(View).items() if name not in _APART], frozen=True
)
"""All other fields of a view."""


class _Snapshot(Struct, frozen=True, kw_only=True):
    """A view without what its log has."""

    counter: str
    last_entry: str
    """A hash of the last entry, which ties the snapshot to its log."""
    shown: Size
    """The size of the entries of the loaded units; a log in which they changed gives another size."""
    head_entry: int | None
    in_flight: int | None
    slots: list[Unit | FoldedSlot]
    """All slots of the view and of its folds, the children of a fold before it."""
    child_counts: list[int]
    """For each fold in `slots`, how many children it has."""
    approvals: list[tuple[CallPlace, tuple[int, str]]]
    fields: _Fields  # pyright: ignore[reportInvalidTypeForm] - it is made above


def encode_view(view: View) -> bytes:
    """Encode a view as bytes, which `decode_view` reads: only in this version of the library, and on a machine with the
    same byte order. They have no entries, only their numbers."""
    slots, child_counts = _flat(view.slots)
    snapshot = _Snapshot(
        counter=view.counter.name,
        last_entry=_fingerprint(view.log, view.length),
        shown=_measured(entry for slot in view.slots for unit in _loaded_in(slot) for entry in unit.entries or ()),
        head_entry=None if view.head_entry is None else view.head_entry.seq,
        in_flight=None if view.in_flight is None else view.in_flight.seq,
        slots=slots,
        child_counts=child_counts,
        approvals=list(view.approvals.items()),
        fields=_Fields(**{name: getattr(view, name) for name in _Fields.__struct_fields__}),
    )
    try:
        content = _encoder.encode(snapshot)
    except (UnicodeEncodeError, OverflowError):  # lone surrogates, numbers beyond 64 bits: JSON carries them
        content = plain(msgspec.to_builtins(snapshot, enc_hook=_numbers_out))
    return _tag() + _checksum(content) + content


def decode_view(data: bytes, log: Log, counter: TokenCounter) -> View:
    """Decode a view from bytes of `encode_view`.

    `log`: the log of the view, from which it reads its entries; it may have more than the view covers. `counter`: the
    token counter by which the view was counted.

    Raises ValueError if the bytes are damaged, or are not of this version of the library, this log and this token
    counter.
    """
    snapshot = _read(data)
    fields = asdict(cast("Struct", snapshot.fields))  # pyright: ignore[reportUnknownMemberType]
    length = len(fields["unit_of"])
    if snapshot.counter != counter.name:
        raise ValueError(f"counted by {snapshot.counter}, not {counter.name}")
    if len(log) < length:
        raise ValueError(f"made of {length} entries, the log has {len(log)}")
    if _fingerprint(log, length) != snapshot.last_entry:
        raise ValueError("made of another log")
    view = View.empty(log, counter)
    slots = _tree(view, snapshot.slots, snapshot.child_counts, fields["open_units"])
    loaded = (entry for slot in slots for unit in _loaded_in(slot) for entry in unit.entries or ())
    if _measured(loaded) != snapshot.shown:
        raise ValueError("what it shows is not what the log has")
    return replace(
        view,
        slots=slots,
        head_entry=_fetched(view, snapshot.head_entry, Head),
        in_flight=_fetched(view, snapshot.in_flight, Sent),
        approvals=dict(snapshot.approvals),
        **fields,
    )


def open_view(log: StoredLog, counter: TokenCounter) -> View:
    """Return the view of all entries that this handle of a log knows.

    It begins with the view that this store object has kept when the conversation was closed, else with the snapshot of
    the log, and applies the entries behind it. If there is neither, or if it does not belong to this log, token counter
    and version, it applies all entries. Raises StoreDamaged if an entry that it needs cannot be read.
    """
    if (cache := view_cache(log)) is not None and (known := cache.find(log, counter)) is not None:
        return apply(known, log.read(known.length))
    view, saved = View.empty(log, counter), log.load_snapshot()
    if saved is not None:
        try:
            view = decode_view(saved[1], log, counter)
        except ValueError:
            view = View.empty(log, counter)
    return apply(view, log.read(view.length))


def _read(data: bytes) -> _Snapshot:
    """Decode the bytes of a snapshot. Raises ValueError if they are damaged or of another version."""
    start = len(_tag()) + _CHECKSUM_BYTES
    content = data[start:]
    if not data.startswith(_tag()) or data[len(_tag()) : start] != _checksum(content):
        raise ValueError("no snapshot of this version, or a damaged one")
    if content.startswith(b"{"):  # a msgpack map never begins so
        return msgspec.convert(json.loads(content), _Snapshot, dec_hook=_numbers_in, str_keys=True)
    return _decoder.decode(content)


# ---- the slots


def _flat(slots: Sequence[Slot]) -> tuple[list[Unit | FoldedSlot], list[int]]:
    """Return every slot in one list, the children of a fold before it; and for each fold of that list, how many
    children it has."""
    flat, child_counts, stack = list[Slot](), list[int](), list(slots)
    while stack:  # from the right, each fold before its children; turned round at the end
        slot = stack.pop()
        if isinstance(slot, Unit):
            flat.append(replace(slot, entries=None, open_bits=0, cached_fingerprint=None))
        else:
            flat.append(replace(slot, children=(), all_pinned=(), cached_fingerprint=None))
            child_counts.append(len(slot.children))
            stack.extend(slot.children)
    flat.reverse()
    child_counts.reverse()
    return flat, child_counts


def _tree(view: View, flat: Iterable[Slot], child_counts: Iterable[int], still_open: Sequence[int]) -> tuple[Slot, ...]:
    """Build the slots again from the lists that `_flat` made. Pinned units and units outside folds get their entries;
    of the latter, those whose keys are in `still_open` get their open calls."""
    slots: list[Slot] = []
    counts = iter(child_counts)
    for slot in flat:
        if isinstance(slot, Unit):
            slots.append(_with_entries(view, slot) if slot.pins else slot)
        else:
            count = next(counts, 0)
            children = tuple(slots[len(slots) - count :])
            del slots[len(slots) - count :]
            pinned = () if slot.sealed else tuple(unit for child in children for unit in pinned_units_in(child))
            slots.append(replace(slot, children=children, all_pinned=pinned))
    shown = (_with_entries(view, slot) if isinstance(slot, Unit) else slot for slot in slots)
    return vector(
        with_open_calls(slot) if isinstance(slot, Unit) and slot.key in still_open else slot for slot in shown
    )


def _with_entries(view: View, unit: Unit) -> Unit:
    return unit if unit.entries is not None else replace(unit, entries=view.entries_of(unit))


def _loaded_in(slot: Slot) -> Sequence[Unit]:
    """Return the units of a slot whose entries are loaded: the unit itself, or the pinned units of a fold."""
    return (slot,) if isinstance(slot, Unit) else slot.all_pinned


# ---- ties to the log


def _fingerprint(log: Log, n: int) -> str:
    """Return a hash of entry n - 1, the last of the first n; empty if n is 0. It is the same in every kind of store."""
    return _checksum(encode(decode(encode(log[n - 1])))).hex() if n else ""


def _measured(entries: Iterable[Entry]) -> Size:
    """Return the size of these entries, before any edit. Raises ValueError for an entry that is no fact."""
    size = ZERO
    for entry in entries:
        if not isinstance(entry.body, Fact):
            raise ValueError(f"entry {entry.seq} is no fact")  # noqa: TRY004 - the bytes are wrong, not the type
        size = size.plus(fact_size(entry.body, entry.tokens))
    return size


def _fetched(view: View, seq: int | None, kind: type[Head | Sent]) -> Entry | None:
    if seq is None:
        return None
    entry = view.fetch(seq)
    if type(entry.body) is not kind:
        raise ValueError(f"entry {seq} is not what it was")
    return entry


# ---- bytes


def _numbers_out(value: object) -> bytes | tuple[object, ...]:
    """Encode what msgspec does not know: a vector as a tuple, an int vector as bytes."""
    if isinstance(value, Vector):
        return tuple(cast("Vector[object]", value))
    assert isinstance(value, IntVector)
    return value.to_array().tobytes()


def _numbers_in(kind: type, value: Any) -> Any:
    assert kind is IntVector
    numbers = array("q")
    numbers.frombytes(value if isinstance(value, bytes) else msgspec.convert(value, bytes))
    return IntVector(numbers)


_encoder = msgspec.msgpack.Encoder(enc_hook=_numbers_out)
_decoder = msgspec.msgpack.Decoder(_Snapshot, dec_hook=_numbers_in)


def _checksum(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=_CHECKSUM_BYTES).digest()


@cache
def _tag() -> bytes:
    """Return the bytes with which a snapshot begins. They have a hash of the library's version, of the order of bytes
    and of the definition of every struct in a snapshot, so that no other version and no other machine reads it."""
    from importlib.metadata import version  # noqa: PLC0415 - slow to import, and needed by few

    seen: dict[str, str] = {"transom": version("transom"), "bytes": sys.byteorder}
    kinds: list[Any] = [_Snapshot]
    while kinds:
        kind = kinds.pop()
        if isinstance(kind, type) and issubclass(kind, Struct) and kind.__qualname__ not in seen:
            hints = get_type_hints(kind)
            seen[kind.__qualname__] = repr([(name, str(hints[name])) for name in kind.__struct_fields__])
            kinds.extend(hints.values())
        kinds.extend(get_args(kind))
    return b"transom view " + _checksum(plain(seen)).hex().encode() + b"\n"
