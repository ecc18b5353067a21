"""Law 14: work per entry does not grow with the log. Operations are counted, not timed."""

from __future__ import annotations

from msgspec.structs import replace

from meters import MeteredCounter, MeteredLog
from transom.core.edit import Fold, Pin, Trim, Undo
from transom.core.entry import Entry, Sent
from transom.core.reducer import apply
from transom.core.tokens import FormatCounter
from transom.core.view import View
from transom.testing import Entries, WordCounter, call, result, says, talk


def grown(turns: int) -> tuple[View, list[Entry]]:
    """A log of so many turns, folded now and then into one rolling summary so that the window stays small."""
    log: list[Entry] = []
    view = View.empty(Entries(), WordCounter())
    for turn in range(turns):
        log, view = more(log, view, "go on", call("sh"), result("line\n" * 40), says("done"))
        if turn % 20 == 19:
            log, view = more(log, view, Fold(first=0, last=view.slots[-10].last, text=f"[{turn + 1} turns so far]"))
    return view, log


def more(log: list[Entry], view: View, *items) -> tuple[list[Entry], View]:
    longer = talk(*items, after=log)
    return longer, apply(view.with_log(Entries(longer)), longer[len(log) :])


def cost(turns: int) -> dict[str, tuple[int, int, int]]:
    """For each kind of entry: reads of the log, texts counted and characters counted when it comes."""
    view, log = grown(turns)
    newest = view.slots[-2].seqs[-1]
    spent: dict[str, tuple[int, int, int]] = {}
    for name, *items in (
        ("talk", "go on", call("sh"), result("line\n" * 40), says("done")),
        ("sent", Sent(fingerprint="0", limit=1, tokens=1, messages=1)),
        ("trim", Trim(entry=newest, part=("text", 0), note="[cut]")),
        ("trim of the oldest", Trim(entry=2, part=("text", 0), note="[cut]")),
        ("pin", Pin(entry=newest)),
        ("pin of the oldest", Pin(entry=2)),
        ("fold", Fold(first=0, last=view.slots[-5].last, text="[all of it]")),
        ("undo", Undo(edit=view.slots[0].seq)),
        ("refused", Fold(first=5, last=6, text="[not an edge]")),
    ):
        longer = talk(*items, after=log)
        reads, counted = MeteredLog(Entries(longer)), MeteredCounter(WordCounter())
        metered = replace(view, log=reads, counter=FormatCounter(counted))
        apply(metered, longer[len(log) :])
        spent[name] = (reads.reads, counted.texts, counted.characters)
        if isinstance(items[0], (Fold, Trim, Pin, Undo)):
            assert (view.refusal(items[0]) is None) == (name != "refused")
    return spent


def test_the_work_of_an_entry_is_the_same_in_a_log_ten_times_as_long() -> None:
    """The oldest units lie under one fold more for each rolling summary: what is paid is the way down to them."""
    assert cost(400) == cost(40)


def test_what_is_counted_already_is_not_counted_again() -> None:
    assert [counted for _, *counted in cost(40).values()] == [[0, 0]] * 9
