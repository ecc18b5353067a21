"""What is said twice or no longer rightly: copies, overtaken reads and writes, the arguments of failed calls."""

from __future__ import annotations

import json

import pytest
from proposals import proposals, seen, target_of

from interpreter_steps import function_calls
from transom.core.edit import Pin, Trim, Undo
from transom.core.message import Text, ToolResult
from transom.strategies import Duplicates, FailedArguments, Shorten, Superseded, Together, marker
from transom.testing import call, image, result, says, talk

LONG = "a line of a file\n" * 60
OTHER = "another line of it\n" * 60


def marked(which, least=0.0):
    return Shorten(which, marker, "marked", Together(least))


COPIES = marked(Duplicates())
OVERTAKEN = marked(Superseded())
FAILED = marked(FailedArguments())


def read(path="a.py", text=LONG, tool="read_file", **args):
    """A read and what it gave."""
    return call(tool, json.dumps({"path": path, **args})), result(text)


def write(path="a.py", tool="write_file", reply="ok", **args):
    """A write of a long text and what came back."""
    return call(tool, json.dumps({"path": path, "content": OTHER, **args})), result(reply)


def ran(text=LONG, tool="sh", args="{}"):
    return call(tool, args), result(text)


OUTDATED = "[read again later, in entry {}; this one whole in entry {}]"


# ---- copies


def test_of_equal_results_the_newest_stays_and_the_others_name_it():
    log = talk("go", *ran(), *ran(OTHER), *ran(), *ran(), "on")
    assert proposals(COPIES, log) == {
        6: "[same text as in entry 8; whole in entry 6]",
        2: "[same text as in entry 8; whole in entry 2]",
    }


def test_the_newest_copy_may_stand_in_the_newest_turn():
    assert list(proposals(COPIES, talk("go", *ran(), *ran()))) == [2]


def test_short_copies_stay():
    assert proposals(COPIES, talk("go", *ran("ok " * 50), *ran("ok " * 50), "on")) == {}
    assert proposals(marked(Duplicates(tokens=30)), talk("go", *ran("ok " * 50), *ran("ok " * 50), "on"))


def test_one_batch_or_nothing():
    log = talk("go", *ran(), *ran(), *ran(), "on")  # each frees about 240 tokens
    assert len(proposals(marked(Duplicates(), 0.4), log, context=1_000)) == 2
    assert proposals(marked(Duplicates(), 0.6), log, context=1_000) == {}


def test_a_copy_that_shows_less_is_no_place_to_point_to():
    cut = Trim(entry=4, part=("text", 0), keep=((0, 20),), note="[entry 4]")
    assert proposals(COPIES, talk("go", *ran(), *ran(), "on"), cut) == {}


def test_what_shows_less_already_is_left_alone():
    cut = Trim(entry=2, part=("text", 0), note="[entry 2]")
    assert proposals(COPIES, talk("go", *ran(), *ran(), "on"), cut) == {}


@pytest.mark.parametrize("strategy", [COPIES, OVERTAKEN])
def test_what_is_pinned_taken_back_or_read_back_stays(strategy):
    log = talk("go", *read(), *read(), "on")
    assert list(proposals(strategy, log)) == [2]
    assert proposals(strategy, log, Pin(entry=2)) == {}
    back = (Trim(entry=2, part=("text", 0), note="[entry 2]"), Undo(edit=len(log)))
    assert proposals(strategy, log, *back) == {}
    assert proposals(strategy, talk("go", *read(tool="transom_read"), *read(tool="transom_read"), "on")) == {}


def test_images_stay_and_the_text_beside_them_goes():
    parts = (Text(LONG), image())
    log = talk("go", call("sh", label="a"), ToolResult(call="a", parts=parts), *ran(), "on")
    assert list(proposals(COPIES, log)) == [2]


# ---- overtaken


def test_a_read_gives_way_to_the_very_same_call():
    log = talk("go", *read(), *read(text=OTHER), *read("b.py"), "on")
    assert proposals(OVERTAKEN, log) == {2: OUTDATED.format(4, 2)}


def test_other_lines_of_the_same_file_are_another_text():
    log = talk("go", *read(offset=0), *read(offset=50), *read(offset=90), "on")
    assert proposals(OVERTAKEN, log) == {}


def test_a_read_before_a_write_gives_way_once_the_file_is_read_again():
    before = ("go", *read(offset=0), *write(tool="edit_file"))
    assert proposals(OVERTAKEN, talk(*before, "on")) == {}
    assert proposals(OVERTAKEN, talk(*before, *read("b.py"), "on")) == {}
    assert proposals(OVERTAKEN, talk(*before, *read(offset=50), "on")) == {2: OUTDATED.format(6, 2)}


def test_a_failed_write_or_read_has_changed_nothing():
    assert proposals(OVERTAKEN, talk("go", *read(offset=0), *write(reply="Error: denied"), *read(offset=9), "on")) == {}
    assert proposals(OVERTAKEN, talk("go", *read(), *read(text="Error: no such file " * 40), "on")) == {}


def test_a_read_of_a_file_that_names_an_exit_code_is_no_failure():
    text = f"What it prints:\nProcess exited with code 3\n{LONG}"
    assert list(proposals(OVERTAKEN, talk("go", *read(text=text), *read(text=text), "on"))) == [2]


def test_an_answer_that_only_says_unchanged_is_no_newer_text():
    unchanged = read(text="File unchanged since last read; refer to the earlier result.")
    log = talk("go", *read(), *unchanged, "on")
    assert proposals(OVERTAKEN, log) == {}
    assert proposals(OVERTAKEN, talk("go", *read(), *read(), *unchanged, "on")) == {2: OUTDATED.format(4, 2)}


def test_what_was_written_gives_way_when_the_file_is_written_whole_again():
    log = talk("go", *write(), *write("b.py"), *write(tool="edit_file"), *write(), "on")
    marked = {seq: json.loads(args) for seq, args in proposals(OVERTAKEN, log).items()}
    assert marked.keys() == {1, 5}
    assert marked[1] == {"path": "a.py", "left_out": "308 tokens", "whole_in": "entry 1"}
    assert proposals(OVERTAKEN, log, Pin(entry=1)).keys() == {5}


@pytest.mark.parametrize("later", [{"tool": "edit_file"}, {"append": True}, {"mode": "a"}, {"reply": "Error: no"}])
def test_a_change_an_appendix_and_a_failure_write_nothing_whole(later):
    assert proposals(OVERTAKEN, talk("go", *write(), *write(**later), "on")) == {}


def test_an_editor_does_what_its_command_says():
    view = {"tool": "str_replace_editor", "command": "view"}
    create = write(tool="str_replace_editor", command="create")
    log = talk("go", *read(**view, view_range=[1, 9]), *create, *read(**view), *read(**view, view_range=[5, 9]), "on")
    assert proposals(OVERTAKEN, log) == {2: OUTDATED.format(8, 2)}


def test_which_words_read_and_which_arguments_name_a_file_can_be_set():
    log = talk("go", *ran(tool="peek", args='{"doc": "x"}'), *ran(tool="peek", args='{"doc": "x"}'), "on")
    assert proposals(OVERTAKEN, log) == {}
    assert proposals(marked(Superseded(reads=("peek",))), log) == {2: OUTDATED.format(4, 2)}


ODD = ('{"path": 7}', '{"path": ""}', json.dumps({"path": "x" * 300}), '{"mode": ["a"]}')


@pytest.mark.parametrize("args", ["", "[1]", "not json", "[" * 9_000, *ODD])
def test_odd_arguments_are_no_file(args):
    assert proposals(OVERTAKEN, talk("go", *write("x" * 300), *write("x" * 300), "on")) == {}
    log = talk("go", *ran(tool="write", args=args), *ran(tool="read", args=args), *ran(tool="write", args=args), "on")
    assert proposals(OVERTAKEN, log) == {}


# ---- what failed calls were given


BIG = json.dumps({"file_path": "a.py", "old_string": LONG, "new_string": OTHER})
FOUR = tuple(says(f"turn {number}") for number in range(4))


def test_arguments_of_a_failed_call_go_after_four_turns_and_the_file_is_still_named():
    log = talk("go", *ran("Error: string not found", "edit", BIG), *FOUR[:3], "on")
    assert proposals(FAILED, log) == {}
    log = talk("go", *ran("Error: string not found", "edit", BIG), *FOUR, "on")
    ((entry, args),) = proposals(FAILED, log).items()
    assert entry == 1
    assert json.loads(args) == {"file_path": "a.py", "left_out": "585 tokens", "whole_in": "entry 1"}
    assert proposals(FAILED, log, Pin(entry=1)) == {}


def test_arguments_of_a_failed_call_may_go_at_once():
    log = talk("go", *ran("Error: string not found", "edit", BIG), says("once more"))
    assert list(proposals(marked(FailedArguments(turns=0)), log)) == [1]
    assert list(proposals(marked(FailedArguments(turns=1)), log)) == [1]
    assert proposals(marked(FailedArguments(turns=2)), log) == {}


@pytest.mark.parametrize(
    ("reply", "goes"), [("Exit code 1\nboom", True), ("Exit code 0\nError: quoted", False), ("0 errors", False)]
)
def test_what_counts_as_failed(reply, goes):
    assert bool(proposals(FAILED, talk("go", *ran(reply, "edit", BIG), *FOUR, "on"))) is goes


def test_a_tool_that_says_it_failed_has_failed():
    log = talk("go", call("edit", BIG, label="x"), ToolResult(call="x", failed=True, parts=(Text("odd"),)), *FOUR)
    assert list(proposals(FAILED, log)) == [1]


def test_only_the_failed_one_of_parallel_calls_loses_its_arguments():
    log = talk("go", call("edit", BIG), call("edit", BIG), result("ok"), result("Error: no"), *FOUR)
    view = seen(log)
    assert [edit.part for edit in FAILED(view, target_of(view))] == [("args", 1)]


def test_short_arguments_stay_and_so_does_what_is_not_worth_a_break():
    short = json.dumps({"cmd": "ls " * 100})
    assert proposals(FAILED, talk("go", *ran("Error: no", "sh", short), *FOUR)) == {}
    assert proposals(marked(FailedArguments(tokens=50), 0.02), talk("go", *ran("Error: no", "sh", short), *FOUR))
    log = talk("go", *ran("Error: no", "edit", BIG), *FOUR)
    assert proposals(marked(FailedArguments(), 0.02), log, context=1_000)
    assert proposals(marked(FailedArguments(), 0.02), log, context=100_000) == {}


def test_many_failed_calls_of_one_turn_are_found_in_time_that_grows_with_them():
    def spent(calls):
        asked = [call("sh", json.dumps({"command": "x" * 600})) for _ in range(calls)]
        view = seen(talk("go", *asked, *(result("Error: no") for _ in asked), *FOUR))
        target = target_of(view)
        assert len(list(FailedArguments()(view, target))) == calls
        return function_calls(lambda: list(FailedArguments()(view, target)))

    assert spent(400) < 6 * spent(100)
