"""What readers of records missed: the side of an edit that is quoted, the tasks that are open, words behind tags."""

from __future__ import annotations

import json

import transom
from transom.core.message import Call
from transom.strategies.actions.action import UNKNOWN, action_of
from transom.strategies.record.agent_plans import change_task, items_text, plan_items
from transom.strategies.record.passages import argument_quotes, arguments_in_text, call_text, text_quotes
from transom.strategies.text.spans import without
from transom.texts import is_record

OLD = "def run(job):\n    return job.start()" + "  # as before" * 12
NEW = "def run(job):\n    return job.start_at(now())" + "  # and later" * 12


def edit(**more):
    args = {"replace_all": False, "file_path": "/app/src/a.py", "old_string": OLD, "new_string": NEW, **more}
    return Call(name="Edit", args=json.dumps(args), id="c")


def quotes(call, *spans):
    return argument_quotes(call, action_of(call), spans)


def test_a_quote_of_an_edit_is_what_it_puts_in():
    text = call_text(edit())
    assert quotes(edit(), (0, len(text))) == [NEW]
    at = text.index("    return job.start_at")
    assert quotes(edit(), (at, len(text))) == [NEW[NEW.index("    return") :]]


def test_the_line_of_a_short_edit_does_not_repeat_its_text():
    facts = action_of(edit(old_string="x = 1", new_string="y_of = 2"))
    assert (facts.text, facts.edited_line) == ("/app/src/a.py", "y_of = 2")


def test_what_the_line_says_is_not_quoted_again():
    write = Call(name="Write", args=json.dumps({"file_path": "a.py", "content": "x = 1"}), id="c")
    assert quotes(write, (0, len(call_text(write)))) == ["x = 1"]
    read = Call(name="Read", args=json.dumps({"file_path": "a.py", "offset": 120, "limit": 80}), id="c")
    assert quotes(read, (0, len(call_text(read)))) == [], "where a read begins is no quote"
    head = text_quotes("Chunk ID: 1\nWall time: 0 s\nOutput:\n\n", [(0, 35)], is_result=True)
    assert head == [], "a header and a blank line are no quote"


def test_the_header_of_a_result_is_left_out_whatever_the_order_of_the_spans():
    text = "Chunk ID: 1\nOutput:\nfirst line\nsecond line\nthird line\n"
    spans = [(text.index("third"), len(text)), (0, text.index("second"))]
    assert text_quotes(text, spans, is_result=True) == text_quotes(text, sorted(spans), is_result=True)
    assert "Chunk" not in text_quotes(text, spans, is_result=True)[0]


def test_one_or_two_characters_or_a_number_are_no_quote_of_a_call_or_its_result():
    args = {"path": "a.py", "q": "ü", "in": "xy", "n": 3, "for": "é\n" * 9}
    search = Call(name="look", args=json.dumps(args), id="c")
    assert quotes(search, (0, call_text(search).index("é") + 1)) == []
    for text in ("ü", "3\n", "-120"):
        assert text_quotes(text, [(0, len(text))], is_result=True) == []
    assert text_quotes("40412", [(0, 5)], is_result=True) == ["40412"], "it may be an id"
    assert text_quotes("1", [(0, 1)], is_result=False) == ["1"], "the reply of a user"


def test_the_limits_of_a_call_are_neither_quoted_nor_read():
    args = {"order": 48213, "yield_time_ms": 1000, "max_output_tokens": 12000, "limit": "all", "offset": 2400}
    look = Call(name="look_up", args=json.dumps(args), id="c")
    text = call_text(look)
    assert argument_quotes(look, UNKNOWN, [(0, len(text))]) == ["48213", "all"]
    unquoted = [(one.begin, one.end) for one in arguments_in_text(look) if one.is_unquoted]
    left = [text[start:end] for start, end in without((0, len(text)), unquoted)]
    assert "".join(left).split() == ["look_up", "order:", "48213", "limit:", "all"], "their names are no names either"


def text_of(messages):
    return "\n".join(message["content"] for message in messages if isinstance(message["content"], str))


def turn(at, name, args, result, said=None):
    call = {"id": f"c{at}", "type": "function", "function": {"name": name, "arguments": json.dumps(args)}}
    yield {"role": "assistant", "content": said, "tool_calls": [call]}
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
    plan = "«… 1 completed\n[in_progress] #2 Mend the lock\n[pending] #3 Write a test»"
    assert record.count("Plan, from message 11: ") == 1
    assert plan in record


def test_a_task_call_that_failed_changes_nothing():
    messages = [{"role": "user", "content": "Mend the queue."}]
    messages += turn(0, "TaskCreate", {"subject": "Mend"}, "Task #1 created successfully: Mend")
    messages += turn(1, "TaskUpdate", {"taskId": "9", "status": "completed"}, "Error: Task #9 not found")
    messages += turn(2, "TaskUpdate", {"taskId": "8", "status": "completed"}, "Task not found")
    for at in range(3, 30):
        messages += turn(at, "Read", {"file_path": f"/app/part_{at}.py"}, "def run():\n    return 1\n" * 30)
    assert "«[pending] #1 Mend»" in text_of(transom.fit(messages, budget=3_000))


def test_a_plan_that_is_long_as_json_is_told_in_its_items():
    todos = [{"content": f"step {at} of the plan", "status": "open", "priority": "high"} for at in range(5)]
    messages = [{"role": "user", "content": "Mend the queue."}, *turn(0, "TodoWrite", {"todos": todos}, "ok")]
    for at in range(1, 40):
        messages += turn(at, "Read", {"file_path": f"/app/part_{at}.py"}, "def run():\n    return 1\n" * 30)
    plan = "\n".join(f"[open] step {at} of the plan" for at in range(5))
    assert f"Plan, from message 1: «{plan}»" in text_of(transom.fit(messages, budget=8_000))


def test_large_records_name_more_files():
    messages = [{"role": "user", "content": "Mend all."}]
    for at in range(24):
        args = {"file_path": f"/app/queue/{at // 4}/part_{at}.py", "old_string": f"x_{at} = 1 " * 40, "new_string": "y"}
        messages += turn(at, "Edit", args, f"The file_{at} was updated. " * 40)
    messages += turn(24, "Read", {"file_path": "/app/x.py"}, "def run():\n    return 1\n" * 400)
    record = text_of(transom.fit(messages, budget=6_000))
    changed = next(line for line in record.splitlines() if line.startswith("Changed: "))
    assert "/app/queue/1/part_7.py (15), /app/queue/2/part_8.py (17)" in changed
    assert changed.count(".py") > 8


def test_a_deleted_task_leaves_the_list():
    tasks = {}
    change_task(tasks, Call(name="TaskCreate", args='{"subject": "x"}', id="a"), "Task #1 created successfully: x")
    change_task(tasks, Call(name="TaskCreate", args='{"subject": "y"}', id="b"), "Task #2 created successfully: y")
    change_task(tasks, Call(name="TaskUpdate", args='{"taskId": "2", "status": "deleted"}', id="c"), "Updated task #2")
    new = '{"taskId": "9", "status": "pending", "subject": "w"}'
    change_task(tasks, Call(name="TaskUpdate", args=new, id="d"), "ok")
    change_task(tasks, Call(name="TaskUpdate", args="not JSON", id="e"), "failed")
    assert tasks == {"1": ("pending", "x"), "9": ("pending", "w")}


def test_each_item_of_a_plan_has_its_own_status_whatever_the_order_of_its_keys():
    plan = [{"status": "done", "step": "a"}, {"step": "b"}, {"id": 3, "status": "open", "step": "c"}, {"step": "d"}]
    call = Call(name="update_plan", args=json.dumps({"explanation": "x", "title": "y", "plan": plan}), id="c")
    assert plan_items(call) == [("done", "a"), (" ", "b"), ("open", "c"), (" ", "d")]
    nested = {"content": "p", "status": "open", "steps": [{"content": "q", "status": "done"}]}
    call = Call(name="TodoWrite", args=json.dumps([nested]), id="c")
    assert plan_items(call) == [("open", "p"), ("done", "q")]


def test_open_items_are_shortened_before_any_of_them_is_left_out():
    items = [("completed", "read it"), *(("pending", f"{at}: {'a long way to go ' * 9}") for at in range(4))]
    text = items_text(items, 240)
    assert text.startswith("… 1 completed\n[pending] 0: a long way")
    assert len(text) <= 240
    assert text.count("[pending]") == 4
    short = items_text(items, 100)
    assert short.endswith(" more")
    assert len(short) <= 100
    assert items_text([("", "word " * 30)], 12) == "word word …"


def test_a_small_record_tries_on_until_it_has_room_for_something_of_its_turns():
    messages = [{"role": "user", "content": "Go."}]
    for at in range(60):
        change = {"old_string": f"a = {at}", "new_string": f"limit_{at} = retry_{at}(delay_{at})"}
        edit_of_module = {"file_path": f"/app/src/module_{at}.py", **change}
        passed = f"{at} passed in 2s"
        messages += turn(2 * at, "Edit", edit_of_module, "ok", f"I now change limit_{at}.")
        messages += turn(2 * at + 1, "Bash", {"command": f"pytest tests/test_{at}.py"}, passed, f"Next is module_{at}.")
    shown = [message["content"] or "" for message in transom.fit(messages, budget=2_700)]
    assert "limit_4" in [text for text in shown if is_record(text)][-1]
