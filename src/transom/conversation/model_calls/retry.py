"""What follows a failed request: another attempt, a smaller request, the next provider, or giving up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from transom import texts
from transom.conversation.argument_checks import LONGEST
from transom.conversation.model_calls.model_call import PartialReply
from transom.core.budget import UNLIMITED
from transom.core.calibration import MAX_RATIO
from transom.core.message import REASONING_REFUSED, Assistant, Failure
from transom.core.window import Window
from transom.errors import BudgetImpossible, InvalidSetting, ProviderError, is_number, quote, shorten
from transom.overflow import Overflow, classify
from transom.redaction import without_keys
from transom.wire.bound_reasoning import is_refusal
from transom.wire.media_tokens import NAMED_FILE
from transom.wire.refused_parts import (
    INTERNAL_ERROR,
    RefusedPart,
    files_of_unknown_size,
    refused_parts,
    since_last_reply,
)
from transom.wire.rendering import Request

P = TypeVar("P")

OVERFLOW_ATTEMPTS = 3
SHRINK = (0.75, 0.4)
"""The request after the first overflow, and after the second, has at most this share of the tokens of the one before,
if the provider did not say how many it had."""
STRICTLY_LESS = 0.95
"""The same share if the provider said how many tokens the request had: surely less, and no more is lost than needed."""
PART_ATTEMPTS = 20
"""How often, for one reply, refused parts are left out and the request is sent again: a provider may name one image
after the other."""
REASONING_ATTEMPTS = 2
"""How often, for one reply, a request is sent again because of its reasoning: first without the reasoning before the
newest user message, then without any."""
LEAST_GUESSED = 500
"""The smallest limit that is concluded from a refusal without numbers, in tokens. No model in use takes fewer: so a
server that refuses a shorter request (with status 413, for example) means something else than its tokens."""
MOST_CLAIMED = 4.0
"""Tokens of a provider for one of ours, at most. A server that claims more has counted what is not in our request: what
the caller sends beside it, or the images of another request."""
ERROR_CHARACTERS = 2_000


class Retry(Struct, frozen=True, kw_only=True):
    """How often a request is sent again to the same provider after a temporary error, and after how long.

    `attempts`: how often it is sent in all; 1: never again. `wait`: seconds before the second attempt; the wait doubles
    with each further one, up to `longest` seconds. If the provider names a wait (`Retry-After`), that one holds, also
    if it is shorter; if it is longer than `longest`, the next provider is asked, and without one the run ends with the
    error. A request that was too long has three attempts of its own. Raises InvalidSetting for a wrong number.
    """

    attempts: int = 3
    wait: float = 0.5
    longest: float = 60.0

    def __post_init__(self) -> None:
        if type(self.attempts) is not int or self.attempts < 1:
            raise InvalidSetting(f"retry: attempts must be at least 1, not {quote(self.attempts)}")
        for name in ("wait", "longest"):
            value = getattr(self, name)
            if not is_number(value) or not 0 <= value <= LONGEST:
                raise InvalidSetting(
                    f"retry: {name} must be seconds, at least 0 and at most {LONGEST:,.0f}, not {quote(value)}"
                )

    def wait_before(self, attempt: int) -> float:
        """Seconds to wait before attempt number `attempt`, which must be 2 or more, if the provider names no wait:
        `wait`, doubled for each attempt after the second, and at most `longest`."""
        return min(self.longest, self.wait * 2.0 ** min(attempt - 2, 60))


DEFAULT_RETRY = Retry()


def checked_retry(given: object) -> Retry:
    """Return a `Retry`. Raises InvalidSetting for anything else."""
    if not isinstance(given, Retry):
        raise InvalidSetting(f"retry: must be a Retry, not {quote(given)}")
    return given


class FailedAttempt(Struct, frozen=True, kw_only=True):
    """A failed attempt, and what follows: `error` to give up with; or, if it is None, another attempt after `wait`
    seconds, at the same provider or the next one.

    `kind`, `text`: of the failure, for the log. `limit`, `used`, `stated`: of an overflow, as in `Failure`.
    `is_learned`: whether `limit` holds for all later requests to the model, or only for the attempts at this reply.
    `left_out`: parts that the provider refused, and files that alone are too long; the next attempt is without them.
    """

    kind: str
    text: str
    error: ProviderError | None = None
    wait: float = 0.0
    limit: int = 0
    used: int = 0
    stated: int = 0
    is_learned: bool = True
    left_out: Sequence[RefusedPart] = ()

    def failure(self, partial: PartialReply, *, answers: int | None, model: str, final: bool) -> Failure:
        """The failure to log for the request with the seq `answers`. `partial`: what had arrived of its reply.

        `final`: no other attempt follows; then the model reads the text that had arrived in later windows.
        """
        return Failure(
            failure=self.kind,
            text=partial.text,
            reasoning=partial.reasoning,
            shown=texts.reply_interrupted(partial.text, self.kind) if final and partial.text.strip() else "",
            answers=answers,
            error=self.text,
            model=model,
            limit=self.limit if self.is_learned else 0,
            used=self.used,
            stated=self.stated,
            usage=partial.usage,
        )


class Attempts(Generic[P]):
    """The attempts at one reply: counts them, and decides after each failure what follows.

    `providers`: whom to ask, in order, at least one. In a loop of the caller's own, which has no providers, the name of
    the model stands in their place. `max_tokens`: the most tokens of the answer, for the next attempt; None for no
    limit of ours. `number`: of the next attempt, from 1, over all providers.
    """

    def __init__(self, retry: Retry, providers: Sequence[P], max_tokens: int | None) -> None:
        self._retry, self._providers = retry, list(providers)
        self._of_provider, self._overflows = 1, 0
        self._reasoning_refused = 0
        self._parts_refused = 0
        self.number = 1
        self.max_tokens = max_tokens
        self.refused: ProviderError | None = None
        """The error with which the present provider refused a request as too long; None if it did not."""
        self.at_most = 0
        """The most tokens of the next request, because the present provider refused one that had too many bytes, or a
        file whose tokens we do not know; 0 if it did not. No limit is learned from that: it says nothing about the
        tokens of other requests."""
        self._contradiction = ""  # what to do if the newest refusal cannot be true

    @property
    def provider(self) -> P:
        """The provider to ask in the next attempt."""
        return self._providers[0]

    def after(self, error: ProviderError, request: Request) -> FailedAttempt:
        """Count the failure of `request`, the one that was sent last, and decide what follows: another attempt at the
        same provider, perhaps smaller or without refused parts; the next provider; or `FailedAttempt.error`, to give up
        with. `provider`, `number`, `max_tokens` and `at_most` are those of the next attempt afterwards. Nothing is
        logged or left out here: the caller does that."""
        window = request.window
        self.number += 1
        said = None if error.status is None and not error.body else classify(error.status, error.body or str(error))
        text = shorten(without_keys(str(error)), ERROR_CHARACTERS)
        if said is not None:
            return self._after_overflow(said, error, window, text)
        is_about_reasoning = is_refusal(error.status, error.body or str(error)) and _has_reasoning(window)
        if is_about_reasoning and self._reasoning_refused < REASONING_ATTEMPTS:
            self._reasoning_refused += 1  # when the failure is logged, the view hides the refused reasoning
            return FailedAttempt(kind=REASONING_REFUSED, text=text)
        if (error.kind == "bad_request" or error.status == INTERNAL_ERROR) and self._parts_refused < PART_ATTEMPTS:
            found = refused_parts(error.status, error.body or str(error), request, window.view)
            if found:
                self._parts_refused += 1
                return FailedAttempt(kind=error.kind, text=text, left_out=found)
        wait = self._retry.wait_before(self._of_provider + 1) if error.retry_after is None else error.retry_after
        if error.is_retryable and self._of_provider < self._retry.attempts:
            if wait <= self._retry.longest:
                self._of_provider += 1
                return FailedAttempt(kind=error.kind, text=text, wait=wait)
            too_long = f"it asks to wait {wait:,.0f} s, and Retry(longest={self._retry.longest:g}) allows less"
            error.args = (f"{shorten(str(error), 500)}; {too_long}",)  # in place: a CutReply stays one
        if len(self._providers) > 1:
            return self._fall_back(FailedAttempt(kind=error.kind, text=text))
        return FailedAttempt(kind=error.kind, text=text, error=error)

    def cannot_shrink(self, why: BudgetImpossible | str) -> ProviderError:
        """The ProviderError, of the kind "overflow", to give up with when the model refused a request of which nothing
        more can be left out. `why`: the bill, or a text; the error quotes it."""
        refused = self.refused
        # a bill names its own ways out, with their numbers
        known = isinstance(why, BudgetImpossible) and bool(why.ways_out)
        general = "shorten the system prompt, the tools or the newest message, or take another model"
        advice = "; or ".join(filter(None, (self._contradiction, "" if known else general)))
        return ProviderError(
            "overflow",
            f"the model refused the request as too long, and it cannot be made smaller ({why})"
            f"{'; ' * bool(advice)}{advice}. The next run tries once more",
            status=None if refused is None else refused.status,
            body="" if refused is None else refused.body,
        )

    def _fall_back(self, failed: FailedAttempt) -> FailedAttempt:
        """Go on with the next provider, after this failure."""
        del self._providers[0]
        self._of_provider, self._overflows, self.refused, self.at_most = 1, 0, None, 0
        return failed

    def _after_overflow(self, said: Overflow, error: ProviderError, window: Window, text: str) -> FailedAttempt:
        self._overflows += 1
        self.refused, self._contradiction = error, _contradiction(said, window)
        unknown = files_of_unknown_size(window.view)
        # else it would be learned as a ratio
        used = 0 if unknown or _has_more_beside(said, window) else said.used or 0
        limit, smaller, left_out = 0, self.max_tokens, list[RefusedPart]()
        if said.fix == "shrink_max_tokens":
            smaller = _smaller_answer(said, self.max_tokens)
        elif self._overflows < OVERFLOW_ATTEMPTS and _are_too_long(unknown, said, window):
            left_out = since_last_reply(unknown, window.view)
        else:
            limit = _smaller_request(said, window, self._overflows, has_unknown=bool(unknown))
        failed = FailedAttempt(
            kind="overflow",
            text=text,
            limit=limit,
            used=used,
            stated=_stated(said, window),
            is_learned=said.measured_in == "tokens" and not unknown,
            left_out=left_out,
        )
        if self._overflows < OVERFLOW_ATTEMPTS and (limit or left_out or smaller != self.max_tokens):
            self.max_tokens = smaller
            self.at_most = limit if limit and not failed.is_learned else self.at_most
            return failed
        if len(self._providers) > 1:
            return self._fall_back(failed)
        if said.fix == "shrink_input" and not limit:
            return replace(failed, error=self.cannot_shrink(_bill(window, said)))
        way_out = self._contradiction or "give a smaller budget, or take a model with a larger context window"
        why = f"still too long after {OVERFLOW_ATTEMPTS} attempts: {_bill(window, said)}; {way_out}"
        return replace(failed, error=ProviderError("overflow", why, status=error.status, body=error.body))


def _has_reasoning(window: Window) -> bool:
    turns = (fact for unit in window.view.visible_units() for fact in unit.shown_facts()[:1])
    return any(isinstance(turn, Assistant) and turn.reasoning for turn in turns)


def _are_too_long(files: Sequence[RefusedPart], said: Overflow, window: Window) -> bool:
    """Whether these files of unknown size make the request too long, whatever else is left out: the tokens that are too
    many are at least all that we count beside the files and the head."""
    if not files or not said.used or not said.limit:
        return False
    conversation = window.size.tokens - window.view.head_size.tokens - NAMED_FILE * len(files)
    return said.used - said.limit >= max(1.0, conversation * window.view.calibration)


def _smaller_request(said: Overflow, window: Window, attempt: int, *, has_unknown: bool) -> int:
    """The tokens that the next request may have, as the planner will count them; less than this one had. 0 if not even
    the head fits them, or if they are a guess below `LEAST_GUESSED` and below half of the limit that was named.

    The planner's ratio goes up with this refusal, but not above `MAX_RATIO`: what is beyond that is taken from the
    limit. A limit alone proves nothing about the ratio, so without `used` the request shrinks by a share too. If the
    provider has counted what the caller sends beside our request, or a file of unknown size (`has_unknown`), what is
    too much is subtracted, and the ratio stays.
    """
    raw, known = max(1, window.size.tokens), window.view.calibration
    share = STRICTLY_LESS if said.used else SHRINK[min(attempt, len(SHRINK)) - 1]
    if _has_more_beside(said, window) or (has_unknown and said.used):
        ratio, smaller = known, int(share * raw * known)
        too_many = (said.used or 0) - (said.limit or 0)
        fits = int(STRICTLY_LESS * (raw * ratio - too_many)) if said.limit else 0
        limit = min(fits, smaller) if fits > 0 else smaller
    else:
        seen = (said.used or 0) / raw
        ratio = max(known, min(MAX_RATIO, seen))
        smaller = int(share * raw * ratio)
        limit = smaller if said.limit is None else min(smaller, int(said.limit * ratio / max(ratio, seen)))
    least = min(LEAST_GUESSED, (said.limit or UNLIMITED) // 2) if not said.used else 0
    return limit if limit > max(least, window.view.head_size.tokens * ratio) else 0


def _stated(said: Overflow, window: Window) -> int:
    """The limit that the provider has named, without what the caller sends beside our request; 0 if it named none."""
    if not said.limit or not _has_more_beside(said, window):
        return said.limit or 0
    beside = (said.used or 0) - round(window.size.tokens * window.view.calibration)
    return max(0, said.limit - beside)


def _has_more_beside(said: Overflow, window: Window) -> bool:
    """Whether the provider has counted more than our request can have."""
    return (said.used or 0) > MOST_CLAIMED * max(1, window.size.tokens)


def _smaller_answer(said: Overflow, wanted: int | None) -> int:
    """A limit of the answer, smaller than the refused one, that leaves room for the request: what is left, or half."""
    room = said.limit - said.used if said.limit and said.used and said.limit > said.used else None
    asked = wanted or said.output
    half = asked // 2 if asked else 1_024
    return max(1, half if room is None else min(room, asked - 1 if asked else room))


def _contradiction(said: Overflow, window: Window) -> str:
    """What to do about a refusal that is not about the tokens of this request: it is about its bytes, or the provider
    states a limit that the request is far below. Empty for any other refusal."""
    if said.measured_in == "bytes":
        return (
            "the refusal says nothing of tokens, so it is about the bytes of the request: look what stands between "
            "here and the model (a gateway), and how large a body it takes; images and files have the most bytes. What "
            "the attempts have left out stays out, so that the next request begins with less: `undo` brings it back"
        )
    if _has_more_beside(said, window):
        return (
            f"the server counts {said.used:,} tokens: look what else is sent with the request, or what stands between "
            "here and the model"
        )
    if said.used or not said.limit or window.size.tokens * MAX_RATIO > said.limit:
        return ""
    return (
        "this is far below the limit that the server states, so the refusal is not about the length of this request: "
        "look what stands between here and the model (a gateway, a server that is starting), and ask again later; what "
        "was learned from it is forgotten step by step as replies come"
    )


def _bill(window: Window, said: Overflow) -> str:
    size, head = window.size.tokens, window.view.head_size.tokens
    known = f", limit {said.limit:,}" if said.limit else ""
    shares = f"system prompt and tools {head:,}, conversation {size - head:,}"
    return f"the last attempt had {size:,} tokens by our count{known}: {shares}"
