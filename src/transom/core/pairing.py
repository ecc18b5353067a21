"""Pairs tool results with their calls, and makes the labels by which a result names its call in a request."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from heapq import merge
from typing import Any, Protocol

from transom.core.message import Assistant, Call, ToolResult
from transom.core.persistent import IdentityKey
from transom.core.tokens import ZERO, FormatCounter, Size, replace_surrogates, text_bytes
from transom.core.unit import Unit, bits_of

_is_made = re.compile(r"call-\d+-\d+").fullmatch
"""Whether an id has the form of the labels that `call_labels` makes."""


class OpenTurns(Protocol):
    """What has turns of the model whose calls wait for results, for example a `SlotTable`."""

    @property
    def open_units(self) -> tuple[int, ...]:
        """The keys of the units whose turns have calls that wait for results."""
        ...

    def open_unit(self, key: int) -> Unit:
        """The unit with this key, which is one of `open_units`, with its entries."""
        ...


def open_call(turns: OpenTurns, result: ToolResult) -> tuple[Unit, int] | None:
    """The open call that this result belongs to, as its unit and its index in the turn; None if there is none.

    A result with a `place` names its call by that, and by nothing else. Any other result names it by label, or by
    function name if the call has no id (see `is_answered`); `legacy` must be the same in both. If several turns have
    such an open call, the newest turn counts, and in a turn the first call.
    """
    if result.place is not None:
        key, index = result.place
        return (turns.open_unit(key), index) if is_open(turns, result.place) else None
    name = result.extra.get("name") if result.extra else None
    for key in sorted(turns.open_units, reverse=True) if len(turns.open_units) > 1 else turns.open_units:
        unit = turns.open_unit(key)
        turn = unit.first_fact
        assert isinstance(turn, Assistant)
        for index in _open_calls(unit, turn.calls, result.call, name):
            call = turn.calls[index]
            if call.legacy == result.legacy and is_answered(call, by=result.call, name=name):
                return unit, index
    return None


def is_open(turns: OpenTurns, place: tuple[int, int]) -> bool:
    """Whether the call at this place (the key of its turn, its index) exists and has no result."""
    key, index = place
    return index >= 0 and key in turns.open_units and turns.open_unit(key).is_open(index)


def _open_calls(unit: Unit, calls: tuple[Call, ...], label: str, name: str | None) -> Iterator[int]:
    """The indexes of the open calls that a result with this label or function name may be of, rising."""
    if not (named := label or name):
        return bits_of(unit.open_bits)
    first = (unit.open_bits & -unit.open_bits).bit_length() - 1
    by_label = _indexes_by_label(IdentityKey(calls))
    same = (by_label.get(key, ()) for key in ((label, True), (named, False)))
    return filter(unit.is_open, merge(*(indexes[bisect_left(indexes, first) :] for indexes in same)))


def is_answered(call: Call, *, by: str, name: str | None) -> bool:
    """Whether a result with the label `by` and the function name `name` belongs to this call.

    A call with an id: if the label is this id. A call without an id: if the label is empty or the call's name, and
    `name` is None or the call's name.
    """
    if call.id:
        return by == call.id
    return (not by or by == call.name) and name in {None, call.name}


def result_label_size(counter: FormatCounter, unit: Unit, index: int, result: ToolResult) -> Size:
    """What a result adds to the tokens and bytes because it is sent with the label of its call (`call_labels`), and not
    with its own id, which is counted already. Below 0 if the label is shorter. If the turn is in another dialect than
    the counter, its label is not known yet: the longest one counts (`FormatCounter.place`), in tokens only.

    `index`: that of the call in the turn of the unit.
    """
    count, dialect = counter.count, counter.dialect
    turn = unit.first_fact
    assert isinstance(turn, Assistant)
    if turn.dialect != dialect == result.dialect:  # it is sent under the label of its call's place
        return Size(max(0, counter.place - count(result.call)))
    call = turn.calls[index]
    if call.legacy and not (result.extra and result.extra.get("name")):  # on the wire its name is its label
        return Size(count(call.name), text_bytes(call.name))
    label = _labels(IdentityKey(turn.calls), unit.key)[index]
    if label == result.call:
        return ZERO  # nearly always
    return Size(count(label) - count(result.call), text_bytes(label) - text_bytes(result.call))


@lru_cache(maxsize=4)
def _indexes_by_label(calls: IdentityKey[tuple[Call, ...]]) -> Mapping[tuple[str, bool], Sequence[int]]:
    """The indexes of a turn's calls, rising, by (id, True), or by (name, False) for a call without an id."""
    indexes: dict[tuple[str, bool], list[int]] = {}
    for index, call in enumerate(calls.value):
        indexes.setdefault((call.id or call.name, bool(call.id)), []).append(index)
    return indexes


@lru_cache(maxsize=4)
def _labels(calls: IdentityKey[tuple[Call, ...]], key: int) -> tuple[str, ...]:
    """The labels of a turn's calls (`call_labels`), cached for a few turns."""
    return call_labels(calls.value, key)


def call_label_size(counter: FormatCounter, turn: Assistant, key: int) -> Size:
    """What a turn adds to the tokens and bytes because its calls are sent with labels (`call_labels`), and not with
    their ids, which are counted already. Zero if all labels are ids; below 0 if they are shorter. `key`: the key of the
    turn's unit."""
    extra, labels = ZERO, _labels(IdentityKey(turn.calls), key)
    count = counter.count
    for call, label in zip(turn.calls, labels, strict=True):
        if call.id != label:
            extra = extra.plus(Size(count(label) - count(call.id), text_bytes(label) - text_bytes(call.id)))
    return extra


def call_labels(calls: Sequence[Any], key: int) -> tuple[str, ...]:
    """The labels of the calls of a turn, in order. `calls`: objects with `id` and `legacy`, such as `Call`. `key`: the
    key of the turn's unit.

    A label is the id of the call, with lone surrogates replaced. It is made of the call's place, `call-<key>-<index>`,
    if the id is empty, if an earlier call of the turn has the same label, or if the id has this form itself: then it
    came from a request that we rendered for another log, and may be the label of another call here.

    So all labels of a turn differ. Exception: a call in OpenAI's old `function_call` format has no id, and keeps an
    empty label.
    """
    if len(calls) == 1 and _may_stay(calls[0].id):
        return (calls[0].id,)  # the usual case
    taken, labels = set[str](), list[str]()
    for index, call in enumerate(calls):
        label = replace_surrogates(call.id)
        if not call.legacy and (label in taken or not label or _is_made(label)):
            label = f"call-{key}-{index}"
        taken.add(label)
        labels.append(label)
    return tuple(labels)


def _may_stay(label: str) -> bool:
    """Whether an id can be sent as it is, unless an earlier call of its turn has it. False also for an id with
    characters that are not ASCII, which need a closer look."""
    return bool(label) and label.isascii() and not _is_made(label)
