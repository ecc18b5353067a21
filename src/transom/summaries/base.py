"""What a summarizer is: a generator without I/O, so that it is written once for threads and for event loops.

It yields requests to a model (`Ask`), is sent each reply, and returns what it made. A driver sends the requests; it
knows the provider, the deadline and the prices. A summarizer that needs no model yields nothing.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Protocol

from msgspec import Struct

from transom.core.message import Assistant, Raw, Usage
from transom.core.summary import Summarise, Summary
from transom.core.tokens import TokenCounter
from transom.errors import ProviderError


class Ask(Struct, frozen=True, kw_only=True, eq=False):
    """One request to the summarizer's model.

    `request`: keyword arguments of the SDK's call, without the model, in the dialect that `Model.dialect` names.
    `max_tokens`: the most tokens of the answer; None: what the provider object sets, else the API's own limit.
    `compacts`: `request` asks for the provider's own compaction (`Dialect.compaction_request`).
    """

    request: Raw
    """The keyword arguments."""
    max_tokens: int | None = None
    compacts: bool = False


class Answer(Struct, frozen=True, kw_only=True):
    """The model's answer to an `Ask`: its `text`. `called_tools`: it has a tool call. `usage`: what the provider
    reported; None if nothing. `turn`: all of the answer, as a turn of the model; None if only the text is known."""

    text: str
    """The text of the answer."""
    called_tools: bool = False
    usage: Usage | None = None
    """What the provider reported; None if nothing."""
    turn: Assistant | None = None
    """All of the answer, as a turn of the model; None if only its text is known."""


class Model(Struct, frozen=True, kw_only=True):
    """What a summarizer knows of the model that it asks: its name, its dialect, and the size of its context window in
    tokens.

    If it is the model of the conversation (`same_as_live`), a summary request that begins with the conversation's last
    request reads that part from the prompt cache.
    """

    name: str
    """The provider and the model, as a log names them: "openai:gpt-5-mini"."""
    dialect: str
    """The dialect of the requests that the model takes."""
    context: int
    """The size of its context window, in tokens."""
    same_as_live: bool = False
    """True if it is the model of the conversation."""


Steps = Generator[Ask, Answer | ProviderError, Summary]
"""The generator that makes one summary: it yields requests, is sent an answer or an error for each, and returns the
summary."""


class Summarizer(Protocol):
    """Makes the summary that a conversation wants. It has frozen settings and no state, and does no I/O.

    It may have an attribute `least_tokens`: how many tokens a summary of its kind needs to hold anything; 80 without
    the attribute. No summary is asked for where it may have fewer.
    """

    def steps(self, want: Summarise, counter: TokenCounter, model: Model | None) -> Steps:
        """Make one summary of everything up to `want.last`: go on from `want.prior` (None: there is none) with the new
        `want.turns`. It has at most `want.max_tokens` tokens by `counter`, and is not blank. It may end at an earlier
        one of the turns, if its `last` says so. `model`: the model that answers; None if there is none, and then no
        `Ask` may be yielded.

        Yields an `Ask` for each request to the model, and is sent the `Answer`, or the ProviderError if the request
        failed. Returns the summary. Raises SummaryFailed, with one line that says why, if nothing usable came out: a
        failed summary never replaces history.
        """
        ...
