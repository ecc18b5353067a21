"""Replays a recorded conversation under a policy: its calls, each with its window."""

from __future__ import annotations

from collections.abc import Iterator
from time import thread_time

from transom.conversation.conversation import Conversation
from transom.conversation.render_window import render
from transom.conversation.replay import replay
from transom.conversation.summary_job import SummarySettings
from transom.core.budget import Budget
from transom.core.policy import Policy
from transom.evaluation.compare import Judge, RecordedCall
from transom.importers.recorded import Recorded
from transom.stores import MemoryStore, StoredLog
from transom.tokenizer import o200k
from transom.wire.dialect import Dialect
from transom.wire.dialects import dialect_named


def recorded_calls(
    record: Recorded,
    *,
    budget: Budget,
    policy: Policy,
    dialect: Dialect | None = None,
    log: StoredLog | None = None,
    summarizer: SummarySettings | None = None,
) -> Iterator[RecordedCall]:
    """Yield each call of a conversation with the window that the policy gives it, in order. No model is asked for the
    calls: the recorded replies are taken.

    A call for which no window fits has None as window, the reason in `refused`, and an empty request.
    `RecordedCall.seconds` is CPU time of this thread, without the time in which the reply is appended. Until the
    iterator is exhausted or closed, it holds the lease of `log`.

    `dialect`: the API that windows are built for; None: the one that the conversation was recorded with. `log`: an
    empty log in which the conversation is stored; None: one in memory. `summarizer`: writes summaries; None: nobody
    does.

    Raises InvalidMessage for a message that its dialect does not allow, InvalidSetting if the log has entries.
    """
    api = dialect or dialect_named(record.dialect)
    head, facts = record.facts()
    conversation = Conversation(
        MemoryStore().open(record.id) if log is None else log,
        budget=budget,
        policy=policy,
        counter=o200k(),
        system=head,
        dialect=api,
        summarizer=summarizer,
    )
    tools = record.tools_for(api.name)
    with conversation, conversation.lease():  # another process may replay into the same store
        steps = replay(conversation, facts, tools=tools or None, injected=record.injected_in(facts))
        number = 0
        while True:
            begin = thread_time()
            if (step := next(steps, None)) is None:
                return
            number += 1
            request = {} if step.window is None else render(step.window, api)
            seconds = thread_time() - begin
            yield RecordedCall(
                number=number, at=step.at, window=step.window, refused=step.refused, request=request, seconds=seconds
            )


def judge_of(record: Recorded, budget: Budget) -> Judge:
    """Return a judge, which makes the figures of a policy from the calls of this conversation under this budget: give
    it each call of `recorded_calls` with `add`, and then ask for `result`. The messages of the conversation must be in
    OpenAI Chat (`as_openai_chat`): that is not checked."""
    injected = record.injected_in(record.facts()[1])
    return Judge(record.messages, budget=budget.usable, counter=o200k(), injected=injected)
