"""`fit`: a list of messages in, a valid list within the budget out. No store: each call plays the whole list again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from transom.conversation import argument_checks as check
from transom.conversation.conversation import Conversation
from transom.conversation.facts import split_head
from transom.conversation.replay import replay
from transom.core.budget import Budget
from transom.core.log import Log
from transom.core.message import Raw
from transom.core.policy import Policy
from transom.core.tokens import TokenCounter
from transom.core.tool import Tool
from transom.errors import InvalidMessage
from transom.policies import policy_named
from transom.redaction import Redacting
from transom.stores import MemoryStore
from transom.tokenizer import o200k
from transom.wire.dialect import Dialect
from transom.wire.dialects import dialect_named, with_digest_role
from transom.wire.rendering import render_messages


def fit(
    messages: Sequence[object],
    *,
    budget: Budget | int | str | None = None,
    counter: TokenCounter | None = None,
    policy: str | Policy = "default",
    dialect: str | Dialect = "openai",
    digest_role: str | None = None,
    system: object = None,
    tools: Sequence[Raw | Tool] | None = None,
    redact: Redacting | None = None,
) -> list[dict[str, Any]]:
    """The messages the model should see next: valid for its API and within `budget`.

    Pure: the input stays as it is, and the same input gives the same output. A message is a dict, or a client library's
    message object (what has `model_dump`). Each assistant message marks an earlier call. The window of each
    such call is rebuilt in order, so each result begins with the one before, except after a compaction. This holds for
    lists that end at a call, not for any two prefixes.

    A message without content (None, "" or no parts) and without calls is left out: no API takes it. A list that has
    only such messages raises InvalidMessage. An empty list gives an empty list.

    `budget`: a Budget, or the tokens of the model's context window; 128,000 if not given. `counter`: the tokenizer,
    o200k if not given. `policy`: a Policy or its name, which settings may follow ("default:keep_recent=0.3", see
    `transom.policies.policy_named`). `dialect` names the API whose messages come in and go out; `system`: what goes
    beside them in its request (Anthropic's `system`, Gemini's `systemInstruction`, the `instructions` of Responses),
    which counts. `digest_role`: the role of the message that stands for folded turns, as for `Conversation.open`.
    `tools`: the schemas that go with the request, which count; None, like [], means none. `redact`: as for
    `Conversation.open`. Markers name messages by their position in the list. Raises BudgetImpossible with the bill,
    InvalidMessage, InvalidSetting.
    """
    spoken = with_digest_role(dialect_named(dialect), digest_role)
    limits = Budget() if budget is None else check.limits(budget)
    chosen = policy_named(policy)
    head, facts = split_head(messages, dialect=spoken)
    if system is not None:
        head = [*spoken.parse_system(check.system(system)), *head]
    log = MemoryStore().open("fit")

    conversation = Conversation(
        log,
        budget=limits,
        policy=chosen,
        counter=o200k() if counter is None else check.token_counter(counter),
        system=head,
        dialect=spoken,
        clock=lambda: 0.0,
        redact=redact,
        ref=lambda seq: f"message {_position(log, seq)}",
    )
    for _ in replay(conversation, facts, tools=tools):
        pass
    found = render_messages(conversation.plan_request(tools=tools).view, spoken)
    if messages and not found:
        why = "none has content or calls, so there is nothing to send"
        raise InvalidMessage("messages" if len(messages) > 1 else "messages[0]", why)
    return found


def _position(log: Log, seq: int) -> int:
    """Where in the list an entry came from; for one of our own (a made result, a note) the message before it."""
    for at in range(min(seq, len(log) - 1), -1, -1):
        if (meta := log[at].meta) is not None and meta.source is not None:
            return meta.source
    return 0
