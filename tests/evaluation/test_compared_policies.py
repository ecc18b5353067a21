"""What a policy makes of a conversation: sums by hand, over windows that were really built and some that were not."""

from __future__ import annotations

import pytest

from transom.conversation.appending.parse_messages import split_head
from transom.conversation.conversation import Conversation
from transom.conversation.render_window import render
from transom.conversation.replay import replay
from transom.core.budget import Budget
from transom.core.reducer import build_view
from transom.core.window import Break, Window
from transom.evaluation.compare import Compared, Judge, RecordedCall
from transom.evaluation.grounding import Grounding
from transom.evaluation.replay_stats import ReplayStats
from transom.policies import policy_named
from transom.stores import MemoryStore
from transom.testing.builders import talk
from transom.testing.fakes import Entries, FakeClock, WordCounter

HEAD = {"role": "system", "content": "rule"}
SPOKEN = [
    HEAD,
    {"role": "user", "content": "open src/app.py now!"},
    {"role": "assistant", "content": "src/app.py it is"},
    {"role": "user", "content": "and order 12345"},
    {"role": "assistant", "content": "12345, src/app.py"},
]
"""4, 20, 16 and 15 characters before the last reply: 1, 5, 4 and 4 tokens, and 4 for each message."""

ASKED = {"messages": [HEAD, SPOKEN[1]]}


def played(budget, policy="passthrough"):
    """The windows of the conversation, as a policy builds them."""
    head, facts = split_head(SPOKEN)
    conversation = Conversation(
        MemoryStore().open("x"),
        budget=Budget(context=budget),
        policy=policy_named(policy),
        counter=WordCounter(),
        system=head,
        clock=FakeClock(),
    )
    for number, step in enumerate(replay(conversation, facts), 1):
        request = {} if step.window is None else render(step.window, "openai")
        yield RecordedCall(number=number, at=step.at, window=step.window, request=request, seconds=0.5)


def window(tokens=17, kept=0, broke=False):
    """A window of 3 + 4 + 10 tokens, which says of itself what it is told to."""
    view = build_view(Entries(talk("x" * 40)), WordCounter())
    assert view.total.tokens == 17
    return Window(view, "", tokens, 100, kept, Break(0, 1, "compaction") if broke else None)


def judged(*seen, messages=SPOKEN, budget=100):
    judge = Judge(messages, budget=budget, counter=WordCounter())
    for call in seen:
        judge.add(call)
    return judge.result()


def test_everything_is_sent_and_everything_is_there():
    found = judged(*played(1_000), budget=1_000)
    first, second = 3 + 5 + 9, 3 + 5 + 9 + 8 + 8
    assert found.stats == ReplayStats(
        conversations=1,
        calls=2,
        sent=2,
        tokens=first + second,
        passthrough=first + second,
        shared_tokens=first,
        seconds=1.0,
    )
    assert found.anthropic.paid == pytest.approx(1.25 * second + 0.1 * first)
    assert found.openai.paid == first + second, "too short to be cached"
    assert (found.anthropic.share, found.openai.share) == (1.0, 1.0)
    assert found.grounding == Grounding(needed=3, present=3, wide=3)
    assert found.append_only == 1.0


def test_refused_calls_are_counted_as_such_and_nowhere_else():
    found = judged(*played(20), budget=20)
    assert found.stats == ReplayStats(
        conversations=1, calls=2, sent=1, refused=1, tokens=17, passthrough=17, shared_tokens=0, seconds=1.0
    )
    assert found.grounding == Grounding(needed=1, present=1, wide=1), "what the refused one needed is not asked"
    assert found.anthropic.paid == found.anthropic.everything == pytest.approx(1.25 * 17)


def test_what_was_said_further_back_than_the_budget_is_far():
    messages = [*SPOKEN[:-1], {"role": "user", "content": "x" * 40}, SPOKEN[-1]]
    sent = {"messages": [HEAD, messages[-2]]}
    known = judged(RecordedCall(number=1, at=5, window=window(), request=sent), messages=messages, budget=21)
    assert known.grounding == Grounding(needed=2, far_needed=1), "src/app.py is 22 tokens back, 12345 is 14"
    known = judged(RecordedCall(number=1, at=5, window=window(), request=sent), messages=messages, budget=22)
    assert known.grounding == Grounding(needed=2)


def test_breaks_at_two_calls_in_a_row_are_counted():
    messages = [HEAD, *SPOKEN[1:3] * 6]
    asked = {"messages": [HEAD]}
    course = [False, True, True, None, True, False, True]
    seen = [
        RecordedCall(number=1, at=2, request=asked, window=None if broke is None else window(broke=broke))
        for broke in course
    ]
    found = judged(*seen, messages=messages)
    assert (found.stats.sent, found.stats.breaks, found.consecutive_breaks) == (6, 4, 2), (
        "a refused call was no call between"
    )
    assert found.append_only == pytest.approx(1 / 3)


def test_a_window_that_is_wrong_is_found():
    orphan = {"messages": [{"role": "tool", "tool_call_id": "c", "content": "1"}]}
    found = judged(
        RecordedCall(number=1, at=2, window=window(101), request=ASKED),
        RecordedCall(number=1, at=4, window=window(100, kept=17), request=orphan),
    )
    assert (found.stats.invalid, found.stats.over) == (1, 1)


def test_it_adds_up():
    one, other = judged(*played(20)), judged(*played(1_000))
    both = one.plus(other)
    assert both.stats == one.stats.plus(other.stats)
    assert both.anthropic.share == pytest.approx(
        (one.anthropic.paid + other.anthropic.paid) / (one.anthropic.everything + other.anthropic.everything)
    )
    assert both.grounding == Grounding(needed=4, present=4, wide=4)
    assert Compared().plus(both) == both
    assert Compared().append_only is None
    assert Compared(consecutive_breaks=1).plus(Compared(consecutive_breaks=2)) == Compared(consecutive_breaks=3)
