"""Lines of session files, made up."""

from __future__ import annotations

import json


def user(uuid, parent, content, **more):
    """A line of Claude Code that holds what the user says, or a tool's answer."""
    return {
        "type": "user",
        "uuid": uuid,
        "parentUuid": parent,
        "isSidechain": False,
        "sessionId": "s",
        "cwd": "/home/ada",
        "message": {"role": "user", "content": content},
        **more,
    }


def assistant(uuid, parent, message_id, *blocks, **more):
    """A line of Claude Code that holds blocks of a message of the model."""
    message = {"id": message_id, "type": "message", "role": "assistant", "model": "claude-x", "content": list(blocks)}
    return {
        "type": "assistant",
        "uuid": uuid,
        "parentUuid": parent,
        "isSidechain": False,
        "sessionId": "s",
        "message": {**message, "stop_reason": None, "usage": {"input_tokens": 3, "output_tokens": 1}},
        **more,
    }


def text(words):
    return {"type": "text", "text": words}


def call(label, name="Bash", **given):
    return {"type": "tool_use", "id": label, "name": name, "input": given}


def result(label, words):
    return {"type": "tool_result", "tool_use_id": label, "content": words}


def item(**payload):
    """A line of Codex that holds an item of the conversation."""
    return {"timestamp": "2026-01-02T03:04:05.000Z", "type": "response_item", "payload": payload}


def event(**payload):
    return {"timestamp": "2026-01-02T03:04:05.000Z", "type": "event_msg", "payload": payload}


def said(role, words):
    """A message as Codex records it."""
    return {"type": "message", "role": role, "content": [{"type": "input_text", "text": words}]}


def jsonl(*values):
    return "".join(json.dumps(value) + "\n" for value in values)
