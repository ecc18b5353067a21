"""`transom import` and `transom export`."""

from __future__ import annotations

import json

import pytest
from conversation_files import chat, write_jsonl

from transom.cli.stores import remember_store
from transom.importers import FORMATS

CLAUDE = [
    {"type": "user", "uuid": "u1", "parentUuid": None, "message": {"role": "user", "content": "Count. " * 30}},
    {
        "type": "assistant",
        "uuid": "u2",
        "parentUuid": "u1",
        "message": {"id": "m1", "role": "assistant", "content": [{"type": "text", "text": "Two."}]},
    },
    {"type": "summary", "summary": "Counting", "leafUuid": "u2"},
]


@pytest.fixture
def imported(run, folder):
    """A session and two conversations in the store of this folder."""
    write_jsonl(folder / "trip.jsonl", *CLAUDE)
    write_jsonl(folder / "chats.jsonl", {"id": "one", "messages": chat(1)}, {"id": "two", "messages": chat(2)})
    return run("import", "trip.jsonl", "chats.jsonl")


def test_import_tells_what_became_of_each_conversation(run, folder, imported):
    text = (
        "trip: 2 messages (Claude Code session)\n"
        "    1 of 3 lines hold no message, and are not stored (summary 1)\n"
        "one: 4 messages (OpenAI Chat)\n"
        "two: 6 messages (OpenAI Chat)\n"
        "3 conversations in sqlite:///.transom/imports.db\n"
    )
    assert imported == (0, text, "")
    write_jsonl(folder / "trip.jsonl", *CLAUDE, CLAUDE[0] | {"uuid": "u3", "parentUuid": "u2"})
    with (folder / "trip.jsonl").open("a") as file:
        file.write('{"type": "user"')
    code, out, err = run("import", "trip.jsonl", "--json")
    assert (code, err) == (0, "transom: trip.jsonl line 5: left out, it is not written to its end\n")
    assert json.loads(out) == {
        "store": "sqlite:///.transom/imports.db",
        "conversations": [
            {
                "conversation": "trip",
                "format": "claude_code",
                "source": "trip.jsonl",
                "messages": 1,
                "earlier": 2,
                "hidden": 0,
                "remarks": ["1 of 4 lines hold no message, and are not stored (summary 1)"],
                "skipped": ["trip.jsonl line 5: left out, it is not written to its end"],
            }
        ],
    }


def test_what_was_imported_can_be_looked_at(run, imported):
    assert run("explain", "trip")[0] == 0
    assert "entries 0–1, from a file (claude_code)" in run("log", "trip")[1]
    assert run("window", "one", "--budget", 4_000)[0] == 0


def test_export_gives_the_same_messages_in_any_format(run, folder, imported):
    code, out, err = run("export", "trip")
    lines = [json.loads(line) for line in out.splitlines()]
    assert (code, [line["message"]["content"] for line in lines], err) == (
        0,
        [line["message"]["content"] for line in CLAUDE[:2]],
        f"transom: the session has an id of its own: {lines[0]['sessionId']}\n",
    )
    code, out, err = run("export", "trip", "--format", "openai")
    messages = [{"role": "user", "content": "Count. " * 30}, {"role": "assistant", "content": "Two."}]
    assert (code, json.loads(out), err) == (0, {"messages": messages}, "")
    assert run("export", "two", "-o", "two.jsonl") == (0, "", "transom: two.jsonl: 6 messages (OpenAI Chat)\n")
    assert json.loads((folder / "two.jsonl").read_text()) == {"messages": chat(2)}
    code, out, _ = run("export", "two", "-o", "two.json", "--format", "anthropic", "--json")
    report = {"conversation": "two", "format": "anthropic", "session": "", "messages": 6, "notes": []}
    assert (code, json.loads(out)) == (0, report)
    system, *_ = chat(2)
    assert json.loads((folder / "two.json").read_text())["system"] == system["content"]


def test_errors(run, folder, imported):
    errors = [
        (("import", "none.jsonl"), "none.jsonl: No such file or directory"),
        (("import", "chats.jsonl", "--id", "x"), "--id names one conversation, and there are several: leave it out"),
        (
            ("import", "chats.jsonl", "trip.jsonl", "--id", "x"),
            "--id names one conversation, and there are several files",
        ),
        (("import", "trip.jsonl", "--format", "codex"), "trip.jsonl: this is no Codex session, but events of a"),
        (("export", "nobody"), "no conversation 'nobody' in sqlite:///.transom/imports.db"),
        (
            ("export", "trip", "--format", "word"),
            f"unknown format 'word': there are {', '.join(name for name, each in FORMATS.items() if each.written)}\n",
        ),
        (("export", "trip", "--json"), "--json: the conversation goes to stdout; name a file with -o"),
    ]
    for args, message in errors:
        code, out, err = run(*args)
        assert (code, out) == (2, "")
        assert message in err
    assert run("import", "chats.jsonl")[1].startswith("one: 0 messages (OpenAI Chat), 4 were there already\n")
    write_jsonl(
        folder / "chats.jsonl", {"id": "one", "messages": [*chat(1)[:1], {"role": "user", "content": "Other."}]}
    )
    assert (
        "conversation 'one' is in the store already, and its message 0 is not what" in run("import", "chats.jsonl")[2]
    )


@pytest.mark.parametrize("store", ["new.db", "new/", None])
@pytest.mark.parametrize("command", ["import", "replay"])
def test_a_command_that_fails_leaves_no_new_store_and_the_old_default(run, folder, imported, command, store):
    (folder / "empty.json").write_text("")
    before = (folder / ".transom/last").read_text()
    given = [] if store is None else ["--store", store]
    code, _, err = run(command, "empty.json", *given)
    assert (code, err) == (2, "transom: no conversation in empty.json\n")
    assert {path.name for path in folder.iterdir()} == {".transom", "trip.jsonl", "chats.jsonl", "empty.json"}
    assert not (folder / ".transom/replays.db").exists()
    assert (folder / ".transom/last").read_text() == before
    assert run("explain", "trip")[0] == 0


def test_fields_that_another_format_does_not_take_are_counted(run, folder):
    messages = [
        {"role": "user", "name": "ana", "content": "Count.", "mood": "glad"},
        {"role": "assistant", "content": "Two."},
    ]
    write_jsonl(folder / "chats.jsonl", {"id": "one", "messages": messages})
    assert run("import", "chats.jsonl")[0] == 0
    assert run("export", "one")[2] == ""
    code, out, err = run("export", "one", "--format", "claude_code")
    assert (code, "ana" in out) == (0, False)
    assert err.splitlines()[1:] == ["Fields of messages left out that only their own provider takes: 2."]


ID = "0199a213-81c0-7800-8aa1-bbab2a035a53"


@pytest.mark.parametrize("written", ["claude_code", "codex", "pi"])
def test_an_imported_session_is_exported_under_its_id(run, folder, written):
    lines = [{**line, "sessionId": ID} for line in CLAUDE]
    write_jsonl(folder / "copy.jsonl", *lines)
    assert run("import", "copy.jsonl")[1].startswith(f"{ID}: ")
    code, out, err = run("export", ID, "--format", written)
    first = json.loads(out.splitlines()[0])
    assert (code, first.get("sessionId") or first.get("id") or first["payload"]["id"]) == (0, ID)
    assert "an id of its own" not in err
    report = json.loads(run("export", ID, "--format", written, "-o", "out.jsonl", "--json")[1])
    assert report["session"] == ID


@pytest.mark.parametrize("name", ["trip", f"{ID}#e1", f"{ID} (2)"])
def test_a_conversation_with_another_name_is_a_session_of_its_own(run, folder, name):
    write_jsonl(folder / "copy.jsonl", *CLAUDE)
    run("import", "copy.jsonl", "--id", name)
    _, out, err = run("export", name)
    (own,) = {json.loads(line)["sessionId"] for line in out.splitlines()}
    assert own != name
    assert err == f"transom: the session has an id of its own: {own}\n"
    assert run("export", name)[1] == out


def test_import_says_how_many_conversations_the_store_has(run, folder, imported):
    for names, said in (("one", "1 of the 4 conversations"), ("one trip", "2 of the 4 conversations")):
        write_jsonl("more.jsonl", *({"id": f"{name}-more", "messages": chat(1)} for name in names.split()[:1]))
        files = ["more.jsonl", *(f"{name}.jsonl" for name in names.split()[1:])]
        assert run("import", *files)[1].splitlines()[-1] == f"{said} in sqlite:///.transom/imports.db"


def test_where_the_last_store_is_gone_no_other_is_taken_for_it(run, folder, imported):
    remember_store("none.db")
    code, out, err = run("forget", "trip", "--yes")
    assert (code, out) == (2, "")
    assert "none.db" in err
    assert "trip" in run("log", "trip", "--store", ".transom/imports.db")[1]
