"""Commands that open a conversation close it, whatever becomes of them: a closed one has given its lease back and left
a snapshot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from transom import Conversation
from transom.cli import main


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (["pin", "demo", "0"], 0),
        (["pin", "demo", "99"], 2),
        (["undo", "demo"], 0),
        (["undo", "demo", "--dry-run"], 0),
        (["window", "demo"], 0),
        (["window", "demo", "--json"], 0),
        (["compact", "demo"], 0),
        (["compact", "demo", "--dry-run"], 0),
    ],
)
def test_the_conversation_is_closed(
    command: list[str], code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite:///{tmp_path}/agent.db"
    with Conversation.open(url, "demo", budget=10_000) as conversation:
        conversation.user("Hi")
        conversation.pin(0)
        conversation.request()
        conversation.observe({"role": "assistant", "content": "Hello."})
    opened, closed = list[Any](), list[Any]()
    init, close = Conversation.__init__, Conversation.close

    def new(self: Any, *given: Any, **settings: Any) -> None:
        init(self, *given, **settings)
        opened.append(self)

    def end(self: Any) -> None:
        closed.append(self)
        close(self)

    monkeypatch.setattr(Conversation, "__init__", new)
    monkeypatch.setattr(Conversation, "close", end)
    assert main([*command, "--store", url]) == code
    assert opened
    assert all(each in closed for each in opened)
