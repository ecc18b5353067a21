"""A newest turn that cannot stay, or whose thoughts cannot, takes no room from the record of the turns before it."""

from __future__ import annotations

import json

import pytest

from transom import Conversation
from transom.conversation.render_window import render
from transom.testing import WordCounter

BUDGET, TURNS = 2_000, 24


def steps(thought: str = "") -> list[dict]:
    """A task, and turns that each read a file, in Anthropic's words."""
    found: list[dict] = [{"role": "user", "content": "Look at every pier."}]
    for at in range(TURNS):
        thinking = [{"type": "thinking", "thinking": thought, "signature": f"s{at}"}] if thought else []
        call = {"type": "tool_use", "id": f"c{at}", "name": "read", "input": {"path": f"pier_{at}.md"}}
        lines = "\n".join(f"berth {at}-{line} has ship_{at}_{line}" for line in range(40))
        found += [
            {"role": "assistant", "content": [*thinking, call]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"c{at}", "content": lines}]},
        ]
    return found


def turn_at_work(*before: dict) -> list[dict]:
    call = {"type": "tool_use", "id": "w", "name": "write", "input": {"path": "page.html"}}
    result = {"type": "tool_result", "tool_use_id": "w", "content": "OK"}
    return [{"role": "assistant", "content": [*before, call]}, {"role": "user", "content": [result]}]


def window(messages: list[dict], policy: str = "default") -> tuple[int, str]:
    """The tokens of the window, and its messages as JSON."""
    conversation = Conversation.from_messages(
        messages, budget=BUDGET, dialect="anthropic", policy=policy, counter=WordCounter()
    )
    shown = conversation.plan_request()
    return shown.tokens, json.dumps(render(shown)["messages"], ensure_ascii=False)


@pytest.mark.parametrize("policy", ["default", "recall", "summary", "sliding"])
@pytest.mark.parametrize("words", [20, 300, 1_500, 4_000])
def test_thoughts_that_a_fold_hides_leave_their_room(policy: str, words: int):
    thought = " ".join(f"hm{n}" for n in range(words))
    bound = {"type": "thinking", "thinking": thought, "signature": "s"}
    without, _ = window([*steps(), *turn_at_work()], policy)
    tokens, text = window([*steps(), *turn_at_work(bound)], policy)
    assert "hm1" not in text
    assert tokens == without > BUDGET / 3


@pytest.mark.parametrize("policy", ["default", "sliding", "codex"])
def test_so_do_those_of_all_turns_that_stay_whole(policy: str):
    without, _ = window(steps(), policy)
    assert window(steps(" ".join(f"hm{n}" for n in range(100))), policy)[0] == without


@pytest.mark.parametrize("policy", ["default", "recall", "summary"])
@pytest.mark.parametrize(
    "large",
    [
        {"type": "thinking", "thinking": " ".join(["hm"] * 2 * BUDGET)},
        {"type": "thinking", "thinking": " ".join(["hm"] * 2 * BUDGET), "signature": "s"},
    ],
)
def test_a_turn_whose_thoughts_can_never_fit(policy: str, large: dict):
    tokens, text = window([*steps(), *turn_at_work(large)], policy)
    assert BUDGET / 3 < tokens <= BUDGET
    assert "Look at every pier." in text
    assert "a record of" in text
    assert "page.html" in text


@pytest.mark.parametrize("policy", ["default", "recall", "summary"])
def test_a_turn_with_more_results_of_a_providers_tool_than_the_window_holds(policy: str):
    found = [
        {"type": "web_search_result", "url": f"https://x/{n}", "title": "t", "encrypted_content": "E e " * 400}
        for n in range(9)
    ]
    search = (
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "piers"}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": found},
    )
    tokens, text = window([*steps(), *turn_at_work(*search)], policy)
    assert BUDGET / 3 < tokens <= BUDGET
    assert "Look at every pier." in text
    assert "a record of" in text
    assert "page.html" in text
