"""The commands on a PostgreSQL store: they work, and print and keep no password."""

from __future__ import annotations

import json
from pathlib import Path

import psycopg
from conversation_files import chat, write_jsonl

from postgres_server import TestServer, schema_for
from transom.stores.postgres_url import parse_postgres_url


def test_commands_on_a_server(run, postgres: TestServer, tmp_path: Path):
    shown = postgres.url(schema_for(str(tmp_path)))
    url = shown.replace("postgres@", "postgres:s3cret@")
    file = write_jsonl("chats.jsonl", {"id": "chat 1", "messages": chat(3, 2_000)})
    printed = [run("replay", file, "--budget", 90_000, "--store", url, "--json")]
    printed.append(run("conversations", "--store", url, "--json"))
    printed.append(run("conversations", "--store", url))
    printed.append(run("fork", "chat 1", "--at", 2))
    printed.append(run("window", "chat 1@2", "--budget", 90_000))
    printed.append(run("search", "x", "--store", url, "--json"))
    printed.append(run("memory", "--store", url))
    printed.append(run("memory", "--store", url, "--json"))
    printed.append(run("forget", "chat 1@2", "--yes", "--store", url))
    assert [code for code, _, _ in printed] == [0, 0, 0, 0, 0, 1, 0, 0, 0]
    imported = run("import", file, "--store", url, "--id", "chat 2")
    as_json = run("import", file, "--store", url, "--id", "chat 3", "--json")
    assert (imported[0], as_json[0]) == (0, 0)
    assert json.loads(as_json[1])["store"] == shown
    missing = run("log", "nobody", "--store", url)
    assert missing[0] == 2
    assert json.loads(printed[1][1])["store"] == shown
    assert printed[-1][1].endswith(", forgotten\n")
    assert Path(".transom/last").read_text() == shown + "\n"
    assert "s3cret" not in repr([*printed, imported, as_json, missing])


def test_a_schema_that_is_not_there_is_not_created(run, postgres: TestServer, tmp_path: Path):
    schema = schema_for(str(tmp_path))
    url = postgres.url(schema)
    for args in (
        ("conversations", "--store", url),
        ("search", "x", "--store", url),
        ("forget", "x", "--yes", "--store", url),
    ):
        assert run(*args) == (2, "", f"transom: store {url!r}: there is nothing there, in this schema\n")
    with psycopg.connect(parse_postgres_url(url).conninfo) as db:
        assert db.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (schema,)).fetchone() is None
