"""The code of the pages about doors runs, against a provider on the loopback."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from strict_provider import ANSWER, TASK, StrictProvider, strict_provider
from transom.http import Gateway
from transom.proxy.app import ProxySettings
from transom.proxy.serve import serving

DOCS = Path(__file__).parents[2] / "docs"
FUNCTION = {"name": "look", "description": "Looks.", "parameters": {"type": "object", "properties": {}}}


def blocks(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StrictProvider]:
    """A provider that the clients of the page lead to, and an empty folder."""
    monkeypatch.chdir(tmp_path)
    with strict_provider(5) as state:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{state.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        yield state


def test_the_page_of_wrap(server: StrictProvider, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {
        "task": TASK,
        "tools": [{"type": "function", "function": FUNCTION}],
        "look": lambda arguments: f"looked at {arguments}",
    }
    before, after, loop, listed, *others = blocks("wrap.md")
    assert before.replace("\n", "") in after.replace("\n", "").replace("import transom", "").replace(
        "transom.wrap(", ""
    ).replace(', store="sqlite:///agent.db", budget=100_000)', "")
    for block in (after, loop, listed, *others):
        exec(compile(block, "wrap.md", "exec"), names)
    answer, conversation = capsys.readouterr().out.splitlines()
    assert (answer, conversation.startswith("call-"), server.turn, server.invalid) == (ANSWER, True, 5, [])
    reply = names["client"].chat.completions.create(model="m", messages=[{"role": "user", "content": TASK}])
    assert reply.choices[0].message.content == ANSWER


def test_the_page_of_the_proxy(server: StrictProvider) -> None:
    before, after = blocks("proxy.md")
    assert "base_url" in after
    assert "base_url" not in before
    with serving(Gateway("agent.db", budget=9_000), ProxySettings(upstream=f"{server.url}/v1")) as url:
        names: dict[str, Any] = {}
        exec(f"import openai\n{after.replace('http://127.0.0.1:8787', url)}", names)
        reply = names["client"].chat.completions.create(model="m", messages=[{"role": "user", "content": TASK}])
    assert reply.choices[0].message.content.startswith("Step 1")
    assert server.invalid == []
