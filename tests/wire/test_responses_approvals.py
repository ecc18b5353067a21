"""Approvals of MCP calls: an answer stands behind its request, or is not sent."""

from __future__ import annotations

import pytest

import transom
from transom.errors import InvalidMessage
from transom.wire.responses import violations

ASKED = {"type": "mcp_approval_request", "id": "mcpr_1", "server_label": "board", "name": "close", "arguments": "{}"}
APPROVED = {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True}
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gB"}
USER = {"role": "user", "content": "Tidy my board."}


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ([USER, ASKED, APPROVED, USER], [USER, ASKED, APPROVED, USER]),
        ([USER, APPROVED, USER], [USER, USER]),
        ([USER, ASKED, APPROVED, USER, APPROVED, USER], [USER, ASKED, APPROVED, USER, USER]),
        ([USER, THOUGHT, APPROVED, USER], [USER, THOUGHT, {"role": "assistant", "content": "[part left out]"}, USER]),
    ],
)
def test_an_answer_goes_with_its_request(given, sent):
    fitted = transom.fit(given, budget=10_000, dialect="responses")
    assert fitted == sent
    assert violations({"input": fitted}) == []


def test_the_rules_find_answers_without_a_request():
    found = violations({"input": [USER, APPROVED, ASKED, APPROVED, APPROVED]})
    assert [each.index for each in found if each.rule == "approval"] == [1, 3, 4]


def test_an_answer_among_the_parts_of_a_message_says_where_it_belongs():
    with transom.Conversation.open("memory:", "x", budget=10_000, dialect="responses") as conv:
        conv.user("Tidy my board.")
        conv.observe([ASKED])
        with pytest.raises(InvalidMessage, match=r"content\[0\] is an item \(mcp_approval_response\).*`extend"):
            conv.user([APPROVED])
        conv.extend([APPROVED])
        assert conv.request()["input"] == [USER, ASKED, APPROVED]
