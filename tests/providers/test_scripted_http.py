"""A scripted provider behind the real SDKs: their requests are answered without a network."""

from __future__ import annotations

import asyncio

import anthropic
import openai
import pytest
from google import genai
from google.genai import errors, types

import transom
from transom.providers.scripted import Fault, Scripted, call

QUESTION = [{"role": "user", "content": "How is the weather?"}]


def chat(*steps, **settings):
    http = Scripted(*steps, **settings).http_client()
    return openai.OpenAI(api_key="none", http_client=http, max_retries=0).chat.completions


def test_openai_chat_whole_and_streamed():
    client = chat(call("weather", city="Lisbon"), "It is sunny.")
    called = client.create(model="m", messages=QUESTION).choices[0].message.tool_calls[0].function
    assert (called.name, called.arguments) == ("weather", '{"city": "Lisbon"}')
    chunks = client.create(model="m", messages=QUESTION, stream=True)
    assert "".join(each.choices[0].delta.content or "" for each in chunks if each.choices) == "It is sunny."


def test_responses_whole_and_streamed():
    http = Scripted("It is sunny.", "It rains.", dialect="responses").http_client()
    client = openai.OpenAI(api_key="none", http_client=http).responses
    assert client.create(model="m", input="How is the weather?").output_text == "It is sunny."
    with client.stream(model="m", input="And now?") as stream:
        assert stream.get_final_response().output_text == "It rains."


def test_anthropic_streamed_and_refused():
    http = Scripted("It is sunny.", dialect="anthropic").http_client()
    client = anthropic.Anthropic(api_key="none", http_client=http, max_retries=0).messages
    with client.stream(model="m", max_tokens=10, messages=QUESTION) as stream:
        assert stream.get_final_text() == "It is sunny."
    with pytest.raises(anthropic.BadRequestError, match="ends with the model's own words"):
        client.create(model="m", max_tokens=10, messages=[{"role": "assistant", "content": "It is"}])


def test_gemini_whole_and_streamed():
    http = Scripted("It is sunny.", "It rains.", Fault(kind="server", status=503), dialect="gemini").http_client()
    models = genai.Client(api_key="none", http_options=types.HttpOptions(httpx_client=http)).models
    assert models.generate_content(model="m", contents="How is the weather?").text == "It is sunny."
    chunks = list(models.generate_content_stream(model="m", contents="And now?"))
    assert len(chunks) > 1
    assert "".join(chunk.text or "" for chunk in chunks) == "It rains."
    with pytest.raises(errors.ServerError):
        list(models.generate_content_stream(model="m", contents="And now?"))


def test_gemini_streamed_on_an_event_loop():
    async def ask():
        http = Scripted("It rains.", dialect="gemini").async_http_client()
        models = genai.Client(api_key="none", http_options=types.HttpOptions(httpx_async_client=http)).aio.models
        chunks = await models.generate_content_stream(model="m", contents="How is the weather?")
        return "".join([chunk.text or "" async for chunk in chunks])

    assert asyncio.run(ask()) == "It rains."


def test_a_fault_is_the_sdks_error():
    with pytest.raises(openai.RateLimitError):
        chat(Fault(kind="rate_limit", status=429)).create(model="m", messages=QUESTION)


def test_an_async_client():
    async def ask():
        http = Scripted("It is sunny.").async_http_client()
        client = openai.AsyncOpenAI(api_key="none", http_client=http).chat.completions
        return (await client.create(model="m", messages=QUESTION)).choices[0].message.content

    assert asyncio.run(ask()) == "It is sunny."


def test_a_conversation_over_a_real_client():
    with transom.Conversation.open("memory:", "trip", budget=2_000) as conv:
        conv.user("How is the weather?")
        conv.observe(chat("It is sunny.").create(model="m", stream=False, **conv.request()))
        assert transom.render(conv.window())["messages"][-1] == {"role": "assistant", "content": "It is sunny."}
