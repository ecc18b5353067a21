"""A format that is not read is refused in one line, and never taken for another one."""

from __future__ import annotations

import json

import pytest

from transom.errors import InvalidMessage
from transom.importers import read

REFUSED = {
    "an OpenCode session": {
        "info": {"id": "ses_1"},
        "messages": [{"info": {"role": "user"}, "parts": [{"type": "text", "text": "Hi."}]}],
    },
    "a chat of GitHub Copilot in VS Code": {"requesterUsername": "ada", "requests": [{"message": {"text": "Hi."}}]},
    "the memory of a smolagents agent": [{"step_number": 1, "model_input_messages": [{"role": "user"}]}],
    "a list of messages of smolagents": [
        {"role": "user", "content": [{"type": "text", "text": "New task"}]},
        {"role": "tool-call", "content": [{"type": "text", "text": "Calling tools: []"}]},
    ],
    "messages of AutoGen": [{"source": "user", "type": "TextMessage", "content": "Hi.", "models_usage": None}],
    "the state of an AutoGen team": {"type": "RoundRobinGroupChat", "agent_states": {"a": {"llm_context": {}}}},
    "messages of Letta": [{"id": "m1", "message_type": "user_message", "content": "Hi."}],
    "messages of A2A": {
        "history": [
            {"role": "user", "messageId": "1", "parts": [{"kind": "text", "text": "Hi."}]},
            {"role": "agent", "messageId": "2", "parts": [{"kind": "text", "text": "Hello."}]},
        ]
    },
    "a HAR file of a browser": {"log": {"version": "1.2", "entries": [{"request": {"method": "POST"}}]}},
    "messages of agent-framework or Microsoft.Extensions.AI": {
        "messages": [{"type": "chat_message", "role": {"value": "user"}, "contents": [{"type": "text", "text": "Hi."}]}]
    },
    "the messages of an OpenAI thread": [
        {"object": "thread.message", "role": "user", "content": [{"type": "text", "text": {"value": "Hi."}}]}
    ],
    "a message of a Strands session": {"message": {"role": "user", "content": [{"text": "Hi."}]}, "message_id": 0},
    "a chat history of Cohere": {"chat_history": [{"role": "USER", "message": "Hi."}]},
    "a thread of Zed": {"messages": [{"User": {"content": [{"Text": "Hi."}]}}, {"Agent": {"content": []}}]},
    "what Cline shows of a task": [{"ts": 1, "type": "say", "say": "text", "text": "Hi."}],
    "an export of Slack": [{"type": "message", "user": "U1", "text": "Hi.", "ts": "1.0"}],
    "a trajectory of SWE-agent": {"trajectory": [{"action": "ls"}], "history": [{"role": "user", "content": "Hi."}]},
    "a prompt-and-completion data set": {"instruction": "Say hi.", "input": "", "output": "Hi."},
}


@pytest.mark.parametrize("layout", ["document", "line", "list"])
@pytest.mark.parametrize("title", REFUSED)
def test_it_is_refused(tmp_path, title, layout):
    value = REFUSED[title]
    path = tmp_path / ("a.jsonl" if layout == "line" else "a.json")
    listed = layout == "list" and isinstance(value, dict)
    values = value if layout == "line" and isinstance(value, list) else [[value] if listed else value]
    path.write_text("".join(json.dumps(each) + "\n" for each in values))
    with pytest.raises(InvalidMessage, match="no conversation is recognised here, but ") as raised:
        list(read(path))
    assert len(str(raised.value).splitlines()) == 1
