"""Claude Code sessions: which lines are the conversation, and how they become messages."""

from __future__ import annotations

import json

import pytest
from sessions import assistant, call, jsonl, result, text, user

from transom.importers import Recorded, read
from transom.wire.anthropic import ANTHROPIC

THOUGHT = {"type": "thinking", "thinking": "Two files.", "signature": "c2ln"}


@pytest.fixture
def session(tmp_path):
    """`session(line, …)`: the conversations of a session file, and what was left out."""

    def session(*lines, name="0a1b.jsonl"):
        (tmp_path / name).write_text(jsonl(*lines))
        skipped = []
        found = list(read(tmp_path / name, on_skip=skipped.append))
        return found, [line.replace(f"{tmp_path}/", "") for line in skipped]

    return session


def test_a_session(session, tmp_path):
    found, skipped = session(
        {"type": "summary", "summary": "Counting files", "leafUuid": "zz"},
        {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}, "isSnapshotUpdate": False},
        user("u1", None, "Caveat: …", isMeta=True),
        user("u2", "u1", [text("Count the files.")]),
        assistant("a1", "u2", "msg_1", THOUGHT),
        assistant("a2", "a1", "msg_1", text("I look.")),
        assistant("a3", "a2", "msg_1", call("t1", command="ls")),
        user("r1", "a3", [result("t1", "a b")], toolUseResult={"stdout": "a b", "stderr": ""}),
        {
            "type": "system",
            "subtype": "turn_duration",
            "uuid": "y1",
            "parentUuid": "r1",
            "content": "",
            "sessionId": "s",
        },
        assistant("a4", "y1", "msg_2", text("Two.")),
        {"type": "last-prompt", "lastPrompt": "Count the files.", "sessionId": "s"},
    )
    messages = [
        {"role": "user", "content": "Caveat: …"},
        {"role": "user", "content": [text("Count the files.")]},
        {"role": "assistant", "content": [THOUGHT, text("I look."), call("t1", command="ls")]},
        {"role": "user", "content": [result("t1", "a b")]},
        {"role": "assistant", "content": [text("Two.")]},
    ]
    source = str(tmp_path / "0a1b.jsonl")
    expected = Recorded(
        id="0a1b", format="claude_code", dialect="anthropic", messages=messages, source=source, injected=frozenset({0})
    )
    assert (found, skipped) == ([expected], [])
    assert ANTHROPIC.violations({"messages": messages[:-1]}) == []


@pytest.mark.parametrize("last", ["r1", "r2"])
def test_parallel_calls_with_answers_between_their_lines(session, last):
    """Tools begin while the model still speaks, so answers may come before the next call's line, and each answer hangs
    on its own call: only one of them is on the way to the last message."""
    found, skipped = session(
        user("u1", None, "Read both."),
        assistant("a1", "u1", "msg_1", call("t1", "Read", path="a")),
        user("r1", "a1", [result("t1", "A")]),
        assistant("a2", "a1", "msg_1", call("t2", "Read", path="b")),
        user("r2", "a2", [result("t2", "B")]),
        assistant("a3", last, "msg_2", text("Done.")),
    )
    assert skipped == []
    assert found[0].messages == [
        {"role": "user", "content": "Read both."},
        {"role": "assistant", "content": [call("t1", "Read", path="a"), call("t2", "Read", path="b")]},
        {"role": "user", "content": [result("t1", "A"), result("t2", "B")]},
        {"role": "assistant", "content": [text("Done.")]},
    ]
    assert ANTHROPIC.violations({"messages": found[0].messages[:-1]}) == []


def test_what_was_taken_back_is_left_out(session):
    """Also what its lines hang on it by a line between, and what follows without a parent."""
    found, skipped = session(
        user("u1", None, "Start."),
        assistant("a1", "u1", "msg_1", text("Ready.")),
        {"type": "progress", "uuid": "p1", "parentUuid": "a1", "sessionId": "s"},
        user("b1", "p1", "First attempt."),
        assistant("b2", "b1", "msg_2", call("t1")),
        user("b3", "b2", [result("t1", "oops")]),
        assistant("b4", "never written", "msg_3", text("Oops.")),
        user("b5", "b4", "And again."),
        assistant("b6", "b5", "msg_4", text("Oops again.")),
        user("b7", "b4", "And once more."),
        user("c1", "a1", "Second attempt."),
        assistant("c2", "c1", "msg_5", text("Better.")),
    )
    contents = [message["content"] for message in found[0].messages]
    assert contents == ["Start.", [text("Ready.")], "Second attempt.", [text("Better.")]]
    assert skipped == ["0a1b.jsonl: left out 7 messages of branches that were taken back"]


START = [user("u1", None, "Start."), assistant("a1", "u1", "msg_1", text("Ready."))]
BOUNDARY = {
    "type": "system",
    "subtype": "compact_boundary",
    "uuid": "cb",
    "parentUuid": None,
    "logicalParentUuid": "zz",
}
SUMMARY = user("cs", "cb", "This session is being continued …", isCompactSummary=True)
FORKS = {
    "a prompt that nobody answered": [user("b1", "a1", "Go."), user("c1", "a1", "Go, please.")],
    "a turn that was tried again": [
        user("b1", "a1", "Go."),
        {"type": "attachment", "uuid": "p1", "parentUuid": "b1", "sessionId": "s", "attachment": {"type": "date"}},
        assistant("b2", "p1", "msg_2", text("Gone.")),
        {"type": "system", "subtype": "api_error", "uuid": "e1", "parentUuid": "p1", "sessionId": "s"},
        user("c1", "e1", "Further."),
    ],
    "a hook between": [
        user("b1", "a1", "Go."),
        assistant("b2", "b1", "msg_2", call("t1")),
        {"type": "progress", "uuid": "p1", "parentUuid": "b2", "sessionId": "s"},
        user("b3", "p1", [result("t1", "fine")]),
        assistant("b4", "p1", "msg_3", text("Gone.")),
        user("b5", "b3", "Further."),
    ],
    "parents that were never written": [
        user("b1", "x1", "Go."),
        assistant("b2", "x2", "msg_2", text("Gone.")),
        user("b3", None, "Further."),
        assistant("b4", "x3", "msg_3", text("Further gone.")),
        user("b5", None, "Thanks."),
    ],
    "words of the harness": [
        user("b1", "a1", "<task-notification>", isMeta=True),
        assistant("b2", "b1", "msg_2", text("Noted.")),
        user("c1", "a1", "Go."),
    ],
    "two agents that begin behind the same hook": [
        {"type": "progress", "uuid": "p1", "parentUuid": None, "isSidechain": True, "agentId": "e1"},
        user("b1", "p1", "Look.", agentId="e1"),
        assistant("b2", "b1", "msg_2", text("Fine.")),
        user("c1", "p1", "Look again."),
    ],
    "a stale parent behind a compaction": [
        user("b1", "a1", "Go."),
        assistant("b2", "b1", "msg_2", text("Gone.")),
        BOUNDARY,
        SUMMARY,
        user("c1", "a1", "Further."),
    ],
}


@pytest.mark.parametrize("fork", FORKS.values(), ids=FORKS)
def test_other_forks_take_nothing_back(session, fork):
    found, skipped = session(*START, *fork)
    held = [line["message"]["content"] for line in (*START, *fork) if "message" in line]
    assert ([message["content"] for message in found[0].messages], skipped) == (held, [])


def test_subagents_are_conversations_of_their_own(session):
    side = {"isSidechain": True}
    found, skipped = session(
        user("u1", None, "Ask two agents."),
        assistant("a1", "u1", "msg_1", call("t1", "Task"), call("t2", "Task")),
        user("x1", None, "Look at a.", **side),
        user("y1", None, "Look at b.", **side, agentId="e1c8"),
        assistant("x2", "x1", "msg_x", text("a is fine."), **side),
        assistant("y2", "y1", "msg_y", text("b is fine."), **side, agentId="e1c8"),
        user("z1", None, "Look at c.", **side),
        assistant("z2", "z1", "msg_z", text("c is fine."), **side),
        user("r1", "a1", [result("t1", "fine"), result("t2", "fine")]),
    )
    assert skipped == []
    assert [(one.id, [message["content"] for message in one.messages]) for one in found] == [
        (
            "0a1b",
            ["Ask two agents.", [call("t1", "Task"), call("t2", "Task")], [result("t1", "fine"), result("t2", "fine")]],
        ),
        ("0a1b#side-1", ["Look at a.", [text("a is fine.")]]),
        ("0a1b#e1c8", ["Look at b.", [text("b is fine.")]]),
        ("0a1b#side-2", ["Look at c.", [text("c is fine.")]]),
    ]


def test_the_file_of_a_subagent_has_the_name_that_the_subagent_has_in_its_session(session):
    found, _ = session(
        user("x1", None, "Look at a.", isSidechain=True, agentId="e1c8"),
        assistant("x2", "x1", "msg_x", text("Fine."), isSidechain=True, agentId="e1c8"),
        name="agent-e1c8.jsonl",
    )
    assert [one.id for one in found] == ["s#e1c8"]


def test_the_file_of_a_subagent_that_no_line_names_has_the_name_of_the_file(session):
    found, _ = session(user("x1", None, "Look at a.", isSidechain=True), name="old.jsonl")
    assert [one.id for one in found] == ["old"]


def test_what_the_user_typed_meanwhile_is_heard_and_errors_of_the_api_are_not_said(session):
    queued = {"type": "queued_command", "prompt": "And the folders.", "commandMode": "prompt"}
    found, _ = session(
        user("u1", None, "Count the files."),
        assistant("a1", "u1", "msg_1", call("t1")),
        user("r1", "a1", [result("t1", "2")]),
        {"type": "attachment", "uuid": "q1", "parentUuid": "r1", "sessionId": "s", "attachment": queued},
        {"type": "attachment", "uuid": "q2", "parentUuid": "q1", "sessionId": "s", "attachment": {"type": "todo"}},
        assistant("e1", "q2", "e", text("API Error: 529"), isApiErrorMessage=True),
        assistant("a2", "e1", "msg_2", text("Two, and one folder.")),
    )
    assert [message["content"] for message in found[0].messages] == [
        "Count the files.",
        [call("t1")],
        [result("t1", "2")],
        "And the folders.",
        [text("Two, and one folder.")],
    ]


def test_lines_that_a_resumed_session_repeats_count_once(session):
    lines = [user("u1", None, "Hi."), assistant("a1", "u1", "msg_1", text("Hello."))]
    found, _ = session(*lines, *lines, user("u2", "a1", "Bye."))
    assert [message["content"] for message in found[0].messages] == ["Hi.", [text("Hello.")], "Bye."]


def test_lines_without_a_tree(session):
    """What `claude -p --output-format stream-json` prints: no parents, subagents by the call that began them."""
    found, _ = session(
        {"type": "system", "subtype": "init", "session_id": "s", "tools": ["Bash"]},
        {"type": "assistant", "message": {"id": "m1", "content": [call("t1", "Task")]}, "session_id": "s"},
        {"type": "user", "message": {"content": "Look."}, "session_id": "s", "parent_tool_use_id": "t1"},
        {"type": "user", "message": {"content": [result("t1", "Fine.")]}, "session_id": "s"},
        {"type": "result", "subtype": "success", "session_id": "s", "result": "Fine."},
    )
    main = [
        {"role": "assistant", "content": [call("t1", "Task")]},
        {"role": "user", "content": [result("t1", "Fine.")]},
    ]
    side = [{"role": "user", "content": "Look."}]
    assert [(one.id, one.messages) for one in found] == [("0a1b", main), ("0a1b#t1", side)]


def test_a_session_that_is_still_written(tmp_path):
    whole = jsonl(user("u1", None, "Hi."), assistant("a1", "u1", "msg_1", text("Hello.")))
    torn = json.dumps(user("u2", "a1", "Bye, and thanks."))[:40]
    path = tmp_path / "live.jsonl"
    path.write_text(f"\x00\x00\n{whole}{torn}")
    skipped = []
    found = list(read(path, on_skip=skipped.append))
    assert [message["content"] for one in found for message in one.messages] == ["Hi.", [text("Hello.")]]
    assert skipped == [
        f"{path} line 1: skipped, not JSON: Expecting value (column 1)",
        f"{path} line 4: left out, it is not written to its end",
    ]


def test_lines_of_any_other_shape_are_passed_over(session):
    strange = [
        {"type": 7, "uuid": ["x"], "sessionId": "s"},
        {"type": "user", "uuid": "s1", "message": "no object"},
        {"type": "user", "uuid": "s2", "message": {"role": "user"}},
        {"type": "assistant", "uuid": "s3", "message": {"content": []}},
        {"type": "attachment", "uuid": "s4", "attachment": {"type": "queued_command", "prompt": 5}},
    ]
    found, skipped = session(user("u1", None, "Hi."), *strange, 7, None, ["x"], user("u2", "nobody", "Bye."))
    assert [message["content"] for message in found[0].messages] == ["Hi.", "Bye."]
    assert [line.partition(": ")[2] for line in skipped] == ["5 broken lines hold no message"]
