"""Modes over one log: what each request shows, what the log has, and what a change costs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

import transom
from transom import Conversation, Directive, Profile, texts
from transom.core.entry import Sent
from transom.core.message import Fact, Failure, Head, Note
from transom.errors import BudgetImpossible, InvalidSetting
from transom.providers.scripted import Scripted, call
from transom.wire.dialects import DIALECTS

PAGE = Path(__file__).parents[3] / "docs" / "modes.md"

PROFILE = Profile(rules="You book trips.", tool_policy="Look before you book.", persona="You are Ada, a travel agent.")
BOOK = Directive(run_id="r1", text="Book the trip.", step="Find a flight.", step_context="At most 200 euros.")
DONE = replace(BOOK, completed=True)


def flights(to: str) -> str:
    """Flights to a city."""
    return f"TP 571 to {to}, 190 euros"


def opened(**settings: Any) -> Conversation:
    return Conversation.open("memory:", "trip", budget=10_000, **settings)


def asked(conv: Conversation, text: str, provider: Scripted) -> dict[str, Any]:
    """The request with which a run begins."""
    at = len(provider.requests)
    conv.run(text, provider=provider, tools=[flights])
    return provider.requests[at]


def notes(conv: Conversation) -> list[str]:
    return [entry.body.text for entry in conv.log if isinstance(entry.body, Note)]


def in_force(request: dict[str, Any]) -> dict[str, str]:
    """The announced state that a request shows: the newest note of each key."""
    found: dict[str, str] = {}
    for message in request["messages"]:
        if message["role"] == "user" and (note := re.match(r"\[([^\]]+)\] (.*)", message["content"], re.DOTALL)):
            found[note[1]] = note[2]
    return found


def system(request: dict[str, Any]) -> str:
    assert request["messages"][0]["role"] == "system"
    return request["messages"][0]["content"]


PLAIN = "You book trips.\n\nLook before you book."
FULL = f"{PLAIN}\n\nYou are Ada, a travel agent."
GONE = "no longer applies."


def test_one_log_shows_the_right_frame_in_each_mode() -> None:
    provider = Scripted("Hello.", call("flights", to="Lisbon"), "TP 571.", "Booked.", "All done.", "You are welcome.")
    with opened() as conv:
        conv.set_mode("chat", PROFILE)
        chat = asked(conv, "Hi", provider)
        assert (system(chat), in_force(chat)) == (PLAIN, {"mode": texts.CHAT_BANNER})

        conv.set_mode("agent")
        agent = asked(conv, "Find me a flight to Lisbon", provider)
        assert (system(agent), in_force(agent)) == (
            PLAIN,
            {"mode": texts.AGENT_BANNER, "persona": "You are Ada, a travel agent."},
        )

        conv.set_mode("run", directive=BOOK)
        run = asked(conv, "Go", provider)
        assert in_force(run) == {
            "mode": texts.RUN_BANNER,
            "persona": "You are Ada, a travel agent.",
            "directive": "Book the trip.",
            "step": "Find a flight.",
            "step context": "At most 200 euros.",
        }

        conv.set_mode("run", directive=DONE)
        after = asked(conv, "Done?", provider)
        assert in_force(after) == {
            "mode": texts.RUN_BANNER,
            "persona": "You are Ada, a travel agent.",
            "directive": f"Book the trip.\n\n{texts.POST_RUN}",
            "step": GONE,
            "step context": GONE,
        }

        conv.set_mode("chat")
        again = asked(conv, "Thanks", provider)
        assert in_force(again) == {
            "mode": texts.CHAT_BANNER,
            "persona": GONE,
            "directive": GONE,
            "step": GONE,
            "step context": GONE,
        }
        for earlier, later in zip(provider.requests, provider.requests[1:], strict=False):
            assert later["messages"][: len(earlier["messages"])] == earlier["messages"], "the prefix is kept"
        assert provider.violations == []
        assert [entry.body.breaks for entry in conv.log if isinstance(entry.body, Sent)] == [None] * 6
        tags = [
            (entry.meta.mode, entry.meta.run_id)
            for entry in conv.log
            if isinstance(entry.body, Fact) and entry.meta is not None
        ]
        assert len(tags) == sum(isinstance(entry.body, Fact) for entry in conv.log)
        assert list(dict.fromkeys(tags)) == [("chat", ""), ("agent", ""), ("run", "r1")]
        assert tags[-1] == ("chat", "")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_takes_a_change_of_mode(dialect: str) -> None:
    provider = Scripted(dialect=dialect)
    with opened(dialect=dialect) as conv:
        for mode, directive in (("chat", None), ("agent", None), ("run", BOOK), ("chat", None)):
            change = conv.set_mode(mode, PROFILE, directive=directive)
            assert (change.tokens_read_again, change.new_head) == (0, mode == "chat" and conv.view.length == 0)
            conv.run("Go", provider=provider)
        assert provider.violations == []
        assert sum(isinstance(entry.body, Head) for entry in conv.log) == 1


def test_a_new_head_is_read_as_a_whole_and_says_what_it_costs() -> None:
    provider = Scripted()
    with opened() as conv:
        conv.set_mode("chat", PROFILE)
        conv.run("Hi", provider=provider)
        sent = [entry.body.tokens for entry in conv.log if isinstance(entry.body, Sent)]
        assert conv.set_mode("agent").tokens_read_again == 0
        change = conv.set_mode("agent", new_head=True)
        scale = conv.view.calibration
        assert (change.before, change.mode, change.new_head) == ("agent", "agent", True)
        assert (change.announced, change.tokens_cached) == (("mode",), 0)
        assert change.tokens_read_again == round(sent[-1] * scale)
        request = asked(conv, "Find a flight", provider)
        assert (system(request), in_force(request)) == (FULL, {"mode": texts.AGENT_BANNER})

        assert conv.set_mode("chat").announced == ("persona", "mode")
        request = asked(conv, "Thanks", provider)
        assert (system(request), in_force(request)) == (FULL, {"mode": texts.CHAT_BANNER, "persona": texts.PERSONA_OFF})
        conv.set_mode("agent")
        request = asked(conv, "Find another", provider)
        assert (system(request), in_force(request)) == (
            FULL,
            {"mode": texts.AGENT_BANNER, "persona": texts.SYSTEM_APPLIES},
        )


def test_a_compaction_renews_the_head() -> None:
    provider = Scripted()
    with Conversation.open("memory:", "trip", budget=2_000) as conv:
        conv.set_mode("chat", PROFILE)
        conv.run("Hi", provider=provider)
        conv.set_mode("agent")
        number = 0
        while sum(isinstance(entry.body, Head) for entry in conv.log) == 1:
            number += 1
            assert number < 100
            request = asked(conv, f"Question {number}: " + "and so on " * 30, provider)
        assert system(request) == FULL
        assert in_force(request).get("persona") in (None, "You are Ada, a travel agent.")
        breaks = [entry.body.breaks for entry in conv.log if isinstance(entry.body, Sent)]
        assert [each is not None for each in breaks] == [False] * (len(breaks) - 1) + [True]
        assert asked(conv, "And?", provider)["messages"][0]["content"] == FULL


def test_reopening_in_the_same_mode_announces_nothing_again(tmp_path: Path) -> None:
    path, provider = tmp_path / "agent.db", Scripted()
    for _ in range(2):
        with Conversation.open(path, "trip", budget=10_000) as conv:
            change = conv.set_mode("run", PROFILE, directive=BOOK)
            conv.run("Go", provider=provider)
            length = len(notes(conv))
    assert (change.announced, change.new_head, length) == ((), False, 4)


def test_the_system_prompt_is_the_base_without_rules() -> None:
    provider = Scripted()
    with opened(system="Be brief.") as conv:
        conv.set_mode("chat", replace(PROFILE, rules=""))
        assert system(asked(conv, "Hi", provider)) == "Be brief.\n\nLook before you book."


def test_modes_in_a_conversation_that_has_begun() -> None:
    provider = Scripted()
    with opened(system="Be brief.") as conv:
        asked(conv, "Hi", provider)
        assert conv.set_mode("agent", PROFILE).tokens_read_again == 0
        request = asked(conv, "Find a flight", provider)
        assert system(request) == "Be brief."
        assert in_force(request) == {
            "mode": texts.AGENT_BANNER,
            "rules": "You book trips.",
            "tool policy": "Look before you book.",
            "persona": "You are Ada, a travel agent.",
        }


def test_the_callers_state_is_announced_beside_it() -> None:
    with opened(state={"todo": "Pack."}) as conv:
        conv.set_mode("chat", PROFILE)
        assert in_force(asked(conv, "Hi", Scripted())) == {"mode": texts.CHAT_BANNER, "todo": "Pack."}


@pytest.mark.parametrize(
    ("mode", "directive", "why"),
    [
        ("talk", None, "mode: must be one of chat, agent, run, not 'talk'"),
        ("run", None, "directive: run mode needs one, and no other mode takes one"),
        ("chat", BOOK, "directive: run mode needs one, and no other mode takes one"),
        ("run", "Book", "directive: must be a Directive, not 'Book'"),
        ("run", Directive(run_id="", text="Book"), "directive: needs a run_id and a text"),
    ],
)
def test_a_wrong_mode_changes_nothing(mode: Any, directive: Any, why: str) -> None:
    with opened() as conv:
        with pytest.raises(InvalidSetting, match=f"^{re.escape(why)}$"):
            conv.set_mode(mode, PROFILE, directive=directive)
        assert conv.mode == ""


def test_a_mode_that_does_not_fit_is_not_set() -> None:
    with Conversation.open("memory:", "trip", budget=300) as conv:
        conv.user("Hi")
        with pytest.raises(BudgetImpossible):
            conv.set_mode("chat", replace(PROFILE, rules="Be brief. " * 200))
        assert conv.mode == ""
        assert conv.append(transom.core.message.User(parts=())) == 1
        assert conv.log[1].meta is None


def test_a_mode_that_does_not_fit_leaves_the_one_of_an_earlier_process(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    with Conversation.open(path, "trip", budget=10_000) as conv:
        conv.set_mode("run", PROFILE, directive=BOOK)
        conv.run("Go", provider=Scripted())
        known = notes(conv)
    with Conversation.open(path, "trip", budget=10_000) as conv:
        with pytest.raises(BudgetImpossible):
            conv.set_mode("run", PROFILE, directive=replace(BOOK, text="Book the trip. " * 20_000))
        conv.user("And now?")
        conv.request()
        assert notes(conv) == known


def test_the_page_shows_what_each_change_did(tmp_path: Path) -> None:
    page = PAGE.read_text("utf-8")
    (tmp_path / "page.py").write_text("\n".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL)), "utf-8")
    done = subprocess.run(
        [sys.executable, tmp_path / "page.py"], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    table = re.search(r"^\| change .*?(?=\n\n)", page, re.DOTALL | re.MULTILINE)
    assert table is not None
    assert done.stdout.splitlines() == table[0].splitlines()[2:]


@pytest.mark.parametrize("seed", range(12))
def test_random_changes_of_mode_are_announced_once_and_reported_truly(seed: int) -> None:
    random = Random(seed)
    with Conversation.open("memory:", "trip", budget=random.choice([1_200, 2_000, 4_000])) as conv:
        for number in range(30):
            if random.random() < 0.4:
                mode = random.choice(["chat", "agent", "run"])
                step = replace(BOOK, step=random.choice(["", "a", "b"]), completed=random.random() < 0.3)
                directive = step if mode == "run" else None
                length = conv.view.length
                change = conv.set_mode(mode, PROFILE, directive=directive, new_head=random.random() < 0.1)
                assert conv.view.length == length
                assert conv.window().tokens == change.tokens
            conv.user(f"Question {number}: " + "and so on " * random.randrange(60))
            conv.request()
            length = conv.view.length
            conv.append(Failure(failure="abandoned", answers=length - 1))
            conv.request()
            added = [type(entry.body).__name__ for entry in conv.log.read(length)]
            assert added == ["Failure", "Sent"], "planning again announces nothing"
            conv.observe({"role": "assistant", "content": "OK."})


def test_a_tool_may_change_the_step_of_a_run() -> None:
    with opened() as conv:

        def next_step() -> str:
            """Go on to the next step."""
            conv.set_mode("run", directive=replace(BOOK, step="Find a hotel."))
            return "done"

        conv.set_mode("run", PROFILE, directive=BOOK)
        provider = Scripted(call("next_step"), "Found.")
        conv.run("Go", provider=provider, tools=[next_step])
        steps = [in_force(request)["step"] for request in provider.requests]
        assert steps == ["Find a flight.", "Find a hotel."]
