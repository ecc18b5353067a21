"""Sessions go into a store line by line, come out with the same messages, and are continued where they ended."""

from __future__ import annotations

import gzip
import io
import json

import pytest
from sessions import assistant, call, event, item, jsonl, result, said, text, user

from transom.conversation.conversation import Conversation
from transom.core.message import Assistant, Fact, Head, Text, User
from transom.errors import InvalidSetting
from transom.exporters import export
from transom.importers import import_file, read
from transom.importers.logs import import_session
from transom.stores import MemoryStore, SqliteStore

LONG = "Count the files, please. " * 10
THOUGHT = {"type": "thinking", "thinking": "Two files. " * 10, "signature": "c2ln"}
SIDE = {"isSidechain": True, "agentId": "e1"}
CLAUDE = [
    {"type": "summary", "summary": "Counting files", "leafUuid": "zz"},
    {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}, "isSnapshotUpdate": False},
    user("u1", None, LONG),
    assistant("a1", "u1", "msg_1", THOUGHT),
    assistant("a2", "a1", "msg_1", call("t1", "Task", prompt=LONG)),
    user("x1", None, "Look at a.", **SIDE),
    user("r0", "a2", [result("t1", LONG)], toolUseResult={"stdout": LONG}),
    assistant("x2", "x1", "msg_x", text("a is fine."), **SIDE),
    assistant("a3", "a2", "msg_1", call("t2", command="ls")),
    user("r2", "a3", [result("t2", "b"), text("And hurry.")]),
    {"type": "system", "subtype": "turn_duration", "uuid": "y1", "parentUuid": "r2", "sessionId": "s"},
    assistant("a4", "y1", "msg_2", text("Two.")),
    user("b1", "a4", "First attempt."),
    assistant("b2", "b1", "msg_3", call("t3")),
    user("c1", "a4", "Second attempt."),
    assistant("c2", "c1", "msg_4", text("Better.")),
    assistant("e1", "c2", "e", text("API Error: 529"), isApiErrorMessage=True),
]
ANSWER = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": LONG}]}
CODEX = [
    {"type": "session_meta", "payload": {"id": "s", "base_instructions": {"text": "You are Codex. " * 9}}},
    {"type": "turn_context", "payload": {"model": "gpt-x", "cwd": "/home/ada"}},
    item(**said("user", LONG)),
    item(type="reasoning", summary=[{"type": "summary_text", "text": LONG}], encrypted_content="c2" * 60),
    item(type="function_call", name="exec", arguments=json.dumps({"cmd": LONG}), call_id="c1"),
    event(type="token_count", info=None),
    item(type="function_call_output", call_id="c1", output=LONG + "!"),
    item(**ANSWER),
    item(**said("user", "One more.")),
    item(**ANSWER),
    event(type="thread_rolled_back", num_turns=1),
    item(**said("user", "Another.")),
]
AT = "2026-01-02T03:04:05.000Z"


def entry(label, parent, role, content, **more):
    message = {"role": role, "content": content, **more}
    return {"type": "message", "id": label, "parentId": parent, "timestamp": AT, "message": message}


PI_CALL = {"type": "toolCall", "id": "t1", "name": "bash", "arguments": {"command": LONG}}
PI = [
    {"type": "session", "version": 3, "id": "s", "timestamp": AT, "cwd": "/home/ada"},
    entry("a", None, "user", [text(LONG), {"type": "image", "data": "QUJD" * 50, "mimeType": "image/png"}]),
    entry("b", "a", "assistant", [{"type": "thinking", "thinking": LONG}, PI_CALL]),
    entry("c", "b", "toolResult", [text(LONG * 2)], toolCallId="t1", toolName="bash", isError=False),
    entry("d", "c", "assistant", [text("Two.")]),
    entry("e", "d", "user", "First attempt."),
    entry("f", "d", "user", "Second attempt."),
    {"type": "compaction", "id": "g", "parentId": "f", "timestamp": AT, "summary": "So far.", "tokensBefore": 9},
]
SESSIONS = {"claude_code": CLAUDE, "codex": CODEX, "pi": PI}


@pytest.fixture
def stored(tmp_path, monkeypatch):
    """`stored(lines, …)`: a store into which a session was imported, once for each list; what that gave each time."""

    def stored(*versions, batch=import_session.BATCH, store=None):
        monkeypatch.setattr(import_session, "BATCH", batch)
        store = MemoryStore() if store is None else store
        path = tmp_path / "s.jsonl"
        done = []
        for lines in versions:
            path.write_bytes(lines if isinstance(lines, bytes) else jsonl(*lines).encode())
            done += import_file(path, store)
        return store, done

    return stored


def facts(log):
    return [each.body for each in log.read() if isinstance(each.body, Fact)]


def exported(store, name="s"):
    return b"".join(export(store.open(name)))


@pytest.mark.parametrize("batch", [1, 700, 64_000])
@pytest.mark.parametrize("kind", SESSIONS)
def test_a_session_comes_out_with_the_messages_that_replay_shows(stored, tmp_path, kind, batch):
    lines = SESSIONS[kind]
    data = b"\n" + jsonl(*lines[:2]).encode() + b"\xff broken\r\n" + jsonl(*lines[2:]).encode() + b"\n  \n"
    store, [done] = stored(data, batch=batch)
    log = store.open("s")
    assert (done.format, done.messages) == (kind, len(facts(log)) + sum(map(len, map(facts, sides(store)))))
    recorded = next(read(tmp_path / "s.jsonl", on_skip=lambda _: None))
    head, placed = recorded.facts()
    assert shown(log) == [fact for _, fact in placed]
    assert [each.body for each in log.read() if isinstance(each.body, Head)] == (
        [Head(messages=tuple(head))] if head else []
    )
    assert read_again(exported(store)) == shown(log)


def shown(log):
    """The facts that were not taken back."""
    sent = [each for each in log.read() if each.meta is None or each.meta.include_in_context]
    return [each.body for each in sent if isinstance(each.body, Fact)]


def read_again(data):
    """The facts of an exported session."""
    [found] = read(io.BytesIO(data))
    return [fact for _, fact in found.facts()[1]]


def calls_of(facts):
    return [call.id for fact in facts if isinstance(fact, Assistant) for call in fact.calls]


def sides(store):
    return [store.open(name) for name in store.names() if name != "s"]


@pytest.mark.parametrize("types", [6, 7, 9])
def test_a_remark_says_how_many_types_and_subagents_it_does_not_name(stored, types):
    beside = [{"type": f"type{number}", "sessionId": "s"} for number in range(types)]
    sides = [user(f"x{n}", None, "Look.", isSidechain=True, agentId=f"e{n}") for n in range(types)]
    _, [done] = stored([user("u1", None, "Hi."), *beside, *sides])
    more = {6: "", 7: " and 1 more type", 9: " and 3 more types"}[types]
    named = ", ".join(f"type{number} 1" for number in range(6))
    of = f"{types} of {1 + 2 * types} lines hold no message"
    assert done.remarks == (
        f"{of}, and are not stored ({named}{more})",
        f"{types} subagents are conversations of their own: e0, e1, e2, e3, e4 and {types - 5} more",
    )


def test_what_was_taken_back_is_stored_and_never_sent(stored):
    store, [done] = stored(CLAUDE)
    hidden = [each.body for each in store.open("s").read() if each.meta is not None]
    assert [type(fact).__name__ for fact in hidden] == ["User", "Assistant"]
    assert (done.messages, done.hidden) == (12, 2)
    kinds = "summary 1, file-history-snapshot 1, assistant 1, system 1"
    assert done.remarks == (
        f"4 of 17 lines hold no message, and are not stored ({kinds})",
        "2 messages were taken back by the user: stored, and never sent",
        "1 subagent is a conversation of its own: e1",
    )
    assert [[part.text for part in fact.parts] for fact in facts(store.open("s#e1"))] == [
        ["Look at a."],
        ["a is fine."],
    ]


def test_the_file_of_a_subagent_is_one_conversation(stored):
    store, _ = stored([line for line in CLAUDE if line.get("isSidechain")])
    assert (store.names(), len(facts(store.open("s#e1")))) == (["s#e1"], 2)


@pytest.mark.parametrize("kind", SESSIONS)
@pytest.mark.parametrize("batch", [1, 64_000])
def test_a_session_that_has_grown_goes_on_where_it_ended(stored, kind, batch):
    """At whichever line the import before ended; the last one may not have been written to its end."""
    lines = SESSIONS[kind]
    whole = facts(stored(lines)[0].open("s"))
    for end in range(2, len(lines)):
        torn = (jsonl(*lines[:end]) + json.dumps(lines[end])[:30]).encode()
        store, _ = stored(torn, batch=batch)
        before = len(facts(store.open("s")))
        _, [done] = stored(lines, batch=batch, store=store)
        assert calls_of(read_again(exported(store))) == calls_of(shown(store.open("s")))
        total = facts(store.open("s")) + [fact for log in sides(store) for fact in facts(log)]
        assert done.messages + done.earlier == len(total)
        assert done.earlier >= before
        _, [again] = stored(lines, batch=batch, store=store)
        assert (again.messages, again.earlier) == (0, len(total))
        assert [fact for fact in whole if isinstance(fact, User)] == [
            fact for fact in facts(store.open("s")) if isinstance(fact, User)
        ]


def test_the_end_of_the_last_line_may_come_later(stored):
    data = jsonl(*CLAUDE[2:4]).encode()
    store, _ = stored(data[:-1])
    before = [*store.open("s").read()]
    _, [done] = stored(data, store=store)
    assert (done.messages, done.earlier, [*store.open("s").read()]) == (0, 2, before)


def test_messages_that_are_taken_back_later_are_told_of(stored):
    _, [_, done] = stored(CLAUDE[:14], CLAUDE)
    assert "2 messages were taken back after they had been imported: they are still sent" in done.remarks[2]


def test_another_session_under_the_same_name_is_an_error(stored):
    changed = [*CLAUDE[:3], user("u1", None, "Something else."), *CLAUDE[4:]]
    store, _ = stored(CLAUDE)
    before = [*store.open("s").read()]
    known = "conversation 's' is in the store already, "
    with pytest.raises(InvalidSetting, match=f"{known}and its message 1 is not what"):
        stored(changed, store=store)
    with pytest.raises(InvalidSetting, match=f"{known}imported from another format, claude_code"):
        stored(CODEX, store=store)
    assert [*store.open("s").read()] == before
    store = MemoryStore()
    Conversation.open(store, "s", budget=1_000).user("Hi.")
    with pytest.raises(InvalidSetting, match="conversation 's' is in the store already, and was not imported"):
        stored(CLAUDE, store=store)


def test_a_shorter_file_changes_nothing(stored):
    store, [first, done] = stored(CODEX, CODEX[:5])
    assert len(facts(store.open("s"))) == first.messages
    assert (done.messages, done.skipped[0].split(": ")[1]) == (
        0,
        "the file is shorter than what was imported before; nothing was changed",
    )


@pytest.mark.parametrize("kind", SESSIONS)
def test_what_is_said_after_the_import_is_exported_in_its_place(stored, tmp_path, kind):
    """And the file with it is read as the conversation went on."""
    lines = SESSIONS[kind][:-1]
    dialect = {"claude_code": "anthropic", "codex": "responses", "pi": "openai"}[kind]
    store, [first] = stored(lines)
    with Conversation.open(store, "s", budget=100_000, dialect=dialect) as conversation:
        conversation.user("And then?")
        conversation.request()
        conversation.observe({"role": "assistant", "content": "Nothing."} if kind != "codex" else {**ANSWER, "id": "m"})
    found = export(store.open("s"))
    data = b"".join(found)
    assert found.report.messages >= 2
    (tmp_path / "again.jsonl").write_bytes(data)
    recorded = next(read(tmp_path / "again.jsonl", on_skip=lambda _: None))
    _, placed = recorded.facts()
    assert placed[-2][1].parts == (Text("And then?"),)
    assert recorded.format == kind
    _, [done] = stored(SESSIONS[kind], store=store)
    _, [again] = stored(SESSIONS[kind], store=store)
    assert (again.messages, again.earlier) == (0, done.messages + done.earlier)
    assert done.messages + done.earlier == stored(lines, SESSIONS[kind])[1][1].messages + first.messages


def test_a_store_on_the_disk_and_a_packed_stream(tmp_path):
    store = SqliteStore(tmp_path / "a.db")
    (tmp_path / "s.jsonl.gz").write_bytes(gzip.compress(jsonl(*CLAUDE).encode()))
    with (tmp_path / "s.jsonl.gz").open("rb") as stream:
        [done] = import_file(stream, store)
    [again] = import_file(tmp_path / "s.jsonl.gz", store)
    assert (done.messages, again.messages, again.earlier) == (12, 0, 12)
    assert read_again(exported(store)) == shown(store.open("s"))
    store.close()


@pytest.mark.parametrize("kind", SESSIONS)
def test_a_copy_of_a_session_by_another_name_is_known_again(stored, tmp_path, kind):
    store, [first] = stored(SESSIONS[kind])
    names = store.names()
    copy = tmp_path / "a copy.jsonl"
    copy.write_bytes((tmp_path / "s.jsonl").read_bytes())
    (again,) = import_file(copy, store)
    assert (again.conversation, again.messages, again.earlier) == ("s", 0, first.messages)
    assert store.names() == names


def test_a_file_of_several_sessions_has_the_name_of_the_file_if_that_is_one_of_them(stored):
    _, [done] = stored([user("u1", None, "Hi.", sessionId="s"), user("u2", "u1", "Go on.", sessionId="newer")])
    assert done.conversation == "s"
    _, [done] = stored([user("u1", None, "Hi.", sessionId="old"), user("u2", "u1", "Go on.", sessionId="newer")])
    assert done.conversation == "newer"


def test_a_local_shell_is_answered_in_a_rollout_as_codex_answers_it(stored):
    """Like a function. Codex does not know the type of item that the API has for it: it would think that the call was
    never answered."""
    call = {"type": "local_shell_call", "call_id": "c1", "status": "completed", "action": {"command": ["ls"]}}
    output = {"type": "function_call_output", "call_id": "c1", "output": "a.py"}
    store, _ = stored([CODEX[0], item(**said("user", "Look.")), item(**call), item(**output)])
    written = [json.loads(line)["payload"] for line in exported(store).decode().splitlines()]
    assert written[-1] == output


def test_the_parts_of_an_instruction_stay_apart_in_a_rollout(tmp_path):
    parts = [{"type": "text", "text": text} for text in ("Be brief.", "Be kind.")]
    chat = {"messages": [{"role": "system", "content": parts}, {"role": "user", "content": "Hi."}]}
    (tmp_path / "chat.json").write_text(json.dumps(chat))
    store = MemoryStore()
    [done] = import_file(tmp_path / "chat.json", store)
    head = json.loads(b"".join(export(store.open(done.conversation), "codex")).splitlines()[0])
    assert head["payload"]["base_instructions"]["text"] == "Be brief.\n\nBe kind."


def test_the_subagents_of_a_session_are_stored_in_the_order_in_which_they_began(tmp_path):
    agents = [f"e{number}" for number in (4, 1, 8, 2, 7, 3, 6, 5)]
    sides = [user(f"x{name}", None, "Look.", isSidechain=True, agentId=name) for name in agents]
    path = tmp_path / "s.jsonl"
    path.write_text(jsonl(user("u1", None, "Count."), *sides))
    store = MemoryStore()
    list(import_file(path, store))
    assert [name for name in store.names() if name != "s"] == [f"s#{name}" for name in agents]
