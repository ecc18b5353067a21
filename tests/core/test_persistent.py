"""A Vector does what a tuple does, and the one that it was made of stays as it is."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from interpreter_steps import interpreter_steps
from transom.core.persistent import CHUNK, Vector, appended, index_after, replaced, spliced, vector

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


SPLICES = st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 20), st.integers(0, 20)), max_size=60)


@given(SIZES, SPLICES)
def test_a_vector_that_is_spliced_many_times(size: int, splices: list[tuple[int, int, int]]) -> None:
    plain = tuple(range(size))
    items = vector(plain)
    for place, removed, more in splices:
        start = place % (len(plain) + 1)
        stop, new = min(len(plain), start + removed), range(-more, 0)
        items, plain = spliced(items, start, stop, new), (*plain[:start], *new, *plain[stop:])
        items, plain = (appended(items, more), (*plain, more)) if place % 3 else (items, plain)
        assert (tuple(items), len(items), items[start:stop]) == (plain, len(plain), plain[start:stop])
        assert [items[at] for at in range(-len(plain), len(plain))] == [*plain, *plain]
        if plain:
            at = place % len(plain)
            assert tuple(replaced(items, at, 0)) == (*plain[:at], 0, *plain[at + 1 :])


def test_chunks_stay_full_whatever_is_taken_out_or_put_in() -> None:
    """Chunks of very few items would make a long list of them, and each change copies that list."""
    items = vector(range(40 * CHUNK))
    for at in range(30 * CHUNK):
        items = spliced(items, at % 997 % len(items), at % 997 % len(items) + 1, ())
    for at in range(30 * CHUNK):
        items = spliced(items, at % 991 % len(items), at % 991 % len(items), [at])
    assert isinstance(items, Vector)
    assert len(items._chunks) < 3 * len(items) / CHUNK  # pyright: ignore[reportPrivateUsage]


def test_an_item_in_the_middle_leaves_the_chunks_behind_it_as_they_are() -> None:
    items = vector(range(200 * CHUNK))
    more = spliced(items, 5, 5, [-1])
    assert isinstance(items, Vector)
    assert isinstance(more, Vector)
    shared = {id(chunk) for chunk in items._chunks} & {id(chunk) for chunk in more._chunks}  # pyright: ignore[reportPrivateUsage]
    assert len(shared) == 199


def test_a_change_of_a_large_one_looks_at_few_items() -> None:
    """Counted in steps of the interpreter: of a thousand items as of ten thousand."""

    def steps(size: int) -> list[int]:
        items = vector(range(size))
        changes = (
            lambda: appended(items, 0),
            lambda: replaced(items, size // 2, 0),
            lambda: items[-1],
            lambda: items[size - 3 :],
            lambda: spliced(items, 70, 70, [0]),
            lambda: spliced(items, 70, 71, ()),
        )
        return [interpreter_steps(change) for change in changes]

    assert steps(1_000) == steps(10_000)
