"""Summaries by a model (`LlmSummarizer`), and the provider's own compaction as one (`NativeSummarizer`).

The request for a summary is a *fork* of the live one if the model is that of the conversation and it fits: what the
provider has in its cache is read there, and only the instruction is new. Otherwise it is flat text, in as many requests
as the model's window needs: each holds the summary as it is by then and the next turns, and its answer is merged by
code. So no request asks for a summary of summaries.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, cast

from msgspec import Struct, field
from msgspec.structs import replace

from transom.core.message import Head, Raw, Usage
from transom.core.summary import Summarise, Summary
from transom.core.tokens import TokenCounter, replace_surrogates
from transom.core.tool import Tool
from transom.errors import InvalidSetting, ProviderError, SummaryFailed, is_number, quote
from transom.overflow import classify
from transom.strategies.text.one_line import one_line
from transom.summaries.base import Answer, Ask, Model, Steps
from transom.summaries.flat_text import (
    Piece,
    boundary_line,
    boundary_named,
    boundary_of,
    data_text,
    pieces_of,
    summary_lines,
    text_of,
)
from transom.summaries.outline import Delta, Outline, apply_delta
from transom.summaries.parse_answer import Unusable, answer_text, check_words, delta_of
from transom.summaries.prompts import Prompts, filled
from transom.summaries.rolling_summary import finished_summary, notes_of, starting_outline, with_first_request
from transom.summaries.summary_text import outline_text
from transom.wire.dialect import Dialect, Rendered
from transom.wire.dialects import dialect_named

MOST_WORDS, LEAST_WORDS = 0.6, 0.25
"""How many words a model is asked for, for each token that its summary may have: in plain English, and in a text that
is full of ids and paths. Plain English has a few more; but a model writes more words than it was asked for."""

SAMPLE_CHARACTERS = 20_000
"""Characters of the conversation in which the words for each token are counted."""

OPENING_CHARACTERS = 120
"""Characters of the words by which the last message to be covered is named."""

LEAST_TURN_TOKENS = 200
"""Tokens of turns that a request must have room for."""

MOST_OVERFLOWS = 3
"""How often the room is halved when the provider says that a request was too long."""


class LlmSummarizer(Struct, frozen=True, kw_only=True):
    """A summarizer that asks a model what has changed, and merges the changes into one rolling summary.

    - `prompts`: what the model is asked, and for which sections.
    - `fork`: whether the live request is forked where that is possible. If not, the turns are sent as flat text.
    - `share`: how much of the model's context window a request with flat text may fill.
    - `retries`: how often such a request is sent again after an answer that cannot be used.
    - `result_tokens`: how many tokens of a tool result are sent in flat text; a longer result loses its middle.
    - `answer_tokens`: the maximum length of an answer in tokens. None: twice that of the summary. It is never more than
      a quarter of the model's context window.

    Raises InvalidSetting if `share` is not from 0.1 to 0.95, `retries` is below 0, or another number is below 1.
    """

    prompts: Prompts = field(default_factory=Prompts)
    """What the model is asked, and for which sections."""
    share: float = 0.75
    fork: bool = True
    retries: int = 1
    result_tokens: int = 2_000
    answer_tokens: int | None = None

    def __post_init__(self) -> None:
        if not is_number(self.share) or not 0.1 <= self.share <= 0.95:
            raise InvalidSetting(f"summarizer: share must be from 0.1 to 0.95, not {quote(self.share)}")
        for name, least in (("retries", 0), ("result_tokens", 1), ("answer_tokens", 1)):
            value = getattr(self, name)
            if name == "answer_tokens" and value is None:
                continue
            if type(value) is not int or value < least:
                raise InvalidSetting(
                    f"summarizer: {name} must be a whole number of {least} or more, not {quote(value)}"
                )

    def steps(self, want: Summarise, counter: TokenCounter, model: Model | None) -> Steps:
        """Make the summary. If a later one of several requests fails, it covers the turns until then, and its `last`
        says so.

        Raises SummaryFailed, with the reason, if there is no model, if `want` has no turns, or if nothing usable came
        out.
        """
        if model is None:
            raise SummaryFailed("there is no model")
        if not want.turns:
            raise SummaryFailed("nothing to summarise: no turns since the last summary")
        job = _SummaryRequests(self, want, counter, model)
        if self.fork and job.can_fork:
            summary = yield from job.forked()
            if summary is not None:
                return summary
        return (yield from job.flat())


class _SummaryRequests:
    """The requests of one summary: a fork of the live request, or flat text. `usage`: what they have taken by now."""

    def __init__(self, settings: LlmSummarizer, want: Summarise, counter: TokenCounter, model: Model) -> None:
        self.settings, self.want, self.counter, self.model = settings, want, counter, model
        self.sections = settings.prompts.sections
        self.dialect: Dialect = dialect_named(model.dialect)
        self.start = starting_outline(want, self.sections)
        self.usage: Usage | None = None
        most = settings.answer_tokens or 2 * want.max_tokens
        self.answer_tokens = max(1, min(most, model.context // 4))
        self.focus = " ".join(want.focus.split())
        self.words = max(60, int(_words_per_token(want, counter) * want.max_tokens))

    # ---- the fork

    @property
    def can_fork(self) -> bool:
        """Whether the live request can be forked: the model is that of the conversation, there is such a request, and
        it fits in the context window with the instruction and the answer."""
        want, model = self.want, self.model
        if not model.same_as_live or want.request is None or want.request_tokens <= 0:
            return False
        instruction = self.counter.count(self._fork_text(self.start)) + 8
        return want.request_tokens + instruction + self.answer_tokens <= model.context

    def forked(self) -> Generator[Ask, Answer | ProviderError, Summary | None]:
        """Make the summary with one request: the live request with an instruction at its end, so that its prefix is
        read from the cache. Only if `can_fork`. Returns None, and flat text may be tried, if the answer is unusable or
        the request was too long.

        Raises SummaryFailed for any other error of the provider, and if the summary is empty, does not fit in
        `want.max_tokens`, or is not smaller than what it is made of.
        """
        assert self.want.request is not None
        request = forked_request(self.dialect, self.want.request, self._fork_text(self.start))
        answer = yield Ask(request=request, max_tokens=self.answer_tokens)
        try:
            source = [text_of(fact) for turn in self.want.turns for fact in turn.facts]
            delta = self._delta(answer, self.start, source)
        except (Unusable, _TooLong):
            return None
        return self._finished(apply_delta(self.start, delta, self.sections), last=None)

    def _fork_text(self, outline: Outline) -> str:
        """The instruction, with the summary as it is by now, and the opening words of the last message to cover."""
        opening = one_line(
            next((text for fact in self.want.turns[-1].facts if (text := text_of(fact))), ""), OPENING_CHARACTERS
        )
        summary = self._summary_text(outline)
        boundary = boundary_of([summary, opening])
        lines = [self.settings.prompts.fork, boundary_named(boundary), *summary_lines(boundary, summary)]
        lines += [boundary_line(boundary, "last message begins"), opening, boundary_line(boundary, "last message ends")]
        return "\n".join([*lines, "", self._task(outline)])

    # ---- flat text

    def flat(self) -> Generator[Ask, Answer | ProviderError, Summary]:
        """Make the summary from flat text, with as many requests as the model's window needs. After a request that was
        too long the others are smaller. If one fails after others were merged, the summary ends with the last turn that
        was merged. Raises SummaryFailed if no turn was, or the summary does not get small enough."""
        outline, room, overflows = self.start, self._room_for_turns(self.start), 0
        left = self._pieces(room)
        covered, reached = None, outline
        while left:
            chunk = _chunk(left, room)
            try:
                outline = yield from self._merged(outline, chunk)
            except _TooLong as error:
                overflows += 1
                room //= 2
                if overflows > MOST_OVERFLOWS or room < LEAST_TURN_TOKENS:
                    raise SummaryFailed(str(error)) from None
                left = self._pieces(room, after=covered)
                outline = reached
                continue
            except SummaryFailed:
                if covered is None:
                    raise
                return self._finished(reached, last=covered)
            left = left[len(chunk) :]
            room = min(room, self._room_for_turns(outline))
            if ends := [piece.key for piece in chunk if piece.ends]:
                covered = ends[-1]
                reached = outline
        return self._finished(outline, last=None)

    def _pieces(self, room: int, after: int | None = None) -> list[Piece]:
        turns = [turn for turn in self.want.turns if after is None or turn.key > after]
        return pieces_of(turns, self.counter, result_tokens=self.settings.result_tokens, most=room)

    def _room_for_turns(self, outline: Outline) -> int:
        """The tokens of turns that fit into one request of its own: the smaller of `share` of the model's window and
        the window less the answer, minus the instructions and the summary so far. Raises SummaryFailed if that is under
        `LEAST_TURN_TOKENS`."""
        fixed = self.counter.count(self.settings.prompts.system) + self.counter.count(self._flat_text(outline, [])) + 32
        window = self.model.context
        room = min(int(self.settings.share * window), window - self.answer_tokens) - fixed
        if room < LEAST_TURN_TOKENS:
            raise SummaryFailed(
                f"the model's window of {window:,} tokens has no room for turns beside {fixed:,} of instructions and "
                f"{self.answer_tokens:,} of the answer: take a larger model or a smaller summary"
            )
        return room

    def _flat_text(self, outline: Outline, pieces: Sequence[Piece]) -> str:
        summary = self._summary_text(outline)
        boundary = boundary_of([summary, *(piece.text for piece in pieces)])
        return f"{data_text(boundary, summary, pieces)}\n\n{self._task(outline)}"

    def _merged(self, outline: Outline, chunk: Sequence[Piece]) -> Generator[Ask, Answer | ProviderError, Outline]:
        """Ask for what these pieces change, and return the outline with the changes. An answer that cannot be used is
        asked for again, as often as `retries` says. Raises SummaryFailed, and _TooLong."""
        prompts, text = self.settings.prompts, self._flat_text(outline, chunk)
        source, failure, correction = [piece.text for piece in chunk], None, ""
        for _ in range(self.settings.retries + 1):
            request = text_request(self.dialect, prompts.system, text + correction)
            answer = yield Ask(request=request, max_tokens=self.answer_tokens)
            try:
                return apply_delta(outline, self._delta(answer, outline, source, correction), self.sections)
            except Unusable as error:
                failure, correction = error, f"\n\n{filled(prompts.retry, {'why': error.reason})}"
        assert failure is not None
        raise failure

    # ---- answers

    def _delta(
        self, answer: Answer | ProviderError, outline: Outline, source: Sequence[str], correction: str = ""
    ) -> Delta:
        """What an answer changes. `correction`: what the request said about the answer before, if that was unusable.

        Raises Unusable if the answer cannot be used, _TooLong if the request was too long, SummaryFailed for any other
        error of the provider.
        """
        if isinstance(answer, ProviderError):
            if answer.kind == "overflow" or classify(answer.status, answer.body) is not None:
                raise _TooLong(str(answer))
            raise SummaryFailed(str(answer))
        if answer.usage is not None:
            self.usage = answer.usage.plus(self.usage)
        text, known = answer_text(answer, self.answer_tokens), [item.id for item in outline.items]
        delta = delta_of(text, self.sections, known, self._task(outline) + correction)
        if not outline.items and not delta.add:
            raise Unusable("it adds nothing to an empty summary")
        check_words(delta, [*source, self._summary_text(outline), self.focus, *self.want.exact])
        return delta

    def _finished(self, outline: Outline, *, last: int | None) -> Summary:
        outline = with_first_request(outline, self.sections, self.want)
        return finished_summary(
            self.want, outline, self.sections, self.counter, made_by=self.model.name, last=last, usage=self.usage
        )

    # ---- texts

    def _task(self, outline: Outline) -> str:
        return self.settings.prompts.task(
            is_first=not outline.items, words=self.words, focus=self.focus, beside_record=self.want.beside_record
        )

    def _summary_text(self, outline: Outline) -> str:
        notes = notes_of(self.want)
        return outline_text(outline, self.sections, notes) if outline.items or notes else ""


def _words_per_token(want: Summarise, counter: TokenCounter) -> float:
    """How many words these turns have for each token; names and ids have several tokens a word."""
    said = (text for turn in want.turns for fact in turn.facts[:1] if (text := text_of(fact)))
    sample = "\n".join([*want.exact, *said])[:SAMPLE_CHARACTERS]
    share = len(sample.split()) / max(1, counter.count(sample))
    return min(MOST_WORDS, max(LEAST_WORDS, share))


class _TooLong(Exception):
    """The provider says that a request was too long."""


def _chunk(pieces: Sequence[Piece], room: int) -> list[Piece]:
    """The first pieces that fit, at least one; they end with a turn if any turn ends among them."""
    used, at = 0, 0
    while at < len(pieces) and (at == 0 or used + pieces[at].tokens <= room):
        used += pieces[at].tokens
        at += 1
    ends = [index for index in range(at) if pieces[index].ends]
    return list(pieces[: ends[-1] + 1 if ends else at])


def text_request(dialect: Dialect, system: str, text: str) -> Raw:
    """A request with a system prompt and one user message, as keyword arguments of the provider's SDK."""
    head = Head(messages=tuple(dialect.parse_system(system)))
    messages = [*dialect.render_head(head), dialect.user_message(replace_surrogates(text))]
    return dialect.arguments(dialect.body(head, dialect.join(messages)))


def forked_request(dialect: Dialect, live: Raw, text: str) -> Raw:
    """A copy of a live request with one more user message at its end. `live` is not changed, and shares its messages
    with the copy. `text`: what the message says.

    System prompt, tools and messages stay, so that the provider reads this prefix from its cache. All other settings
    (stop words, tool choice, response format) are left out: they were meant for the live answer. No `tool_choice` is
    set, because some providers drop the cache when it changes.
    """
    message = dialect.user_message(replace_surrogates(text))
    key = next(iter(dialect.arguments(dialect.body(Head(), []))))
    kept = _own_fields(live, _fields(dialect))
    before: list[Raw] = kept[key]
    joined = dialect.join([*map(Rendered, before[-1:]), message])
    if joined[: len(before[-1:])] != before[-1:]:  # its neighbour would be changed
        joined = [*before[-1:], *dialect.join([message])]
    return {**kept, key: [*before[:-1], *joined]}


def _fields(dialect: Dialect) -> Raw:
    """An example of a request that has every field that this dialect itself writes."""
    head = Head(messages=tuple(dialect.parse_system("system")))
    return dialect.arguments(dialect.body(head, [], [Tool(name="tool").schema()]))


def _own_fields(given: Raw, fields: Raw) -> Raw:
    """The fields of `given` that are also in `fields`, in the given order; the same for objects inside both."""
    kept: dict[str, Any] = {}
    for key, value in given.items():
        if key in fields:
            own = fields[key]
            nested = isinstance(value, dict) and isinstance(own, dict)
            kept[key] = _own_fields(cast("Raw", value), cast("Raw", own)) if nested else value
    return kept


# ---- the provider's own compaction

PLACEHOLDER = "[the provider's own compaction of the conversation, up to entry {last}]"
"""The text of such a summary in the log. No window shows it."""


class NativeSummarizer(Struct, frozen=True):
    """Asks the provider to compact the request that was sent last (Anthropic on demand, OpenAI's `responses.compact`).

    Its summary has the compaction as the API returned it, to be sent back byte for byte; no text of it is shown.
    """

    def steps(self, want: Summarise, counter: TokenCounter, model: Model | None) -> Steps:  # noqa: ARG002 - as the protocol has it
        """Make the compaction with one request, which asks for `want.focus` too. Raises SummaryFailed if there is no
        model, if `want.request` is None (this process has sent none, or the conversation is redacted), if the API has
        no compaction or refuses it, or if it returns none."""
        if model is None:
            raise SummaryFailed("there is no provider to ask: name one as `summarizer`, or use `run`")
        if want.request is None:
            raise SummaryFailed("there is no request to compact: none was sent by this process, or all is redacted")
        request = dialect_named(model.dialect).compaction_request(want.request, want.focus)
        if request is None:
            raise SummaryFailed(f"the API of {model.name} has no compaction of its own")
        answer = yield Ask(request=request, compacts=True)
        if isinstance(answer, ProviderError):
            raise SummaryFailed(str(answer))
        turn = answer.turn
        if turn is None or not turn.is_compaction:
            raise SummaryFailed("the provider's answer has no compaction")
        return Summary(
            last=want.last,
            text=PLACEHOLDER.format(last=want.last),
            compaction=replace(turn, usage=None),
            usage=turn.usage,
        )
