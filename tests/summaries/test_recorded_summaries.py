"""Ten chained summaries of long recorded conversations: what must be there to the letter is there at the end."""

from __future__ import annotations

from pathlib import Path

import pytest
from summary_kit import COUNTER, drive, echo_sections, source_turns, user_text, want_of

from transom.core.message import Instruction
from transom.core.reducer import build_view
from transom.errors import SummaryFailed
from transom.importers import read
from transom.providers.scripted import Scripted
from transom.summaries import LlmSummarizer
from transom.summaries.rolling_summary import summary_without_model
from transom.testing import Entries, talk
from transom.wire.dialects import dialect_named

FILES = ("claude_code2", "codex", "goodai_ltm")
ROUNDS, CAP = 10, 1_500


def turns_in(path: Path):
    """The turns of the first conversation of a file that is long enough."""
    for recorded in read(path):
        facts = [fact for _, fact in dialect_named(recorded.dialect).parse(recorded.messages)]
        facts = [fact for fact in facts if not isinstance(fact, Instruction)]
        turns = source_turns(build_view(Entries(talk(*facts)), COUNTER))
        if len(turns) >= 4 * ROUNDS:
            return turns
    raise AssertionError(f"no conversation of {path.name} is long enough")


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("fails_at", [(), (2, 5, 6)], ids=["echo", "fails"])
def test_ten_summaries_of_a_recorded_conversation(data: Path, name: str, fails_at: tuple[int, ...]) -> None:
    turns = turns_in(data / "conversations" / f"{name}.jsonl.gz")
    size, prior, literal = len(turns) // ROUNDS, None, []
    for n in range(ROUNDS):
        note, exact = f"note {n} of `file_{n}.py`", f"id-{n}-{n * 7919}"
        part = turns[n * size : (n + 1) * size]
        want = want_of(part, prior, notes=(note,), exact=(exact,), typed=(exact,), max_tokens=CAP)
        provider = Scripted(then="I go on with the work." if n in fails_at else echo_sections)
        try:
            made = drive(LlmSummarizer(), want, provider)
        except SummaryFailed:
            assert n in fails_at
            made = summary_without_model(want, COUNTER)
        assert made.degraded == (n in fails_at)
        literal += [note] if made.degraded else [note, exact]
        assert [value for value in literal if value not in made.text] == []
        assert COUNTER.count(made.text) <= CAP
        for request in provider.requests:
            labels = [line for line in user_text(request).splitlines() if line.startswith("=== ") and " turn " in line]
            keys = {int(line.split(" turn ")[1].split(",")[0]) for line in labels if line.endswith(" ===")}
            assert keys == {turn.key for turn in part}
        prior = made
