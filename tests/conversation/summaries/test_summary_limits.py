"""What keeps summaries from costing more than they are worth: the spend guard, and the least that one must gain."""

from __future__ import annotations

import pytest
from test_summary_scheduler import Counting, NowPool, bodies, conversation, settings, turn

import transom
from transom.core.summary import Summary
from transom.core.summary_limits import SummaryLimits
from transom.errors import InvalidSetting
from transom.providers.scripted import Scripted
from transom.strategies.summary.when_to_summarise import LEAST_GAIN
from transom.testing import WordCounter

ANSWER = (
    "## User intent\n- the harbour of Lisbon, its crane and its ship\n## Progress\n- [done] the harbour was described"
)


def asked(spend: float) -> tuple[int, str, transom.Conversation]:
    """The requests for summaries of 30 turns, and why there are no more."""
    provider = Scripted(then=ANSWER)
    made_by = transom.SummarySettings(provider=provider, pool=NowPool(), limits=SummaryLimits(spend=spend))
    with conversation(turns=30, summarizer=made_by) as conv:
        return len(provider.requests), conv.explain().no_summary, conv


def test_no_summary_is_asked_for_while_they_have_cost_more_than_their_share() -> None:
    without, shown, _ = asked(9.0)
    few, _, conv = asked(0.1)
    once, why, stopped = asked(0.0)
    assert "cost" not in shown
    assert once == 1
    assert once < few < without
    known, newest = conv.view.summaries, bodies(conv, Summary)[-1].usage
    assert known.spent - newest.prompt - newest.output <= 0.1 * known.sent, "the share was kept before the last one"
    spent, sent = stopped.view.summaries.spent, stopped.view.summaries.sent
    assert why == f"summaries have cost {spent:,} tokens of {sent:,} sent, more than 0%"


def test_a_summary_in_the_background_needs_enough_turns_that_no_summary_covers() -> None:
    summarizer = Counting()
    with conversation(turns=0, summarizer=settings(summarizer)) as conv:
        for number in range(40):
            turn(conv, number)
        room = WordCounter().count("Be brief.") + 2 * max(sum(entry.tokens) for entry in conv.log.read())
        least = LEAST_GAIN * (conv.budget.usable - room)
        sizes = [sum(sum(conv.log[one.key].tokens) for one in want.turns) for want in summarizer.wants]
    assert len(sizes) > 3
    assert min(sizes) >= least


@pytest.mark.parametrize(
    ("limits", "why"),
    [
        ({"strikes": 0}, "limits: strikes must be a whole number of at least 1, not 0"),
        ({"strikes": 1.5}, "limits: strikes must be a whole number of at least 1, not 1.5"),
        ({"pause": -0.1}, "limits: pause must be a share, at least 0, not -0.1"),
        ({"spend": True}, "limits: spend must be a share, at least 0, not True"),
        ({"spend": float("nan")}, "limits: spend must be a share, at least 0, not nan"),
    ],
)
def test_settings_of_brakes_are_checked(limits: dict[str, object], why: str) -> None:
    with pytest.raises(InvalidSetting, match=f"^{why}$"):
        SummaryLimits(**limits)
