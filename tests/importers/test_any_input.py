"""Whatever a file holds, reading it ends in conversations or in one clear line."""

from __future__ import annotations

import io
import json

from hypothesis import given
from hypothesis import strategies as st

from transom.errors import InvalidMessage
from transom.importers import FORMATS, Recorded, read

WORDS = st.sampled_from(["", "user", "assistant", "ai", "human", "tool", "message", "text", "response_item", "x", "u1"])
ODD_KEYS = [
    "blocks",
    "block_type",
    "additional_kwargs",
    "items",
    "content_type",
    "Role",
    "Items",
    "$type",
    "toolCallId",
    "toolName",
    "toolInvocations",
    "parts",
    "toolInvocation",
    "state",
    "toolUse",
    "toolResult",
    "_role",
    "_content",
    "meta",
    "tool_call",
    "toolCalls",
    "thoughts",
    "timestamp",
    "$rewindTo",
    "eval",
    "samples",
    "attachments",
    "epoch",
    "target",
    "sender",
    "chat_messages",
    "mapping",
    "current_node",
    "author",
    "parent",
    "from",
    "value",
    "conversations",
    "store",
    "steps",
    "step_id",
    "observation",
    "results",
    "source_call_id",
    "run_type",
    "inputs",
    "outputs",
    "child_runs",
    "traceId",
    "observations",
    "attributes",
    "llm.input_messages",
    "message.role",
    "gen_ai.input.messages",
    "response",
    "request",
    "choices",
    "candidates",
    "generations",
    "object",
    "kind",
    "llm_message",
    "tool_call_id",
    "tool_call_metadata",
    "history",
    "trajectory",
    "action",
    "cause",
    "extras",
    "loglines",
    "events",
    "operation",
]
KEYS = st.sampled_from(
    [
        "type",
        "role",
        "content",
        "parts",
        "messages",
        "contents",
        "input",
        "data",
        "kwargs",
        "lc",
        "id",
        "uuid",
        "parentUuid",
        "sessionId",
        "isSidechain",
        "agentId",
        "message",
        "payload",
        "session",
        "items",
        "instructions",
        "base_instructions",
        "record_type",
        "timestamp",
        "tool_calls",
        "args",
        "name",
        "attachment",
        "prompt",
        "additional_kwargs",
        "source",
        "url",
        "output",
        "num_turns",
        "system",
        "tools",
        "functions",
        "questions",
        *ODD_KEYS,
    ]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 9) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=25,
)


@given(lines=st.lists(VALUES, max_size=5), form=st.none() | st.sampled_from(sorted(FORMATS)), torn=st.integers(0, 9))
def test_reading_ends_in_conversations_or_in_one_line(lines, form, torn):
    text = "".join(json.dumps(line) + "\n" for line in lines)
    text = text[: len(text) - torn]
    skipped: list[str] = []
    try:
        found = list(read(io.StringIO(text), form, on_skip=skipped.append))
    except InvalidMessage as problem:
        assert 0 < len(str(problem)) < 1_000
        return
    assert all(isinstance(one, Recorded) and one.format in FORMATS for one in found)
    assert all(len(line) < 1_000 for line in skipped)
