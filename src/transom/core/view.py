"""The view: what a log shows after its first entries, as a value.

A view never changes; `reducer.apply` makes the next one. The two share the slots that did not change, and the arrays
that only grow at their end (see `IntVector`). So a view may be read in any thread while the conversation goes on. The
only thing that is written later are cached fingerprints: in one step, and every thread would write the same value.

A view is not `gc=False` as its slots are: it holds the log, and the log of a store that somebody else wrote may hold
anything, also a cycle.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from transom.core.edit import Edit, Fold, Trim
from transom.core.edit_refusal import refusal
from transom.core.entry import Body, Entry, Meta
from transom.core.log import Log
from transom.core.message import Assistant, Call, Head
from transom.core.slot_table import EMPTY_MESSAGE, HIDDEN_MESSAGE, NO_UNIT, STRAY_RESULT, SlotTable
from transom.core.summary import Summary
from transom.core.tokens import FormatCounter, Size, TokenCounter, sum_sizes
from transom.core.trims import effective_trims, find_part, trims_at, trims_of_entry
from transom.core.unit import Slot, Unit

__all__ = ["EMPTY_MESSAGE", "HIDDEN_MESSAGE", "NO_UNIT", "STRAY_RESULT", "View"]

_NO_HEAD = Head()


class View(SlotTable, frozen=True, eq=False):  # pyright: ignore[reportGeneralTypeIssues] - msgspec can freeze it
    """What a log shows after its first `length` entries: the slots of the window, and what a plan must know besides.

    `log`: where entries are read from. `counter`: counts tokens in the dialect.

    A method with a parameter `key` or `keys` takes keys of units that exist; it does not check them. (`slot_index` says
    what it returns for others.)
    """

    @staticmethod
    def empty(log: Log, counter: TokenCounter) -> View:
        """The view of a log before its first entry, with the size of a bare request. `counter`: a `FormatCounter`
        counts as its dialect; any other counter of texts counts as for OpenAI Chat."""
        format_counter = counter if isinstance(counter, FormatCounter) else FormatCounter(counter)
        return View(log=log, counter=format_counter, total=Size(format_counter.request))

    def with_log(self, log: Log) -> View:
        """A copy that reads its entries from another log object. The first `length` entries of that log must be those
        of this view, which is not checked; the copy does not show later ones."""
        return replace(self, log=log)

    def __repr__(self) -> str:
        return f"View({self.length} entries, {len(self.slots)} slots, {self.tokens} tokens)"

    @property
    def tokens(self) -> int:
        """The tokens of the window as its provider counts them: calibrated, as budgets compare them."""
        return round(self.total.tokens * self.calibration)

    def is_in_span(self, at: int) -> bool:
        """Whether a call of the provider's own tool stands before the slot at this index, and its result in that slot
        or behind it."""
        if not 0 < at < len(self.slots):
            return False
        spans, key = self.spans, self.slots[at].first
        found = bisect_left(spans, key, key=lambda span: span[1])
        return found < len(spans) and spans[found][0] < key

    @property
    def calibration(self) -> float:
        """How many of the provider's tokens one of ours is: 1 until a reply or a refusal says otherwise, and always
        from 0.8 to 2. Multiply raw tokens by it."""
        return self.token_calibration.ratio

    @property
    def learned_limits(self) -> Mapping[str, int]:
        """The tokens, as the provider counts them, that a request to a model may have: by "provider:model", for models
        that have refused a longer one. Replies raise them again: see `transom.core.learned_limit`."""
        return {model: limit.tokens for model, limit in self.model_limits.items()}

    @property
    def required(self) -> tuple[int, ...]:
        """The keys of the units that must be in every window: the first task and the newest user message, each once,
        rising."""
        first_task, newest = self.first_task, self.newest_user
        return first_task if newest is None or newest in first_task else (*first_task, newest)

    @property
    def head_and_request_size(self) -> Size:
        """The size of the head and of the request beside its messages."""
        return self.head_size.plus(Size(self.counter.request))

    @property
    def fixed_size(self) -> Size:
        """The size that no compaction can take away: the head, the request beside its messages, and the required units
        that are visible."""
        visible = (self.unit(key).size for key in self.required if self.is_visible(key))
        return sum_sizes(visible, self.head_and_request_size)

    @property
    def fixed_slots(self) -> int:
        """How many slots, from the first on, no fold takes: the provider's own compaction, and what precedes it. 0 if
        the provider has compacted nothing."""
        return 0 if self.compaction is None else self.slot_index(self.compaction) + 1

    @property
    def summary(self) -> tuple[int, Summary] | None:
        """The newest summary that was not undone, with its seq; None if there is none."""
        return next(self.newest_summaries(), None)

    def newest_summaries(self) -> Iterator[tuple[int, Summary]]:
        """The summaries that were not undone, each with its seq, the newest first."""
        made = self.summaries.made
        for at in range(len(made) - 1, -1, -1):
            body = self.log[made[at]].body
            if isinstance(body, Summary):
                yield made[at], body

    @property
    def head(self) -> Head:
        """What precedes the slots: instructions and tools; an empty head if there is none."""
        head = self.head_entry.body if self.head_entry is not None else None
        return head if isinstance(head, Head) else _NO_HEAD

    # ---- where things are

    def slot_of(self, entry: int) -> int | None:
        """The index of the slot that holds the unit of this entry, folded or not; None if the entry is in no unit."""
        key = self.unit_key(entry)
        return None if key < 0 else self.slot_index(key)

    def visible_units(self) -> Iterator[Unit]:
        """The units that the window shows, in order: those that are slots, and the pinned ones behind folds."""
        for slot in self.slots:
            if isinstance(slot, Unit):
                yield slot
            else:
                yield from slot.pinned_units

    def is_visible(self, key: int) -> bool:
        """Whether the window shows the unit with this key itself: it is not folded, or it is pinned out of its fold."""
        slot = self.slots[self.slot_index(key)]
        return isinstance(slot, Unit) or any(unit.key == key for unit in slot.pinned_units)

    def is_present(self, key: int) -> bool:
        """Whether the window shows the unit with this key itself, or an excerpt of it in the text of a fold
        (`excerpted`)."""
        slot = self.slots[self.slot_index(key)]
        return isinstance(slot, Unit) or key in slot.excerpted or self.is_visible(key)

    # ---- entries

    def entry(
        self, body: Body, at: float, meta: Meta | None = None, plan: int | None = None, *, behind: int = 0
    ) -> Entry:
        """Make the entry that would be the next one of the log, with its token counts. `behind`: how many other new
        entries precede it. Nothing is appended, and it is not checked whether an edit applies."""
        shows_others = isinstance(body, (Fold, Trim))  # what an edit shows may be in other entries
        tokens = self.token_counts(body) if shows_others else self.counter.count_body(body)
        seq, counter = self.length + behind, self.counter.name
        return Entry(seq=seq, at=at, body=body, tokens=tokens, counter=counter, meta=meta, plan=plan)

    def call_of(self, unit: Unit, seq: int) -> Call | None:
        """The call to which a result of the unit belongs. `seq`: the seq of the result, and not of the turn. None if
        the unit is not a turn of the model."""
        turn = self.entries_of(unit)[0].body
        if not isinstance(turn, Assistant):
            return None
        return turn.calls[unit.answered_calls[bisect_left(unit.seqs, seq) - 1]]

    def entry_tokens(self, unit: Unit, seq: int) -> tuple[int, int]:
        """The raw tokens of one entry of a unit, by its seq: without trims, and as its trims show it. Reasoning that is
        hidden without a trim counts in both."""
        entry = self.entries_of(unit)[bisect_left(unit.seqs, seq)]
        whole = shown = sum(entry.tokens)
        for (_, address), trim in effective_trims(trims_of_entry(unit.trims, seq)).items():
            if (found := find_part(entry, address)) is not None:
                shown += trim.tokens - found[1]
        return whole, shown

    # ---- edits

    def refusal(self, edit: Edit) -> str | None:
        """Why an edit does not apply to this view, as a sentence; None if it does."""
        return refusal(self, edit)

    def user_restored(self, slot: Slot) -> bool:
        """Whether an edit of this slot was undone, and no later edit does the same again. Always false for a
        `FoldedSlot`. Plans leave a restored slot alone while the window fits."""
        if not isinstance(slot, Unit):
            return False
        at = bisect_right(self.restored, slot.key, key=lambda keys: keys[0]) - 1
        if at >= 0 and slot.key <= self.restored[at][1]:
            return True
        return any(all(trim.seq <= seq for trim in trims_at(slot.trims, place)) for place, seq in slot.undone_trims)
