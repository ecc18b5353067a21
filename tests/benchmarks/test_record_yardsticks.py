"""The yardsticks of records (`benchmarks/record.py`): what counts as kept, as said, and as worth nothing."""

from __future__ import annotations

import importlib.util
import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def record() -> ModuleType:
    sys.path.insert(0, str(FOLDER))
    of_the_laws = sys.modules.pop("policies", None)  # another file of that name, in tests/laws
    try:
        spec = importlib.util.spec_from_file_location("record_yardsticks", FOLDER / "record.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    finally:
        sys.path.remove(str(FOLDER))
        sys.modules.pop("policies", None)
        if of_the_laws is not None:
            sys.modules["policies"] = of_the_laws


SAID = [
    {"role": "user", "content": 'Please "never" touch the old parser.'},
    {"role": "user", "content": "Fix the\nnew one instead."},
    {"role": "user", "content": "<system-reminder>You may write a plan.</system-reminder>"},
    {"role": "assistant", "content": "Let me look at the new parser first.", "tool_calls": [{}]},
    {"role": "assistant", "content": "", "tool_calls": [{}]},
]


def test_a_message_is_whole_whatever_its_lines_and_marks_and_a_program_is_no_user(record: ModuleType) -> None:
    assert record.kept_whole(SAID, "1 user «Please ‹never› touch the old parser.» Fix the new one") == (1, 2)
    assert record.kept_whole(SAID, record.joined(["Fix the new", "one instead."])) == (1, 2)


def test_a_remark_is_kept_if_its_beginning_is(record: ModuleType) -> None:
    assert record.kept_remarks(SAID, "7 «Let me look at the new parser first.»") == (1, 1)
    assert record.kept_remarks(SAID, "7 «Let me look»") == (0, 1)


def test_a_piece_is_worth_nothing_without_a_name_a_fact_or_four_words_that_were_said(record: ModuleType) -> None:
    lines = ["40-77 12 turns, 9 assistant", "78 Read src/parser.py", "79 the old parser. gone", "80 it was green"]
    sizes = [record.o200k().count(line) for line in lines]
    calls = [{"function": {"name": "Read", "arguments": '{"path": "src/parser.py"}'}}]
    used = [*SAID, {"role": "assistant", "content": None, "tool_calls": calls}]
    for said, unused in ((SAID, sizes[0] + sizes[1] + sizes[2]), (used, sizes[0] + sizes[2])):
        found = record.without_worth(["\n".join(lines)], said, [r"\bgreen\b"])
        assert found == (sizes[0] + sizes[2], unused, sum(sizes))


def test_every_fact_is_a_pattern_under_one_of_the_questions(record: ModuleType) -> None:
    calls = tomllib.loads((FOLDER / "facts.toml").read_text(encoding="utf-8"))["call"]
    assert len(calls) == 24
    for call in calls:
        assert set(call) == {"family", "conversation", *record.QUESTIONS}
        assert all(len(re.compile(fact).pattern) <= 80 for question in record.QUESTIONS for fact in call[question])
