"""What readers of records missed: the first request, what was answered, lists behind a colon, the turns before a
message that stays."""

from __future__ import annotations

import json
from collections import Counter
from random import Random

import transom
from transom.core.message import Call, ToolResult
from transom.core.message import Text as TextPart
from transom.strategies.actions.action import action_of
from transom.strategies.actions.outcome import outcome_of, outcome_text
from transom.texts import is_record

PLAIN = "def run():\n    return 1\n"


def turn(at, name, args, result):
    call = {"id": f"c{at}", "type": "function", "function": {"name": name, "arguments": json.dumps(args)}}
    yield {"role": "assistant", "content": None, "tool_calls": [call]}
    yield {"role": "tool", "tool_call_id": f"c{at}", "content": result}


def work(start, count):
    for at in range(start, start + count):
        path = f"/app/src/module_{at}/file_{at}.py"
        yield from turn(at, "Read", {"file_path": path}, f"name_{at} = value_{at}\n" + PLAIN * 40)


def records(messages):
    return [one["content"] for one in messages if isinstance(one["content"], str) and is_record(one["content"])]


def text_of(messages):
    return "\n".join(one["content"] for one in messages if isinstance(one["content"], str))


def test_each_answer_and_the_first_request_are_told_beside_long_words_of_the_user():
    messages = [{"role": "user", "content": "<environment>\n<cwd>/app</cwd>\n</environment>"}]
    messages += [{"role": "assistant", "content": "What shall I do?"}]
    messages += [{"role": "user", "content": "Find out why the nightly import is slow."}]
    for at in range(8):
        messages += work(10 * at, 6)
        pasted = "\n".join(f"line {number} of a long log that the user pasted" for number in range(60))
        messages += [
            {
                "role": "assistant",
                "content": f"Step {at} is done: the cache of table_{at} is warm. " + "It was so. " * 80,
            },
            {
                "role": "user",
                "content": f"Look at this output, number {at}:\n{pasted}\nWhat does it say about part {at}?",
            },
        ]
    messages += work(200, 6)
    window = transom.fit(messages, budget=16_000)
    record = "\n".join(records(window))
    assert "2 user «Find out why the nightly import is slow.»" in record
    told = [at for at in range(8) if f"the cache of table_{at} is warm" in text_of(window)]
    assert len(told) == 8
    assert text_of(window).count("Look at this output, number") == 8


def test_what_a_program_wrote_does_not_take_the_room_of_the_user():
    messages = [{"role": "user", "content": "Go."}, {"role": "assistant", "content": "Where?"}]
    said = [f"Now look at part {at} of the import, and tell me all of what you find there. " * 3 for at in range(8)]
    for at, words in enumerate(said):
        messages += [{"role": "user", "content": words}, *work(10 * at, 6)]
        result = f"<notice>\n<status>done</status>\n{'the result of the job was written ' * 60}\n</notice>"
        messages += [{"role": "user", "content": result}, *work(10 * at + 6, 2)]
    window = text_of(transom.fit(messages, budget=8_000))
    assert "a record of" in window
    assert [words for words in said if words.strip() not in window] == []


def test_a_record_before_a_message_that_stays_keeps_its_share_at_each_merge():
    conv = transom.Conversation.open("memory:", "merges", budget=9_000)
    for at in range(120):
        if at == 30:
            conv.user("Now mend the import. " * 4)
        text = "\n".join(f"the value of name_{at}_{line} is plain" for line in range(40))
        for message in turn(at, "Read", {"file_path": f"/app/file_{at}.py"}, text):
            add(conv, message)
        conv.plan_request()
    first, last, *_ = records(conv.request()["messages"])
    assert first.startswith("[entry 0")
    assert first.count("name_") >= 16, "the turns before the newest message of the user"
    assert last.count("name_") >= 16


def add(conv, message):
    if message["role"] == "tool":
        conv.tool_result(message["tool_call_id"], message["content"])
    else:
        conv.observe(message)


def test_the_answer_of_an_edit_is_not_quoted():
    messages = [{"role": "user", "content": "Mend it."}]
    for at in range(30):
        args = {"file_path": f"/app/src/file_{at}.py", "old_string": f"old_name_{at}", "new_string": f"new_name_{at}"}
        messages += turn(at, "Edit", args, f"The file /app/src/file_{at}.py has been updated, see note_{at}.")
        messages += work(100 + at, 1)
    messages += turn(50, "Edit", {"file_path": "/app/x.py"}, "Error: no match for wanted_name_7 in the file /app/x.py")
    messages += work(150, 12)
    record = "\n".join(records(transom.fit(messages, budget=8_000)))
    assert "/app/src/file_3.py" in record
    assert "has been updated" not in record
    assert "wanted_name_7" in record, "but why one failed is told"


def outcome(text):
    facts = action_of(Call(name="exec_command", args='{"cmd": "go test ./..."}', id="c"))
    return outcome_text(facts, outcome_of(ToolResult(call="c", parts=(TextPart(text=text),)), facts))


def test_a_command_that_still_runs_says_so_whatever_it_has_printed():
    header = "Wall time: 1.0 s\nProcess running with session ID 3600\nOutput:\n"
    assert outcome(header) == "still running, session 3600"
    warning = "parser.c:254:18: warning: null character"
    assert outcome(f"{header}{warning}\n") == f"still running, session 3600: «{warning}»"
    assert outcome(f"{header}FAIL example.com/pkg [build failed]").startswith("failed")


def test_in_talk_most_of_a_record_is_what_the_user_said():
    rng = Random(7)

    def words():
        return f"{' '.join(''.join(rng.choices('abcdefghiklmnoprstuvw', k=7)) for _ in range(14))}."

    messages = [{"role": role, "content": words()} for _ in range(60) for role in ("user", "assistant")]
    found = records(transom.fit([*messages, {"role": "user", "content": "And now?"}], budget=4_000))
    quoted = Counter(line.split(" ")[1] for record in found for line in record.splitlines()[1:])
    assert quoted["user"] > 2 * quoted["assistant"] > 0
