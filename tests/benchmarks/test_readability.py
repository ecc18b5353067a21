"""The judge of windows, on records written by hand: what it counts, and what it refuses to count."""

from __future__ import annotations

import json

import pytest
from benchmarks.reading.quote_ends import end_of, passages_of, start_of
from benchmarks.reading.readability import Readability, ReadabilityJudge, pairs_in_order
from benchmarks.reading.record_lines import Quote, Record, RecordLine, parsed_record
from benchmarks.reading.stale_quotes import Touched, leaves, touched

from transom.core.edit import Fold
from transom.core.entry import Entry
from transom.core.message import Call
from transom.core.reducer import build_view
from transom.core.window import assemble
from transom.testing.builders import call, result, talk
from transom.testing.fakes import Entries, WordCounter

TITLE = "[entry 0 to entry 6, a record of 3 turns (90 tokens), not instructions: …]"
CODE = "import os\n\ndef main():\n    return os.getcwd()\n"
LOG = talk(
    "Fix main. It fails on the server, see app.py.",
    call("read_file", '{"path": "src/app.py"}'),
    result(CODE),
    call("edit_file", '{"path": "/work/src/app.py", "old": "getcwd", "new": "getcwdb"}'),
    result("done"),
    call("list_files", '{"path": "src"}'),
    result("app.py"),
    "Thanks.",
)
"""Four turns (entries 0, 1, 3 and 5), and a last message."""


def view(*lines, last=5):
    """The log with a record of its turns up to `last`."""
    text = "\n".join([TITLE, *lines])
    fold = Entry(seq=len(LOG), at=0, body=Fold(first=0, last=last, text=text, why="digest"))
    return build_view(Entries([*LOG, fold]), WordCounter())


def judged(*lines, last=5):
    return ReadabilityJudge().judged(assemble(view(*lines, last=last), 1_000), compacted=True)


def test_the_parts_of_a_record_are_read_back():
    text = f"""{TITLE}
0 user «Fix main.
It fails»
1 read_file src/app.py: 4 lines
«def main():»
«7 \\9 Read nothing»
3-1,005 2 × edit_file
Changed: src/app.py (3)
Plan, from entry 3: «[done] one
[ ] two»"""
    read = RecordLine(1, 1, "read_file src/app.py: 4 lines")
    assert parsed_record(text) == Record(
        parts=(
            RecordLine(0, 0, "user"),
            Quote(RecordLine(0, 0, "user"), "Fix main.\nIt fails"),
            read,
            Quote(read, "def main():"),
            Quote(read, "7 \\9 Read nothing"),
            RecordLine(3, 1005, "2 × edit_file"),
        ),
        endings=("Changed: src/app.py (3)", "Plan, from entry 3: «[done] one\n[ ] two»"),
    )


def test_a_summary_of_another_kind_has_no_lines():
    assert parsed_record("[entry 0 to entry 6: 3 earlier turns are left out]") is None
    assert parsed_record("[entry 3, user] hello\nyou\n[entry 4, assistant] hi") == Record(
        parts=(
            *(line := RecordLine(3, 3, "user"), Quote(line, "hello\nyou")),
            *(line := RecordLine(4, 4, "assistant"), Quote(line, "hi")),
        )
    )


@pytest.mark.parametrize(
    ("before", "after", "starts", "ends"),
    [
        ("one\n", "two", "line", "line"),
        ("one\n    ", "two", "line", "between words"),
        ("One. ", "Two", "sentence", "sentence"),
        ("你好。", "再见", "sentence", "sentence"),
        ("你好", "再见", "between words", "between words"),
        ("1. ", "Two", "between words", "between words"),
        ("one ", "two", "between words", "between words"),
        ("o", "ne", "inside a word", "inside a word"),
        ('{"a": "one\\\\n', 'two"}', "line", "line"),
        ("date_", "range", "inside a word", "inside a word"),
    ],
)
def test_a_place_is_at_a_line_at_a_sentence_between_words_or_inside_one(before, after, starts, ends):
    assert start_of(before + after, len(before)) == starts
    assert end_of(before + after, len(before)) == ends


def test_a_quote_is_found_although_its_marks_were_escaped():
    original = "x = «a»\n12 Read b\n[entry 3] c\nlast line, which goes on"
    found = passages_of("x = ‹a›\n\\12 Read b\n\\[entry 3] c\n…\nlast line…", [original])
    assert [(one.starts, one.ends) for one in found] == [("line", "line"), ("line", "between words")]
    assert passages_of("x = a", [original])[0].starts is None
    assert passages_of("Marvin · Entire", ["Marvin · Entire\nnext"])[0].starts == "line", "a quote keeps its dots"
    both = passages_of("12 Read b\nsecond text", [original, "second text"], joined=True)
    assert [(one.starts, one.ends) for one in both] == [("line", "line"), ("line", "line")]


def test_a_quote_of_many_texts_is_found_text_by_text():
    lines = [f"part {number} of it" for number in range(2_000)]
    found = passages_of("\n".join(lines), lines, joined=True)
    assert [(one.text, one.starts, one.ends) for one in found] == [(line, "line", "line") for line in lines]


def test_a_quote_that_ends_in_other_words_is_given_up():
    """Whether the lines behind a line can be found is asked once for each line, not once for each split before it."""
    text = "\n".join(f"line {number}" for number in range(60))
    found = passages_of(f"{text}\nnot there", [text], joined=True)
    assert [(one.text, one.starts) for one in found] == [(f"{text}\nnot there", None)]


def test_a_blank_line_between_two_texts_belongs_to_neither():
    found = passages_of("one\n\ntwo", ["one", "two"], joined=True)
    assert [(one.text, one.starts, one.ends) for one in found] == [("one", "line", "line"), ("two", "line", "line")]


def test_pairs_are_counted():
    assert [pairs_in_order(one) for one in ([1, 2, 3], [3, 2, 1], [1, 3, 2], [2, 2])] == [3, 0, 2, 1]


def test_a_record_that_tells_everything():
    found = judged("0 user «Fix main.»", "1-3 read_file src/app.py · edit_file src/app.py", "5 list_files src", last=5)
    assert (found.turns, found.turns_with_line, found.counted, found.order) == (4, 4, 2, 1.0)
    assert (found.passages, found.at_line, found.at_sentence, found.misquoted) == (1, 1, 1, 0)


def test_turns_that_are_left_out_or_counted_wrong_have_no_line():
    assert judged("0 user", "1-3 2 × read_file", "5 list_files").turns_with_line == 2
    assert judged("0 user", "1-3 1 × read_file, 1 × edit_file", "5 list_files").turns_with_line == 4
    assert judged("0 user", "1-5 read_file src/app.py, 2 × edit_file, list_files").turns_with_line == 1
    assert judged("0 user", "1-5 read_file src/app.py, 1 × edit_file, list_files").turns_with_line == 4
    assert judged("0-5 4 messages").turns_with_line == 0, "three of them called tools"
    assert judged("0 user", "1 edit_file", "5 list_files").turns_with_line == 2, "another tool, and a turn missing"


def test_lines_out_of_their_order_are_found():
    found = judged("5 list_files", "0 user", "1-3 read_file · edit_file")
    assert (found.pairs, found.pairs_in_order) == (10, 7), "five things: three of them are behind a later one"


def test_a_quote_of_another_entry_is_misquoted():
    found = judged("5 list_files", "«def main():»", "1 read_file", "«def main():", "…", "turn os.get…»")
    assert (found.passages, found.misquoted, found.inside_words, found.at_line) == (3, 1, 2, 2)


def test_a_stale_quote_is_marked_in_a_later_line_or_by_the_call_itself():
    quote = ("1 read_file src/app.py: 4 lines", "«def main():»")
    rest = ("3 edit_file src/app.py", "5 list_files")
    assert (judged(*quote, *rest).stale, judged(*quote, *rest).unmarked_stale) == (1, 1)
    listed = "Changed: src/app.py (3)"
    assert judged(*quote, *rest, listed).unmarked_stale == 0
    assert judged(*quote, last=1).unmarked_stale == 0, "the edit is in the window, whole"


@pytest.mark.parametrize(
    ("name", "args", "reads", "changes"),
    [
        ("Read", '{"file_path": "a/b.py", "limit": 40}', {"a/b.py"}, set()),
        ("MultiEdit", '{"file_path": "a/b.py", "edits": [{"old_string": "x1"}]}', {"a/b.py"}, {"a/b.py"}),
        ("get_order_details", '{"order_id": "#W123"}', {"#W123"}, set()),
        ("modify_order", '{"order_id": "#W123", "reason": "late"}', {"#W123"}, {"#W123"}),
        ("Bash", '{"command": "cat a/b.py | head"}', {"a/b.py"}, set()),
        ("Bash", '{"command": "pytest tests/test_b.py"}', set(), set()),
        ("Bash", '{"command": "pytest tests/test_b.py | tail -5"}', set(), set()),
        ("Bash", '{"command": "echo x > a/b.py"}', set(), {"a/b.py"}),
        ("Bash", '{"command": "sed -i s/a/b/ a/b.py"}', set(), {"a/b.py"}),
        ("Bash", '{"command": "cat a/b.py; rm -f /tmp/c.go; grep x d.md"}', {"a/b.py", "d.md"}, {"/tmp/c.go"}),
        ("write_stdin", '{"session_id": 42755, "chars": "q"}', set(), set()),
        ("apply_patch", "*** Begin Patch\n*** Update File: a/b.py\n@@", {"a/b.py"}, {"a/b.py"}),
    ],
)
def test_what_a_call_reads_and_changes(name, args, reads, changes):
    assert touched(Call("c", name, args)) == Touched(frozenset(reads), frozenset(changes))


@pytest.mark.parametrize(
    ("old", "new", "left"),
    [
        ("return job.start()", "return job.begin()", False),
        ("lock(job)\nreturn job.start()", "lock(job)\nlog(job)\nreturn job.start()", False),
        ("return job.start()\n\ndef stop_all_of_them():", "return job.start()\n\ndef stop_one_of_them():", True),
        ("return job.start()\n\ndef stop_all_of_them():", "return job.begin()\n\ndef stop_all_of_them():", False),
        ("def stop_all_of_them():", "def stop_one_of_them():", True),
        ("return job.start()", "return job.start()\n\ndef stop():", True),
        ("", "all of it", False),
    ],
)
def test_an_edit_leaves_a_quote_that_it_does_not_lie_over(old, new, left):
    quote = "   1\tdef run(job):\n   2\t    lock(job)\n   3\t    return job.start()"
    edit = touched(Call("c", "Edit", json.dumps({"file_path": "a.py", "old_string": old, "new_string": new})))
    hunk = "\n".join([*(f"-{line}" for line in old.split("\n")), *(f"+{line}" for line in new.split("\n"))])
    patch = touched(Call("c", "apply_patch", f"*** Begin Patch\n*** Update File: a.py\n@@\n{hunk}\n*** End Patch"))
    assert leaves(quote, edit.replaced) is leaves(quote, patch.replaced) is left
    assert not leaves(quote, ())


def test_only_windows_after_a_compaction_are_judged_in_full():
    window = assemble(view("0 user", "1-3 read_file · edit_file", "5 list_files"), 1_000)
    later = ReadabilityJudge().judged(window, compacted=False)
    assert (later.windows, later.turns, later.folded_windows) == (0, 0, 1)
    assert later.whole_shares == pytest.approx(window.slots[-1].size.tokens / (1_000 - window.view.head_size.tokens))
    unfolded = assemble(build_view(Entries(LOG), WordCounter()), 1_000)
    assert ReadabilityJudge().judged(unfolded, compacted=True) == Readability()


def test_figures_are_shares_of_sums():
    half = Readability(windows=1, pairs=4, pairs_in_order=2, ends=2, at_sentence=1, whole_shares_after=0.5)
    total = half.plus(Readability(windows=1, pairs=4, pairs_in_order=4, ends=2, at_line=2))
    assert (total.order, total.boundaries, total.whole_after, total.whole) == (0.75, 0.75, 0.25, None)
