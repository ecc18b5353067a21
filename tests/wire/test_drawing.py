"""What is kept of the last rendering is never half of it."""

from __future__ import annotations

import pytest
from windows import viewed

from transom.core.derived import Derived
from transom.core.message import Text, User
from transom.core.view import View
from transom.wire.openai import OpenAIChat
from transom.wire.rendering import drawn


def said(*words: str) -> View:
    return viewed(*(User(parts=(Text(word),)) for word in words))


def test_a_rendering_that_is_interrupted_leaves_nothing_behind(monkeypatch):
    whole, other = said(*"abcdefgh"), said("a", "x")
    derived = Derived()
    before = drawn(whole, dialect := OpenAIChat(), derived)
    monkeypatch.setattr("transom.wire.rendering.handed", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        drawn(other, dialect, derived)
    monkeypatch.undo()
    assert drawn(whole, dialect, derived) == before
