"""An error raised in a strategy of the caller names that strategy; one that never ends is stopped."""

from __future__ import annotations

from itertools import chain, count, repeat

import pytest
from msgspec import Struct

from transom import Conversation, Fold, Pin, Policy, Undo
from transom.errors import InvalidEdit
from transom.testing.fakes import WordCounter

MANY = 1_000_000
REFUSED = Fold(first=99_999, last=99_999, text="nothing", why="test")


class Proposes(Struct, frozen=True):
    """Proposes edits, and says after a million that nobody stops it."""

    edits: object

    def __call__(self, view, target):
        for number, edit in enumerate(self.edits(view)):
            assert number < MANY, "nobody stopped it"
            yield edit


def raises(view, target):
    raise KeyError("mine")


def raises_later(view, target):
    yield REFUSED
    raise KeyError("mine")


def gives_nothing(view, target):
    return None


class Prepares:
    def prepare(self, view, budget, indexes):
        raise KeyError("mine")

    def __call__(self, view, target):
        return iter(())


def opened(counter=None, **steps):
    policy = Policy(name="mine", trigger=0.5, **steps)
    conversation = Conversation.open("memory:", "x", budget=1_000, policy=policy, counter=counter or WordCounter())
    for _ in range(4):
        conversation.user("word " * 150)
        conversation.observe({"role": "assistant", "content": "word " * 50})
    conversation.user("Go on.")
    return conversation


@pytest.mark.parametrize(
    ("role", "step"),
    [("arrival", raises), ("pressure", raises), ("last_resort", raises), ("keep", raises), ("pressure", raises_later)],
)
def test_an_error_names_the_strategy_and_stays_what_it_is(role, step):
    conversation = opened(**{"pressure": (Proposes(lambda _: ()),), role: (step,)})
    length = len(conversation.log)
    with pytest.raises(KeyError, match="mine") as error:
        conversation.request()
    assert error.value.__notes__ == [f"raised by {__name__}.{step.__name__}, in policy 'mine'"]
    assert len(conversation.log) == length


def test_what_prepare_raises_names_the_strategy():
    conversation = opened(pressure=(Prepares(),))
    with pytest.raises(KeyError, match="mine") as error:
        conversation.prepare()
    assert error.value.__notes__ == [f"raised by {__name__}.Prepares, in policy 'mine'"]


def test_an_error_of_the_planner_names_no_strategy():
    conversation = opened(pressure=(Proposes(lambda _: (REFUSED,)),))
    with pytest.raises(Exception, match="need at least") as error:
        conversation.request()
    assert not hasattr(error.value, "__notes__")


@pytest.mark.parametrize(
    ("strategy", "kind", "why"),
    [(Proposes(lambda _: (7,)), InvalidEdit, "must propose edits, not 7"), (gives_nothing, TypeError, "NoneType")],
)
def test_what_is_no_edit_names_the_strategy(strategy, kind, why):
    with pytest.raises(kind, match=why) as error:
        opened(pressure=(strategy,)).request()
    (note,) = error.value.__notes__
    assert note.startswith(f"raised by {__name__}.")


def pins_and_undoes(view):
    """Each of these applies, and none makes the window smaller."""
    return chain.from_iterable((Pin(entry=0, why=""), Undo(edit=view.length + 2 * n, why="")) for n in count())


@pytest.mark.parametrize(
    "edits",
    [
        lambda _: repeat(REFUSED),
        lambda _: (Fold(first=number, last=number, text="x", why="") for number in count(9_000)),
        pins_and_undoes,
    ],
)
def test_a_strategy_that_never_ends_is_stopped(edits):
    conversation = opened(pressure=(Proposes(edits),))
    length = len(conversation.log)
    why = r"^strategy test_faulty_strategies.Proposes proposed \d,\d{3} edits in a row that make nothing smaller\n"
    with pytest.raises(InvalidEdit, match=why):
        conversation.request()
    assert len(conversation.log) == length


class Drifts:
    """Counts well at first."""

    name = "drifts"

    def __init__(self, later):
        self.later = later

    def count(self, text):
        return self.later if len(text) > 100 else 1
