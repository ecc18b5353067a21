"""Replays one recorded conversation under one policy, in memory, and judges its windows one after another."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from time import thread_time
from typing import Any

from transom.conversation.conversation import Conversation
from transom.conversation.replay import Placed, Question, ReplayStep, replay
from transom.conversation.request import render
from transom.conversation.summary_job import SummarySettings
from transom.core.budget import Budget
from transom.core.entry import Entry
from transom.core.message import Raw
from transom.core.policy import Policy
from transom.evaluation.compare import Compared, Judge, Label, Seen
from transom.importers.recorded import LabelledQuestion, Recorded
from transom.prices import Prices
from transom.stores import MemoryStore
from transom.tokenizer import o200k


class PolicyReplay(Iterator[Seen]):
    """The windows of a conversation under a policy, in order. Each is judged when it is given.

    `record`: its messages must be OpenAI Chat's (`as_openai_chat`). `summarizer`: writes its summaries. `prices`: for
    `Compared.model_cost`.
    """

    def __init__(
        self,
        record: Recorded,
        policy: Policy,
        budget: Budget,
        *,
        summarizer: SummarySettings | None = None,
        prices: Prices | None = None,
    ) -> None:
        head, facts = record.facts()
        conversation = Conversation(
            MemoryStore().open(record.id),
            budget=budget,
            policy=policy,
            counter=o200k(),
            system=head,
            summarizer=summarizer,
        )
        self._log, self._prices = conversation.log, prices
        self._labels = {one.index: label for one in record.questions if (label := _label(one)) is not None}
        injected = record.injected_in(facts)
        self._judge = Judge(record.messages, budget=budget.usable, counter=o200k(), injected=injected)
        self._steps = timed_steps(
            conversation,
            facts,
            [one for one in record.questions if one.index in self._labels],
            tools=record.tools_for(conversation.dialect.name),
            injected=injected,
        )

    def __next__(self) -> Seen:
        step, request, seconds = next(self._steps)
        label = None if step.question is None else self._labels[step.question]
        seen = Seen(step.at, step.window, request, seconds, label)
        self._judge.add(seen)
        return seen

    def result(self) -> Compared:
        """The figures of the windows that were given so far."""
        return self._judge.result(self._prices)

    def entries(self) -> Iterable[Entry]:
        """The entries that the replay has written."""
        return self._log.read()


def _label(question: LabelledQuestion) -> Label | None:
    """Return the answer and the evidence of a question; None if it has no answer, or no evidence before it."""
    if question.answer is None or not question.evidence:
        return None
    return Label(question.answer, question.evidence, question.category)


def timed_steps(
    conversation: Conversation,
    facts: list[Placed],
    questions: Sequence[Question],
    *,
    tools: Sequence[Raw] = (),
    injected: Collection[int] = (),
) -> Iterator[tuple[ReplayStep, Raw, float]]:
    """Yield each step of a replay, the part of the request that its window gives, and the CPU seconds that both took.

    The time is that of this thread. What happens after the last call, when its reply is appended, is not counted.
    """
    steps = replay(conversation, facts, tools=tools or None, questions=questions, injected=injected)
    while True:
        begin = thread_time()
        step = next(steps, None)
        if step is None:
            return
        request: dict[str, Any] = {} if step.window is None else render(step.window, conversation.dialect)
        yield step, request, thread_time() - begin
