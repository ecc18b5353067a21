"""The laws: what holds of every log, view and window. Each is a function that raises AssertionError if it is broken.

Most take a log, which is a list of entries, or a `PlannedCall`: a log with the plan for its next request. They need
neither pytest nor Hypothesis. `StrategyConformance` and `PolicyConformance` run them on random logs.
"""

from transom.testing.laws.log import check_bound, check_order, check_text, check_thrift
from transom.testing.laws.planned import (
    PlannedCall,
    check_fits,
    check_plan,
    check_plan_undo,
    check_plans_in_turn,
    check_prefix,
    check_present,
    check_refusal,
    check_replay,
    check_settled,
    check_valid,
    plan_call,
)
from transom.testing.laws.reachable import check_reachable, check_read_back
from transom.testing.laws.shared import COUNTER, messages_of
from transom.testing.laws.strategy import check_proposals, target_for

__all__ = [
    "COUNTER",
    "PlannedCall",
    "check_bound",
    "check_fits",
    "check_order",
    "check_plan",
    "check_plan_undo",
    "check_plans_in_turn",
    "check_prefix",
    "check_present",
    "check_proposals",
    "check_reachable",
    "check_read_back",
    "check_refusal",
    "check_replay",
    "check_settled",
    "check_text",
    "check_thrift",
    "check_valid",
    "messages_of",
    "plan_call",
    "target_for",
]
