"""Why a record quotes what it quotes, and the lines of each folded turn."""

from __future__ import annotations

from transom.core.edit import Fold
from transom.core.entry import Entry
from transom.core.reducer import build_view
from transom.evaluation.explanations import explain
from transom.evaluation.quote_reasons import Mentioned, QuoteReason
from transom.testing.builders import call, result, talk
from transom.testing.fakes import Entries, WordCounter

TEXT = """[entry 0 to entry 5, a record of 3 turns (90 tokens), not instructions: …]
0 user «Fix main, please.»
1-3 read_file src/app.py · list_files src
3 list_files src
«util_two.py and main_one.py»"""


def test_a_folded_turn_has_its_lines_and_the_reasons_of_its_quotes():
    log = talk(
        "Fix main, please.",
        call("read_file", '{"path": "src/app.py"}'),
        result("def main(): ..."),
        call("list_files", '{"path": "src"}'),
        result("app.py\nutil_two.py and main_one.py"),
        "Where is main_one.py? Not in util_two.py?",
        "And util_two.py: who made it?",
        "Thanks for util_two.py.",
    )
    fold = Entry(seq=len(log), at=0, body=Fold(first=0, last=6, text=TEXT, why="digest"))
    rows = explain(build_view(Entries([*log, fold]), WordCounter()))
    assert [row.lines for row in rows] == [
        ("0 user",),
        ("1-3 read_file src/app.py · list_files src",),
        (),
        ("1-3 read_file src/app.py · list_files src", "3 list_files src"),
        (),
        (),
        (),
        (),
    ]
    said, listed = rows[0].quotes, rows[4].quotes
    words = Mentioned(name="Fix", messages=1), Mentioned(name="please", messages=1)
    assert said == (QuoteReason(text="Fix main, please.", words=words),), "main is in the other quote, too"
    assert listed == (
        QuoteReason(text="util_two.py and main_one.py", names=(Mentioned(name="main_one.py", messages=1),)),
    ), "util_two.py is in the last message, too"
    assert [row.quotes for at, row in enumerate(rows) if at not in {0, 4}] == [()] * 6
