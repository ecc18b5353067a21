"""Learns how the model of a conversation counts tokens, and keeps that in the store for other conversations.

Nothing that is planned depends on it: a log gives the same windows whatever was learned.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any, cast

from transom.core.entry import Entry
from transom.core.message import Assistant
from transom.errors import TransomError
from transom.stores import Store
from transom.token_fit import Features, RequestDifferences, TokenFit, add_to_fit, load_fit

SAVED_SHARE = 64
"""A fit is saved when it has learned from one more call in so many: the log of fits stays short."""
MOST_WAITING = 50_000
"""Tokens of the entries that are kept in memory until there is a reply with usage. Beyond that the next difference is
not learned: a conversation whose replies name no usage must not hold its payloads."""

_logger = logging.getLogger(__name__)


class FitLearner:
    """The fit of the model that a conversation uses now. What its store refuses is not learned, without an error."""

    def __init__(self, store: Store, *, is_new_log: bool) -> None:
        self._store = store
        self._requests = RequestDifferences(whole=is_new_log)
        self._waiting: list[Entry] = []  # read when there is something to learn from: that takes time
        self._waiting_tokens = 0
        self._model = ""
        self._fit: TokenFit | None = None
        self._learned: list[tuple[Features, int]] = []  # since the fit was loaded or saved

    def use_model(self, model: str) -> None:
        """Learn how this model counts from now on."""
        if model == self._model:
            return
        self.save()
        if self._model:
            self._forget()
        self._model, self._fit, self._learned = model, None, []

    def use_model_of(self, reply: object, dialect: str) -> None:
        """As `use_model`, with the model that a reply names, if it does."""
        if (model := _named_model(reply)) and not self._model.endswith(f":{model}"):
            self.use_model(f"{dialect}:{model}")

    def take(self, entries: Sequence[Entry], *, is_ours: bool) -> None:
        """With new entries of the log. Another writer learns from its own."""
        self._waiting += entries
        self._waiting_tokens += sum(sum(entry.tokens) for entry in entries)
        if not is_ours or self._waiting_tokens > MOST_WAITING:
            self._forget()
        elif self._model and any(isinstance(each.body, Assistant) and each.body.usage is not None for each in entries):
            self._catch_up()

    def margin(self, used: int) -> int | None:
        """By how many tokens the model may count more than `used`; None if that is not known."""
        if self._fit is None:
            return None
        self._catch_up()
        if (since := self._requests.since_report()) is None:
            return None
        before, added = since
        expected = self._fit.estimate(added) if any(added) else None
        return max(0, ceil(before + (sum(expected) if expected is not None else 0) - used))

    def save(self) -> None:
        """Add what was learned to the fit in the store, if it is enough."""
        if not self._learned or self._fit is None or len(self._learned) < self._fit.calls // SAVED_SHARE:
            return
        try:
            self._fit = add_to_fit(self._store, self._model, self._learned)
        except TransomError as error:
            _logger.debug("token fit of %s: not saved: %s", self._model, error)
        self._learned = []

    def _catch_up(self) -> None:
        waiting, self._waiting, self._waiting_tokens = self._waiting, [], 0
        for entry in waiting:
            if (found := self._requests.take(entry)) is not None:
                self._learn(*found)

    def _forget(self) -> None:
        """What the next request adds to the last one is not known."""
        self._requests, self._waiting, self._waiting_tokens = RequestDifferences(whole=False), [], 0

    def _learn(self, features: Features, tokens: int) -> None:
        try:
            fit = load_fit(self._store, self._model) if self._fit is None else self._fit
        except TransomError as error:
            _logger.debug("token fit of %s: not read: %s", self._model, error)
            fit = TokenFit()
        self._fit = fit.learn(features, tokens)
        self._learned.append((features, tokens))
        if len(self._learned) * 4 >= self._fit.calls:
            self.save()


_MODEL_KEYS = ("model", "modelVersion", "model_version")
"""The fields in which a reply names its model; Gemini's is spelt in two ways."""

_HOLDERS = ("message", "response", "chunk")
"""In an event of a stream, the fields that may hold what names the model: Anthropic's, the Responses API's, and those
of OpenAI's stream helper."""


def _named_model(reply: object) -> str:
    """The model that a reply names: a response, the chunks of a stream, or an event that holds either."""
    chunks = cast("Sequence[object]", reply) if isinstance(reply, (list, tuple)) else (reply,)
    for chunk in chunks:
        for holder in (chunk, *(_field(chunk, key) for key in _HOLDERS)):
            for key in _MODEL_KEYS:
                if isinstance(named := _field(holder, key), str) and named:
                    return named
    return ""


def _field(value: object, key: str) -> object:
    """A field of a dict or an object; None if it has none."""
    return cast("Mapping[str, Any]", value).get(key) if isinstance(value, Mapping) else getattr(value, key, None)
