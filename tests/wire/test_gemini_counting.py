"""The counting formula over Gemini requests as they go out, with no help from the code that counts facts; and windows
in this dialect by the front door."""

from __future__ import annotations

import json
from collections.abc import Iterator

from counting import strings
from transom.conversation.conversation import Conversation
from transom.core.budget import Budget
from transom.core.entry import Meta
from transom.core.message import Media
from transom.core.window import assemble
from transom.policies import policy_named
from transom.stores.in_memory import MemoryStore
from transom.tokenizer import o200k
from transom.wire import media_tokens
from transom.wire.gemini import GEMINI
from transom.wire.rendering import render_messages

MEDIA = 1_000


def request_tokens(request, counter) -> int:
    """3, 4 a content, an image or file 1,000 flat, each text by itself; JSON that is no text in compact form."""
    contents = [*request["contents"], *([request["systemInstruction"]] if "systemInstruction" in request else [])]
    parts = [part for content in contents for part in content["parts"]]
    return 3 + 4 * len(contents) + sum(sum(map(_tokens(counter), _weights(part))) for part in parts)


def _tokens(counter):
    return lambda weight: weight if isinstance(weight, int) else counter.count(weight)


def _either(fields, camel, snake):
    return fields.get(camel, fields.get(snake))


def _weights(part) -> Iterator[str | int]:
    call = _either(part, "functionCall", "function_call")
    response = _either(part, "functionResponse", "function_response")
    if "text" in part:
        yield part["text"]
    elif call is not None:
        yield from (call.get("id") or "", call["name"], _json(call["args"]) if call.get("args") is not None else "")
    elif response is not None:
        yield from (response.get("id") or "", response["name"], *_said(response["response"]))
        for file in response.get("parts") or ():
            yield from _weights(file)
    elif any(key in part for key in ("inlineData", "inline_data", "fileData", "file_data")):
        yield _media_tokens(part)
    else:
        yield from strings({key: value for key, value in part.items() if "hought" not in key})


def _media_tokens(part) -> int:
    """An image 1,000; a file by its pages or seconds: the rates have tests of their own."""
    keys = ("inlineData", "inline_data", "fileData", "file_data")
    body = next(part[key] for key in keys if key in part)
    mime = body.get("mimeType") or body.get("mime_type") or ""
    return MEDIA if mime.startswith("image/") else media_tokens.file_tokens(Media("file", part), media_tokens.GEMINI)


def _said(response) -> list[str]:
    values = list(response.values())
    lines = values[0] if len(values) == 1 and isinstance(values[0], list) else values
    return lines if len(values) == 1 and all(isinstance(line, str) for line in lines) else [_json(response)]


def _json(value) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


# ---- windows


def talk(*facts, system=None, context=10_000_000, policy="passthrough", counter=None, dialect=GEMINI) -> Conversation:
    """A conversation that holds these facts."""
    conversation = Conversation(
        MemoryStore().open("x"),
        budget=Budget(context=context),
        policy=policy_named(policy),
        counter=counter or o200k(),
        system=system,
        dialect=dialect,
        clock=lambda: 0.0,
    )
    for at, fact in enumerate(facts):
        conversation.append(fact, Meta(source=at))
    return conversation


def read(contents, **settings) -> Conversation:
    """A conversation that was read from contents."""
    return talk(*(fact for _, fact in GEMINI.parse(contents)), **settings)


def request_of(conversation, window=None) -> dict:
    """What a window sends; without one, what the view shows, with nothing closed or said."""
    window = window or assemble(conversation.view, 10**7)
    head = window.head_entry.body if window.head_entry is not None else conversation.head
    return conversation.dialect.body(head, render_messages(window.view, conversation.dialect))


def test_the_formula_by_hand():
    call = {"functionCall": {"id": "ab", "name": "sh", "args": {"a": "é"}}, "thoughtSignature": "never counted"}
    contents = [
        {"role": "user", "parts": [{"text": "go"}, {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]},
        {"role": "model", "parts": [{"text": "hm", "thought": True}, call]},
        {
            "role": "user",
            "parts": [
                {"function_response": {"name": "sh", "response": {"output": "fine"}}},
                {"function_response": {"name": "sh", "response": {"a": 1}, "parts": [{"fileData": {}}]}},
            ],
        },
        {"role": "model", "parts": [{"toolCall": {"args": ["abc"], "type": "left out"}, "thought_signature": "x"}]},
    ]
    request = {"systemInstruction": {"parts": [{"text": "sys"}]}, "contents": contents}

    class Letters:
        def count(self, text):
            return len(text)

    texts = len("sys" + "go" + "hm" + "ab" + "sh" + '{"a":"é"}' + "sh" + "fine" + "sh" + '{"a":1}' + "abc")
    assert request_tokens(request, Letters()) == 3 + 5 * 4 + MEDIA + 4_000 + texts  # 4,000: a file elsewhere
