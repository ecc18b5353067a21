"""What a line says of the arguments of a tool that no table knows, and of what is typed into a command."""

from __future__ import annotations

import json

import pytest

from transom.core.message import Call, Text, ToolResult
from transom.strategies.actions.action import action_of
from transom.strategies.actions.outcome import outcome_of, outcome_text


def facts_of(name, **args):
    return action_of(Call(name=name, args=json.dumps(args), id="c"))


@pytest.mark.parametrize(
    ("name", "args", "full"),
    [
        ("wait", {"cell_id": "20", "yield_time_ms": 1000, "max_tokens": 40000}, "20"),
        ("refuel_data", {"line_id": "L1002", "gb_amount": 2.0}, "line_id=L1002, gb_amount=2.0"),
        ("search_direct_flight", {"origin": "LAS", "date": "2024-05-19"}, "origin=LAS, 2024-05-19"),
        (
            "exchange_order_items",
            {"order_id": "#W34", "item_ids": ["11", "12"], "payment_id": "gift_card_7"},
            "#W34, item_ids=11, 12, gift_card_7",
        ),
        ("send_message", {"target": "/root/review", "message": "Look again."}, "/root/review, Look again."),
        ("list_events", {"limit": 50, "offset": 100, "timeoutMs": 9000}, ""),
        ("list_events", {"limit": "all", "kind": "open"}, "limit=all, kind=open"),
    ],
)
def test_an_argument_has_its_name_unless_it_says_what_it_is(name, args, full):
    assert facts_of(name, **args).text == full


@pytest.mark.parametrize(
    ("args", "subject"),
    [
        ({"session_id": 42755, "chars": "q", "yield_time_ms": 1000, "max_tokens": 4000}, "session_id=42755, chars=q"),
        ({"session_id": 42755, "chars": "\x03", "yield_time_ms": 1000}, "session_id=42755, chars=\\x03"),
        ({"session_id": 42755, "chars": "", "yield_time_ms": 1000}, "42755"),
    ],
)
def test_what_is_typed_into_a_running_command_stands_behind_its_session(args, subject):
    facts = facts_of("write_stdin", **args)
    assert (facts.about, facts.kind, facts.changes) == (subject, "type", frozenset())


def test_the_session_is_named_once_and_a_failed_test_run_in_it_failed():
    facts = facts_of("write_stdin", session_id=42755, chars="")
    header = "Chunk ID: 1\nWall time: 1.0 seconds\nProcess running with session ID 42755\nOutput:\n"
    running = outcome_of(ToolResult(call="c", parts=(Text(header),)), facts)
    assert outcome_text(facts, running) == "still running"
    failed = "Chunk ID: 1\nProcess exited with code 1\nOutput:\n..F\n1 failed, 2 passed in 1s"
    assert outcome_text(facts, outcome_of(ToolResult(call="c", parts=(Text(failed),)), facts)) == (
        "exit 1: «1 failed, 2 passed in 1s»"
    )


@pytest.mark.parametrize(
    ("name", "args", "changes"),
    [
        ("update_reservation_flights", {"cabin": "Y1", "flight_id": "HAT072", "reservation_id": "HXDUBJ"}, "HXDUBJ"),
        ("book_reservation", {"user_id": "mia_li_3668", "flight_id": "HAT072"}, "mia_li_3668"),
        ("cancel_order", {"reason": "too_late", "orderId": "W34X"}, "W34X"),
        ("edit_file", {"job_id": "J12345", "path": "a.py"}, "a.py"),
    ],
)
def test_a_call_changes_the_object_whose_noun_is_in_its_name(name, args, changes):
    assert facts_of(name, **args).changes == {changes}


def test_a_sub_agent_is_named_by_its_description():
    facts = facts_of("Task", prompt="Add markers to all of the tests. " * 20, description="Add unit markers")
    assert (facts.about, facts.kind) == ("Add unit markers", "delegate")
