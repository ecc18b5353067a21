"""The code of the page `docs/write-your-own-strategy.md`, run as the page says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import transom
from transom import Budget, Conversation, Policy
from transom.conversation.render_window import render
from transom.core.edit import Fold
from transom.core.message import User
from transom.core.reducer import build_view
from transom.core.unit import FoldedSlot
from transom.policies import LAST_RESORT
from transom.testing import Entries, WordCounter, says, talk
from transom.testing.laws.strategy import target_for

PAGE = Path(__file__).parents[2] / "docs" / "write-your-own-strategy.md"
FEW_EXAMPLES = """
from hypothesis import HealthCheck, settings
few = {"max_examples": 8, "deadline": None, "derandomize": True}  # as the whole suite: campaigns look for new examples
settings.register_profile("few", **few, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("few")
"""
LOG = "".join(f"step {number} is done\n" for number in range(200))


def files_of_the_page() -> dict[str, str]:
    """The code of the page by file name; several blocks of one name are one file."""
    found: dict[str, str] = {}
    for name, code in re.findall(
        r"<!-- (\w+\.py) -->\n```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL
    ):
        found[name] = found.get(name, "") + code
    return found


@pytest.fixture(scope="module")
def page() -> dict[str, object]:
    """What the page's own module defines."""
    found: dict[str, object] = {}
    exec(compile(files_of_the_page()["my_strategies.py"], "my_strategies.py", "exec"), found)
    return found


def opened(policy: Policy, context: int = 2_000) -> Conversation:
    return Conversation.open("memory:", "x", budget=Budget(context=context), policy=policy, counter=WordCounter())


def work(conversation: Conversation, turns: int) -> None:
    for number in range(turns):
        conversation.plan_request()
        call = {"id": f"c{number}", "type": "function", "function": {"name": "sh", "arguments": "{}"}}
        conversation.observe({"role": "assistant", "content": None, "tool_calls": [call]})
        conversation.tool_result(f"c{number}", LOG)


def results(conversation: Conversation) -> list[str]:
    return [
        message["content"] for message in render(conversation.plan_request())["messages"] if message["role"] == "tool"
    ]


def test_the_code_of_the_page_obeys_the_laws(tmp_path: Path) -> None:
    files = files_of_the_page()
    assert set(files) == {"my_strategies.py", "test_my_strategies.py"}
    for name, code in files.items():
        (tmp_path / name).write_text(code, encoding="utf-8")
    (tmp_path / "conftest.py").write_text(FEW_EXAMPLES, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_my_strategies.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3_000:]
    (passed,) = re.findall(r"(\d+) passed", done.stdout)
    assert int(passed) >= 15


def test_the_policy_of_the_page_is_used_as_the_page_says(page, tmp_path: Path, monkeypatch) -> None:
    (code,) = re.findall(r"[^>]\n```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    before = [{"role": "user", "content": "build it"}]
    names = {"transom": transom, "MINE": page["MINE"], "messages": before}
    exec(compile(code, str(PAGE), "exec"), names)
    conversation = names["conversation"]
    assert isinstance(conversation, Conversation)
    conversation.close()
    assert names["messages"] == before


def test_old_results_keep_their_last_lines(page) -> None:
    conversation = opened(
        Policy(name="mine", pressure=(page["LastLines"](lines=2),), last_resort=LAST_RESORT, trigger=0.5)
    )
    conversation.user("build it")
    work(conversation, 2)
    note = "[3,256 characters before; whole in entry 3]\nstep 198 is done\nstep 199 is done\n"
    assert results(conversation) == [note, LOG]


def test_on_arrival_only_the_first_line_is_shown(page) -> None:
    conversation = opened(Policy(name="mine", arrival=(page["FirstLine"](tool="sh"),)))
    conversation.user("build it")
    work(conversation, 1)
    assert results(conversation) == ["step 0 is done\n[the other lines: entry 3]"]


def test_decisions_stay_when_the_rest_is_folded(page) -> None:
    policy = Policy(
        name="mine",
        keep=(page["keep_decisions"],),
        pressure=(page["Summarise"](ask=lambda text: "short"),),
        trigger=0.5,
    )
    conversation = opened(policy)
    for text in ("build it", "Decision: use uv", "go on", "and now?"):
        conversation.user(text)
        work(conversation, 1)
    conversation.plan_request()
    visible = [
        unit.first_fact.parts[0].text for unit in conversation.view.visible_units() if isinstance(unit.first_fact, User)
    ]
    assert visible == ["build it", "Decision: use uv", "and now?"]


def test_a_model_is_asked_once_for_a_summary_however_often_one_looks(page) -> None:
    asked: list[str] = []

    def ask(text: str) -> str:
        asked.append(text)
        return "[entry 3] is a joke"

    conversation = opened(Policy(name="mine", pressure=(page["Summarise"](ask=ask),), trigger=0.5))
    conversation.user("build it")
    work(conversation, 2)
    for _ in range(3):
        conversation.window()
    conversation.plan_request()
    assert len(asked) == 1
    (fold,) = [slot for slot in conversation.view.slots if isinstance(slot, FoldedSlot)]
    assert fold.text == "[entry 2 to entry 3, summary]\n\\[entry 3] is a joke"


def test_a_summary_with_more_tokens_than_its_turns_is_no_fold(page) -> None:
    view = build_view(Entries(talk("build it", *(says("x") for _ in range(12)), "and now?")), WordCounter())
    long = Fold(first=1, last=12, text="long " * 60)
    assert view.refusal(long) is None, "it saves bytes"
    assert list(page["Summarise"](ask=lambda text: long.text)(view, target_for(view))) == []
    (fold,) = page["Summarise"](ask=lambda text: "short")(view, target_for(view))
    assert (fold.first, fold.last) == (1, 12)
