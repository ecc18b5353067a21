"""The model of this machine: llama.cpp in this process, with the small model from a package."""

from __future__ import annotations

import pytest

import transom
from transom.errors import InvalidSetting, ProviderError
from transom.overflow import Overflow, classify
from transom.providers import provider_named
from transom.providers.local import Local
from transom.wire.openai import OPENAI_CHAT

pytest.importorskip("xllamacpp")


@pytest.fixture(scope="module")
def local():
    provider = Local(context=512, threads=1)
    yield provider
    provider.close()


def test_it_answers_whole_and_streamed(local):
    conv = transom.Conversation.open("memory:", "x", budget=512, system="Be brief.")
    conv.user("Say hello.")
    request = dict(conv.request())
    whole = OPENAI_CHAT.parse_reply(local.complete({**request, "temperature": 0, "seed": 1}, max_tokens=4))
    accumulator = OPENAI_CHAT.accumulator()
    for chunk in local.stream({**request, "temperature": 0, "seed": 1}, max_tokens=4):
        accumulator.feed(chunk)
    assert whole.parts == accumulator.turn().parts
    assert whole.usage.output == accumulator.turn().usage.output == 4
    assert whole.usage.prompt == accumulator.turn().usage.prompt > 10


def test_a_request_that_is_too_long_is_an_overflow_with_its_numbers(local):
    with pytest.raises(ProviderError) as raised:
        local.complete({"messages": [{"role": "user", "content": "word " * 2_000}]}, max_tokens=4)
    error = raised.value
    found = classify(error.status, error.body)
    assert found == Overflow(limit=512, used=found.used, fix="shrink_input")
    assert found.used > 2_000


def test_it_has_a_name_without_a_model():
    provider = provider_named("local")
    assert repr(provider) == "<provider local:SmolLM2-135M-Instruct.Q4_1>"
    assert provider.context_size == 4_096


@pytest.mark.parametrize(
    ("name", "why"), [("local:/no/such.gguf", "no model file"), ("local:m@http://localhost:1/v1", "has no address")]
)
def test_what_is_no_model_of_this_machine_is_refused(name, why):
    with pytest.raises(InvalidSetting, match=why):
        provider_named(name)
