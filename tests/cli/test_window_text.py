"""`transom window ID --as text`: what the model reads, for people."""

from __future__ import annotations

import json
import re

import pytest
from conversation_files import write_jsonl
from test_terminal_output import on_a_terminal

from transom import texts
from transom.quoting import escaped

CALL = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "write_file", "arguments": json.dumps({"path": "notes.md", "text": "one\ntwo\nthree"})},
}
TALK = [
    {"role": "system", "content": "You keep notes."},
    {"role": "user", "content": "Write them down."},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "call_1", "content": "done\n"},
    {"role": "assistant", "content": "They are in notes.md."},
]


def window_text(run, *args, budget=16_000):
    code, out, err = run("window", *args, "--budget", budget, "--as", "text")
    assert (code, err) == (0, "")
    return out


def replay(run, messages, budget=16_000):
    write_jsonl("chats.jsonl", {"id": "notes", "messages": messages})
    assert run("replay", "chats.jsonl", "--budget", budget)[0] == 0


def test_each_message_is_below_its_role_with_its_tokens(run):
    replay(run, TALK)
    assert window_text(run, "notes") == (
        """notes: the window of the next call, not logged
65 of 16,000 tokens, 5 messages

── system ───────────────────────────────────────────────────────────── 8 tokens
  You keep notes.

── user · entry 0 ───────────────────────────────────────────────────── 8 tokens
  Write them down.

── assistant · entry 3 ─────────────────────────────────────────────── 27 tokens
  → write_file path=notes.md
    text:
    │ one
    │ two
    │ three

── tool · write_file, entry 4 ───────────────────────────────────────── 9 tokens
  done

── assistant · entry 6 ─────────────────────────────────────────────── 10 tokens
  They are in notes.md.

"""
    )


def test_a_record_has_its_quotes_apart(run, demo):
    out = window_text(run, "demo", "--full")
    messages = json.loads(run("window", "demo", "--budget", 16_000, "--json")[1])["messages"]
    records = [message["content"] for message in messages if texts.is_record(message["content"] or "")]
    assert records
    titles = re.findall(r"^── record · entries (\d+)–(\d+), (\d+) turns ─", out, re.MULTILINE)
    named = [re.search(r"entry (\d+) to entry (\d+), a record of (\d+) turns", record) for record in records]
    assert titles == [found and found.groups() for found in named]
    barred = "\n".join(line.partition("│ ")[2] for line in out.splitlines() if line.startswith("    │"))
    for record in records:
        for quote in re.findall(r"^«[^«»]*»", record, re.MULTILINE):
            assert escaped(squeezed(quote)) in squeezed(barred)
        for line in re.findall(r"^\d+ \w+ [^«»\n]*$", record, re.MULTILINE):
            assert escaped(squeezed(line)) in squeezed(out)


def squeezed(text):
    """Without blanks: lines are wrapped."""
    return re.sub(r"\s", "", text)


def test_long_texts_are_shortened_unless_all_is_wanted(run):
    long = "\n".join(f"line {n}" for n in range(1_000))
    replay(run, [*TALK, {"role": "user", "content": f"{long}\n{'wide ' * 1_000}"}])
    short, full = window_text(run, "notes"), window_text(run, "notes", "--full")
    assert "  … 987 lines …\n  line 998\n" in short
    assert "characters…" in short
    assert len(short.splitlines()) < 50
    assert "line 500\n" in full
    assert full.count("wide") == 1_000


def test_control_characters_do_not_reach_the_terminal(run):
    bad = "\x1b[31mred\x1b[0m \x07 \x9b31m \u202e back [bold]markup[/] \r\n\tnext"
    call = {"id": "c \x1b[2J", "type": "function", "function": {"name": "run\x1b", "arguments": json.dumps({bad: bad})}}
    replay(
        run,
        [
            {"role": "system", "content": bad},
            {"role": "user", "content": bad},
            {"role": "assistant", "reasoning_content": bad, "content": bad, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call["id"], "content": bad},
            {"role": "user", "content": bad},
        ],
    )
    for out in (window_text(run, "notes"), window_text(run, "notes", "--full")):
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", out)
        assert "[bold]markup[/]" in out
        assert "\\x1b[31mred" in out


def test_control_characters_in_a_record_do_not_reach_the_terminal(run):
    bad = "\x1b[31m \x07 src/red_\u202efile.py "
    turns = [
        [{"role": "user", "content": f"{bad} number_{n}"}, {"role": "assistant", "content": f"{bad} done_{n} " * 20}]
        for n in range(60)
    ]
    replay(run, [message for turn in turns for message in turn], budget=3_000)
    out = window_text(run, "notes", budget=3_000)
    assert "── record · entries" in out
    assert "\\x1b[31m" in out
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", out)


@pytest.mark.usefixtures("demo")
def test_a_terminal_gets_colours_and_a_pipe_none(run):
    code, seen = on_a_terminal("window", "demo", "--budget", "16000", "--as", "text", columns=72)
    assert code == 0
    assert "\x1b[2m│ " in seen, "quotes are dimmed"
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen)
    assert max(len(line) for line in re.split(r"[\r\n]+", plain)) <= 72
    assert "\x1b" not in window_text(run, "demo")


def test_options_that_exclude_each_other(run):
    replay(run, TALK)
    both = run("window", "notes", "--budget", 16_000, "--as", "text", "--json")
    assert both == (2, "", "transom: --json is for programs and --as text is for people: use one of them\n")
    table = run("window", "notes", "--budget", 16_000, "--full")
    assert table == (2, "", "transom: --full needs --as text\n")
