"""`transom run` and `transom proxy`, with a program that takes its base URL from the environment."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from strict_provider import ANSWER, strict_provider
from transom.cli.run_agent import with_base_urls
from transom.stores import open_store

HERE = Path(__file__).parents[1]
AGENT = f"""
import sys
sys.path[:0] = [{str(HERE)!r}]
import openai
from sdk_agents import ChatAgent
from strict_provider import TASK
client = openai.OpenAI(api_key="sk-test")
client.chat.completions.create(model="m", messages=[{{"role": "user", "content": "A title: " + TASK}}])
agent = ChatAgent(client)
while not (answer := agent.step()):
    pass
print(answer, sys.argv[1:])
sys.exit(3)
"""


def transom(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "transom", *arguments]
    return subprocess.run(line, capture_output=True, text=True, cwd=folder, timeout=60, check=False)


def test_an_agent_behind_a_proxy_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT)
    with strict_provider(7, limit=6_000) as server:
        arguments = ["--budget", "9000", "--upstream", f"{server.url}/v1"]
        done = transom("run", *arguments, sys.executable, "--", "agent.py", "--flag", folder=tmp_path)
    assert (done.returncode, done.stdout) == (3, f"{ANSWER} ['--flag']\n")
    assert (server.invalid, server.lost, len(server.requests)) == ([], 0, server.turn + server.refused)
    store = open_store(str(tmp_path / ".transom" / "proxy.db"))
    _title, name = sorted(store.names(), key=lambda each: len(store.open(each)))
    assert done.stderr.startswith("transom: 2 new in .transom/proxy.db, 1 of them without tools: ")
    assert f" explain {name} " in done.stderr
    explained = transom("explain", name, folder=tmp_path)  # its store is the default from now on
    assert (explained.returncode, "kept" in explained.stdout) == (0, True)


@pytest.mark.parametrize(
    ("upstream", "openai"),
    [
        ("https://api.openai.com/v1", "http://p/v1"),
        ("http://localhost:8000/openai/v1", "http://p/openai/v1"),
        ("https://api.anthropic.com", "http://p/v1"),
    ],
)
def test_the_base_urls_of_an_agent(upstream: str, openai: str) -> None:
    environment = with_base_urls({"HOME": "/h", "no_proxy": "a.b"}, "http://p", upstream)
    assert environment == {
        "HOME": "/h",
        "no_proxy": "a.b,127.0.0.1",
        "NO_PROXY": "127.0.0.1",
        "ANTHROPIC_BASE_URL": "http://p",
        "OPENAI_BASE_URL": openai,
        "OPENAI_API_BASE": openai,
        "GOOGLE_GEMINI_BASE_URL": "http://p",
    }


def test_what_cannot_run_is_one_line(tmp_path: Path) -> None:
    missing = transom("run", "no-such-agent", folder=tmp_path)
    assert (missing.returncode, missing.stderr) == (
        2,
        "transom: run: there is no program 'no-such-agent' on the PATH\n",
    )
    wrong = transom("proxy", "--upstream", "ftp://x", folder=tmp_path)
    assert (wrong.returncode, wrong.stderr.count("\n")) == (2, 1)
