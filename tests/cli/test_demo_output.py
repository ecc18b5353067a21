"""`transom demo`: its replay, and the commands that it names."""

from __future__ import annotations

import json
import re
import shlex

from conversation_files import chat, write_jsonl

from transom.cli.demo import SESSION
from transom.importers import read


def test_the_next_commands_of_the_demo_work(run, demo):
    write_jsonl("chats.jsonl", {"id": "one", "messages": chat(1)})
    lines = demo.split("Where to look next\n")[1].splitlines()
    commands = [re.split(r"  +", line.strip())[0] for line in lines]
    assert len(commands) == 4
    for line in commands:
        name, *args = shlex.split(line)
        assert (name, run(*args)[0]) == ("transom", 0), line


def test_the_demo_has_several_compactions(run):
    code, out, _ = run("demo", "--json")
    total = json.loads(out)["total"]
    assert code == 0
    assert (total["invalid"], total["over"], total["refused"], total["skipped"]) == (0, 0, 0, 0)
    assert total["calls"] > 40
    assert total["compactions"] >= 3
    assert total["cached_share"] > 0.75


def test_the_recording_is_small_and_has_no_local_paths(folder):
    assert SESSION.stat().st_size < 150_000
    (record,) = read(SESSION)
    text = json.dumps(record.messages)
    assert sum(message["role"] == "tool" for message in record.messages) >= 60
    assert not re.search(r"(?<![\w.])/(?:home|root|Users|work|usr)/", text), "a path of the machine it was recorded on"
