"""The parts of a view that one subject shares: tool calls, the cached prefix, and the units that plans treat specially.

They are `gc=False`: they hold values only, so they are in no cycle, and Python's garbage collector need not look at
them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from transom.cache_prices import SinceBreak
from transom.core.entry import CallPlace, Entry
from transom.core.learned_limit import LearnedLimit
from transom.core.persistent import with_value, without_key
from transom.core.usage import Calibration

_EMPTY: Mapping[Any, Any] = {}


class Calls(Struct, frozen=True, gc=False):
    """The tool calls that have no real result in the view, by what became of them."""

    open_units: tuple[int, ...] = ()
    """Keys of the units with open calls."""
    synthetic_results: Mapping[str, tuple[int, int]] = _EMPTY
    """By provider's id: the calls that a late result may still answer, because a synthetic result has closed them. Each
    with the key of the turn and the index of the call."""
    waiting: Mapping[str, int] = _EMPTY
    """By the provider's id: the calls of the provider's own tools that wait for a later turn, with the key of the unit
    that made them."""
    spans: tuple[tuple[int, int], ...] = ()
    """The spans of such calls: from the key of the unit that made a call to the key of the one with its result. They
    are sorted, and do not overlap."""
    late_results: Mapping[int, tuple[int, int]] = _EMPTY
    """By seq, rising: the real results that came after a synthetic one, until a note gives them. Each with the key of
    the turn and the index of the call."""
    approvals: Mapping[CallPlace, tuple[int, str]] = _EMPTY
    """The calls that need or needed a person's approval and have no real result in their turn: the seq of the newest
    `Approval`, and its state; or "answered" if the result came late."""

    def without_late_results(self, seqs: Iterable[int]) -> Calls:
        """A copy without the late results with these seqs, because a note has given them."""
        late = self.late_results
        for seq in seqs:
            late = without_key(late, seq) if seq in late else late
        return replace(self, late_results=late)


class Prefix(Struct, frozen=True, gc=False):
    """What was sent last, and how much of it the window still begins with: a provider reads that part from its prompt
    cache. Also what the replies have taught about the provider.

    Before the first request `sent_tokens` is 0 and `sent_fingerprint` is empty. `since_break`: token sums of the
    requests since the cached prefix last broke. `calibration`: how the provider's token counts compare with ours.
    """

    in_flight: Entry | None = None
    """The `Sent` of the request that has no reply yet."""
    sent_tokens: int = 0
    sent_fingerprint: str = ""
    shared_slots: int = 0
    """How many of the first slots are as they were sent; -1 if the head has changed."""
    first_break: tuple[int, int, str] | None = None
    """The index of the first slot that differs from what was sent (-1: the head), the seq of the entry that changed it,
    and why. None if nothing differs."""
    since_break: SinceBreak = SinceBreak()
    calibration: Calibration = Calibration()
    has_signed: bool = False
    """Whether any turn of the log has reasoning that is bound to the exact prefix that it was made on."""
    newest_signed: int = -1
    """No unit behind this key shows bound reasoning."""
    learned_limits: Mapping[str, LearnedLimit] = _EMPTY
    """What a request to a model may have, by "provider:model": of models that refused one as too long. If the provider
    did not say its limit, it is derived from the size of what was refused."""
    refused_reasoning: Mapping[str, int] = _EMPTY
    """By "provider:model": what is known of a model that refused reasoning and has taken none since. See
    `after_refusal`."""


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


def with_range(ranges: tuple[tuple[int, int], ...], first: int, last: int) -> tuple[tuple[int, int], ...]:
    """Sorted ranges of keys with the range from `first` to `last` added. Ranges that overlap it are joined with it, so
    that none overlap."""
    start = bisect_left(ranges, first, key=lambda known: known[1])
    stop = bisect_right(ranges, last, key=lambda known: known[0])
    if start < stop:
        first, last = min(first, ranges[start][0]), max(last, ranges[stop - 1][1])
    return (*ranges[:start], (first, last), *ranges[stop:])


# ---- which models refuse all reasoning
# After a refusal, windows hide the reasoning that is in the log (`REASONING_REFUSED` in core/message.py), and the
# request is sent again. That is enough if the reasoning was bound to another prefix. But some servers refuse any
# reasoning: there each reply brings new reasoning, and each step of a run would be refused once. So this is the rule:
# if a model makes new reasoning after a refusal, and refuses that too before it has taken any, it refuses all. From
# then on its replies are shown without reasoning from the start.
SOME_LEFT = 0
"""It refused reasoning, and other reasoning is still in the window: if it answers now, it has accepted that."""
NONE_LEFT = 1
"""It refused reasoning, and none is left."""
NEW_REASONING = 2
"""It has made new reasoning since: its next answer, or refusal, decides."""
ALWAYS = 3
"""It refuses all reasoning."""


def after_refusal(known: Mapping[str, int], model: str, *, is_some_left: bool) -> Mapping[str, int]:
    """What is known of models after one of them refused reasoning: by "provider:model", `SOME_LEFT`, `NONE_LEFT`,
    `NEW_REASONING` or `ALWAYS`.

    `known`: what was known before. `model`: the one that refused; if it is empty, nothing changes. `is_some_left`: the
    log has reasoning that no refusal hides.
    """
    if not model:
        return known
    if known.get(model) in (NEW_REASONING, ALWAYS):
        return with_value(known, model, ALWAYS)
    return with_value(known, model, SOME_LEFT if is_some_left else NONE_LEFT)


def after_reply(known: Mapping[str, int], model: str, *, has_reasoning: bool) -> Mapping[str, int]:
    """What is known of models (see `after_refusal`) after one of them has answered.

    If its request had reasoning, it takes reasoning: nothing is known of it any more. If its request had none, and its
    reply has some (`has_reasoning`), that is `NEW_REASONING`.
    """
    found = known.get(model)
    if found in (SOME_LEFT, NEW_REASONING):  # it has taken reasoning
        return without_key(known, model)
    return with_value(known, model, NEW_REASONING) if found == NONE_LEFT and has_reasoning else known
