"""`classify` on the recorded errors, on wordings that are not among them, and on mutations of both."""

from __future__ import annotations

import json
import random
import re
import time
from pathlib import Path

import pytest

from transom.overflow import Overflow, classify

WORDINGS = [json.loads(line) for line in Path(__file__).with_name("wordings.jsonl").read_text("utf-8").splitlines()]
"""What other servers write, and paraphrases of our own: none is in the recorded table."""


def expected(row: dict) -> Overflow | None:
    if row["overflow"] is None:
        return None
    limit, used, output, fix, *unit = row["overflow"]
    return Overflow(limit, used, fix, output, *unit)


@pytest.mark.parametrize("row", WORDINGS, ids=lambda row: str(row["body"])[:60])
def test_a_wording_that_is_not_in_the_table(row):
    assert classify(row["status"], row["body"]) == expected(row)


@pytest.fixture(scope="session")
def table(data):
    lines = (data / "overflow_errors.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def agrees(row: dict, found: Overflow | None) -> bool:
    """Whether the answer is the table's. Its rows of fix "either" give the sum of input and answer, or nothing."""
    if not row["is_overflow"] or found is None:
        return found is None and not row["is_overflow"]
    if row["fix"] == "either":
        return found.limit == row["limit"] and row["used"] in (
            None,
            found.used,
            (found.used or 0) + (found.output or 0),
        )
    return (found.limit, found.used, found.fix) == (row["limit"], row["used"], row["fix"])


def test_every_row_of_the_recorded_table(table):
    wrong = [(row, found) for row in table if not agrees(row, found := classify(row["status"], row["body"]))]
    assert len(table) >= 59
    assert wrong == []


def test_the_rows_of_the_table_that_are_about_bytes(table):
    """The others name tokens, a context, a prompt or a model, so that a limit may be learned from them."""
    found = [(row["provider"], classify(row["status"], row["body"])) for row in table if row["is_overflow"]]
    assert {name for name, each in found if each and each.measured_in == "bytes"} == {"anthropic", "bedrock", "vertex"}
    assert sum(each is not None and each.measured_in == "bytes" for _, each in found) == 3


@pytest.mark.parametrize(
    ("status", "body", "unit"),
    [
        (413, "<html><script>window.input = 'token'</script><h1>413 Payload Too Large</h1>", "bytes"),
        (413, {"type": "entity.too.large", "message": "request entity too large", "limit": 102_400}, "bytes"),
        (413, {"error": {"message": "Request exceeds the maximum allowed number of bytes"}}, "bytes"),
        (413, {"error": {"type": "request_too_large", "message": "Prompt is too long"}}, "tokens"),
        (413, {"error": {"message": "bad", "n_ctx": 4096, "n_prompt_tokens": 5000}}, "tokens"),
        (413, "Request too large for this model", "tokens"),
        (400, {"error": {"code": "1261"}}, "tokens"),
        (400, {"error": {"code": "context_length_exceeded"}}, "tokens"),
        (400, "input of 5000 tokens (20 KB) exceeds the context of 4096 tokens", "tokens"),
        (413, {"error": {"message": "Request too large: sequence length 21752 exceeds 2048"}}, "tokens"),
        (400, "payload: seq_len 9000 > max_seq_len 8192", "tokens"),
        (413, "length 9000 exceeds n_positions 8192", "tokens"),
        (413, "query too long, window is 8192", "tokens"),
        (400, "prompt exceeds the model's context window of 20000 characters", "tokens"),
    ],
)
def test_what_an_error_says_of_bytes_is_no_limit_of_tokens(status, body, unit):
    found = classify(status, body)
    assert found is not None
    assert found.measured_in == unit
    assert unit == "tokens" or (found.limit, found.used) == (None, None)


@pytest.mark.parametrize(
    ("says", "found"),
    [
        ("max_seq_len is 4096 but sequence has 5000 tokens", Overflow(4096, 5000, "shrink_input")),
        ("The total tokens in the request, 9,001, are over the allowed 8,192", Overflow(8192, 9001, "shrink_input")),
        ("stop sequence: at most 1,024 tokens, got 2,048", None),
    ],
)  # fmt: skip
def test_a_request_or_a_sequence_is_an_input_too(says, found):
    assert classify(400, {"error": {"message": says}}) == found


def test_wordings_that_the_rules_were_not_made_from():
    """Made up for this test, in many families: 77 overflows and 77 errors that sound like one."""
    lines = Path(__file__).with_name("made_up.jsonl").read_text("utf-8").splitlines()
    wrong = [
        row["body"]
        for row in map(json.loads, lines)
        if (classify(row["status"], row["body"]) is not None) != row["is_overflow"]
    ]
    assert len(lines) == 154
    assert wrong == [{"error": {"message": "Model memory is full: 8192 of 8192 context tokens used"}}]


@pytest.mark.parametrize(
    ("body", "want"),
    [
        ({"error": {"message": "bad", "n_ctx": 4096, "n_prompt_tokens": 5000}}, Overflow(4096, 5000, "shrink_input")),
        ({"error": {"message": "bad", "limit": 4096, "current": 5000, "type": "rate_limit"}}, None),
        ({"error": {"message": "bad", "n_ctx": 4096, "n_prompt_tokens": 400}}, None),
        ({"error": {"message": "prompt of 9001 tokens, 8192 allowed"}}, Overflow(8192, 9001, "shrink_input")),
        ({"error": {"message": "prompt of 9001 images, 8192 allowed"}}, None),
        ({"error": {"code": "PromptTooLarge"}}, Overflow(None, None, "shrink_input")),
        ({"error": {"code": "OutputTooLarge"}}, None),
    ],
)
def test_a_limit_and_a_size_of_one_unit_a_field_or_a_code(body, want):
    assert classify(400, body) == want


# ---- mutations: what a gateway does to an error changes nothing


def wrapped(row: dict) -> list[object]:
    """The same error as gateways pass it on: as text, quoted, in an object of their own."""
    text = json.dumps(row["body"]) if isinstance(row["body"], (dict, list)) else str(row["body"])
    return [
        text,
        text.encode(),
        f"Error from provider (502): {text}",
        {"detail": text},
        {"error": {"message": text, "code": 7}},
    ]


MUTABLE = [row for row in WORDINGS if row["status"] not in (200, None) and row["body"]]


@pytest.mark.parametrize("row", MUTABLE, ids=lambda row: str(row["body"])[:60])
def test_an_error_that_a_gateway_passes_on(row):
    want = expected(row)
    for body in wrapped(row):
        found = classify(row["status"], body)
        assert (found is None, found and found.fix) == (want is None, want and want.fix), body


def renumbered(row: dict, factor: int) -> tuple[object, Overflow | None]:
    """The same error about another model: every number of four digits or more times `factor`, written with commas."""
    plain = re.sub(r"(?<=\d),(?=\d{3})", "", json.dumps(row["body"], ensure_ascii=False))
    text = re.sub(r"\d{4,}", lambda match: f"{int(match[0]) * factor:,}", plain)
    want = expected(row)

    def times(number: int | None) -> int | None:
        return number * factor if number is not None and number >= 1000 else number

    if want is None:
        return text, None
    return text, Overflow(times(want.limit), times(want.used), want.fix, times(want.output), want.measured_in)


PROSE = [
    row
    for row in MUTABLE
    if row["overflow"] and "n_ctx" not in str(row["body"]) and not re.search(r"\dk tokens|\dM\b", str(row["body"]))
]


@pytest.mark.parametrize("row", PROSE, ids=lambda row: str(row["body"])[:60])
def test_other_numbers_are_found_at_the_same_places(row):
    numbers = [number for number in row["overflow"][:3] if number is not None]
    if any(number < 1000 for number in numbers):
        pytest.skip("small numbers beside large ones would turn their order round")
    body, want = renumbered(row, random.Random(str(row)).randrange(2, 9))
    assert classify(row["status"], body) == want


def test_upper_case_and_line_breaks_change_nothing():
    shouted = "PROMPT IS TOO LONG:\n  219898 TOKENS >\n 200000 MAXIMUM"
    assert classify(400, shouted) == Overflow(200000, 219898, "shrink_input")


def test_a_hostile_error_is_read_in_little_time():
    nested: object = "prompt is too long"
    for _ in range(5_000):
        nested = {"error": nested}
    for body in ("prompt exceeds " * 100_000, "max 1 " * 100_000, "input (1 " * 100_000, "{" * 100_000, nested):
        began = time.process_time()
        classify(400, body)
        assert time.process_time() - began < 1


@pytest.mark.parametrize(
    "body",
    [None, 7, 1.5, True, [], {}, [None], {"error": None}, {7: {8: 9}}, {"code": 10**5000}, b"\xff\xfe", "\ud800"],
)
def test_any_value_is_an_error_body(body):
    assert classify(400, body) is None
