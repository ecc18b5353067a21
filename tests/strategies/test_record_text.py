"""The record as a function of typed turns: whole texts."""

from __future__ import annotations

from transom import texts
from transom.strategies.record.record_text import CallLine, RecordTurn, record_text

TITLE = texts.record_title("entry 3 to entry 25", 6, 6674, readable=False)
TURNS = (
    RecordTurn(
        first="3",
        role="assistant",
        calls=(CallLine(tool="Bash", subject="git diff a.py", outcome="214 lines", quotes=("«+def f(\n+  x»",)),),
    ),
    RecordTurn(first="9", role="user", words="«use one link»"),
    RecordTurn(first="11", role="assistant", calls=(CallLine(tool="Read", subject="src/a.py"),)),
    RecordTurn(first="13", role="assistant", calls=(CallLine(tool="Read", subject="src/b.py"),)),
    RecordTurn(first="15", role="assistant", calls=(CallLine(tool="Grep", subject="link", outcome="14 matches"),)),
    RecordTurn(first="23", role="assistant", words="«好的，我来修改。»"),
)


def test_a_record_in_detail():
    lines = [
        TITLE,
        "3 Bash git diff a.py: 214 lines",
        "«+def f(",
        "+  x»",
        "9 user «use one link»",
        "11-15 Read src/a.py, src/b.py · Grep link: 14 matches",
        "23 assistant «好的，我来修改。»",
        "Changed: a.py (21)",
    ]
    assert record_text(TITLE, TURNS, ["Changed: a.py (21)"], 100) == "\n".join(lines)


def test_without_room_turns_without_quotes_are_counted():
    lines = record_text(TITLE, TURNS, [], 0).split("\n")
    assert lines[5] == "11-15 2 × Read, Grep"
    assert len(lines) == 7


def test_turns_that_changed_something_keep_their_details_in_three_times_the_room():
    def turn(number, tool, subject, *, changes=False):
        call = CallLine(tool=tool, subject=subject)
        return RecordTurn(first=str(number), role="assistant", calls=(call,), changes=changes)

    turns = [
        *(turn(at, "Bash", f"rm old_{at}.py", changes=True) for at in (3, 5)),
        *(turn(at, "Read", f"src/{at}.py") for at in (7, 9)),
        *(turn(at, "Bash", f"git mv {at}.py lib", changes=True) for at in (11, 13)),
        turn(15, "Grep", "link"),
        turn(17, "Edit", "src/" + 20 * "long_" + ".py", changes=True),
    ]
    newest = f"17 Edit src/{20 * 'long_'}.py"
    moved = "11-13 Bash git mv 11.py lib, git mv 13.py lib"
    lines = {
        40: ["3-5 Bash rm old_3.py, rm old_5.py", "7-9 2 × Read", moved, "15 Grep", newest],
        20: ["3-5 2 × Bash", "7-9 2 × Read", moved, "15 Grep", newest],
        15: ["3-13 4 × Bash, 2 × Read", "15 Grep", newest],
        10: ["3-17 4 × Bash, 2 × Read, Grep, Edit"],
    }
    assert {room: record_text("[title]", turns, (), room).splitlines()[1:] for room in lines} == lines


def test_a_message_without_a_quote_has_no_line_unless_it_has_an_image():
    messages = [RecordTurn(first="3", role="user"), RecordTurn(first="5", role="user", media="1 image")]
    assert record_text(TITLE, messages, [], 100) == f"{TITLE}\n5 user, 1 image"
    assert record_text(TITLE, [], [], 100) == TITLE


def test_a_count_says_how_the_last_test_run_ended():
    run = CallLine(tool="Bash", subject="pytest -q", outcome="«5 passed»", has_verdict=True)
    turns = [RecordTurn(first=str(at), role="assistant", calls=(run,)) for at in (3, 5, 7)]
    assert record_text("[title]", turns, (), 0).splitlines() == [
        "[title]",
        "3-7 3 × Bash, the last test run pytest -q: «5 passed»",
    ]


def test_names_alone_stand_at_the_end_of_the_line_that_their_turns_share():
    reads = [
        RecordTurn(first=str(at), role="assistant", names=names, calls=(CallLine(tool="Read", path=path),))
        for at, path, names in (
            (3, "/srv/app/a.py", ("load_all",)),
            (5, "/srv/app/b.py", ()),
            (7, "/srv/app/a.py", ("MAX_ROWS",)),
        )
    ]
    said = RecordTurn(first="9", role="user", words="«go on»", names=("T-1000",))
    beside = RecordTurn(first="10", role="assistant", words="«Now b.»", calls=(reads[1].calls[0],))
    assert record_text("[title]", [*reads, said, beside], (), 100).splitlines()[1:] == [
        "3-7 Read /srv/app/a.py, /srv/app/b.py, a.py «load_all … MAX_ROWS»",
        "9 user «go on» «T-1000»",
        "10 «Now b.» Read b.py",
    ]
    assert record_text("[title]", reads, (), 0).splitlines()[1:] == ["3-7 3 × Read «load_all … MAX_ROWS»"]


def test_two_files_of_one_name_keep_their_paths():
    calls = tuple(CallLine(tool="Read", path=path) for path in ("/a/x.py", "/b/x.py", "/a/x.py"))
    turn = RecordTurn(first="3", role="assistant", calls=calls)
    assert record_text("[title]", [turn], (), 100).splitlines()[1] == "3 Read /a/x.py, /b/x.py, /a/x.py"
