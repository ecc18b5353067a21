"""Opens a stored conversation for a command that plans its next window or changes it."""

from __future__ import annotations

from transom.cache_prices import Prices
from transom.cli.streams import one_line
from transom.conversation.conversation import Conversation
from transom.conversation.summary_job import SummarizedBy
from transom.core.budget import Budget
from transom.core.entry import Sent
from transom.errors import InvalidSetting
from transom.policies import policy_named
from transom.stores import StoredLog
from transom.tokenizer import o200k
from transom.wire.dialects import dialect_named, dialect_of_log


def budget_of(log: StoredLog, tokens: int | None, prices: Prices | None = None) -> Budget:
    """Return the budget with this number of tokens as its context, and no reserve. `tokens` None: as many as the limit
    of the conversation's last request; raises InvalidSetting if there was no request.
    """
    if tokens is None:
        tokens = last_limit(log)
        if tokens is None:
            raise InvalidSetting(f"{one_line(log.name)}: no request was planned yet: give --budget N")
    return Budget(context=tokens, prices=prices)


def last_limit(log: StoredLog) -> int | None:
    """Return the limit of tokens that the last request was planned with; None if there was no request. Reads the whole
    log."""
    return next((entry.body.limit for entry in reversed([*log.read()]) if isinstance(entry.body, Sent)), None)


def open_conversation(
    log: StoredLog, budget: Budget, policy: str, *, dialect: str | None = None, summarizer: SummarizedBy | None = None
) -> Conversation:
    """Open the conversation of a log, with tokens counted by o200k_base. `policy`: its name, with settings. `dialect`:
    its name; None: the one for which the entries were counted, else OpenAI Chat. Raises InvalidSetting for an unknown
    policy or dialect. Closing the conversation does not close the store of `log`."""
    return Conversation(
        log,
        budget=budget,
        policy=policy_named(policy),
        counter=o200k(),
        dialect=dialect_of_log(log) if dialect is None else dialect_named(dialect),
        summarizer=summarizer,
    )
