"""Agents as people write them on the SDKs: a loop that sends the whole conversation, and keeps what it got."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import anthropic
import openai
from google import genai

from strict_provider import TASK, TOOL

SYSTEM = "You count lines."
Json = dict[str, Any]


def output(at: int, number: int) -> str:
    """What the tool prints: much of it, and each time something else."""
    return f"file {at}-{number}: " + " ".join(f"line{at * 31 + n}" for n in range(20 + 150 * (at % 4)))


class ChatAgent:
    """A loop on `chat.completions`."""

    def __init__(self, client: Any, *, stream: bool = False) -> None:
        self.client, self.stream = client, stream
        self.messages: list[Any] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": TASK}]
        self.steps = 0

    def arguments(self) -> Json:
        function = {"name": TOOL, "description": "Looks.", "parameters": {"type": "object", "properties": {}}}
        return {
            "model": "gpt-test",
            "messages": self.messages,
            "tools": [{"type": "function", "function": function}],
            "seed": 7,
        }

    def step(self) -> str:
        """One call of the model and its tools; the answer, or nothing."""
        if self.stream:
            with self.client.chat.completions.stream(**self.arguments()) as events:
                for _ in events:
                    pass
                message = events.get_final_completion().choices[0].message
        else:
            message = self.client.chat.completions.create(**self.arguments()).choices[0].message
        return self.took(message)

    async def astep(self) -> str:
        if self.stream:
            async with self.client.chat.completions.stream(**self.arguments()) as events:
                async for _ in events:
                    pass
                message = (await events.get_final_completion()).choices[0].message
        else:
            message = (await self.client.chat.completions.create(**self.arguments())).choices[0].message
        return self.took(message)

    def took(self, message: Any) -> str:
        self.steps += 1
        made = [
            {"id": c.id, "type": "function", "function": {"name": c.function.name, "arguments": c.function.arguments}}
            for c in message.tool_calls or ()
        ]
        self.messages.append(
            {"role": "assistant", "content": message.content, **({"tool_calls": made} if made else {})}
        )
        for number, call in enumerate(message.tool_calls or ()):
            at = json.loads(call.function.arguments)["at"]
            self.messages.append({"role": "tool", "tool_call_id": call.id, "content": output(at, number)})
        return "" if message.tool_calls else message.content


class MessagesAgent:
    """A loop on `messages` of Anthropic."""

    def __init__(self, client: Any, *, stream: bool = False) -> None:
        self.client, self.stream = client, stream
        self.messages: list[Any] = [{"role": "user", "content": TASK}]
        self.steps = 0

    def arguments(self) -> Json:
        return {
            "model": "claude-opus-5-5",
            "max_tokens": 1_000,
            "system": [{"type": "text", "text": SYSTEM, "cache_control": {"type": "ephemeral"}}],
            "messages": self.messages,
            "tools": [{"name": TOOL, "description": "Looks.", "input_schema": {"type": "object", "properties": {}}}],
            "metadata": {"user_id": "u"},
        }

    def step(self) -> str:
        if self.stream:
            with self.client.messages.stream(**self.arguments()) as events:
                for _ in events:
                    pass
                message = events.get_final_message()
        else:
            message = self.client.messages.create(**self.arguments())
        return self.took(message)

    async def astep(self) -> str:
        if self.stream:
            async with self.client.messages.stream(**self.arguments()) as events:
                async for _ in events:
                    pass
                message = await events.get_final_message()
        else:
            message = await self.client.messages.create(**self.arguments())
        return self.took(message)

    def took(self, message: Any) -> str:
        self.steps += 1
        self.messages.append({"role": "assistant", "content": message.content})
        uses = [block for block in message.content if block.type == "tool_use"]
        if not uses:
            return message.content[-1].text
        results = [
            {"type": "tool_result", "tool_use_id": use.id, "content": output(use.input["at"], number)}
            for number, use in enumerate(uses)
        ]
        self.messages.append({"role": "user", "content": results})
        return ""


class ResponsesAgent:
    """A loop on `responses` that keeps the items itself."""

    def __init__(self, client: Any, *, stream: bool = False) -> None:
        self.client, self.stream = client, stream
        self.items: list[Any] = [{"role": "user", "content": TASK}]
        self.steps = 0

    def arguments(self) -> Json:
        tool = {
            "type": "function",
            "name": TOOL,
            "description": "Looks.",
            "parameters": {"type": "object", "properties": {}},
        }
        return {
            "model": "gpt-6.2",
            "instructions": SYSTEM,
            "input": self.items,
            "tools": [{**tool, "strict": False}],
            "store": False,
            "include": ["reasoning.encrypted_content"],
        }

    def step(self) -> str:
        if self.stream:
            with self.client.responses.stream(**self.arguments()) as events:
                for _ in events:
                    pass
                response = events.get_final_response()
        else:
            response = self.client.responses.create(**self.arguments())
        return self.took(response)

    async def astep(self) -> str:
        if self.stream:
            async with self.client.responses.stream(**self.arguments()) as events:
                async for _ in events:
                    pass
                response = await events.get_final_response()
        else:
            response = await self.client.responses.create(**self.arguments())
        return self.took(response)

    def took(self, response: Any) -> str:
        self.steps += 1
        self.items += [item.model_dump(exclude_none=True) for item in response.output]
        calls = [item for item in response.output if item.type == "function_call"]
        for number, call in enumerate(calls):
            at = json.loads(call.arguments)["at"]
            self.items.append({"type": "function_call_output", "call_id": call.call_id, "output": output(at, number)})
        return "" if calls else response.output_text


class GeminiAgent:
    """A loop on `models.generate_content`."""

    def __init__(self, client: Any, *, stream: bool = False) -> None:
        self.client, self.stream = client, stream
        self.contents: list[Any] = [{"role": "user", "parts": [{"text": TASK}]}]
        self.steps = 0

    def arguments(self) -> Json:
        config = {
            "system_instruction": SYSTEM,
            "tools": [{"function_declarations": [{"name": TOOL, "description": "Looks."}]}],
            "temperature": 0.5,
        }
        return {"model": "gemini-test", "contents": self.contents, "config": config}

    def step(self) -> str:
        if self.stream:
            chunks = list(self.client.models.generate_content_stream(**self.arguments()))
        else:
            chunks = [self.client.models.generate_content(**self.arguments())]
        return self.took([part for chunk in chunks for part in chunk.candidates[0].content.parts])

    async def astep(self) -> str:
        if self.stream:
            chunks = [chunk async for chunk in await self.client.aio.models.generate_content_stream(**self.arguments())]
        else:
            chunks = [await self.client.aio.models.generate_content(**self.arguments())]
        return self.took([part for chunk in chunks for part in chunk.candidates[0].content.parts])

    def took(self, parts: list[Any]) -> str:
        self.steps += 1
        self.contents.append(
            {"role": "model", "parts": [part.model_dump(mode="json", exclude_none=True) for part in parts]}
        )
        calls = [part.function_call for part in parts if part.function_call]
        answers = [
            {
                "function_response": {
                    "id": call.id,
                    "name": call.name,
                    "response": {"output": output(call.args["at"], n)},
                }
            }
            for n, call in enumerate(calls)
        ]
        if answers:
            self.contents.append({"role": "user", "parts": answers})
        return "" if calls else "".join(part.text or "" for part in parts if not part.thought)


def openai_client(url: str, *, is_async: bool = False) -> Any:
    kind = openai.AsyncOpenAI if is_async else openai.OpenAI
    return kind(api_key="sk-test", base_url=f"{url}/v1", max_retries=1)


def anthropic_client(url: str, *, is_async: bool = False) -> Any:
    kind = anthropic.AsyncAnthropic if is_async else anthropic.Anthropic
    return kind(api_key="sk-ant-test", base_url=url, max_retries=1)


def gemini_client(url: str, *, is_async: bool = False) -> Any:
    return genai.Client(api_key="test", http_options={"base_url": url})


AGENTS: dict[str, tuple[type, Callable[..., Any]]] = {
    "openai": (ChatAgent, openai_client),
    "responses": (ResponsesAgent, openai_client),
    "anthropic": (MessagesAgent, anthropic_client),
    "gemini": (GeminiAgent, gemini_client),
}
