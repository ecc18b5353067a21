"""No text is lost without a word: every text of a conversation is in an entry, or counted as left out."""

from __future__ import annotations

import copy
import io
import json
import random
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from transom.core.entry import Entry
from transom.core.message import Fact, Head
from transom.errors import InvalidMessage
from transom.importers import import_file, read
from transom.importers.formats import left_out_texts
from transom.stores import MemoryStore

FOLDER = Path(__file__).parent / "samples" / "formats"
SAMPLES = sorted(
    path.relative_to(FOLDER)
    for path in FOLDER.rglob("*.json*")
    if path.parent.name not in {"openai", "anthropic", "responses", "gemini"}  # an API's messages are stored whole
    and path.stem not in {"edited", "answered_again", "rewound"}  # branches are counted as messages
    and path.stem not in {"flat", "gen_ai", "export"}  # their messages are JSON in a text
)
PLACES = {
    "inspect": ("messages",),
    "langsmith": ("messages", "choices", "generations"),
    "langfuse": ("input", "output"),
    "otel": ("input_messages", "output_messages", "attributes.llm.input_messages", "attributes.llm.output_messages"),
    "chatgpt": ("content",),
}
"""Where the texts of a conversation are, if they are not everywhere in a sample; else in its messages."""
MESSAGES = ("messages", "store", "history", "items", "chat_messages", "conversations", "steps", "samples")
COUNT = re.compile(r"left out ([\d,]+) texts?")


def dicts_in(value: Any) -> Iterator[dict[str, Any]]:
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from dicts_in(each)
    if isinstance(value, dict):
        yield value


def conversation_parts(value: Any, keys: tuple[str, ...]) -> Iterator[Any]:
    """The values under these keys, wherever they are; the value itself if it is a list of messages."""
    for held in [value] if isinstance(value, dict) else value if isinstance(value, list) else []:
        if isinstance(held, dict):
            for key, each in held.items():
                if key in keys:
                    yield each
                else:
                    yield from conversation_parts(each, keys)


def marked(document: Any, sample: Path, draw: random.Random) -> list[str]:
    """Change texts of the conversation into marks, and add marks under keys that nobody knows; return the marks."""
    keys = PLACES.get(sample.parts[0], MESSAGES)
    parts = list(conversation_parts(document, keys)) or [document]
    holders = [holder for part in parts for holder in dicts_in(part)]
    marks: list[str] = []
    for holder in draw.sample(holders, k=min(len(holders), draw.randint(1, 3))):
        texts = [
            key for key, each in holder.items() if isinstance(each, str) and key in {"text", "content", "Text", "value"}
        ]
        key = draw.choice([*texts, "remark", "annotation"])
        marks.append(f"Mark {len(marks)} of this text.")
        holder[key] = marks[-1]
    return marks


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_every_text_is_in_an_entry_or_counted(sample):
    text = (FOLDER / sample).read_text()
    lines = [json.loads(line) for line in text.splitlines()] if sample.suffix == ".jsonl" else [json.loads(text)]
    draw, tried = random.Random(str(sample)), 0
    for _ in range(60):
        documents = copy.deepcopy(lines)
        marks = marked(documents[0] if len(documents) == 1 else documents, sample, draw)
        store, skipped = MemoryStore(), []
        source = io.BytesIO("\n".join(map(json.dumps, documents)).encode())
        try:
            done = list(import_file(source, store, on_skip=skipped.append))
        except InvalidMessage:
            continue  # refused is not lost
        entries = [entry for one in done for entry in store.open(one.conversation).read()]
        kept = json.dumps([msgspec.to_builtins(each.body) for each in entries if _is_said(each)])
        lost = [mark for mark in marks if mark not in kept]
        told = sum(int(many.replace(",", "")) for line in skipped for many in COUNT.findall(line))
        assert told >= len(lost), (lost, skipped)
        assert skipped == [line for one in done for line in one.skipped] or not done
        tried += 1
    assert tried > 20


def _is_said(entry: Entry) -> bool:
    return isinstance(entry.body, Fact | Head)


COMPARED = [
    (["a b"], ["a b"], ""),
    (["a b"], ["x a b y"], ""),
    (["a b"], ['{"path": "a b"}'], ""),
    (['{"path": "a b"}'], [{"path": "a b"}], ""),
    ([{"id": "a b", "created_at": "now", "role": "x", "finishReason": "s"}], [], ""),
    (["  "], [], ""),
    ([{"note": "abc"}], ["ab"], "left out 1 text with 3 characters, under note"),
    ([{"note": ["abc", "de"]}, "f"], [], "left out 3 texts with 6 characters, under note, the list"),
    (["a\nb"], ['"a\\nb"', '["a\\nb"]'], ""),
]


@pytest.mark.parametrize(("source", "kept", "expected"), COMPARED)
def test_texts_are_compared(source, kept, expected):
    assert left_out_texts(source, kept) == expected


def test_what_is_left_out_is_said_in_one_line(tmp_path):
    chat = json.loads((FOLDER / "claude_ai" / "conversations.json").read_text())
    chat[0]["chat_messages"][1]["content"].append({"type": "artifact", "title": "A table", "body": "1 2 3"})
    (tmp_path / "a.json").write_text(json.dumps(chat))
    skipped: list[str] = []
    assert len(list(read(tmp_path / "a.json", on_skip=skipped.append))) == 1
    why = "left out 2 texts with 12 characters, under title, body"
    assert skipped == [f"{tmp_path}/a.json, conversation 1: {why}"]
    [done] = import_file(tmp_path / "a.json", MemoryStore())
    assert done.skipped == tuple(skipped)


HUMAN = {"type": "human", "data": {"content": "Hi.", "type": "human", "remark": "a b c"}}
REQUEST = {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "Hi.", "remark": "a b c"}]}


@pytest.mark.parametrize("message", [HUMAN, REQUEST], ids=["langchain", "pydantic_ai"])
def test_histories_of_langchain_and_pydantic_ai_are_compared_too(tmp_path, message):
    (tmp_path / "a.json").write_text(json.dumps([message]))
    skipped: list[str] = []
    assert len(list(read(tmp_path / "a.json", on_skip=skipped.append))) == 1
    assert skipped == [f"{tmp_path}/a.json: left out 1 text with 5 characters, under remark"]


def test_a_block_that_pi_has_and_nobody_knows_is_kept_as_json(tmp_path):
    blocks = [{"type": "text", "text": "See."}, {"type": "table", "rows": [["a b"]]}]
    lines = [
        {"type": "session", "id": "s", "timestamp": "2026-01-02T03:04:05Z", "cwd": "/"},
        {"type": "message", "message": {"role": "user", "content": blocks}},
    ]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    [found] = read(tmp_path / "a.jsonl")
    [message] = found.messages
    assert [part["text"] for part in message["content"]] == ["See.", '{"type":"table","rows":[["a b"]]}']


CHAT = json.dumps({"messages": [{"role": "user", "content": "Hi."}]})


def test_what_is_left_out_behind_the_last_conversation_is_said_with_it(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("a.json", CHAT)
        archive.writestr("b.json", CHAT)
        archive.writestr("z.json", '{"note": "no conversation"}')
    skipped: list[str] = []
    first, last = import_file(tmp_path / "a.zip", MemoryStore(), on_skip=skipped.append)
    assert (first.skipped, last.skipped) == ((), tuple(skipped))
    assert len(skipped) == 1
    assert "z.json" in skipped[0]


def test_in_a_folder_the_rest_of_a_file_is_said_with_its_last_conversation(tmp_path):
    (tmp_path / "a.jsonl").write_text(f"{CHAT}\n{CHAT}\n{{broken\n")
    (tmp_path / "b.jsonl").write_text(CHAT)
    skipped: list[str] = []
    _, second, third = import_file(tmp_path, MemoryStore(), on_skip=skipped.append)
    assert (second.skipped, third.skipped) == (tuple(skipped), ())
    assert "the rest of the file is skipped" in skipped[0]


def test_what_was_imported_before_an_error_is_yielded(tmp_path):
    (tmp_path / "a.jsonl").write_text(f"{CHAT}\n{CHAT}\n{{broken\n")
    done = import_file(tmp_path / "a.jsonl", MemoryStore())
    assert [next(done).messages, next(done).messages] == [1, 1]
    with pytest.raises(InvalidMessage):
        next(done)
