"""The examples run offline and print what they should; the page about running an agent runs too."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PRINTED = {
    "agent.py": "The sky over Lisbon is clear.\n",
    "agent_async.py": "[weather: {'city': 'Lisbon', 'sky': 'clear'}]\nThe sky over Lisbon is clear.\n[2 requests, ",
    "chat_server.py": "weather The sky  over Lis bon is c lear. ",
    "coding_agent.py": """\
→ run {"script": "test_prices.py"}
← exit code 1
→ read {"path": "prices.py"}
→ replace {"path": "prices.py", "old": "prices[1:]", "new": "prices"}
→ run {"script": "test_prices.py"}
← exit code 0
`total` left out the first price. It adds all of them now, and the test passes.
""",
}
WEATHER = "How is the weather in Lisbon?"
ASKED = dict.fromkeys(("agent.py", "agent_async.py"), WEATHER) | {
    "chat_server.py": "How is t he weath er in Li sbon?",
    "coding_agent.py": "test_prices.py fails. Find out why, and mend it.",
}
"""What each asks, as a model that repeats it answers."""


def output_of(*arguments: str, folder: Path = ROOT) -> str:
    command = [sys.executable, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_example_is_tested() -> None:
    assert {path.name for path in (ROOT / "examples").glob("*.py")} == set(PRINTED) == set(ASKED)


@pytest.mark.parametrize("name", PRINTED)
def test_an_example_prints_what_it_should(name: str) -> None:
    assert output_of(str(ROOT / "examples" / name)).startswith(PRINTED[name])


@pytest.mark.parametrize("name", PRINTED)
def test_an_example_takes_a_model(name: str) -> None:
    assert ASKED[name] in output_of(str(ROOT / "examples" / name), "scripted:anthropic")


PAGES = {
    "run.md": "One two three.",
    "recall.md": "",
    "approvals.md": 'call00001: pay {"amount": 500, "to": "Ann"}?\nAnn has 400, Bob has 20.\nPaid.\n',
    "errors-in-your-own-loop.md": "the request was too long: the next one has at most 3,000 tokens\nNoted.\n",
    "telemetry.md": "chat scripted\nexecute_tool weather\nchat scripted\ninvoke_agent\n",
}
"""Pages, each with what its code prints."""


@pytest.mark.parametrize(("page", "prints"), PAGES.items())
def test_a_page_runs(page: str, prints: str, tmp_path: Path) -> None:
    text = (ROOT / "docs" / page).read_text("utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (tmp_path / "page.py").write_text("\n".join(blocks), "utf-8")
    assert output_of(str(tmp_path / "page.py"), folder=tmp_path) == prints
