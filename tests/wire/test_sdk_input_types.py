"""Windows are what the SDKs' own input types take: items of OpenAI, messages of Anthropic, contents of Gemini."""

from __future__ import annotations

import pytest
from anthropic.types import MessageParam
from google.genai.types import Content
from hypothesis import given
from openai.types.responses import ResponseInputItemParam
from pydantic import TypeAdapter, ValidationError

from transom.core.budget import Budget
from transom.core.message import Head
from transom.core.plan import plan
from transom.core.plan_request import PlanRequest, WindowOptions
from transom.core.reducer import build_view
from transom.policies import policy_named
from transom.testing import WordCounter
from transom.testing.random_logs import logs
from transom.wire.anthropic import ANTHROPIC
from transom.wire.gemini import GEMINI
from transom.wire.rendering import render_messages
from transom.wire.responses import RESPONSES

TYPES = {
    "responses": (RESPONSES, ResponseInputItemParam),
    "anthropic": (ANTHROPIC, MessageParam),
    "gemini": (GEMINI, Content),
}
ADAPTERS = {name: TypeAdapter(type_) for name, (_, type_) in TYPES.items()}


def take(name, message):
    """Raises where the type refuses it; an Iterable is checked only as it is read."""
    waiting = [ADAPTERS[name].validate_python(message)]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list) or hasattr(value, "__next__"):
            waiting += value


@pytest.mark.parametrize("name", ["responses", "anthropic", "gemini"])
@given(log=logs())
def test_the_sdk_takes_every_message(name, log):
    dialect, _ = TYPES[name]
    view = build_view(log, dialect.format_counter(WordCounter()))
    head = view.head_entry.body if view.head_entry is not None else Head()
    window = plan(
        PlanRequest(view, WindowOptions(head=head), Budget(context=10**7), policy_named("passthrough"))
    ).window
    for message in render_messages(window.view, dialect):
        take(name, message)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("responses", {"role": "user", "content": [{"type": "input_image", "image_url": "https://x/y.png"}]}),
        ("anthropic", {"role": "user", "content": [{"type": "tool_result", "content": "x"}]}),
        ("gemini", {"role": "user", "parts": [{"txt": "x"}]}),
    ],
)
def test_the_types_are_strict(name, message):
    with pytest.raises(ValidationError):
        take(name, message)
