"""What `read` takes: the formats it recognises, and the ways a file can be laid out."""

from __future__ import annotations

import gzip
import io
import json
import logging
from pathlib import Path

import pytest
from sessions import assistant, item, jsonl, said, text, user

from transom.errors import InvalidMessage, InvalidSetting
from transom.exporters import export
from transom.importers import FORMATS, Recorded, import_file, read
from transom.stores import MemoryStore
from transom.wire.dialects import dialect_named

HI, HELLO = {"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}
CHAT = [{"role": "system", "content": "Be brief."}, HI, HELLO]
CHAT_TOOL = {"type": "function", "function": {"name": "ls", "parameters": {"type": "object"}}}
CHAT_CALL = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
CALLING = [HI, {"role": "assistant", "content": None, "tool_calls": [CHAT_CALL]}]
MARKED = [{"role": "user", "content": [{**text("Hi."), "cache_control": {"type": "ephemeral"}}]}]
BLOCKS = [HI, {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "ls", "input": {}}]}]
BLOCK_TOOL = {"name": "ls", "input_schema": {"type": "object"}}
ITEMS = [said("user", "Hi."), {"type": "function_call", "call_id": "c1", "name": "ls", "arguments": "{}"}]
ITEM_TOOL = {"type": "function", "name": "ls"}
CONTENTS = [{"role": "user", "parts": [{"text": "Hi."}]}, {"role": "model", "parts": [{"text": "Hello."}]}]
DECLARED = {"functionDeclarations": [{"name": "ls"}]}
BRIEF = {"parts": [{"text": "Be brief."}]}


OLD_TOOL = {"type": "function", "function": {"name": "ls"}}

BODIES = {
    "chat body": (
        {"model": "gpt-x", "messages": [HI, HELLO], "tools": [CHAT_TOOL]},
        ("openai", [HI, HELLO], None, (CHAT_TOOL,)),
    ),
    "chat body of old": ({"messages": [HI], "functions": [OLD_TOOL["function"]]}, ("openai", [HI], None, (OLD_TOOL,))),
    "chat with Claude behind a proxy": (
        {"model": "claude-x", "messages": CHAT, "max_tokens": 9},
        ("openai", CHAT, None, ()),
    ),
    "chat with a cache mark": ({"model": "anthropic/claude-x", "messages": MARKED}, ("openai", MARKED, None, ())),
    "chat list": (CALLING, ("openai", CALLING, None, ())),
    "plain texts": ([HI, HELLO], ("openai", [HI, HELLO], None, ())),
    "own form": (
        {"id": "mine", "messages": [HI], "system": "Be brief.", "tools": [CHAT_TOOL]},
        ("openai", [HI], "Be brief.", (CHAT_TOOL,)),
    ),
    "Anthropic body": (
        {"model": "claude-x", "system": "Be brief.", "messages": [HI, HELLO], "tools": [BLOCK_TOOL]},
        ("anthropic", [HI, HELLO], "Be brief.", (BLOCK_TOOL,)),
    ),
    "Anthropic body for another model": (
        {"model": "glm-x", "max_tokens": 9, "system": "Be brief.", "messages": [HI, HELLO]},
        ("anthropic", [HI, HELLO], "Be brief.", ()),
    ),
    "Anthropic body with system blocks": (
        {"max_tokens": 9, "system": [text("Be brief.")], "messages": MARKED},
        ("anthropic", MARKED, [text("Be brief.")], ()),
    ),
    "Anthropic list": (BLOCKS, ("anthropic", BLOCKS, None, ())),
    "Responses body": (
        {"model": "gpt-x", "instructions": "Be brief.", "input": ITEMS, "tools": [ITEM_TOOL]},
        ("responses", ITEMS, "Be brief.", (ITEM_TOOL,)),
    ),
    "Responses body with a text": ({"model": "gpt-x", "input": "Hi."}, ("responses", [HI], None, ())),
    "Responses items": (ITEMS, ("responses", ITEMS, None, ())),
    "Gemini body": (
        {"contents": CONTENTS, "systemInstruction": BRIEF, "tools": [DECLARED]},
        ("gemini", CONTENTS, BRIEF, (DECLARED,)),
    ),
    "Gemini body in Python's words": (
        {"contents": CONTENTS, "system_instruction": "Be brief."},
        ("gemini", CONTENTS, "Be brief.", ()),
    ),
    "Gemini contents": (CONTENTS, ("gemini", CONTENTS, None, ())),
    "nothing at all": ([], ("openai", [], None, ())),
}


@pytest.mark.parametrize("name", BODIES)
def test_bodies_and_lists(tmp_path, name):
    value, (format_name, messages, system, tools) = BODIES[name]
    path = tmp_path / "chat.json"
    for indent in (None, 1):
        path.write_text(json.dumps(value, indent=indent))
        [found] = read(path)
        assert found == Recorded(
            id="mine" if name == "own form" else "chat",
            format=format_name,
            dialect=format_name,
            messages=messages,
            system=system,
            tools=tools,
            source=str(path),
        )
    dialect = dialect_named(found.dialect)
    assert [at for at, _ in dialect.parse(found.messages)] == list(range(len(messages)))
    assert system is None or dialect.parse_system(system)


def test_every_body_by_itself_a_line_or_in_a_list(tmp_path):
    values = [value for value, _ in BODIES.values() if value]
    expected = [(format_name, messages) for _, (format_name, messages, _, _) in BODIES.values() if messages]
    (tmp_path / "many.jsonl").write_text(jsonl(*values))
    (tmp_path / "many.json").write_text(json.dumps(values, indent=1))
    lined, listed = (list(read(tmp_path / name)) for name in ("many.jsonl", "many.json"))
    for found in (lined, listed):
        assert [(one.format, one.messages) for one in found] == expected
        assert [one.id for one in found[:3]] == ["many:1", "many:2", "many:3"]
    assert [lined[1].source, listed[1].source] == [
        f"{tmp_path}/many.jsonl line 2",
        f"{tmp_path}/many.json, conversation 2",
    ]


MESSAGES = {"openai": CHAT, "anthropic": BLOCKS, "responses": ITEMS, "gemini": CONTENTS}


@pytest.mark.parametrize(("format_name", "messages"), MESSAGES.items())
def test_a_message_a_line(tmp_path, format_name, messages):
    (tmp_path / "chat.jsonl").write_text(jsonl(*messages))
    [found] = read(tmp_path / "chat.jsonl")
    assert (found.id, found.format, found.messages) == ("chat", format_name, messages)


SESSION = [user("u1", None, "Hi."), assistant("a1", "u1", "m1", text("Hello."))]
ROLLOUT = [{"type": "session_meta", "payload": {"id": "s1"}}, item(**said("user", "Hi."))]


@pytest.mark.parametrize(("lines", "format_name"), [(SESSION, "claude_code"), (ROLLOUT, "codex")])
def test_a_session_by_line_and_as_a_list(tmp_path, lines, format_name):
    (tmp_path / "s.jsonl").write_text(jsonl(*lines))
    (tmp_path / "s.json").write_text(json.dumps(lines))
    lined, listed = (next(read(tmp_path / name)) for name in ("s.jsonl", "s.json"))
    assert (lined.format, lined.messages) == (listed.format, listed.messages)
    assert (lined.format, lined.dialect) == (format_name, FORMATS[format_name].dialect)


def test_streams_and_gzip(tmp_path):
    plain = jsonl({"id": "one", "messages": CHAT}, [HI]).encode()
    packed = gzip.compress(plain)
    (tmp_path / "a.jsonl.gz").write_bytes(packed)
    (tmp_path / "b.jsonl").write_bytes(packed)  # packed without the name
    expected = [("one", CHAT), ("stream:2", [HI])]
    for stream in (io.BytesIO(plain), io.BytesIO(packed), io.StringIO(plain.decode())):
        assert [(one.id, one.messages) for one in read(stream)] == expected
    assert [one.id for one in read(tmp_path / "a.jsonl.gz")] == ["one", "a:2"]
    with (tmp_path / "b.jsonl").open("rb") as file:
        assert [one.messages for one in read(file)] == [CHAT, [HI]]
        assert not file.closed
    assert [one.messages for one in read(str(tmp_path / "b.jsonl"))] == [CHAT, [HI]]


def test_a_folder_is_every_json_file_in_it(tmp_path):
    inner = tmp_path / "b" / "inner"
    inner.mkdir(parents=True)
    (tmp_path / "c.json").write_text(json.dumps(CONTENTS))
    (inner / "s.jsonl").write_text(jsonl(*SESSION))
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(jsonl([HI]).encode()))
    (tmp_path / "b" / "settings.json").write_text('{"theme": "dark"}')
    (tmp_path / "b" / "notes.md").write_text("no JSON")
    (tmp_path / ".transom").mkdir()
    (tmp_path / ".transom" / "d.json").write_text(json.dumps([HI]))
    (tmp_path / "empty.jsonl").write_text("\n\n")
    (tmp_path / "torn.json").write_text('{"messages": [')
    skipped: list[str] = []
    reader = read(tmp_path, on_skip=skipped.append)
    found = [(one.id, one.format, reader.progress) for one in reader]
    assert [(name, kind) for name, kind, _ in found] == [("a:1", "openai"), ("s", "claude_code"), ("c", "gemini")]
    progress = [share for _, _, share in found]
    assert 0 < progress[0] <= progress[1] <= progress[2] < reader.progress == 1
    assert skipped == [
        f"{tmp_path}/b/settings.json: skipped, it holds an object with the keys 'theme'",
        f"{tmp_path}/torn.json: the rest of the file is skipped, not JSON: Expecting value (column 15)",
    ]


def test_a_folder_without_json(tmp_path):
    (tmp_path / "notes.md").write_text("no JSON")
    with pytest.raises(InvalidSetting, match=r"no file in this folder is named \.json, \.jsonl, \.ndjson"):
        list(read(tmp_path))


@pytest.mark.parametrize("source", ["", None, 42, b"a.json", ["a.json"]])
@pytest.mark.parametrize("use", [read, lambda source: import_file(source, MemoryStore())])
def test_a_source_that_is_no_path_and_no_file_is_refused(folder_with_a_conversation, use, source):
    with pytest.raises(InvalidSetting) as raised:
        list(use(source))
    message = f"source: must be the path of a file or folder, or an open file, not {source!r}"
    assert str(raised.value) == message


@pytest.fixture
def folder_with_a_conversation(tmp_path, monkeypatch):
    """The current folder has a conversation, which nobody named."""
    (tmp_path / "chat.json").write_text(json.dumps(CHAT))
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", ["", [], 3, "word"])
def test_a_format_that_is_no_name_is_refused(folder_with_a_conversation, name):
    store = MemoryStore()
    list(import_file("chat.json", store))
    written = [each for each, about in FORMATS.items() if about.written]
    for use, known in (
        (lambda: read("chat.json", name), FORMATS),
        (lambda: import_file("chat.json", store, format=name), FORMATS),
        (lambda: export(store.open("chat"), name), written),
    ):
        with pytest.raises(InvalidSetting) as raised:
            use()
        assert str(raised.value) == f"unknown format {name!r}: there are {', '.join(known)}"


@pytest.mark.parametrize("log", [None, "chat", io.BytesIO()])
def test_an_export_of_something_else_than_a_log_is_refused(log):
    with pytest.raises(InvalidSetting, match=r"^log: must be a log of a store, as store\.open\(name\) gives it"):
        export(log)


def test_a_format_that_is_asked_for(tmp_path):
    path = tmp_path / "chat.json"
    path.write_text(json.dumps([HI, HELLO]))
    assert [one.dialect for one in read(path, "anthropic")] == ["anthropic"]
    assert [one.format for one in read(path)] == ["openai"]
    (tmp_path / "s.jsonl").write_text(jsonl(*ITEMS))
    assert [one.format for one in read(tmp_path / "s.jsonl")] == ["responses"]
    assert [(one.format, one.messages) for one in read(tmp_path / "s.jsonl", "codex")] == [("codex", ITEMS)]
    with pytest.raises(InvalidSetting, match="unknown format 'word': there are openai, responses, anthropic, gemini,"):
        read(path, "word")


REPLY = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hello."}]}


@pytest.mark.parametrize(
    ("row", "found"),
    [
        ({"role": "support", "messages": CHAT}, ("openai", CHAT)),
        ({"role": None, "messages": CHAT}, ("openai", CHAT)),
        ({"role": "support", "input": CHAT}, ("responses", CHAT)),
        ({"model": "gpt-5", "input": "Hi.", "output": [REPLY]}, ("responses", [HI, REPLY])),
        ({"model": "gpt-5", "input": "Hi.", "output": None}, ("responses", [HI])),
    ],
)
def test_a_row_is_read_with_keys_of_its_own_beside_the_messages(row, found):
    for given in (None, found[0]):
        for text_of in (json.dumps(row), json.dumps([row])):
            records = read(io.BytesIO(text_of.encode() + b"\n"), given)
            assert [(one.format, one.messages) for one in records] == [found]


UNKNOWN = [
    ('{"theme": "dark"}', "an object with the keys 'theme'"),
    ("{}", "an empty object"),
    ('{"a": 1}\n{"b": 2}\n', "an object with the keys 'a'"),
    ('{"input": ["embed", "this"]}', "an object with the keys 'input'"),
]

ALMOST = [
    ('{"messages": [{"role": "user", "content": [{"words": "Hi."}]}]}', "message 0 with content parts of no API"),
    ('[{"role": "user", "body": "Hi."}]', "message 0 with texts under the key 'body', and no content"),
    ('[{"role": "user", "chunks": [{"words": "Hi."}]}]', "message 0 with texts under the key 'chunks', and no content"),
    (
        '[{"role": "user", "content": "Hi."}, {"role": "user", "content": [{"type": "say-it", "words": "Hi."}]}]',
        "message 1 with a part of the type 'say-it', which no format here has",
    ),
    (
        '[{"role": "user", "content": "Hi."}, {"role": "wizard", "content": "Hello."}]',
        "message 1 with the role 'wizard': the roles of openai are assistant, developer, function, system, tool, user",
    ),
    ('[{"content": "Hi."}]', "messages without a role"),
]


@pytest.mark.parametrize(("content", "seen"), UNKNOWN + ALMOST)
def test_what_cannot_be_recognised_is_named_in_one_line(tmp_path, content, seen):
    path = tmp_path / "chat.json"
    path.write_text(content)
    with pytest.raises(InvalidMessage) as raised:
        list(read(path))
    line = str(raised.value)
    assert line.startswith(str(path))
    assert f": no conversation is recognised here, but {seen}. " in line
    assert "--format chooses" in line
    assert all(name in line for name in FORMATS) == ((content, seen) in UNKNOWN), "messages are of a known format"
    assert "\n" not in line


BROKEN = [
    ("nonsense", "chat.jsonl line 1: not JSON: Expecting value (column 1)"),
    ('{"id": "x", "messages": {}}', "chat.jsonl line 1: messages must be a list, not an object"),
    ('{"id": 7.5, "messages": []}', "chat.jsonl line 1: id must be a text, not a number"),
    (
        '{"messages": []}\n{"role": "user"}',
        "chat.jsonl line 2: messages must be a list, but is missing; this looks like a single message",
    ),
    ("[" * 2_000 + "]" * 2_000, "chat.jsonl line 1: nested too deeply: a message may have 100 levels"),
    ('{"messages": []}\nnonsense', "chat.jsonl line 2: not JSON: Expecting value (column 1)"),
    ('\n\n[\n{"role": "user"},\nnonsense\n]', "chat.jsonl: not JSON: Expecting value (line 5 column 1)"),
    ('{"messages": []}\n7', "chat.jsonl line 2: a conversation must be an object, not a number"),
]


@pytest.mark.parametrize(("content", "message"), BROKEN)
def test_a_whole_conversation_is_never_left_out(tmp_path, content, message):
    (tmp_path / "chat.jsonl").write_text(content)
    with pytest.raises(InvalidMessage) as raised:
        list(read(tmp_path / "chat.jsonl"))
    assert str(raised.value) == f"{tmp_path}/{message}"


def test_what_is_left_out_is_logged_if_nobody_listens(tmp_path, caplog):
    (tmp_path / "s.jsonl").write_text(jsonl(*SESSION) + "torn")
    with caplog.at_level(logging.WARNING):
        assert len(list(read(tmp_path / "s.jsonl"))) == 1
    assert caplog.messages == [f"{tmp_path}/s.jsonl line 3: left out, it is not written to its end"]


def test_a_conversation_is_handed_out_before_the_rest_is_read(tmp_path):
    path = tmp_path / "chats.jsonl"
    path.write_text(jsonl(*({"id": str(n), "messages": CHAT * 100} for n in range(100))))
    reader = read(path)
    shares = [reader.progress for _ in reader]
    assert 0 < shares[0] < 0.1
    assert shares == sorted(shares)
    assert shares[-1] == 1


def test_the_example_of_the_page_works_and_its_table_has_every_format(tmp_path, monkeypatch, capsys):
    page = (Path(__file__).parents[2] / "docs" / "formats.md").read_text()
    (tmp_path / "chats").mkdir()
    (tmp_path / "chats" / "one.jsonl").write_text(jsonl({"id": "one", "messages": CHAT}))
    monkeypatch.chdir(tmp_path)
    exec(page.split("```python\n")[1].split("```")[0], {})
    assert capsys.readouterr().out == "one openai 3 2\n"
    assert [name for name in FORMATS if f"| `{name}` |" not in page] == []


def test_real_request_bodies_are_what_their_address_says(data: Path):
    """Every recorded request to one of the four APIs is recognised as that API's, and its dialect can read it."""
    wrong = []
    with gzip.open(data / "provider_exchanges.jsonl.gz") as file:
        exchanges = [json.loads(line) for line in file]
    for exchange in exchanges:
        wanted = _api_of(exchange)
        if wanted is None:
            continue
        [found] = read(io.BytesIO(json.dumps(exchange["request"]).encode()))
        dialect = dialect_named(found.dialect)
        dialect.parse(found.messages)
        if found.system is not None:
            dialect.parse_system(found.system)
        if found.format != wanted:
            wrong.append((exchange["cassette"], wanted, found.format))
    assert wrong == []


def _api_of(exchange):
    path = exchange["path"].partition("?")[0]
    if exchange["provider"] in {"bedrock", "cohere"} or "embeddings" in path:
        return None
    if ":generateContent" in path or ":streamGenerateContent" in path:
        return "gemini"
    if path.endswith("/responses"):
        return "responses"
    return "anthropic" if path.endswith("/messages") else "openai" if path.endswith("/chat/completions") else None
