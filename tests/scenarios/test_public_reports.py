"""Reports from other projects, as conversations: each of them failed here once, with siblings that did not."""

from __future__ import annotations

import json
from typing import Any

import pytest

import transom
from transom.core.entry import Body
from transom.core.message import Failure
from transom.providers.scripted import Scripted
from transom.texts import is_record

IDE = {
    "type": "text",
    "text": "<ide_opened_file>The user opened the file /w/next.config.js in the IDE.</ide_opened_file>",
}


def compaction(*deltas: str | None, begun: str | None = None) -> list[dict[str, Any]]:
    """A streamed reply with a compaction whose text comes in these deltas."""
    block = {"type": "compaction", "content": begun}
    text = [
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Done."}},
        {"type": "content_block_stop", "index": 1},
    ]
    return [
        {"type": "message_start", "message": {"role": "assistant", "content": [], "usage": {}}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        *(
            {"type": "content_block_delta", "index": 0, "delta": {"type": "compaction_delta", "content": each}}
            for each in deltas
        ),
        {"type": "content_block_stop", "index": 0},
        *text,
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    ]


@pytest.mark.parametrize(
    "stream",
    [
        compaction("The user wants X."),
        compaction("The user ", "wants X."),
        compaction(begun="The user wants X."),
        compaction(None, "The user wants X."),
    ],
    ids=["one delta", "two deltas", "at once", "an empty delta"],
)
def test_a_streamed_compaction_keeps_its_text(stream: list[dict[str, Any]]) -> None:
    with transom.Conversation.open("memory:", "x", budget=20_000, dialect="anthropic") as conv:
        conv.user("hi")
        conv.request()
        conv.observe(stream)
        conv.user("go on")
        blocks = [block for m in conv.request()["messages"] if m["role"] == "assistant" for block in m["content"]]
    assert blocks == [{"type": "compaction", "content": "The user wants X."}, {"type": "text", "text": "Done."}]


@pytest.mark.parametrize("order", [(0, 1), (1, 0), (0, 0, 1), (0, 1, 0)], ids=str)
def test_the_users_own_words_are_in_the_record_whichever_part_they_are(order: tuple[int, ...]) -> None:
    asks = ["Redirect the old URL in vercel.json, never in next.config.js", "Do not touch public/favicons"]
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Move the three tokenizer files."}]
    for number, ask in enumerate(asks):
        messages.append({"role": "user", "content": [(IDE, {"type": "text", "text": ask})[part] for part in order]})
        for step in range(8):
            label = f"c{number}_{step}"
            function = {"name": "Read", "arguments": json.dumps({"file_path": f"/w/f{label}.js"})}
            call = {"id": label, "type": "function", "function": function}
            messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
            content = "\n".join(f"const v{label}_{line} = load('{line * 17}')" for line in range(40))
            messages.append({"role": "tool", "tool_call_id": label, "content": content})
        messages.append({"role": "assistant", "content": "Done."})
    messages.append({"role": "user", "content": "Go on."})
    with transom.Conversation.from_messages(messages, budget=4_000) as conv:
        window = json.dumps(conv.request()["messages"])
    assert "a record of" in window
    assert [ask in window for ask in asks] == [True, True]


@pytest.mark.parametrize(
    ("tool", "result", "made"),
    [
        ("create_ticket", {"ticket_id": "TCK-881", "state": "open"}, "TCK-881"),
        ("book_reservation", {"reservation_id": "HATHAT", "user_id": "aarav_6699", "status": None}, "HATHAT"),
        ("gh_create_issue", {"number": 296, "url": "https://github.com/o/r/issues/296"}, "296"),
        ("create_invoice", {"ok": True, "invoice": {"id": "in_1Px7"}}, "in_1Px7"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_id_of_what_a_call_made_is_in_the_record(tool: str, result: dict[str, Any], made: str) -> None:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Please do it. I am aarav_6699."}]

    def turn(label: str, name: str, arguments: dict[str, Any], content: object) -> None:
        function = {"name": name, "arguments": json.dumps(arguments)}
        call = {"id": label, "type": "function", "function": function}
        messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": label, "content": json.dumps(content)})

    turn("a", tool, {"title": "Printer is broken"}, result)
    for step in range(16):
        notes = [f"x{step * line}" for line in range(60)]
        turn(f"r{step}", "get_status", {"flight": f"F{step}"}, {"status": "available", "notes": notes})
    messages.append({"role": "user", "content": "Thanks. And the second one?"})
    with transom.Conversation.from_messages(messages, budget=3_000) as conv:
        records = [m["content"] for m in conv.request()["messages"] if is_record(m["content"] or "")]
    assert records
    assert any(made in each for each in records)


@pytest.mark.parametrize("arguments", ['{"key": NaN}', '["a"]', '{"key": ', "7"])
def test_the_text_of_a_reply_that_cannot_be_read_is_kept_and_its_tokens_count(arguments: str) -> None:
    class Api(Scripted):
        def stream(self, request: Any, **_: Any) -> Any:  # type: ignore[override]
            use = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
            delta = {"type": "input_json_delta", "partial_json": arguments}
            said = {"type": "text_delta", "text": "THE ANSWER IS 42."}
            start = {"role": "assistant", "content": [], "usage": {"input_tokens": 1_000, "output_tokens": 1}}
            yield {"type": "message_start", "message": start}
            yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
            yield {"type": "content_block_delta", "index": 0, "delta": said}
            yield {"type": "content_block_stop", "index": 0}
            yield {"type": "content_block_start", "index": 1, "content_block": use}
            yield {"type": "content_block_delta", "index": 1, "delta": delta}
            yield {"type": "content_block_stop", "index": 1}
            yield {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 50}}
            yield {"type": "message_stop"}

    def f(key: str) -> str:
        """F."""
        return key

    with transom.Conversation.open("memory:", "x", budget=9_000, dialect="anthropic") as conv:
        events = conv.stream(
            "go", provider=Api(dialect="anthropic"), tools=[f], max_steps=1, retry=transom.Retry(attempts=1)
        )
        with pytest.raises(transom.TransomError):
            list(events)
        bodies: list[Body] = [entry.body for entry in conv.log.read()]
        text = "".join(body.text for body in bodies if isinstance(body, Failure))
        text += "".join(part.text for body in bodies for part in getattr(body, "parts", ()) if hasattr(part, "text"))
        assert "THE ANSWER IS 42." in text
        used = conv.usage.all_tokens
        assert (used.prompt, used.output) == (1_000, 50)
