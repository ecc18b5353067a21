"""What a record quotes of messages: words beside calls after a failure, what other agents and asked users say."""

from __future__ import annotations

import json
import re

import transom
from transom.texts import is_record


def tool_turn(name, args, result, *, id_, text=None):
    call = {"id": id_, "type": "function", "function": {"name": name, "arguments": json.dumps(args)}}
    yield {"role": "assistant", "content": text, "tool_calls": [call]}
    yield {"role": "tool", "tool_call_id": id_, "content": result}


def filler(at):
    content = f"name_{at} = value_{at}\n" + "def run(): pass\n" * 40
    return tool_turn("Read", {"file_path": f"/app/src/module_{at}.py"}, content, id_=f"f{at}", text="Let me look.")


def record(*turns, budget=6_000):
    messages = [message for turn in turns for message in turn]
    rest = [message for at in range(60) for message in filler(at)]
    conv = transom.Conversation.from_messages([{"role": "user", "content": "Go."}, *messages, *rest], budget=budget)
    return "\n".join(m["content"] for m in conv.request()["messages"] if is_record(m["content"] or ""))


def test_words_beside_calls_are_quoted_and_long_ones_by_what_they_name():
    long = (
        "I look at it all. " + "It is a pity that this is so. " * 9 + "The cause is a.css:12. " + "So it goes on. " * 9
    )
    text = record(
        tool_turn("Bash", {"command": "make css"}, "Error: unexpected end", id_="a", text="I build the styles."),
        tool_turn("Bash", {"command": "cp a b"}, "", id_="b", text=long + "I restore the backup."),
    )
    assert "«I build the styles.» Bash make css" in text
    assert "3 «I look at it all." in text
    assert "The cause is a.css:12." in text
    assert "I restore the backup.»" in text


def asked_twelve_times(*before):
    asked = " ".join(f"Keep rule number {at}, which says what may be done to file {at}." for at in range(12))
    messages = ({"role": "user", "content": text} for text in (asked, "Go on."))
    first, last = ([message] for message in messages)
    return asked, record(*before, first, filler(71), last)


def test_a_long_message_of_the_user_stands_whole_where_there_is_room():
    asked, text = asked_twelve_times(*map(filler, range(80, 120)))
    assert f"user «{asked}»" in text


def test_of_a_message_without_a_rare_word_the_beginning_is_quoted_where_there_is_little_room():
    _, text = asked_twelve_times(filler(70))
    assert "user «Keep rule number 0" in text


def test_a_long_chat_without_a_rare_word_keeps_a_record_with_quotes():
    words = [
        "yes",
        "no",
        "good",
        "more",
        "less",
        "left",
        "right",
        "next",
        "stop",
        "go",
        "on",
        "off",
        "done",
        "try",
        "wait",
    ]
    said = [" ".join(words[(at * step) % 15] for at in range(12)) + "." for step in range(1, 601)]
    messages = [{"role": ("user", "assistant")[at % 2], "content": text} for at, text in enumerate([*said, "Go."])]
    window = transom.fit(messages, budget=4_000)
    quotes = sum(message["content"].count("«") for message in window if is_record(message["content"]))
    assert quotes > 5


def test_short_messages_of_the_user_stand_whole_and_of_long_ones_not_what_was_pasted():
    asked = "Please keep the old names.\nNever touch the lock file, not even in tests.\nOnly then run 3 of them."
    pasted = "\n".join(f"    at frame_{at}(0x{at:04x}, &mut self.{at}) -> {{}};" for at in range(80))
    text = record(
        filler(70),
        [{"role": "user", "content": asked}],
        filler(71),
        [{"role": "user", "content": f"It fails like this:\n{pasted}\nWhat do you think of it?"}],
        filler(72),
        [{"role": "user", "content": "Go on."}],
    )
    assert f"user «{asked}»" in text
    assert "It fails like this:" in text
    assert "What do you think of it?" in text


def test_the_report_of_another_agent_is_quoted_like_an_answer():
    report = "Perfect! I have it all.\n\n" + "".join(f"{at}. finding {at}: file_{at} is wrong\n" for at in range(1, 6))
    args = {"description": "Review the parser", "prompt": "Read it all.", "subagent_type": "Explore"}
    text = record(tool_turn("Agent", args, report, id_="a"))
    assert "Agent Review the parser" in text
    assert "finding 1: file_1 is wrong" in text
    assert "finding 5: file_5 is wrong" in text


def test_what_the_user_replies_to_a_tool_that_asks_is_quoted():
    reply = 'User has answered your questions: "What next?"="Push the two commits, then reply on the pull request"'
    text = record(tool_turn("AskUserQuestion", {"questions": [{"question": "What next?"}]}, reply, id_="a"))
    assert "Push the two commits, then reply on the pull request" in text


def notice(at, words):
    return {"role": "user", "content": f"<note>{at} files changed. {words * 30}</note>"}


def test_what_programs_write_comes_after_what_people_say():
    pairs = [
        [
            notice(at, f"Part {at} is well. "),
            {"role": "assistant", "content": f"Item {at} is done, {at} more are open."},
        ]
        for at in range(1, 20)
    ]
    text = record(*pairs, budget=3_000)
    quoted = ["is done" in line for line in text.splitlines() if "assistant «Item" in line]
    assert len(quoted) > 5
    assert text.count("is well.") <= 5


def test_of_notices_that_are_the_same_one_is_quoted():
    text = record(*(pair for at in range(30) for pair in (filler(at), [notice(7, "All is well. ")])))
    assert text.count("7 files changed") == 1


def test_changed_tasks_say_no_more_than_which():
    text = record(tool_turn("TaskUpdate", {"taskId": "20", "status": "done"}, "Updated task #20 status", id_="a"))
    assert "Updated task" not in text


def test_the_question_at_the_end_of_a_long_answer_stands_before_the_users_yes():
    question = "Shall I drop the column, and rename the other one as well?"
    answer = "The table has two columns that nobody reads any more. " * 40 + question
    talk = [
        [
            {"role": "user", "content": f"Look at table {at} now, please."},
            {"role": "assistant", "content": f"Table {at} is read. " + "It has rows that nobody needs any more. " * 30},
        ]
        for at in range(8)
    ]
    asked = [{"role": "assistant", "content": answer}, {"role": "user", "content": "yes for both"}]
    text = record(*talk, filler(70), asked, filler(71), [{"role": "user", "content": "Go on."}])
    assert f"{question}»" in text
    assert "user «yes for both»" in text


def test_of_a_skill_in_the_users_place_only_the_arguments_are_the_users():
    steps = "".join(f"{at}. Write document {at}, and commit it.\n" for at in range(1, 30))
    skill = f"Base directory for this skill: /home/ann/.skills/plan\n\n# Plan\n{steps}"
    text = record(
        filler(70),
        [{"role": "user", "content": skill}],
        filler(71),
        [{"role": "user", "content": f"{skill}\nARGUMENTS: the login page, without a database"}],
        filler(72),
        [{"role": "user", "content": "Go on."}],
    )
    assert "user «…the login page, without a database»" in text
    assert text.count("# Plan") <= 1


def test_what_came_of_each_request_comes_before_names_that_nobody_said():
    messages = []
    for at in range(18):
        listing = "\n".join(f"def function_{at}_{line}(): pass" for line in range(30))
        messages += [
            {"role": "user", "content": f"Task {at}: please mend module_{at}.py, and leave secrets_{at}.env alone."},
            *tool_turn("Read", {"path": f"module_{at}.py"}, listing, id_=f"a{at}", text="I look at it."),
            *tool_turn("Read", {"path": f"test_{at}.py"}, listing, id_=f"b{at}", text=f"I look at {at} again."),
            {"role": "assistant", "content": f"Task {at} is done; the cause was in line {at * 13 + 100}."},
        ]
    window = transom.fit([*messages, {"role": "user", "content": "What was the cause of task 3?"}], budget=4_000)
    text = "\n".join(message["content"] or "" for message in window)
    assert [at for at in range(18) if f"in line {at * 13 + 100}." not in text] == []
    assert "function_9_" in text, "names have the rest"


def test_a_command_that_changes_no_file_and_the_output_of_a_passed_run_are_not_quoted():
    script = "\n".join(f"print(table_{at}.rows({at}))" for at in range(40))
    passed = "\n".join(f"tests/test_{at}.py::test_rows_{at} PASSED" for at in range(40)) + "\n40 passed in 0.4s"
    failed = "\n".join(f"E   KeyError: 'row_{at}'" for at in range(9)) + "\n1 failed, 40 passed in 0.4s"
    text = record(
        tool_turn("Bash", {"command": f"python - <<'E'\n{script}\nE"}, "", id_="a"),
        tool_turn("Bash", {"command": f"cat > rows.py <<'E'\n{script.replace('table', 'list')}\nE"}, "", id_="b"),
        tool_turn("Bash", {"command": "pytest"}, failed, id_="c"),
        tool_turn("Bash", {"command": "pytest"}, passed, id_="d"),
        budget=8_000,
    )
    assert "print(list_30" in text
    assert "print(table_30" not in text
    assert "KeyError: 'row_8'" in text
    assert "Bash pytest: «40 passed in 0.4s»" in text
    assert "test_rows_" not in text


def test_the_names_of_arguments_and_the_numbers_of_ids_are_not_quoted_alone():
    def booking(at):
        args = {"delivery_note_text": f"ward {at}", "payment_reference": f"TX-{at:05}"}
        rows = "\n".join(f"| TX-{at:02}{row:03} | paid |" for row in range(30))
        return tool_turn("transfer_money", args, rows, id_=f"b{at}")

    text = record(*map(booking, range(20, 40)))
    assert "TX-20" in text
    alone = [name for quote in re.findall("«([^»]*)»", text) for name in quote.split(" … ")]
    assert not {"delivery_note_text", "payment_reference"} & set(alone)
    assert not [name for name in alone if name.isdecimal()]
