"""A model's summary of old turns, as an entry of the log; and the want for one, as a value.

A `Summary` is a trace: it is in the log and not in the view. A fold shows its text when a compaction breaks the cached
prefix anyway (docs/why/summaries.md). So a summary may be made in the background and be appended at any time: what it
says of its turns stays true, because a log never changes.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from transom.core.append_only import AppendOnly
from transom.core.message import Fact, Raw, Usage

NO_SUMMARY = "summary"
"""The `failure` of a Failure that says: a model was asked for a summary, and there is none."""


class Summary(Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag_field="kind", tag="summary"):
    """What a summarizer made of the turns from the first of the log to the unit with key `last`.

    `text`: as a fold shows it, final. `state`: its sections as data, from which the next summary goes on. `notes`: the
    model's or the user's own words, kept verbatim at the head of the text. `prior`: the seq of the summary that it went
    on from; None if it was made of the turns alone. `made_by`: "provider:model", or "extractive". `degraded`: made by
    the fallback; to be made again from its turns when a model is there. `cost`: in dollars, if it is known.
    """

    last: int
    text: str
    state: Raw = field(default_factory=dict[str, Any])
    notes: tuple[str, ...] = ()
    prior: int | None = None
    made_by: str = ""
    degraded: bool = False
    usage: Usage | None = None
    cost: float | None = None


class Summaries(Struct, frozen=True, eq=False):
    """What a view knows of the summaries of its log. The brakes on summaries (`core/brakes.py`) need nothing else.

    `made`: the seqs of those that were not undone, rising. `strikes`: how often a model has failed to make one since
    the newest that a model made; `failed_at`: the seq of the last such failure. `spent`: the tokens of all summaries'
    requests and answers, without those that were read from a cache; `sent`: the raw tokens of all requests of the
    conversation.
    """

    made: AppendOnly = field(default_factory=AppendOnly)
    strikes: int = 0
    failed_at: int = -1
    spent: int = 0
    sent: int = 0

    def plus(self, seq: int, summary: Summary) -> Summaries:
        """With one more summary."""
        spent = self.spent + tokens_spent(summary.usage)
        return replace(self, made=self.made.plus((seq,)), strikes=self.strikes if summary.degraded else 0, spent=spent)

    def without(self, seq: int) -> Summaries:
        """Without a summary that was undone."""
        at = self.made.index_of(seq)
        assert at is not None, "only a summary that is there is undone"
        return replace(self, made=self.made.without(at))


def tokens_spent(usage: Usage | None) -> int:
    """The tokens of a request and its answer that had to be read or written anew."""
    return 0 if usage is None else max(0, usage.prompt - usage.cached) + usage.output


class SummaryOptions(Struct, frozen=True, kw_only=True):
    """Says that whoever plans can have summaries made: in the background, or (`waits`) before the request leaves.
    `focus` and `notes`: what the caller says of the summary."""

    waits: bool = False
    focus: str = ""
    notes: tuple[str, ...] = ()


class SourceTurn(Struct, frozen=True, kw_only=True):
    """One unit to be summarised, by value: its key, and its facts in full, a message and the results of its calls.

    It is data that others wrote.
    """

    key: int
    facts: tuple[Fact, ...]


class Summarise(Struct, frozen=True, kw_only=True, eq=False):
    """Wanted: a summary up to the unit `last`. Everything that its worker needs is here; no view crosses a thread.

    `turns`: the units that `prior` does not cover, and no others, in order. `exact`: values (paths, ids, numbers,
    quoted errors) that the summary must hold to the letter. `notes`: new ones, verbatim. `focus`: what the caller wants
    kept above all. `max_tokens`: the most of the summary's text. `waits`: the request waits for it. `request`: the live
    request, so that a fork of it can be sent, whose prefix is cached; None if there is none. `request_tokens`: its
    tokens as the provider counts them; 0 if they are not known, and then there is no fork.
    """

    last: int
    turns: tuple[SourceTurn, ...]
    prior: Summary | None = None
    prior_seq: int | None = None
    exact: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    focus: str = ""
    max_tokens: int = 2_000
    waits: bool = False
    request: Raw | None = None
    request_tokens: int = 0
