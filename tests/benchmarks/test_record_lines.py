"""A record read back: each quote under the turn, or the turns, of its line."""

from __future__ import annotations

from benchmarks.reading.record_lines import parsed_record

from transom import texts
from transom.quoting import quote_marks
from transom.strategies.record.record_text import CallLine, RecordTurn, record_text


def test_quotes_within_a_line_are_told_from_how_a_call_ended():
    quotes = (quote_marks("E  a\n9 b"),)
    test = CallLine(tool="Bash", subject="pytest", outcome="exit 1: «1 failed»", quotes=quotes, failed=True)
    turns = [
        RecordTurn(first="3", role="assistant", names=("load_all",), calls=(CallLine(tool="Read"),)),
        RecordTurn(first="5", role="assistant", names=("MAX_ROWS",), calls=(CallLine(tool="Grep"),)),
        RecordTurn(first="7", role="user", words=quote_marks("two\nlines"), names=("T-1000",)),
        RecordTurn(first="8", role="assistant", words=quote_marks("Now the tests."), calls=(test,)),
    ]
    title = texts.record_title("entry 3 to entry 9", 4, 90, readable=False)
    record = parsed_record(record_text(title, turns, ["Changed: a.py (8)"], 100))
    assert record is not None
    assert [(line.first, line.last, line.text) for line in record.lines] == [
        (3, 5, "Read · Grep"),
        (7, 7, "user"),
        (8, 8, "Bash pytest: exit 1: «1 failed»"),
    ]
    assert [(quote.first, quote.text) for quote in record.quotes] == [
        (3, "load_all"),
        (3, "MAX_ROWS"),
        (7, "two\nlines"),
        (7, "T-1000"),
        (8, "Now the tests."),
        (8, "E  a\n\\9 b"),
    ]
    assert record.endings == ("Changed: a.py (8)",)
