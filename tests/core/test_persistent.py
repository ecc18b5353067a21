"""A Vector does what a tuple does, a Table what a dict does, and the ones they were made of stay as they are."""

from __future__ import annotations

import sys

from hypothesis import given
from hypothesis import strategies as st

from transom.core.persistent import (
    CHUNK,
    Table,
    Vector,
    appended,
    index_after,
    replaced,
    spliced,
    vector,
    with_value,
    without_key,
)

SIZES = st.integers(0, 4 * CHUNK + 3)


@given(SIZES, st.integers(0, 5 * CHUNK), st.integers(0, 5 * CHUNK), st.integers(0, 2 * CHUNK))
def test_a_vector_is_a_tuple(size: int, start: int, stop: int, more: int) -> None:
    plain = tuple(range(0, 2 * size, 2))
    items = vector(plain)
    start, stop, new = min(start, stop, size), min(max(start, stop), size), range(-more, 0)
    assert isinstance(items, Vector) == (size > CHUNK)
    assert (items[start:stop], items[stop:start], items[::-1]) == (plain[start:stop], plain[stop:start], plain[::-1])
    assert (list(items), list(reversed(items)), len(items)) == (list(plain), list(reversed(plain)), size)
    assert tuple(appended(items, -1)) == (*plain, -1)
    assert tuple(spliced(items, start, stop, new)) == (*plain[:start], *new, *plain[stop:])
    assert [items[at] for at in range(-size, size)] == [plain[at] for at in range(-size, size)]
    for at in range(0, size, 7):
        assert tuple(replaced(items, at, -1)) == (*plain[:at], -1, *plain[at + 1 :])
    for key in range(-1, 2 * size + 1, 5):
        assert index_after(items, key, int) == sum(one <= key for one in plain)
    assert tuple(items) == plain


def test_a_vector_that_grows_item_by_item() -> None:
    items, versions = vector(()), []
    for number in range(3 * CHUNK + 5):
        versions.append(items)
        items = appended(items, number)
    assert [tuple(version) for version in versions] == [tuple(range(size)) for size in range(3 * CHUNK + 5)]


STEPS = st.lists(st.tuples(st.booleans(), st.integers(0, 3 * CHUNK)), max_size=400)


@given(STEPS, SIZES)
def test_a_table_is_a_dict(steps: list[tuple[bool, int]], size: int) -> None:
    plain, versions = dict.fromkeys(range(size), 0), []
    table = dict(plain)
    for number, (adds, key) in enumerate(steps):
        versions.append((table, dict(table)))
        if adds:
            table, plain = with_value(table, key, number), plain | {key: number}
        elif key in plain:
            table, plain = without_key(table, key), {one: value for one, value in plain.items() if one != key}
        assert (dict(table), len(table), table.get(key)) == (plain, len(plain), plain.get(key))
    assert all(dict(version) == as_it_was for version, as_it_was in versions)


def test_a_change_of_a_large_one_looks_at_few_items() -> None:
    """Counted in steps of the interpreter: of a thousand items as of ten thousand."""

    def steps(size: int) -> list[int]:
        items, table = vector(range(size)), Table(dict.fromkeys(range(size), 0), {})
        changes = (
            lambda: appended(items, 0),
            lambda: replaced(items, size // 2, 0),
            lambda: items[-1],
            lambda: items[size - 3 :],
            lambda: with_value(table, 5, 1),
            lambda: without_key(table, 5),
        )
        return [interpreter_steps(change) for change in changes]

    assert steps(1_000) == steps(10_000)


def interpreter_steps(run) -> int:
    count, before = 0, sys.gettrace()

    def step(frame, event, _):
        nonlocal count
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += event == "opcode"
        return step

    sys.settrace(step)
    try:
        run()
    finally:
        sys.settrace(before)
    return count
