"""A conversation learns how its model counts, by itself, and shows by how much the model may count more."""

from __future__ import annotations

import random
import re
from types import SimpleNamespace

import pytest

import transom
from transom import Conversation
from transom.conversation.usage import WindowUsage
from transom.core.entry import Sent
from transom.core.message import Text, own_text
from transom.providers.scripted import Fault, Scripted
from transom.stores import MemoryStore
from transom.token_fit import TokenFit, load_fit

MODEL = "scripted:scripted"


def words_and_marks(text: str) -> int:
    """A tokenizer like no other: two tokens a word, one for each other character."""
    return 2 * len(re.findall("[A-Za-z]+", text)) + len(re.findall(r"[^A-Za-z\s]", text))


def body_tokens(body: dict) -> int:
    return 7 + sum(3 + words_and_marks(message["content"]) for message in body["messages"])


def provider(*steps: object) -> Scripted:
    return Scripted(*steps, then="Yes, it is so.", count=body_tokens)


def talk(conv: Conversation, turns: int, model: Scripted, seed: int = 5) -> None:
    rng = random.Random(seed)
    for n in range(turns):
        said = " ".join(rng.choices(("look", "at", "the", "window", "17", "(2)", "!", "?"), k=5 * n + 1))
        conv.run(f"Number {n}: {said}", provider=model, retry=transom.Retry(wait=0))


def model_counts(conv: Conversation) -> int:
    facts = [entry.body for entry in conv.log if not isinstance(entry.body, Sent)]
    texts = ["".join(part.text for part in fact.parts if isinstance(part, Text)) + own_text(fact) for fact in facts]
    return 7 + sum(3 + words_and_marks(text) for text in texts)


def test_a_run_learns_and_the_next_conversation_of_the_store_goes_on_with_it() -> None:
    store = MemoryStore()
    with Conversation.open(store, "one", budget=100_000) as conv:
        assert conv.usage.margin is None
        talk(conv, 30, provider())
        assert conv.usage.margin is not None
    learned = load_fit(store, MODEL)
    assert learned.calls == 30
    with Conversation.open(store, "two", budget=100_000) as conv:
        talk(conv, 12, provider(), seed=6)
        conv.user("And what does the note at the door (17) say? " * 40)
        usage = conv.usage
        expected = model_counts(conv)
        assert usage.margin is not None
        assert expected <= usage.used + usage.margin
        assert usage.margin < expected - usage.used + 0.2 * expected
    assert load_fit(store, MODEL).calls == 42


def test_a_failed_attempt_teaches_nothing_wrong() -> None:
    spoilt, plain = MemoryStore(), MemoryStore()
    for store, steps in ((spoilt, [Fault(kind="connection"), "Yes, it is so."] * 10), (plain, [])):
        with Conversation.open(store, "x", budget=100_000) as conv:
            talk(conv, 10, provider(*steps))
    assert load_fit(spoilt, MODEL) == load_fit(plain, MODEL)
    assert load_fit(plain, MODEL).calls == 10


def test_a_reply_that_names_its_model_teaches_too() -> None:
    store = MemoryStore()
    with Conversation.open(store, "x", budget=100_000) as conv:
        for n in range(4):
            conv.user("some words, and others " * (n + 1))
            prompt = body_tokens(conv.request())
            message = {"role": "assistant", "content": "Yes."}
            reply = {"model": "m-1", "choices": [{"message": message}], "usage": {"prompt_tokens": prompt}}
            conv.observe(reply)
    assert load_fit(store, "openai:m-1").calls == 4
    assert load_fit(store, "openai:m-2") == TokenFit()


def test_a_message_without_a_model_teaches_nothing() -> None:
    store = MemoryStore()
    with Conversation.open(store, "x", budget=100_000) as conv:
        conv.user("go")
        conv.request()
        conv.observe({"role": "assistant", "content": "Yes."})
        assert conv.usage.margin is None
    assert store.names() == ["x"]


def test_what_a_store_has_learned_changes_no_window() -> None:
    learned = MemoryStore()
    with Conversation.open(learned, "before", budget=100_000) as conv:
        talk(conv, 20, provider())
    logs = []
    for store in (learned, MemoryStore()):
        with Conversation.open(store, "x", budget=2_000) as conv:
            talk(conv, 30, provider())
            logs.append([entry.body for entry in conv.log])
    assert logs[0] == logs[1]
    assert any(isinstance(body, transom.Fold) for body in logs[0])


@pytest.mark.parametrize("broken", ["read", "append"])
def test_a_store_that_fails_is_not_learned_in(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    opened = store.open

    def fails(*_: object) -> None:
        raise transom.StoreUnavailable("the disk is full")

    def open_(name: str) -> object:
        log = opened(name)
        if not name.startswith("."):
            return log
        parts = {"read": log.read, "append": log.append, "__len__": log.__len__, broken: fails}
        return type("Log", (SimpleNamespace,), {"__len__": lambda _: len(log)})(**parts)

    with Conversation.open(store, "x", budget=100_000) as conv:
        monkeypatch.setattr(store, "open", open_)
        talk(conv, 5, provider())
        assert isinstance(conv.usage, WindowUsage)


def chat_stream(prompt: int) -> list[dict]:
    start = {"model": "m-1", "choices": [{"index": 0, "delta": {"role": "assistant", "content": "Yes."}}]}
    end = {"model": "m-1", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    return [start, end, {"model": "m-1", "choices": [], "usage": {"prompt_tokens": prompt, "completion_tokens": 2}}]


def message_stream(prompt: int) -> list[dict]:
    return [
        {"type": "message_start", "message": {"model": "m-1", "usage": {"input_tokens": prompt, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Yes."}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
        {"type": "message_stop"},
    ]


def response_stream(prompt: int) -> list[dict]:
    message = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Yes."}]}
    usage = {"input_tokens": prompt, "output_tokens": 2}
    ended = {"model": "m-1", "status": "completed", "output": [message], "usage": usage}
    return [
        {"type": "response.created", "response": {"model": "m-1", "output": []}},
        {"type": "response.output_item.done", "output_index": 0, "item": message},
        {"type": "response.completed", "response": ended},
    ]


def gemini_stream(prompt: int) -> list[dict]:
    content = {"role": "model", "parts": [{"text": "Yes."}]}
    usage = {"prompt_token_count": prompt, "candidates_token_count": 2}
    return [
        {"candidates": [{"content": content}], "model_version": "m-1"},
        {"candidates": [{"finish_reason": "STOP"}], "usage_metadata": usage, "model_version": "m-1"},
    ]


STREAMS = {"openai": chat_stream, "anthropic": message_stream, "responses": response_stream, "gemini": gemini_stream}


class Chunk(SimpleNamespace):
    """A chunk as an SDK's object."""

    def __init__(self, fields: dict) -> None:
        nested = {key: Chunk(value) if isinstance(value, dict) else value for key, value in fields.items()}
        super().__init__(**nested)
        self._fields = fields

    def model_dump(self, **_how: object) -> dict:
        return self._fields


@pytest.mark.parametrize("as_objects", [False, True], ids=["dicts", "objects"])
@pytest.mark.parametrize("dialect", STREAMS)
def test_the_chunks_of_a_stream_teach_too(dialect: str, *, as_objects: bool) -> None:
    store = MemoryStore()
    with Conversation.open(store, "x", budget=100_000, dialect=dialect) as conv:
        for n in range(4):
            conv.user("some words, and others " * (n + 1))
            conv.request()
            chunks = STREAMS[dialect](40 + 20 * n)
            conv.observe([Chunk(chunk) for chunk in chunks] if as_objects else chunks)
            assert conv.usage.margin is not None
    assert load_fit(store, f"{dialect}:m-1").calls == 4


@pytest.mark.parametrize("dialect", ["openai", "gemini"])
def test_a_stream_without_usage_teaches_nothing(dialect: str) -> None:
    store = MemoryStore()
    with Conversation.open(store, "x", budget=100_000, dialect=dialect) as conv:
        conv.user("go")
        conv.request()
        conv.observe(STREAMS[dialect](40)[:1])
        assert conv.usage.margin is None
    assert store.names() == ["x"]
