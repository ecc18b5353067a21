"""The view: what a log shows after its first entries, as a value.

A view never changes. `reducer.apply` builds the next one; the two share the slots that did not change, and the arrays
that only grow at their end (see `append_only`). So a view may be read in any thread while the conversation goes on.
What a view remembers of itself (digests) is written in one step, and is the same whoever writes it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from operator import itemgetter

from msgspec import Struct, field
from msgspec.structs import replace

from transom.core import locate
from transom.core import refusal as refusals
from transom.core.append_only import AppendOnly
from transom.core.calibration import Calibration
from transom.core.edit import Edit, Fold
from transom.core.entry import Body, Entry, Meta
from transom.core.locate import EMPTY, HIDDEN, NO_UNIT, STRAY
from transom.core.log import Log
from transom.core.message import Assistant, Call, Head
from transom.core.prefix_digest import PrefixDigest
from transom.core.prices import SinceBreak
from transom.core.summary import Summaries, Summary
from transom.core.tokens import ZERO, FormatCounter, Size, TokenCounter
from transom.core.trims import effective_trims, find_part, trims_at, trims_of_entry
from transom.core.unit import Folded, Slot, Unit

__all__ = ["EMPTY", "HIDDEN", "NO_UNIT", "STRAY", "View"]

_NO_HEAD = Head()
_seq = itemgetter(0)
_NO_NOTES: Mapping[str, tuple[int, str]] = {}
_NO_LIMITS: Mapping[str, int] = {}
_NO_CALLS: Mapping[str, tuple[int, int]] = {}


class Layout(Struct, frozen=True, eq=False):
    """What stands in the window: the head, the slots in key order, the size of all of it, and each entry's unit."""

    total: Size
    slots: tuple[Slot, ...] = ()
    unit_of: AppendOnly = field(default_factory=AppendOnly)
    head_entry: Entry | None = None
    head_size: Size = ZERO


class Calls(Struct, frozen=True):
    """Tool calls without an ordinary result."""

    open_units: tuple[int, ...] = ()
    """Keys of the units with open calls."""
    synthetic_results: Mapping[str, tuple[int, int]] = _NO_CALLS
    """Labels of calls that were closed by synthetic results, with their places."""
    late_results: tuple[tuple[int, tuple[int, int]], ...] = ()
    """Real results that came after a synthetic one, with the place of their call, until a note gives them. Rising."""

    def without_late_results(self, seqs: Iterable[int]) -> Calls:
        """The same after a note has given these results."""
        late = self.late_results
        for seq in seqs:
            at = bisect_left(late, seq, key=_seq)
            if at < len(late) and late[at][0] == seq:
                late = late[:at] + late[at + 1 :]
        return replace(self, late_results=late)


class Prefix(Struct, frozen=True):
    """What was sent last, and how much of it the window still begins with."""

    in_flight: Entry | None = None
    """The `Sent` of the request that has no reply yet."""
    sent_tokens: int = 0
    sent_digest: str = ""
    shared_slots: int = 0
    """How many leading slots are those that were sent; -1 if not even the head is."""
    first_break: tuple[int, int, str] | None = None
    """The first slot that differs from what was sent, the entry that changed it, and why."""
    since_break: SinceBreak = SinceBreak()
    calibration: Calibration = Calibration()
    has_signed: bool = False
    """Some reasoning is bound to the exact prefix it was made on."""
    learned_limits: Mapping[str, int] = _NO_LIMITS
    """The tokens that a model takes, by its name, where it refused more than that."""


class Landmarks(Struct, frozen=True, gc=False):
    """Keys of units that plans treat apart."""

    first_task: int | None = None
    newest_user: int | None = None
    newest_unit: int = -1
    """The newest unit of what happened; what we added (notes, recalled text, handoffs) does not count. -1: none."""


class Edits(Struct, frozen=True, eq=False):
    """Edits in force, and what the user restored by taking one back."""

    live: AppendOnly = field(default_factory=AppendOnly)
    """The seqs of folds, trims and pins that apply and were not undone, rising."""
    restored: tuple[tuple[int, int], ...] = ()
    """Ranges of keys, rising and apart: where folds were undone."""


class View(Struct, frozen=True, eq=False):
    """The visible slots in key order, and what the planner must know about the log behind them."""

    log: Log
    counter: FormatCounter
    layout: Layout
    calls: Calls = Calls()
    prefix: Prefix = Prefix()
    landmarks: Landmarks = Landmarks()
    edits: Edits = field(default_factory=Edits)
    notes: Mapping[str, tuple[int, str]] = _NO_NOTES
    """The newest note of each key: its seq and text."""
    summaries: Summaries = field(default_factory=Summaries)
    """The summaries of this log."""
    prefix_digest: PrefixDigest = field(default_factory=PrefixDigest)

    @staticmethod
    def empty(log: Log, counter: TokenCounter) -> View:
        """The view of none of a log's entries."""
        format_counter = counter if isinstance(counter, FormatCounter) else FormatCounter(counter)
        return View(log=log, counter=format_counter, layout=Layout(total=Size(format_counter.request)))

    def with_log(self, log: Log) -> View:
        """The same view over another keeper of the same entries."""
        return replace(self, log=log, prefix_digest=PrefixDigest(self.prefix_digest.remembered))

    def __repr__(self) -> str:
        return f"View({self.length} entries, {len(self.slots)} slots, {self.total.tokens} tokens)"

    # ---- its parts, flat

    @property
    def length(self) -> int:
        """How many entries of the log it is the view of."""
        return len(self.layout.unit_of)

    @property
    def slots(self) -> tuple[Slot, ...]:
        """The places of the window, in order: units and folds."""
        return self.layout.slots

    @property
    def total(self) -> Size:
        """The size of the window, head and request included; raw tokens."""
        return self.layout.total

    @property
    def unit_of(self) -> AppendOnly:
        """For each entry the key of its unit, or why it has none (below 0)."""
        return self.layout.unit_of

    @property
    def head_entry(self) -> Entry | None:
        """The entry of the head, if there is one."""
        return self.layout.head_entry

    @property
    def head_size(self) -> Size:
        """The size of the head."""
        return self.layout.head_size

    @property
    def open_units(self) -> tuple[int, ...]:
        """The keys of the units whose calls wait for results."""
        return self.calls.open_units

    @property
    def synthetic_results(self) -> Mapping[str, tuple[int, int]]:
        """The labels of calls that were closed by synthetic results, with their places."""
        return self.calls.synthetic_results

    @property
    def late_results(self) -> tuple[tuple[int, tuple[int, int]], ...]:
        """The real results that came after a synthetic one, with the places of their calls, until a note gives them."""
        return self.calls.late_results

    @property
    def in_flight(self) -> Entry | None:
        """The request whose reply has not come yet."""
        return self.prefix.in_flight

    @property
    def sent_tokens(self) -> int:
        """Raw tokens of the last request."""
        return self.prefix.sent_tokens

    @property
    def sent_digest(self) -> str:
        """The digest of the last request."""
        return self.prefix.sent_digest

    @property
    def shared_slots(self) -> int:
        """How many slots, from the first on, are as the last request had them."""
        return self.prefix.shared_slots

    @property
    def first_break(self) -> tuple[int, int, str] | None:
        """The first change to what the last request had: its slot, the entry, and why."""
        return self.prefix.first_break

    @property
    def since_break(self) -> SinceBreak:
        """Token sums of the requests since the prefix last broke."""
        return self.prefix.since_break

    @property
    def calibration(self) -> float:
        """The provider's tokens for one of ours."""
        return self.prefix.calibration.ratio

    @property
    def learned_limits(self) -> Mapping[str, int]:
        """The tokens that a model takes, by its name, where it refused more than that."""
        return self.prefix.learned_limits

    @property
    def first_task(self) -> int | None:
        """The key of the first user message, if there is one."""
        return self.landmarks.first_task

    @property
    def newest_user(self) -> int | None:
        """The key of the newest user message, if there is one."""
        return self.landmarks.newest_user

    @property
    def newest_unit(self) -> int:
        """The key of the newest unit, without what we added (notes, recalled text, handoffs); -1 if there is none."""
        return self.landmarks.newest_unit

    @property
    def live_edits(self) -> AppendOnly:
        """The seqs of the edits in force, rising."""
        return self.edits.live

    @property
    def summary(self) -> tuple[int, Summary] | None:
        """The newest summary, with its seq."""
        return next(self.newest_summaries(), None)

    def newest_summaries(self) -> Iterator[tuple[int, Summary]]:
        """The summaries that were not undone, the newest first."""
        made = self.summaries.made
        for at in range(len(made) - 1, -1, -1):
            body = self.log[made[at]].body
            if isinstance(body, Summary):
                yield made[at], body

    @property
    def head(self) -> Head:
        """What precedes the slots: instructions and tools, if there are any."""
        head = self.head_entry.body if self.head_entry is not None else None
        return head if isinstance(head, Head) else _NO_HEAD

    # ---- where things are

    def key_of(self, entry: int) -> int:
        """The key of an entry's unit; below 0 if it is in none."""
        return self.layout.unit_of[entry]

    def slot_index(self, key: int) -> int:
        """The index of the slot that holds the unit with this key, or of the slot before its place."""
        return locate.slot_index(self, key)

    def slot_of(self, entry: int) -> int | None:
        """The index of the visible slot that holds an entry's unit, if it has one."""
        key = locate.unit_key(self, entry)
        return None if key < 0 else self.slot_index(key)

    def unit(self, key: int) -> Unit:
        """The unit with this key, visible or folded."""
        return locate.path_to(self, key)[1]

    def open_unit(self, key: int) -> Unit:
        """The unit with this key, which has open calls, so that no fold holds it."""
        return locate.open_unit(self, key)

    def visible_units(self) -> Iterator[Unit]:
        """The units that show, in order."""
        for slot in self.slots:
            if isinstance(slot, Unit):
                yield slot
            else:
                yield from slot.surfaced_units

    def is_visible(self, key: int) -> bool:
        """Shown by itself: not folded, or pinned out of its fold."""
        slot = self.slots[self.slot_index(key)]
        return isinstance(slot, Unit) or any(unit.key == key for unit in slot.surfaced_units)

    def is_present(self, key: int) -> bool:
        """Visible, or carried as an excerpt in the text of the fold that shows."""
        slot = self.slots[self.slot_index(key)]
        return isinstance(slot, Unit) or key in slot.carries or self.is_visible(key)

    # ---- entries

    def fetch(self, seq: int) -> Entry:
        """An entry of the log, counted."""
        return locate.fetch(self, seq)

    def entries_of(self, unit: Unit) -> tuple[Entry, ...]:
        """A unit's entries; read from the log if a fold hides it."""
        return locate.entries_of(self, unit)

    def entry(self, body: Body, at: float, meta: Meta | None = None, plan: int | None = None) -> Entry:
        """The next entry of the log, counted."""
        tokens = locate.token_counts(self, body)
        return Entry(seq=self.length, at=at, body=body, tokens=tokens, counter=self.counter.name, meta=meta, plan=plan)

    def call_of(self, unit: Unit, seq: int) -> Call | None:
        """The call that the result with this seq answers."""
        turn = self.entries_of(unit)[0].body
        index = unit.answered_calls[bisect_left(unit.seqs, seq) - 1]
        return turn.calls[index] if isinstance(turn, Assistant) else None

    def entry_tokens(self, unit: Unit, seq: int) -> tuple[int, int]:
        """Tokens of one entry of a unit: whole, and as its trims show it."""
        entry = self.entries_of(unit)[bisect_left(unit.seqs, seq)]
        whole = shown = sum(entry.tokens)
        for (_, address), trim in effective_trims(trims_of_entry(unit.trims, seq)).items():
            if (found := find_part(entry, address)) is not None:
                shown += trim.tokens - found[1]
        return whole, shown

    def counted(self, entry: Entry) -> Entry:
        """The entry with this view's token counts: it may have come with none, or with another tokenizer's."""
        return locate.counted(self, entry)

    # ---- edits

    def refusal(self, edit: Edit) -> str | None:
        """Why an edit does not apply to this view, or None if it does."""
        return refusals.refusal(self, edit)

    def is_live(self, seq: int) -> bool:
        """Whether the entry is a fold, trim or pin that applies, or a summary, and was not undone."""
        return refusals.is_live(self, seq)

    def path_to_fold(self, seq: int, fold: Fold) -> list[tuple[Folded, int]] | None:
        """The folds from the window down to this one, each with the index of the child that leads on.

        None if it is not live.
        """
        return locate.path_to_fold(self, seq, fold)

    def user_restored(self, slot: Slot) -> bool:
        """An edit of this place was taken back and nothing covers it since: plans leave it alone."""
        if not isinstance(slot, Unit):
            return False
        at = bisect_right(self.edits.restored, slot.key, key=lambda keys: keys[0]) - 1
        if at >= 0 and slot.key <= self.edits.restored[at][1]:
            return True
        return any(not any(trim.seq > seq for trim in trims_at(slot.trims, place)) for place, seq in slot.undone_trims)

    def digest(self) -> str:
        """A hash of everything the window shows, head first."""
        return self.prefix_digest.digest(self.head_entry, self.slots)
