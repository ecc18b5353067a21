"""The body of the HTTP request that an SDK makes of its arguments."""

from __future__ import annotations

import pytest

from transom import Conversation
from transom.conversation.render_window import render
from transom.wire.dialects import dialect_named
from transom.wire.request_fields import http_body


@pytest.mark.parametrize("dialect", ["openai", "responses", "anthropic", "gemini"])
def test_the_body_is_what_the_dialect_made_the_arguments_of(dialect):
    conv = Conversation.open("memory:", "trip", dialect=dialect, budget=20_000, system="Be brief.")
    conv.user("Go.")
    body = render(conv.window(), dialect)
    assert http_body(dialect_named(dialect).arguments(body)) == body
