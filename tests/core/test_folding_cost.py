"""An edit under a fold costs the same however large the fold is, and gives the same fold as one that is made again."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpreter_steps import interpreter_steps
from transom.core.edit import Edit, Fold, Pin, Trim, Undo
from transom.core.entry import Entry, Sent
from transom.core.message import Call
from transom.core.pairing import call_labels
from transom.core.reducer import apply, build_view
from transom.core.tokens import MESSAGE_BYTES, Size, text_bytes
from transom.core.unit import FoldedSlot, Slot, pinned_units_in
from transom.core.view import View
from transom.testing import Entries, WordCounter, talk

WORDS = "words that are worth a fold " * 4
NUMBER = st.integers(0, 15)
BISECTION = 100
"""Steps that halving a longer tuple a few times more may take."""


def cut(entry: int, note: str = "[cut]") -> Trim:
    return Trim(entry=entry, part=("text", 0), note=note)


def under_folds(units: int, depth: int) -> list[Entry]:
    """Units under so many folds, every second one pinned, with a small fold among them."""
    half = units // 2
    small = Fold(first=half, last=half + 5, text="[small]", excerpted=(half + 1,))
    log = talk(*[WORDS] * (units + depth), small, *(Pin(entry=key) for key in range(0, units, 2)))
    return talk(*(Fold(first=0, last=units + above, text="[all]") for above in range(depth)), after=log)


def one_of_each(log: list[Entry], units: int) -> dict[str, Edit]:
    """Edits that change what one fold or unit is behind the folds over it."""
    at, half = units // 4, units // 2
    small = next(entry.seq for entry in log if isinstance(entry.body, Fold))
    pins = {entry.body.entry: entry.seq for entry in log if isinstance(entry.body, Pin)}
    return {
        "pin": Pin(entry=at + 1),
        "pin of what shows": Pin(entry=at),
        "undo of a pin": Undo(edit=pins[at]),
        "undo of a pin further down": Undo(edit=pins[half + 2]),
        "trim": cut(at),
        "trim of what does not show": cut(at + 1),
        "undo of the small fold": Undo(edit=small),
    }


def steps(log: list[Entry], edit: Edit) -> int:
    """The interpreter's steps for one more entry."""
    longer = talk(edit, after=log)
    view = build_view(Entries(log), WordCounter()).with_log(Entries(longer))
    assert view.refusal(edit) is None
    return interpreter_steps(lambda: apply(view, longer[-1:]))


def bill(units: int, depth: int) -> dict[str, int]:
    log = under_folds(units, depth)
    return {name: steps(log, edit) for name, edit in one_of_each(log, units).items()}


@pytest.mark.parametrize("depth", [1, 2])
def test_the_change_of_one_unit_does_not_look_at_the_others(depth: int) -> None:
    few, many = bill(32, depth), bill(512, depth)
    assert {name: many[name] - few[name] for name in many if many[name] - few[name] > BISECTION} == {}


def test_many_units_are_found_in_one_descent() -> None:
    def grows(find: Callable[[View], object]) -> int:
        few, many = (build_view(Entries(under_folds(32, depth)), WordCounter()) for depth in (5, 25))
        return interpreter_steps(lambda: find(many)) - interpreter_steps(lambda: find(few))

    keys = range(0, 32, 3)
    view = build_view(Entries(under_folds(32, 3)), WordCounter())
    assert list(map(id, view.units(reversed(keys)))) == [id(view.unit(key)) for key in keys]
    assert grows(lambda view: view.units(keys)) < 4 * grows(lambda view: view.unit(0))


def check(slot: Slot, log: list[Entry], *, shows: bool = True) -> None:
    """What a fold says of its kids is what they say; only what is pinned has its entries, and what shows its text."""
    if not isinstance(slot, FoldedSlot):
        return
    text = log[slot.seq].body.text
    assert slot.text == (text if shows else "")
    assert list(map(id, slot.all_pinned)) == [id(unit) for kid in slot.children for unit in pinned_units_in(kid)]
    size = Size(slot.tokens, MESSAGE_BYTES + text_bytes(text), 0, 1)
    for unit in slot.all_pinned:
        size = size.plus(unit.size) if unit.key not in slot.excerpted else size
    assert slot.size == size
    for kid in slot.children:
        assert isinstance(kid, FoldedSlot) or (kid.entries is not None) == bool(kid.pins)
        check(kid, log, shows=False)


def edit_of(view: View, kind: str, a: int, b: int, c: int) -> Edit:
    """`a` says where, `b` how far or in which words, `c` what a fold carries or which of the edits goes."""
    if kind == "fold":
        i = a % len(view.slots)
        j = min(i + b % 5, len(view.slots) - 1)
        first, last = view.slots[i].first, view.slots[j].last
        return Fold(
            first=first, last=last, text=f"[{view.length}]", excerpted=tuple(range(first, last + 1, c)) if c else ()
        )
    if kind == "undo":
        live = [seq for seq in range(view.length) if view.is_live(seq)]
        return Undo(edit=live[c % len(live)] if live else 0)
    return Pin(entry=a) if kind == "pin" else cut(a, ("[cut]", "[c]")[b % 2])


KINDS = st.sampled_from(["fold", "pin", "pin", "trim", "undo", "undo"])


@given(st.integers(0, 2), st.lists(st.tuples(KINDS, NUMBER, NUMBER, NUMBER), max_size=12))
def test_what_is_made_by_the_difference_is_what_would_be_made_anew(
    depth: int, acts: list[tuple[str, int, int, int]]
) -> None:
    log = under_folds(14, depth)
    view = build_view(Entries(log), WordCounter())
    for act in acts:
        before = [slot.fingerprint() for slot in view.slots]
        log = talk(Sent(fingerprint="", limit=9, tokens=9, messages=9), edit_of(view, *act), after=log)
        view = apply(view.with_log(Entries(log)), log[-2:])
        total = Size(view.counter.request)
        for slot in view.slots:
            check(slot, log)
            total = total.plus(slot.size)
        assert view.total == total
        same = [slot.fingerprint() for slot in view.slots] == before
        assert (view.first_break is None) == same, "a break is told where something looks otherwise"


def test_labels_are_given_in_linear_time() -> None:
    def spent(calls: int) -> int:
        ids = tuple(Call(str(at // 2), "look", "{}") for at in range(calls))  # every second one has its id twice
        times: list[int] = []
        for _ in range(5):
            start = time.process_time_ns()
            call_labels(ids, 1)
            times.append(time.process_time_ns() - start)
        return min(times)

    assert spent(4_000) < 30 * spent(500)
