"""The view: what a log shows after its first entries, as a value.

A view never changes; `reducer.apply` makes the next one. The two share the slots that did not change, and the arrays
that only grow at their end (see `IntVector`). So a view may be read in any thread while the conversation goes on. The
only thing that is written later are cached fingerprints: in one step, and every thread would write the same value.

The parts are `gc=False`: they hold values only, so they are in no cycle, and Python's garbage collector need not look
at them. The view itself is not `gc=False`: it holds the log, and the log of a store that somebody else wrote may hold
anything, also a cycle.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from transom.core import locate
from transom.core import refusal as refusals
from transom.core.edit import Edit, Fold, Trim
from transom.core.entry import Body, CallPlace, Entry, Meta
from transom.core.locate import EMPTY_MESSAGE, HIDDEN_MESSAGE, NO_UNIT, STRAY_RESULT
from transom.core.log import Log
from transom.core.message import Assistant, Call, Head
from transom.core.persistent import IntVector, without_key
from transom.core.prefix_fingerprint import PrefixFingerprint
from transom.core.summary import Summaries, Summary
from transom.core.tokens import ZERO, FormatCounter, Size, TokenCounter
from transom.core.trims import effective_trims, find_part, trims_at, trims_of_entry
from transom.core.unit import FoldedSlot, Slot, Unit
from transom.core.usage import Calibration, TotalUsage
from transom.prices import SinceBreak

__all__ = ["EMPTY_MESSAGE", "HIDDEN_MESSAGE", "NO_UNIT", "STRAY_RESULT", "View"]

_NO_HEAD = Head()
_NO_NOTES: Mapping[str, tuple[int, str]] = {}
_NO_LIMITS: Mapping[str, int] = {}
_NO_CALLS: Mapping[str, tuple[int, int]] = {}
_NO_LATE: Mapping[int, tuple[int, int]] = {}
_NO_APPROVALS: Mapping[CallPlace, tuple[int, str]] = {}


class Calls(Struct, frozen=True, gc=False):
    """Tool calls that have no real result in the view."""

    open_units: tuple[int, ...] = ()
    """Keys of the units with open calls."""
    synthetic_results: Mapping[str, tuple[int, int]] = _NO_CALLS
    """By provider's id: the calls that a late result may still answer, because a synthetic result has closed them. Each
    with the key of the turn and the index of the call."""
    waiting: Mapping[str, int] = _NO_LIMITS
    """By the provider's id: the calls of the provider's own tools that wait for a later turn, with the key of the unit
    that made them."""
    spans: tuple[tuple[int, int], ...] = ()
    """From which unit to which such calls reached: sorted ranges of keys that do not overlap."""
    late_results: Mapping[int, tuple[int, int]] = _NO_LATE
    """By seq, rising: the real results that came after a synthetic one, until a note gives them. Each with the key of
    the turn and the index of the call."""

    approvals: Mapping[CallPlace, tuple[int, str]] = _NO_APPROVALS
    """The calls that need or needed a person's approval and have no result in their turn: the seq of the newest
    `Approval`, and its state; or "answered" if the result came late."""

    def without_late_results(self, seqs: Iterable[int]) -> Calls:
        """A copy without the late results with these seqs, because a note has given them."""
        late = self.late_results
        for seq in seqs:
            late = without_key(late, seq) if seq in late else late
        return replace(self, late_results=late)


class Prefix(Struct, frozen=True, gc=False):
    """What was sent last, and how much of it the window still begins with: a provider reads that part from its prompt
    cache."""

    in_flight: Entry | None = None
    """The `Sent` of the request that has no reply yet."""
    sent_tokens: int = 0
    sent_fingerprint: str = ""
    shared_slots: int = 0
    """How many of the first slots are as they were sent; -1 if the head has changed."""
    first_break: tuple[int, int, str] | None = None
    """The first slot that differs from what was sent, the seq of the entry that changed it, and why. None: nothing
    does."""
    since_break: SinceBreak = SinceBreak()
    calibration: Calibration = Calibration()
    has_signed: bool = False
    """Whether any reasoning is bound to the exact prefix that it was made on."""
    newest_signed: int = -1
    """No unit behind this key shows bound reasoning."""
    learned_limits: Mapping[str, int] = _NO_LIMITS
    """The tokens that a request to a model may have, by "provider:model": of models that refused one as too long. If
    the provider did not say its limit, it is derived from the size of what was refused."""
    refused_reasoning: Mapping[str, int] = _NO_LIMITS
    """By "provider:model": what is known of a model that refused reasoning and has taken none since. See
    `core/reasoning_refusals.py`."""


MOST_TASK_MESSAGES = 8
"""How many messages the first task has at most: all of them are in every window. Programs send a handful before the
first answer (files, their own context, then the request); a log of nothing but user messages must stay foldable."""


class Landmarks(Struct, frozen=True, gc=False):
    """The keys of units that plans treat specially. Empty, None or -1 if there is no such unit.

    Where the provider has compacted, the first task and the newest user message are those behind its compaction.
    """

    first_task: tuple[int, ...] = ()
    """The user's messages before the model's first answer, at most `MOST_TASK_MESSAGES` of them."""
    first_answer: int | None = None
    """The model's first answer to the first task."""
    newest_user: int | None = None
    compaction: int | None = None
    """The newest turn with the provider's own compaction."""
    newest_unit: int = -1
    """The newest unit that is no note, recalled text or handoff; -1: none."""


class View(Struct, frozen=True, eq=False):
    """What a log shows after its first `length` entries: the slots of the window, and what a plan must know besides.

    `log`: where entries are read from. `counter`: counts tokens in the dialect. `prefix_fingerprint`: caches the hash
    of the slots that were hashed so far, for `fingerprint`. Those fields of `calls`, `prefix` and `landmarks` that are
    read often are also properties of the view.
    """

    log: Log
    counter: FormatCounter
    total: Size
    """The size of the window, with head and request overhead; raw tokens."""
    slots: tuple[Slot, ...] = ()
    """The slots of the window, in key order: units and `FoldedSlot`s."""
    unit_of: IntVector = field(default_factory=IntVector)
    """For each entry of the log the key of its unit; below 0 if it is in none (see `NO_UNIT`, `STRAY_RESULT`,
    `EMPTY_MESSAGE`, `HIDDEN_MESSAGE`)."""
    head_entry: Entry | None = None
    """The entry of the newest head; None if there is none."""
    head_size: Size = ZERO
    """The size of the head."""
    calls: Calls = Calls()
    """Tool calls that have no real result."""
    prefix: Prefix = Prefix()
    """What was sent last, and how much of it the window still begins with."""
    landmarks: Landmarks = Landmarks()
    """The units that plans treat specially."""
    live_edits: IntVector = field(default_factory=IntVector)
    """The seqs of the folds, trims and pins that apply and were not undone, rising."""
    restored: tuple[tuple[int, int], ...] = ()
    """Ranges of keys where folds were undone; they rise and do not overlap."""
    notes: Mapping[str, tuple[int, str]] = _NO_NOTES
    """For each key of state the seq and the text of its newest note."""
    summaries: Summaries = field(default_factory=Summaries)
    """What is known of the log's summaries."""
    usage: TotalUsage = TotalUsage()
    """What the requests of the log took, whatever became of their replies."""
    prefix_fingerprint: PrefixFingerprint = field(default_factory=PrefixFingerprint)

    @staticmethod
    def empty(log: Log, counter: TokenCounter) -> View:
        """The view of a log before its first entry."""
        format_counter = counter if isinstance(counter, FormatCounter) else FormatCounter(counter)
        return View(log=log, counter=format_counter, total=Size(format_counter.request))

    def with_log(self, log: Log) -> View:
        """A copy that reads its entries from another log object, which must hold the same entries."""
        return replace(self, log=log, prefix_fingerprint=PrefixFingerprint(self.prefix_fingerprint.remembered))

    def __repr__(self) -> str:
        return f"View({self.length} entries, {len(self.slots)} slots, {self.tokens} tokens)"

    # ---- its parts, flat

    @property
    def length(self) -> int:
        """The number of entries of the log that the view shows."""
        return len(self.unit_of)

    @property
    def tokens(self) -> int:
        """The tokens of the window as its provider counts them: calibrated, as budgets compare them."""
        return round(self.total.tokens * self.calibration)

    @property
    def open_units(self) -> tuple[int, ...]:
        """The keys of the units that have calls without a result, rising."""
        return self.calls.open_units

    @property
    def waiting(self) -> Mapping[str, int]:
        """The calls of the provider's own tools whose results come in a later turn, by id; each with the key of the
        unit that made it."""
        return self.calls.waiting

    def is_in_span(self, at: int) -> bool:
        """Whether a call of the provider's own tool stands before the slot at this index, and its result in that slot
        or behind it."""
        if not 0 < at < len(self.slots):
            return False
        spans, key = self.calls.spans, self.slots[at].first
        found = bisect_left(spans, key, key=lambda span: span[1])
        return found < len(spans) and spans[found][0] < key

    @property
    def synthetic_results(self) -> Mapping[str, tuple[int, int]]:
        """By provider's id: the calls that a late result may still answer, because a synthetic result has closed them.
        Each with the key of the turn and the index of the call."""
        return self.calls.synthetic_results

    @property
    def late_results(self) -> Mapping[int, tuple[int, int]]:
        """By seq, rising: the real results that came after a synthetic one, until a note gives them. Each with the key
        of the turn and the index of the call."""
        return self.calls.late_results

    @property
    def approvals(self) -> Mapping[CallPlace, tuple[int, str]]:
        """The calls that need or needed a person's approval and have no result in their turn, each with the seq of its
        newest `Approval` and the state: that of the entry, or "answered" if the result came late."""
        return self.calls.approvals

    @property
    def in_flight(self) -> Entry | None:
        """The `Sent` of the request that has no reply yet; None if no request is in flight."""
        return self.prefix.in_flight

    @property
    def sent_tokens(self) -> int:
        """The raw tokens of the last request; 0 before the first."""
        return self.prefix.sent_tokens

    @property
    def sent_fingerprint(self) -> str:
        """The fingerprint of the last request's window; empty before the first request."""
        return self.prefix.sent_fingerprint

    @property
    def shared_slots(self) -> int:
        """How many slots, from the first on, are as the last request had them; -1 if the head has changed."""
        return self.prefix.shared_slots

    @property
    def first_break(self) -> tuple[int, int, str] | None:
        """The first slot that differs from the last request, the seq of the entry that changed it, and why. None:
        nothing differs."""
        return self.prefix.first_break

    @property
    def since_break(self) -> SinceBreak:
        """Token sums of the requests since the cached prefix last broke; they say when a compaction pays."""
        return self.prefix.since_break

    @property
    def calibration(self) -> float:
        """How many of the provider's tokens one of ours is. Multiply raw tokens by it."""
        return self.prefix.calibration.ratio

    @property
    def learned_limits(self) -> Mapping[str, int]:
        """How many tokens each model takes at most, by the model's name: learned from requests that it refused."""
        return self.prefix.learned_limits

    @property
    def first_task(self) -> tuple[int, ...]:
        """The keys of the user's messages before the model's first answer, the first eight of them."""
        return self.landmarks.first_task

    @property
    def newest_user(self) -> int | None:
        """The key of the newest user message; None if there is none."""
        return self.landmarks.newest_user

    @property
    def required(self) -> tuple[int, ...]:
        """The keys of the units that must be in every window: the first task and the newest user message, each once,
        rising."""
        first_task, newest = self.landmarks.first_task, self.landmarks.newest_user
        return first_task if newest is None or newest in first_task else (*first_task, newest)

    @property
    def head_and_request_size(self) -> Size:
        """The size of the head and of the request beside its messages."""
        return self.head_size.plus(Size(self.counter.request))

    @property
    def fixed_size(self) -> Size:
        """The size that no compaction can take away: the head, and the required units that are visible."""
        size = self.head_and_request_size
        for key in self.required:
            if self.is_visible(key):
                size = size.plus(self.unit(key).size)
        return size

    @property
    def compaction(self) -> int | None:
        """The key of the newest turn with the provider's own compaction; None if there is none. What precedes it is not
        shown, and no fold takes it."""
        return self.landmarks.compaction

    @property
    def fixed_slots(self) -> int:
        """How many slots, from the first on, no fold takes: the provider's own compaction, and what precedes it."""
        return 0 if self.compaction is None else self.slot_index(self.compaction) + 1

    @property
    def newest_unit(self) -> int:
        """The key of the newest unit that is no note, recalled text or handoff; -1 if there is none."""
        return self.landmarks.newest_unit

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

    def key_of(self, entry: int) -> int:
        """The key of an entry's unit; below 0 if it is in none."""
        return self.unit_of[entry]

    def slot_index(self, key: int) -> int:
        """The index of the slot that holds the unit with this key. If no slot does, the index of the last slot before
        it, -1 for none."""
        return locate.slot_index(self, key)

    def slot_of(self, entry: int) -> int | None:
        """The index of the slot that holds the unit of this entry, folded or not; None if the entry is in no unit."""
        key = locate.unit_key(self, entry)
        return None if key < 0 else self.slot_index(key)

    def unit(self, key: int) -> Unit:
        """The unit with this key, visible or folded."""
        return locate.path_to(self, key)[1]

    def units(self, keys: Iterable[int]) -> list[Unit]:
        """The units with these keys, visible or folded, in order of their keys."""
        return locate.units_of(self, keys)

    def open_unit(self, key: int) -> Unit:
        """The unit with this key, which must have open calls: then it is a slot itself."""
        return locate.open_unit(self, key)

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

    def fetch(self, seq: int) -> Entry:
        """The entry with this seq, with this view's token counts."""
        return locate.fetch(self, seq)

    def entries_of(self, unit: Unit) -> tuple[Entry, ...]:
        """All entries of a unit. They are read from the log if a fold hides the unit."""
        return locate.entries_of(self, unit)

    def entry(self, body: Body, at: float, meta: Meta | None = None, plan: int | None = None) -> Entry:
        """Make the entry that would be the next one of the log, with its token counts. Nothing is appended."""
        shows_others = isinstance(body, (Fold, Trim))  # what an edit shows may be in other entries
        tokens = locate.token_counts(self, body) if shows_others else self.counter.count_body(body)
        return Entry(seq=self.length, at=at, body=body, tokens=tokens, counter=self.counter.name, meta=meta, plan=plan)

    def call_of(self, unit: Unit, seq: int) -> Call | None:
        """The call to which the result with this seq belongs; None if the unit is not a turn of the model."""
        turn = self.entries_of(unit)[0].body
        index = unit.answered_calls[bisect_left(unit.seqs, seq) - 1]
        return turn.calls[index] if isinstance(turn, Assistant) else None

    def entry_tokens(self, unit: Unit, seq: int) -> tuple[int, int]:
        """The raw tokens of one entry of a unit: without trims, and as its trims show it."""
        entry = self.entries_of(unit)[bisect_left(unit.seqs, seq)]
        whole = shown = sum(entry.tokens)
        for (_, address), trim in effective_trims(trims_of_entry(unit.trims, seq)).items():
            if (found := find_part(entry, address)) is not None:
                shown += trim.tokens - found[1]
        return whole, shown

    def counted(self, entry: Entry) -> Entry:
        """The entry with this view's token counts: counted now if it has none, or another tokenizer's."""
        return locate.counted(self, entry)

    # ---- edits

    def refusal(self, edit: Edit) -> str | None:
        """Why an edit does not apply to this view, as a sentence; None if it does."""
        return refusals.refusal(self, edit)

    def is_live(self, seq: int) -> bool:
        """Whether the entry with this seq is a fold, trim or pin that applies, or a summary, and was not undone."""
        return refusals.is_live(self, seq)

    def path_to_fold(self, seq: int, fold: Fold) -> list[tuple[FoldedSlot, int]] | None:
        """The folds from the window down to this one, that one last, each with the index of the child
        that leads on.

        None if the fold is not live. `seq`: the seq of the fold's entry.
        """
        return locate.path_to_fold(self, seq, fold)

    def user_restored(self, slot: Slot) -> bool:
        """Whether an edit of this slot was undone, and no later edit does the same again. Plans leave such a slot alone
        while the window fits."""
        if not isinstance(slot, Unit):
            return False
        at = bisect_right(self.restored, slot.key, key=lambda keys: keys[0]) - 1
        if at >= 0 and slot.key <= self.restored[at][1]:
            return True
        return any(all(trim.seq <= seq for trim in trims_at(slot.trims, place)) for place, seq in slot.undone_trims)

    def fingerprint(self) -> str:
        """A hash of everything that the window shows, head first, in hexadecimal."""
        return self.prefix_fingerprint.fingerprint(self.head_entry, self.slots)
