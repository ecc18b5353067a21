"""Learns how another model counts tokens, from the usage that it reports.

No tokenizer of that model is needed. What a request adds to the one before it is described by a few sums over its texts
(`Features`): tokens of o200k, words, digits, CJK characters and the like. The weights of these sums are fitted, call by
call, to the additional tokens that the provider reports. A fit belongs to one model of one provider.

A conversation of a store learns by itself, from each reply of a run or of `observe` whose model is known;
`conv.usage.margin` shows what was learned. Windows are still planned with the counter that the conversation was opened
with: the same log gives the same windows, whatever a store has learned. To plan with a fit, open the conversation with
its counter:

    fit = load_fit(store, "anthropic:claude-sonnet-4-5")
    with Conversation.open(store, "trip", budget=200_000, counter=fit.counter()) as conv:
        conv.run("Find me a flight", provider="anthropic:claude-sonnet-4-5")
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import sqrt
from typing import NamedTuple

import msgspec
from msgspec import Struct

from transom.clock import system_clock
from transom.core.edit import Fold, Pin, Trim, Undo
from transom.core.entry import Body, Entry, Sent
from transom.core.message import Assistant, Fact, Failure, Head, Media, Note, Text, Usage, own_text, strings_in
from transom.errors import Conflict
from transom.stores import Store, StoredLog
from transom.tokenizer import o200k

__all__ = ["Estimate", "Features", "FittedCounter", "TokenFit", "load_fit", "save_fit", "text_features"]

LOG = ".token-fits"
"""The name of the log in a store that holds its fits."""

Features = tuple[float, ...]
"""Sums over texts: tokens of o200k, words, letters ÷ 4, digits ÷ 2, runs of white space, punctuation, CJK characters,
other characters; last, the number of messages."""

ZERO: Features = (0.0,) * 9
PRIOR: Features = (1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 4.0)
"""The weights before anything was learned: o200k's count, and 4 tokens for each message."""
TRUST = 3.0
"""How much the prior weighs against what is learned."""
DEVIATIONS = 4.0
"""The margin in standard deviations."""
LEAST_MARGIN, LEAST_SHARE = 64.0, 0.03
"""The least margin, in tokens and as a share: names, ids and one odd text may differ by this much, however good the fit
is."""
MOST_SHARE = 0.5
"""The greatest margin as a share: no two tokenizers in use differ by more on real conversations (o200k and cl100k: 36%
in Chinese)."""

_WORDS = re.compile(r"[A-Za-z]+")
_DIGITS = re.compile(r"[0-9]")
_BLANKS = re.compile(r"\s+")
_PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~]")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")


def text_features(text: str) -> Features:
    """The sums of one text. Its number of messages is 0."""
    words = _WORDS.findall(text)
    cjk = other = 0
    if not text.isascii():
        cjk = len(_CJK.findall(text))
        other = len(_NOT_ASCII.findall(text)) - cjk
    return (
        float(o200k().count(text)),
        float(len(words)),
        sum(map(len, words)) / 4,
        len(_DIGITS.findall(text)) / 2,
        float(len(_BLANKS.findall(text))),
        float(len(_PUNCTUATION.findall(text))),
        float(cjk),
        float(other),
        0.0,
    )


class Estimate(NamedTuple):
    """How many tokens a model will count: about `tokens`, and hardly more than `tokens + margin`."""

    tokens: float
    margin: float
    """In tokens."""


class TokenFit(Struct, frozen=True):
    """How a model counts tokens: a ridge regression over `Features`, learned one call at a time. An immutable value.

    - `calls`: how many calls it has learned from. `weights`: one number for each feature.
    - `products`, `answers`: the sums of the regression, each call weighted by its size.
    - `noise`: the variance for each token that the fit does not explain.
    - `drift`: the squared relative error of its newest predictions. Texts of a kind that it has not seen are off by
      that much in one direction.
    """

    calls: int = 0
    weights: Features = PRIOR
    products: tuple[Features, ...] = tuple(tuple(TRUST * (i == j) for j in range(9)) for i in range(9))
    answers: Features = tuple(TRUST * weight for weight in PRIOR)
    noise: float = 4.0
    drift: float = 0.01

    def learn(self, features: Features, tokens: int) -> TokenFit:
        """A fit that has learned from one more call: texts with these sums were reported as `tokens` tokens."""
        expected = max(1.0, _dot(self.weights, features))
        unsure = self._unsure(features)
        squared = (expected - tokens) ** 2
        noise = self.noise + (squared / (expected + unsure) - self.noise) / min(self.calls + 5, 100)
        off = squared / max(expected, tokens, 300.0) ** 2
        products = tuple(
            tuple(old + a * b / expected for old, b in zip(row, features, strict=True))
            for row, a in zip(self.products, features, strict=True)
        )
        answers = tuple(old + a * tokens / expected for old, a in zip(self.answers, features, strict=True))
        return TokenFit(
            calls=self.calls + 1,
            weights=_solve(products, answers),
            products=products,
            answers=answers,
            noise=noise,
            drift=self.drift + (off - self.drift) / min(self.calls + 5, 60),
        )

    def learn_from(self, log: StoredLog, start: int = 0) -> TokenFit:
        """A fit that has learned from every call of the log from entry `start` on. Learn each call only once."""
        fit = self
        for features, tokens in differences(log.read(start), whole=start == 0):
            fit = fit.learn(features, tokens)
        return fit

    def estimate(self, features: Features) -> Estimate:
        """Estimate what the model would count for texts with these sums."""
        tokens = max(0.0, _dot(self.weights, features))
        unexplained = sqrt(self.noise * (tokens + self._unsure(features))) + sqrt(self.drift) * tokens
        share = min(DEVIATIONS * unexplained / tokens + LEAST_SHARE, MOST_SHARE) if tokens else 0.0
        return Estimate(tokens, LEAST_MARGIN + share * tokens)

    def counter(self) -> FittedCounter:
        """A counter for `Conversation.open` with the weights that this fit has now."""
        return FittedCounter(self.weights)

    def _unsure(self, features: Features) -> float:
        """The variance, in tokens, because these texts are unlike those that were learned from."""
        return max(0.0, _dot(_solve(self.products, features), features))


class FittedCounter:
    """A TokenCounter with the weights of a fit. Its name depends on the weights, so that counts stored with others are
    not used."""

    def __init__(self, weights: Features) -> None:
        self._weights = tuple(round(weight, 4) for weight in weights)
        self.name = f"o200k_base+fit{zlib.crc32(repr(self._weights).encode()):08x}"
        self._short = lru_cache(maxsize=4096)(self._count)

    def count(self, text: str) -> int:
        """The tokens of one text, at least 1; 0 for an empty one."""
        return self._short(text) if len(text) <= 64 else self._count(text)

    def _count(self, text: str) -> int:
        """The tokens of one text, not cached."""
        return max(1, round(_dot(self._weights, text_features(text)))) if text else 0


# ---- what a log teaches


def differences(entries: Iterator[Entry], *, whole: bool) -> Iterator[tuple[Features, int]]:
    """For each request what it added to the one before it, and how many more tokens the provider reported. `whole`: see
    `RequestDifferences`."""
    requests = RequestDifferences(whole=whole)
    for entry in entries:
        found = requests.take(entry)
        if found is not None:
            yield found


class RequestDifferences:
    """Compares each request of a log with the one before it, entry by entry.

    It gives a difference only if what was added is known exactly: entries were appended, without an edit, media,
    reasoning or another head in between. `whole`: the entries begin with the first one of the log, so that the first
    request adds to nothing.
    """

    def __init__(self, *, whole: bool) -> None:
        self._added, self._known = ZERO, whole
        self._before = 0 if whole else None
        self._asked: tuple[Features, bool] | None = None

    def take(self, entry: Entry) -> tuple[Features, int] | None:
        """Take the next entry of the log; return an observation if this entry gives one, else None.

        A reply with usage gives one: the features of all that came between its request and the one reported before, and
        the tokens by which the reported prompt grew. There is none if the window broke in between, or did not grow.
        """
        body, found = entry.body, None
        if isinstance(body, Sent):
            unanswered, is_plain = self._asked or (ZERO, True)  # a request that failed, or whose reply had no usage
            self._asked = (_plus(unanswered, self._added), is_plain and self._known and body.breaks is None)
            self._added, self._known = ZERO, True
            return None
        if isinstance(body, Assistant) and body.usage is not None and self._asked is not None:
            prompt = _prompt(body.usage)
            if self._asked[1] and self._before is not None and prompt > self._before:
                found = self._asked[0], prompt - self._before
            self._before, self._asked = prompt or None, None
        shown = _shown(body, is_first=self._before == 0)
        self._known = self._known and shown is not None
        self._added = _plus(self._added, shown or ZERO)
        return found

    def since_report(self) -> tuple[int, Features] | None:
        """The tokens of the last request that was reported, and what was added since; None if that is not known."""
        asked, is_plain = self._asked or (ZERO, True)
        if not (self._known and is_plain and self._before):
            return None
        return self._before, _plus(asked, self._added)


def _prompt(usage: Usage) -> int:
    """The tokens of the whole prompt. (Some gateways report only the part that was not cached.)"""
    return usage.prompt if usage.prompt >= usage.cached else usage.prompt + usage.cached


def _shown(body: Body, *, is_first: bool) -> Features | None:
    """The sums of what an entry adds to a request; None if that is not known."""
    if isinstance(body, Head):
        return _sum(map(_of_fact, body.messages)) if is_first and not body.tools else None
    if isinstance(body, (Fold, Trim, Pin, Undo)) or not isinstance(body, Fact):
        return None
    if isinstance(body, Failure) and not body.shown:
        return ZERO
    return _of_fact(body)


def _of_fact(fact: Fact) -> Features | None:
    """The sums of a message. None if it has media, or reasoning, which the next request may leave out."""
    texts = [own_text(fact)]
    for part in fact.parts:
        if isinstance(part, Media):
            return None
        texts += [part.text] if isinstance(part, Text) else strings_in(part.raw)
    if isinstance(fact, Assistant):
        if fact.reasoning:
            return None
        texts += [text for call in fact.calls for text in (call.name, call.args)]
    return _plus(_sum(map(text_features, filter(None, texts))) or ZERO, (*ZERO[:-1], 1.0))


def _sum(each: Iterator[Features | None] | Iterator[Features]) -> Features | None:
    """The sum of features; None if any is None."""
    total = ZERO
    for found in each:
        if found is None:
            return None
        total = _plus(total, found)
    return total


def _plus(a: Features, b: Features) -> Features:
    """The sum of two features."""
    return tuple(x + y for x, y in zip(a, b, strict=True))


def _dot(a: Sequence[float], b: Sequence[float]) -> float:
    """The scalar product of two vectors."""
    return sum(x * y for x, y in zip(a, b, strict=True))


def _solve(matrix: Sequence[Sequence[float]], right: Sequence[float]) -> Features:
    """Solve a system of linear equations by Gauss' elimination. The matrix must be symmetric and positive, so that no
    pivot is 0."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for at, pivot in enumerate(rows):
        for other, row in enumerate(rows):
            if other != at and row[at]:
                factor = row[at] / pivot[at]
                rows[other] = [a - factor * b for a, b in zip(row, pivot, strict=True)]
    return tuple(row[-1] / row[at] for at, row in enumerate(rows))


# ---- in a store


def load_fit(store: Store, model: str) -> TokenFit:
    """The fit of a model ("anthropic:claude-sonnet-4-5") that was saved last in this store; a new one if there is
    none."""
    return _newest_fit(store.open(LOG), model)


def save_fit(store: Store, model: str, fit: TokenFit) -> None:
    """Save the fit of a model, for all conversations of this store. Raises Conflict if another process saves at the
    same time."""
    _append_fit(store.open(LOG), model, fit)


def _newest_fit(log: StoredLog, model: str) -> TokenFit:
    """The newest fit of a model in the log of fits; a new one if there is none."""
    found = ""
    for entry in log.read():
        if isinstance(entry.body, Note) and entry.body.key == model:
            found = entry.body.text
    return msgspec.json.decode(found, type=TokenFit) if found else TokenFit()


def _append_fit(log: StoredLog, model: str, fit: TokenFit) -> None:
    """Append a fit to the log of fits. Raises Conflict if another process appends at the same time."""
    note = Note(key=model, text=msgspec.json.encode(fit).decode())
    log.append([Entry(seq=len(log), at=system_clock(), body=note)], len(log))


def add_to_fit(store: Store, model: str, calls: Sequence[tuple[Features, int]]) -> TokenFit:
    """Let the saved fit of a model learn from more calls, save it, and return it.

    Raises Conflict if other processes save first five times in a row.
    """
    for attempt in range(5):
        log = store.open(LOG)
        fit = _newest_fit(log, model)
        for features, tokens in calls:
            fit = fit.learn(features, tokens)
        try:
            _append_fit(log, model, fit)
        except Conflict:
            if attempt == 4:
                raise
        else:
            return fit
    raise AssertionError
