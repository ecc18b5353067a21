"""A conversation of any dialect in OpenAI Chat's words."""

from __future__ import annotations

from transom.importers import Recorded
from transom.importers.recorded import as_openai_chat

CALL = {"type": "tool_use", "id": "t1", "name": "ls", "input": {"path": "."}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "a b"}


def test_a_result_beside_words_is_a_message_of_its_own():
    """A message that holds a result and words is two messages of a chat."""
    recorded = Recorded(
        id="one",
        format="anthropic",
        dialect="anthropic",
        system="Be brief.",
        messages=[
            {"role": "user", "content": "Count."},
            {"role": "assistant", "content": [CALL]},
            {"role": "user", "content": [RESULT, {"type": "text", "text": "And now?"}]},
            {"role": "assistant", "content": "Two."},
        ],
        source="one.json",
    )
    called = {"id": "t1", "type": "function", "function": {"name": "ls", "arguments": '{"path":"."}'}}
    chat = as_openai_chat(recorded)
    assert chat == Recorded(
        id="one",
        format="anthropic",
        dialect="openai",
        messages=[
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Count."},
            {"role": "assistant", "content": None, "tool_calls": [called]},
            {"role": "tool", "content": "a b", "tool_call_id": "t1"},
            {"role": "user", "content": "And now?"},
            {"role": "assistant", "content": "Two."},
        ],
        source="one.json",
    )
    assert as_openai_chat(chat) is chat


def test_compactions_stay_with_their_messages():
    """The instruction and the result of its own stand before the summary in the chat: its position is another one."""
    recorded = Recorded(
        id="one",
        format="claude_code",
        dialect="anthropic",
        system="Be brief.",
        messages=[
            {"role": "user", "content": "Count."},
            {"role": "assistant", "content": [CALL]},
            {"role": "user", "content": [RESULT, {"type": "text", "text": "And now?"}]},
            {"role": "assistant", "content": "Two."},
            {"role": "user", "content": "So far: two files."},
        ],
        source="one.jsonl",
        injected=frozenset({4}),
        compactions={4: "So far: two files."},
    )
    chat = as_openai_chat(recorded)
    assert chat.messages[6]["content"] == "So far: two files."
    assert (chat.compactions, chat.injected) == ({6: "So far: two files."}, frozenset({6}))
