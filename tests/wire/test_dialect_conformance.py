"""The suite that third parties inherit, for the six dialects."""

from __future__ import annotations

from transom.testing import DialectConformance
from transom.wire import dialect_named

CALL = {"id": "call_1", "type": "function", "function": {"name": "sh", "arguments": '{"cmd": "ls"}'}}
IMAGE = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
CHAT = {
    "messages": [
        {"role": "system", "content": "You book trips."},
        {
            "role": "user",
            "content": [{"type": "text", "text": "See"}, {"type": "image_url", "image_url": {"url": "u"}}],
        },
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "content": "a b", "tool_call_id": "call_1"},
        {"role": "assistant", "content": "done"},
        {"role": "user", "content": "thanks"},
    ],
    "tools": [{"type": "function", "function": {"name": "sh", "parameters": {"type": "object"}}}],
}
MISTRAL_CALL = {**CALL, "id": "call00001"}
MISTRAL = {
    "messages": [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": "I look.", "tool_calls": [MISTRAL_CALL]},
        {"role": "tool", "content": "a b", "tool_call_id": "call00001"},
        {"role": "assistant", "content": "OK"},
        {"role": "user", "content": "and now?"},
    ]
}
RESPONSES = {
    "instructions": "You book trips.",
    "input": [
        {"role": "user", "content": [{"type": "input_text", "text": "See"}]},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "xyz"},
        {"type": "function_call", "call_id": "call_1", "name": "sh", "arguments": "{}"},
        {"output": "a b", "type": "function_call_output", "call_id": "call_1"},
        {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]},
    ],
    "tools": [{"type": "function", "name": "sh", "parameters": {"type": "object"}}],
}
DATA = {"type": "base64", "media_type": "image/png", "data": "eA=="}
ANTHROPIC = {
    "system": "You book trips.",
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "See"}, {"type": "image", "source": DATA}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "toolu_1", "name": "sh", "input": {"cmd": "ls"}},
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "a b"}]},
        {"role": "assistant", "content": "done"},
        {"role": "user", "content": "thanks"},
    ],
    "tools": [{"name": "sh", "input_schema": {"type": "object"}}],
}
GEMINI = {
    "systemInstruction": {"parts": [{"text": "You book trips."}]},
    "contents": [
        {"role": "user", "parts": [{"text": "See"}, {"inlineData": {"mimeType": "image/png", "data": "eA=="}}]},
        {
            "role": "model",
            "parts": [
                {"text": "hm", "thought": True},
                {"functionCall": {"name": "sh", "args": {"cmd": "ls"}}, "thoughtSignature": "s"},
            ],
        },
        {"role": "user", "parts": [{"functionResponse": {"name": "sh", "response": {"output": "a b"}}}]},
        {"role": "model", "parts": [{"text": "done"}]},
        {"role": "user", "parts": [{"text": "thanks"}]},
    ],
    "tools": [{"functionDeclarations": [{"name": "sh", "parameters": {"type": "object"}}]}],
}


class TestOpenAI(DialectConformance):
    dialect = dialect_named("openai")
    bodies = (CHAT,)


class TestMistral(DialectConformance):
    dialect = dialect_named("mistral")
    bodies = (MISTRAL,)


class TestResponses(DialectConformance):
    dialect = dialect_named("responses")
    bodies = (RESPONSES,)


class TestDeepSeekResponses(DialectConformance):
    dialect = dialect_named("deepseek_responses")
    bodies = (RESPONSES,)


class TestAnthropic(DialectConformance):
    dialect = dialect_named("anthropic")
    bodies = (ANTHROPIC,)


class TestGemini(DialectConformance):
    dialect = dialect_named("gemini")
    bodies = (GEMINI,)
