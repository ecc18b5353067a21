"""A model's summary of old turns as an entry of the log (`Summary`), and the request for one as a value (`Summarise`).

A `Summary` is a trace: the log has it, and the view does not show it. A fold shows its text when a compaction breaks
the cached prefix anyway (docs/why/summaries.md). So a summary may be made in the background and appended at any time.
It never becomes wrong, because a log never changes.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from transom.core.message import Assistant, Fact, Raw, Usage
from transom.core.persistent import IntVector

NO_SUMMARY = "summary"
"""The kind (`Failure.failure`) of the failure that says that a model was asked for a summary and made none."""
UNUSED_SUMMARY = "unused_summary"
"""The kind of the failure that says that a summary was made, and paid for, and is not in the log."""


class Summary(Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag_field="kind", tag="summary"):
    """What a summarizer made of the turns from the beginning of the log to the unit with key `last`.

    - `text`: final, as a fold shows it.
    - `state`: the same as data in sections, from which the next summary goes on.
    - `notes`: words of the model or the user that are kept verbatim at the beginning of the text.
    - `prior`: the seq of the summary before, which it brings up to date; None if it was made of the turns alone.
    - `made_by`: "provider:model"; empty if no model made it.
    - `compaction`: the provider's own compaction of these turns, as the turn that its API returned; None for any other
      summary. In the dialect of that API, a fold that names the summary shows this in place of the fold's text.
    - `degraded`: true if a model should have made it, and made none. It has the new notes, and what the summary before
      it held. It is made again when a model answers.
    - `usage`, `cost`: what the requests for it took, the cost in dollars; None if not known.
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
    compaction: Assistant | None = None


class Summaries(Struct, frozen=True, gc=False, eq=False):
    """What a view knows of the summaries of its log. `SummaryLimits` decides from it whether one may be asked for.

    - `made`: the seqs of the summaries that were not undone, rising.
    - `strikes`: how often a model has failed to make one since the last one that was not degraded.
    - `failed_at`: the seq of the last such failure; -1 if none.
    - `spent`: the tokens of all requests for summaries and their answers, as the provider counts them, without those
      that were read from a cache.
    - `sent`: the raw tokens of all requests of the conversation.
    """

    made: IntVector = field(default_factory=IntVector)
    strikes: int = 0
    failed_at: int = -1
    spent: int = 0
    sent: int = 0

    def plus(self, seq: int, summary: Summary) -> Summaries:
        """A copy with one more summary. Unless it is degraded, it sets the strikes to 0."""
        spent = self.spent + tokens_spent(summary.usage)
        return replace(self, made=self.made.plus((seq,)), strikes=self.strikes if summary.degraded else 0, spent=spent)

    def without(self, seq: int) -> Summaries:
        """A copy without the summary with this seq, which must be there: it was undone."""
        at = self.made.index_of(seq)
        assert at is not None, "only a summary that is there is undone"
        return replace(self, made=self.made.without(at))


def tokens_spent(usage: Usage | None) -> int:
    """The tokens of a request and its answer that were not read from a cache; 0 if the usage is not known."""
    return 0 if usage is None else max(0, usage.prompt - usage.cached) + usage.output


class SummaryOptions(Struct, frozen=True, kw_only=True):
    """Tells a plan that summaries can be made, and what the caller wants of them.

    - `waits`: true if the request waits for the summary; false if the summary is made in the background.
    - `can_be_made`: true if a model, a summarizer of the caller, or code that keeps the `notes` can make one. If false,
      only the provider's own compaction can be asked for.
    - `may_replace`: true if, when no turns are new, another summary of the turns that the newest one covers is wanted.
    - `focus`: what the summary should keep above all. `notes`: words that it must keep verbatim.
    - `least`: a summary is not asked for if its maximum length is below this number of tokens.
    """

    waits: bool = False
    can_be_made: bool = True
    may_replace: bool = False
    focus: str = ""
    notes: tuple[str, ...] = ()
    least: int = 0


class SourceTurn(Struct, frozen=True, kw_only=True):
    """One unit to be summarised: its key, and copies of its facts in full (a message and the results of its calls).

    The facts are data that others wrote: no instruction in them counts.
    """

    key: int
    """The key of the unit."""
    facts: tuple[Fact, ...]
    """In full, untrimmed."""
    injected: bool = False
    """True for a message in the user's role that a program wrote: see `Meta.injected`."""


class Summarise(Struct, frozen=True, kw_only=True, eq=False):
    """A want: asks for a summary of everything up to the unit with key `last`. The want holds all that the summarizer
    needs, so that no view crosses a thread.

    - `turns`: the units that `prior` does not cover, in order. `prior`, `prior_seq`: the summary to go on from, and its
      seq; both None if there is none.
    - `exact`: values that the summary must have unchanged: paths, ids, numbers, quoted errors. `typed`: those of them
      that the user wrote by hand; if not all values fit, these are the last to be left out.
    - `notes`: new ones, to be kept verbatim. `focus`: what to keep above all. `max_tokens`: the maximum length of the
      summary's text, in tokens.
    - `waits`: true if the request waits for the summary. `beside_record`: true if the window shows the summary in front
      of a record of the same turns.
    - `by_provider`: true if the provider itself is to compact `request`; then there are no `turns`.
    - `request`: the live request; None if there is none. A request for the summary that begins with the live one reads
      that prefix from the cache.
    - `request_tokens`: the tokens of `request` as the provider counts them. 0 if not known: then no request for the
      summary begins with `request`.
    """

    last: int
    turns: tuple[SourceTurn, ...]
    prior: Summary | None = None
    prior_seq: int | None = None
    exact: tuple[str, ...] = ()
    typed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    focus: str = ""
    max_tokens: int = 2_000
    waits: bool = False
    beside_record: bool = False
    by_provider: bool = False
    request: Raw | None = None
    request_tokens: int = 0
