"""What readers of records missed: the side of an edit that is quoted, the tasks that are open, words behind tags."""

from __future__ import annotations

import json

import pytest
from benchmarks.reading.quote_ends import end_of, start_of

import transom
from transom.core.edit import Span
from transom.core.message import Call
from transom.strategies.actions.action import action_of
from transom.strategies.digest.passages import call_text, inner_words, json_elements, split, with_margins
from transom.strategies.digest.plans import TaskBoard, items_text, plan_text
from transom.strategies.digest.quotes import argument_quotes, text_quote, titled_quotes

OLD = "def run(job):\n    return job.start()" + "  # as before" * 12
NEW = "def run(job):\n    return job.start_at(now())" + "  # and later" * 12


def edit(**more):
    args = {"replace_all": False, "file_path": "/app/src/a.py", "old_string": OLD, "new_string": NEW, **more}
    return Call(name="Edit", args=json.dumps(args), id="c")


def quotes(call, *spans):
    return argument_quotes(call, action_of(call), action_of(call).text, spans)


def test_a_quote_of_an_edit_is_what_it_puts_in():
    text = call_text(edit())
    assert quotes(edit(), (0, len(text))) == [NEW]
    at = text.index("    return job.start_at")
    assert quotes(edit(), (at, len(text))) == [NEW[NEW.index("    return") :]]


def test_the_line_of_a_short_edit_does_not_repeat_its_text():
    facts = action_of(edit(old_string="x = 1", new_string="y_of = 2"))
    assert (facts.text, facts.did, facts.complete) == ("/app/src/a.py", "y_of = 2", False)


def test_what_the_line_says_is_not_quoted_again():
    write = Call(name="Write", args=json.dumps({"file_path": "a.py", "content": "x = 1"}), id="c")
    assert quotes(write, (0, len(call_text(write)))) == ["x = 1"]
    head = text_quote("Chunk ID: 1\nWall time: 0 s\nOutput:\n\n", [(0, 35)], is_result=True)
    assert head == "", "a header and a blank line are no quote"


def text_of(messages):
    return "\n".join(message["content"] for message in messages if isinstance(message["content"], str))


def turn(at, name, args, result):
    call = {"id": f"c{at}", "type": "function", "function": {"name": name, "arguments": json.dumps(args)}}
    yield {"role": "assistant", "content": None, "tool_calls": [call]}
    yield {"role": "tool", "tool_call_id": f"c{at}", "content": result}


def test_a_record_quotes_what_an_edit_puts_in_and_ends_with_the_tasks():
    messages = [{"role": "user", "content": "Mend the queue."}]
    for at, words in enumerate(("Read the queue", "Mend the lock", "Write a test"), start=1):
        messages += turn(at, "TaskCreate", {"subject": words}, f"Task #{at} created successfully: {words}")
    messages += turn(4, "TaskUpdate", {"taskId": "1", "status": "completed"}, "Updated task #1 status")
    old, new = (
        f"def {name}(job):\n    # {'waits for the lock of the queue, ' * 4}" for name in ("old_lock", "new_lock")
    )
    args = {"file_path": "/app/queue/lock.py", "old_string": old, "new_string": new}
    messages += turn(5, "Edit", args, "The file was updated.")
    messages += turn(6, "TaskUpdate", {"taskId": "2", "status": "in_progress"}, "Updated task #2 status")
    for at in range(7, 30):
        messages += turn(at, "Read", {"file_path": f"/app/part_{at}.py"}, "def run():\n    return 1\n" * 30)
    record = text_of(transom.fit(messages, budget=3_000))
    assert f"9 Edit /app/queue/lock.py\n«{new}»" in record
    assert old not in record
    plan = "«[completed] #1 Read the queue\n[in_progress] #2 Mend the lock\n[pending] #3 Write a test»"
    assert record.count("Plan, from message 11: ") == 1
    assert plan in record


@pytest.mark.parametrize(
    ("items", "plan"),
    [
        (
            2,
            '«TodoWrite {"todos": [{"content": "step 0", "status": "open"}, {"content": "step 1", "status": "open"}]}»',
        ),
        (20, "«[open] step 0\n[open] step 1\n"),
    ],
)
def test_the_call_that_made_the_plan_is_quoted_if_there_is_room(items, plan):
    todos = [{"content": f"step {at}", "status": "open"} for at in range(items)]
    messages = [{"role": "user", "content": "Mend the queue."}, *turn(0, "TodoWrite", {"todos": todos}, "ok")]
    for at in range(1, 30):
        messages += turn(at, "Read", {"file_path": f"/app/part_{at}.py"}, "def run():\n    return 1\n" * 30)
    assert f"Plan, from message 1: {plan}" in text_of(transom.fit(messages, budget=3_000))


def test_a_deleted_task_leaves_the_list():
    board = TaskBoard()
    board.add(Call(name="TaskCreate", args='{"subject": "x"}', id="a"), "Task #1 created successfully: x")
    board.add(Call(name="TaskCreate", args='{"subject": "y"}', id="b"), "Task #2 created successfully: y")
    board.add(Call(name="TaskUpdate", args='{"taskId": "2", "status": "deleted"}', id="c"), "Updated task #2")
    board.add(Call(name="TaskUpdate", args='{"taskId": "9", "status": "pending", "subject": "w"}', id="d"), "ok")
    board.add(Call(name="TaskUpdate", args="not JSON", id="e"), "failed")
    assert board.items == [("pending", "#1 x"), ("pending", "#9 w")]


def test_a_task_call_that_failed_changes_nothing():
    messages = [{"role": "user", "content": "Mend the queue."}]
    messages += turn(0, "TaskCreate", {"subject": "Mend"}, "Task #1 created successfully: Mend")
    messages += turn(1, "TaskUpdate", {"taskId": "9", "status": "completed"}, "Error: Task #9 not found")
    messages += turn(2, "TaskUpdate", {"taskId": "8", "status": "completed"}, "Task not found")
    for at in range(3, 30):
        messages += turn(at, "Read", {"file_path": f"/app/part_{at}.py"}, "def run():\n    return 1\n" * 30)
    assert "«[pending] #1 Mend»" in text_of(transom.fit(messages, budget=3_000))
    board = TaskBoard()
    board.add(Call(name="TaskCreate", args='{"subject": "x"}', id="a"), "Task #1 created successfully: x not found")
    board.add(Call(name="TaskUpdate", args='{"taskId": "1", "status": "completed"}', id="b"), "", failed=True)
    assert board.items == [("pending", "#1 x not found")]


def test_each_item_of_a_plan_has_its_own_status_whatever_the_order_of_its_keys():
    plan = [{"status": "done", "step": "a"}, {"step": "b"}, {"id": 3, "status": "open", "step": "c"}, {"step": "d"}]
    call = Call(name="update_plan", args=json.dumps({"explanation": "x", "title": "y", "plan": plan}), id="c")
    assert plan_text(call, 400) == "[done] a\n[ ] b\n[open] c\n[ ] d"
    nested = {"content": "p", "status": "open", "steps": [{"content": "q", "status": "done"}]}
    assert plan_text(Call(name="TodoWrite", args=json.dumps([nested]), id="c"), 400) == "[open] p\n[done] q"


def test_texts_of_a_conversation_do_not_outlive_it():
    assert not hasattr(json_elements, "cache_info"), "a cache of the process would keep whole texts"


def test_what_is_done_leaves_a_long_plan_first():
    items = [("completed", "read all of it"), ("completed", "mend it"), ("pending", "test it" * 3)]
    assert items_text(items, 200) == "[completed] read all of it\n[completed] mend it\n[pending] test ittest ittest it"
    assert items_text(items, 72) == "… 1 completed\n[completed] mend it\n[pending] test ittest ittest it"
    assert items_text(items, 50) == "… 2 completed\n[pending] test ittest ittest it"


def test_open_items_are_shortened_before_any_of_them_is_left_out():
    items = [("completed", "read it"), *(("pending", f"{at}: {'a long way to go ' * 9}") for at in range(4))]
    text = items_text(items, 240)
    assert text.startswith("… 1 completed\n[pending] 0: a long way")
    assert len(text) <= 240
    assert text.count("[pending]") == 4
    short = items_text(items, 90)
    assert short.count("[pending]") == 2
    assert short.endswith("\n… 2 more")
    assert items_text([("", "word " * 30)], 12) == "word word …"


def test_a_plan_that_is_long_as_json_is_told_in_its_items():
    todos = [{"content": f"step {at} of the plan", "status": "open", "priority": "high"} for at in range(5)]
    messages = [{"role": "user", "content": "Mend the queue."}, *turn(0, "TodoWrite", {"todos": todos}, "ok")]
    for at in range(1, 40):
        messages += turn(at, "Read", {"file_path": f"/app/part_{at}.py"}, "def run():\n    return 1\n" * 30)
    plan = "\n".join(f"[open] step {at} of the plan" for at in range(5))
    assert f"Plan, from message 1: «{plan}»" in text_of(transom.fit(messages, budget=8_000))


def command(text, **more):
    return Call(name="Bash", args=json.dumps({"command": text, **more}), id="c")


def lines_of(call):
    return titled_quotes(call, action_of(call), [(0, len(call_text(call)))])


def test_what_the_line_of_a_command_says_whole_is_not_quoted():
    call = command('cd /work/app && grep -rn "too many" --include="*.go" src/', description="Search for the limit")
    assert lines_of(call) == ('cd /work/app && grep -rn "too many" --include="*.go" src/', [])


def test_the_line_of_what_is_quoted_is_short():
    text = "cd /work/app && python - <<'E'\n" + "\n".join(f"print(part_{at}, {at})" for at in range(40)) + "\nE"
    assert lines_of(command(text, description="Print all parts")) == ("Print all parts", [text])
    prompt = "Review the batches for what is done twice. " * 9
    task = Call(name="Task", args=json.dumps({"description": "Review batches", "prompt": prompt}), id="c")
    assert lines_of(task) == ("Review batches", [prompt])


def test_neighbours_of_one_folder_name_it_once_and_large_records_name_more_files():
    messages = [{"role": "user", "content": "Mend all."}]
    for at in range(24):
        args = {"file_path": f"/app/queue/{at // 4}/part_{at}.py", "old_string": f"x_{at} = 1 " * 40, "new_string": "y"}
        messages += turn(at, "Edit", args, f"The file_{at} was updated. " * 40)
    messages += turn(24, "Read", {"file_path": "/app/x.py"}, "def run():\n    return 1\n" * 400)
    record = text_of(transom.fit(messages, budget=6_000))
    changed = next(line for line in record.splitlines() if line.startswith("Changed: "))
    assert "/app/queue/1/part_4.py (9), part_5.py (11), part_6.py (13), part_7.py (15), /app/queue/2/" in changed
    assert changed.count(".py") > 8


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "<task>\n<id>a1</id>\n<summary>Review is done</summary>\nclean\n</task>",
            "<summary>Review is done</summary>\nclean\n",
        ),
        ("<a>\n</a>", "<a>\n</a>"),
        ("no tags\nat all", "no tags\nat all"),
        ("", ""),
    ],
)
def test_an_excerpt_begins_and_ends_with_words(text, words):
    assert text[slice(*inner_words(text))] == words


RECORD = json.dumps(
    {"orders": [{"id": f"#W{at}", "note": f'said "a, b", and {at}', "n": at} for at in range(90)], "open": [1, 2]}
)


def quoted(text: str) -> list[Span]:
    return [with_margins(text, start, end, json_elements(text)) for start, end in split(text)]


def test_json_of_one_line_is_quoted_from_element_to_element():
    ends = {end for span in quoted(RECORD) for end in span} - {0, len(RECORD)}
    assert ends <= set(json_elements(RECORD))
    assert {start_of(RECORD, at) for at in ends} == {end_of(RECORD, at) for at in ends} == {"sentence"}


def test_a_comma_in_a_string_or_in_other_text_ends_no_element():
    inside = RECORD.index(", b")
    assert start_of(RECORD, inside + 2) == "between words"
    assert json_elements("[a, b, c") == (4, 7)
    assert json_elements("He said: [a, b]") == ()
    assert start_of("[a, b, c", 4) == "between words", "not JSON"
