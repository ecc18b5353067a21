"""The signature of each named policy, on a small conversation: what stays, what goes, and in which order."""

from __future__ import annotations

from itertools import pairwise

import pytest

from transom import Budget, Conversation, InvalidSetting, Policy
from transom.conversation.render_window import render
from transom.core.edit import Fold, Trim
from transom.core.entry import Sent
from transom.core.unit import FoldedSlot, Unit
from transom.policies import POLICIES, policy_named
from transom.strategies.fold.omission import Omit
from transom.testing.fakes import FakeClock, WordCounter
from transom.wire.openai import violations

NAMED = tuple(POLICIES)[tuple(POLICIES).index("dynamiq") :]
SIGNS = {
    "digest": ", a record of ",
    "omission": "left out of this window",
    "masked": "output left out",
    "stored": "output stored",
    "clipped": "tokens truncated",
}


def opened(policy: str, context: int) -> Conversation:
    conv = Conversation.open(
        "memory:",
        "named",
        budget=Budget(context=context),
        policy=policy,
        system="Be brief.",
        counter=WordCounter(),
        clock=FakeClock(),
    )
    conv.user("task " + "of work " * 5)
    return conv


def step(conv: Conversation, text: str, tool: str = "sh", args: str = "{}"):
    """One call with its result, and the window before the next one."""
    label = f"c{len(conv.log)}"
    body = {"id": label, "type": "function", "function": {"name": tool, "arguments": args}}
    conv.plan_request()
    conv.observe({"role": "assistant", "content": None, "tool_calls": [body]})
    conv.tool_result(label, text)
    return conv.plan_request()


def told(number: int, tokens: int = 90) -> str:
    """A result of so many tokens that begins with a word of its own."""
    return f"r{number} " + "and so on " * (tokens * 4 // 10)


def until_cut(conv: Conversation, tokens: int = 90, start: int = 0, args: str = "{}"):
    """Calls until the window breaks: their number, and the window."""
    for number in range(start, 300):
        window = step(conv, told(number, tokens), args=args)
        if window.breaks is not None:
            return number + 1, window
    raise AssertionError("no cut")


def outline(window) -> list[str]:
    """A word for each message but the head's and those that only call: the first it says, or how it was cut."""
    texts = [str(message["content"]) for message in render(window)["messages"][1:] if message["content"] is not None]
    return [next((sign for sign, part in SIGNS.items() if part in text), text.split()[0]) for text in texts]


def reply(conv: Conversation, number: int, *, asked: bool = False):
    """A call with a long text full of names, the window after it; `asked`: the user asks for the next one."""
    label = f"c{number}"
    body = {"id": label, "type": "function", "function": {"name": "sh", "arguments": "{}"}}
    words = (f"src/of_{number}/name_{at}.py" if at % 4 == 0 else "word" for at in range(400))
    conv.plan_request()
    conv.observe({"role": "assistant", "content": f"r{number} " + " ".join(words), "tool_calls": [body]})
    conv.tool_result(label, "ok")
    if asked:
        conv.plan_request()
        conv.observe({"role": "assistant", "content": "done"})
        conv.user(f"wish{number}")
    return conv.plan_request()


def wish(conv: Conversation, text: str) -> None:
    """The model has done what was asked, and the user asks for the next thing."""
    conv.observe({"role": "assistant", "content": "yes"})
    conv.user(text)


def utf8(text: str) -> int:
    return len(text.encode())


def results(first: int, stop: int) -> list[str]:
    return [f"r{number}" for number in range(first, stop)]


def test_the_names_there_are():
    assert NAMED == (
        "dynamiq",
        "weakincentives",
        "agenticloop",
        "crewagent",
        "codex",
        "openhands",
        "claude_code",
        "manus",
        "opencode",
        "aider",
        "swe_agent",
        "letta",
    )
    assert [policy_named(name).name for name in POLICIES] == list(POLICIES)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"pressure": (Omit,)}, r"pressure needs Omit\(\)"),
        ({"pressure": "digest"}, "pressure must be a tuple of strategies"),
        ({"keep": (5,)}, "keep must be a tuple of callables"),
        ({"recall": [Omit()]}, "recall must be a tuple of callables"),
        ({"last_resort": None}, "last_resort must be"),
        ({"trigger": -1}, "trigger must be a share"),
        ({"target": float("nan")}, "target must be a share"),
        ({"target": "x"}, "target must be a share"),
        ({"own_limits": 5}, "own_limits must be a Budget"),
        ({"trigger": 5}, "trigger must be a share of the room, from 0 to 1, not 5"),
        ({"target": 1.5}, "target must be a share of the room, from 0 to 1, not 1.5"),
        ({"trigger": 0.2, "target": 0.9}, "target 0.9 must not be above trigger 0.2"),
        ({"pressure": Omit()}, "pressure must be a tuple of strategies"),
    ],
)
def test_a_policy_of_ones_own_is_checked_when_it_is_made(fields, said):
    with pytest.raises(InvalidSetting, match=said):
        Policy(name="mine", **fields)


@pytest.mark.parametrize("name", NAMED)
def test_every_cut_shrinks_and_is_followed_by_quiet(name):
    conv = opened(name, 2_000)
    broken: list[bool] = []
    for number in range(80):
        before = conv.view.total
        window = step(conv, told(number))
        broken.append(window.breaks is not None)
        assert window.tokens <= 2_000
        assert violations(render(window)["messages"]) == []
        if broken[-1]:
            assert conv.view.total.tokens < before.tokens, "what is reported as compressed is smaller"
    assert not any(a and b for a, b in pairwise(broken)), "no cut right behind a cut"
    assert outline(window)[0] == "task"
    assert f"r{number}" in outline(window)[-1]


@pytest.mark.parametrize(
    ("name", "before", "summary", "tail"),
    [
        ("dynamiq", 160_000, 4_000, 10_000),
        ("codex", 180_000, 4_000, 0),
        ("openhands", None, 4_000, None),
        ("agenticloop", None, 4_000, 0),
        ("claude_code", 166_000, 8_000, 40_000),
        ("manus", 120_000, 4_000, 10_000),
        ("opencode", 170_000, 4_096, 15_000),
        ("letta", 180_000, 4_000, 140_000),
        ("aider", 8_192, None, 4_096),
    ],
)
def test_in_a_large_window_the_figures_are_those_that_are_named(name, before, summary, tail):
    """When it cuts, how long its summary may be, and what of the newest stays beside the newest turn itself."""
    conv = opened(name, 200_000)
    for number in range(300):
        was = conv.view.total.tokens
        window = reply(conv, number, asked=name == "aider")
        folds = [slot for slot in window.slots if isinstance(slot, FoldedSlot)]
        if folds:
            break
    rest = window.slots[window.slots.index(folds[0]) + 1 : -1]
    turn = max(slot.size.tokens for slot in window.slots if isinstance(slot, Unit))
    if before is not None:  # two count messages first
        assert before - 1.1 * turn < was <= before
    assert len(folds) == 1
    if summary is not None:
        assert 0.9 * summary < folds[0].tokens <= 1.1 * summary
    if tail is not None:
        assert tail - turn <= sum(slot.size.tokens for slot in rest) <= tail


@pytest.mark.parametrize(
    ("name", "measure", "whole", "left"),
    [
        ("dynamiq", len, 7_000, None),
        ("claude_code", len, 30_000, None),
        ("weakincentives", utf8, 2_000, 2_000),
        ("agenticloop", WordCounter().count, 6_000, 5_000),
        ("codex", utf8, 12_000, 10_000),
        ("swe_agent", utf8, 100_000, 100_000),
    ],
)
def test_a_result_longer_than_the_figure_that_is_named_is_cut_on_arrival(name, measure, whole, left):
    """One of just that many characters, bytes or tokens stays; of a longer one `left` stay, or it is stored."""
    conv = opened(name, 200_000)
    text = "éèêë" * (whole // measure("éèêë"))
    assert render(step(conv, text))["messages"][-1]["content"] == text
    window = step(conv, text + "éèêë")
    assert outline(window)[-1] == ("stored" if left is None else "clipped")
    assert left is None or 0.98 * left < measure(render(window)["messages"][-1]["content"]) <= left


@pytest.mark.parametrize("name", ["agenticloop", "codex"])
def test_20_000_tokens_of_what_the_user_said_before_the_newest_message_stay(name):
    conv = opened(name, 200_000)
    for number in range(10):
        wish(conv, f"wish{number} " + "and so on " * 1_200)
    _, window = until_cut(conv, 4_000)
    said = [
        text for text in (str(message["content"]) for message in render(window)["messages"]) if text.startswith("wish")
    ]
    assert 19_900 < sum(map(WordCounter().count, said[:-1])) <= 20_000


@pytest.mark.parametrize(("name", "share"), [("claude_code", 0.6), ("manus", 0.4), ("opencode", 0.6)])
def test_where_results_are_all_there_is_they_are_cleared_only_as_far_as_it_takes(name, share):
    conv = opened(name, 200_000)
    _, window = until_cut(conv, 2_000)
    assert share * 200_000 - 2_000 < window.tokens <= share * 200_000


@pytest.mark.parametrize(("name", "last", "tokens", "times"), [("claude_code", 3, 90, 55), ("manus", 8, 60, 10)])
def test_where_clearing_results_is_not_enough_the_newest_stay_whole_beside_a_summary(name, last, tokens, times):
    conv = opened(name, 4_000)
    stop, window = until_cut(conv, tokens, args='{"todo": "' + "write it down " * times + '"}')
    shown = outline(window)
    assert shown[:3] == ["task", "digest", "masked"]
    assert shown[shown.index("masked") :] == [*["masked"] * (len(shown) - 2 - last), *results(stop - last, stop)]


def test_dynamiq_keeps_the_newest_tokens_and_the_request_and_stores_large_outputs():
    conv = opened("dynamiq", 4_000)
    window = step(conv, "start " + "x" * 8_000 + " end")
    assert outline(window) == ["task", "stored"]
    assert conv.plan_request().breaks is None, "on arrival it is free"
    stop, window = until_cut(conv)
    assert outline(window) == ["task", "digest", *results(stop - 10, stop)], "a quarter of the room, and the newest"
    again, window = until_cut(conv, start=stop)
    assert outline(window) == ["task", "digest", *results(again - 10, again)], "one summary, not one more"


def test_weakincentives_is_a_window_of_messages_that_does_not_lose_the_task():
    conv = opened("weakincentives", 100_000)
    assert outline(step(conv, "a long line\n" * 300)) == ["task", "clipped"]
    assert len(render(conv.plan_request())["messages"][-1]["content"].encode()) <= 2_000
    stop, window = until_cut(conv, 20)
    assert 2 + 2 + 2 * stop == 20
    assert len(render(window)["messages"]) == 15
    assert outline(window) == ["task", "omission", *results(stop - 6, stop)]
    again, window = until_cut(conv, 20, start=stop)
    assert again > stop + 1, "not a cut at each call"
    assert outline(window) == ["task", "omission", *results(again - 6, again)]


def test_agenticloop_keeps_user_messages_and_the_plan_and_cuts_at_100_messages():
    conv = opened("agenticloop", 100_000)
    step(conv, "plan: first this, then that", "manage_todo_list", '{"todo": "' + "write it down " * 9 + '"}')
    wish(conv, "also " + "this " * 20)
    step(conv, "the leak is in src/engine/old_valve.py " + "somewhere " * 9)
    stop, window = until_cut(conv, 20)
    assert outline(window) == ["task", "digest", "plan:", "also", f"r{stop - 1}"]
    assert 2 + 2 + 1 + 1 + 2 + 2 * stop == 100
    stop, window = until_cut(conv, 20, start=stop)
    assert outline(window) == ["task", "digest", "plan:", "also", f"r{stop - 1}"]
    assert "src/engine/old_valve.py" in render(window)["messages"][2]["content"], (
        "what was folded before is not forgotten"
    )


def test_agenticloop_counts_no_further_than_60_000_tokens():
    conv = opened("agenticloop", 1_000_000)
    stop, window = until_cut(conv, 4_000)
    assert (stop - 1) * 4_000 < 60_000 <= stop * 4_100
    assert outline(window) == ["task", "digest", f"r{stop - 1}"]


def test_crewagent_keeps_what_matters_and_really_shrinks():
    conv = opened("crewagent", 2_000)
    rule = "You must never push to the release branch before src/deploy/check.py has passed."
    wish(conv, rule)
    wish(conv, "Go on.")
    stop, window = until_cut(conv, 40)
    for _ in range(3):
        before, after = [entry.body.tokens for entry in conv.log if isinstance(entry.body, Sent)][-2:]
        assert after <= 0.53 * 2_000 < 0.75 * 2_000 < before <= 0.82 * 2_000, "from 80% to half"
        assert sum(rule in str(message["content"]) for message in render(window)["messages"]) == 1
        stop, window = until_cut(conv, 40, start=stop)


def test_crewagent_cuts_at_80_messages_or_at_80_percent_of_128_000_tokens():
    conv = opened("crewagent", 1_000_000)
    stop, _ = until_cut(conv, 20)
    assert 2 + 2 * (stop - 1) == 80, "the next call passes it"
    conv = opened("crewagent", 1_000_000)
    until_cut(conv, 1_700, args='{"todo": "' + "write it down " * 500 + '"}')
    before = [entry.body.tokens for entry in conv.log if isinstance(entry.body, Sent)][-2]
    assert 0.8 * 128_000 - 4_000 < before <= 0.8 * 128_000


def test_crewagent_goes_down_to_half_and_keeps_the_10_newest_whatever_they_say():
    conv = opened("crewagent", 1_500)
    window = conv.plan_request()
    while window.breaks is None:
        conv.observe({"role": "assistant", "content": f"to {len(conv.log)}"})
        conv.user(f"wish: you must not touch src/part_{len(conv.log)}.py before its check has passed and I was told.")
        window = conv.plan_request()
    assert outline(window)[-11:] == [*["wish:", "to"] * 5, "wish:"]
    assert outline(window).count("wish:") > 2 * outline(window).count("to")
    assert window.tokens <= 0.53 * 1_500


def test_codex_keeps_user_messages_newest_first_and_one_handover():
    conv = opened("codex", 2_000)
    lines = "\n".join(f"line {number}" for number in range(400))
    window = step(conv, lines)
    shown = render(window)["messages"][-1]["content"]
    assert outline(window) == ["task", "clipped"]
    assert shown.startswith("line 0\n")
    assert shown.endswith("line 399")
    assert "truncated of 400 lines" in shown
    for name in ("oldest", "older", "old", "newest"):
        wish(conv, f"{name} src/{name}.py " + "wish " * 145)
    stop, window = until_cut(conv)
    assert outline(window) == ["task", "digest", "older", "old", "newest", f"r{stop - 1}"]
    texts = {text.split()[0]: text for text in (str(message["content"]) for message in render(window)["messages"])}
    assert texts["old"] == "old src/old.py " + "wish " * 145, "within min(20,000, 15%) tokens"
    assert "left out; whole in entry" in texts["older"], "the one that crosses is shortened"
    assert "oldest src/oldest.py" in texts["[entry"], "what is no longer whole is still in the summary"


def test_openhands_keeps_the_first_events_and_condenses_half_of_80():
    conv = opened("openhands", 100_000)
    stop, window = until_cut(conv, 20)
    assert 1 + 1 + 2 * stop == 80
    assert outline(window) == ["task", "r0", "digest", *results(stop - 18, stop)]
    assert len(render(window)["messages"]) == 41
    again, window = until_cut(conv, 20, start=stop)
    assert outline(window) == ["task", "r0", "digest", *results(again - 18, again)]


def test_openhands_keeps_the_first_4_events_where_they_are_single_messages():
    conv = opened("openhands", 100_000)
    for number in range(3):
        wish(conv, f"wish{number}")
    _, window = until_cut(conv, 20)
    assert outline(window)[:6] == ["task", "yes", "wish0", "yes", "digest", "wish2"]


def test_claude_code_clears_old_results_first_and_keeps_the_newest():
    conv = opened("claude_code", 4_000)
    stop, window = until_cut(conv, 300)
    cleared = outline(window).count("masked")
    assert outline(window) == ["task", *["masked"] * cleared, *results(cleared, stop)]
    assert 0.5 * 4_000 < window.tokens <= 0.6 * 4_000
    assert "whole in entry 4]" in render(window)["messages"][3]["content"], "cleared, and it says where it is"


def test_claude_code_keeps_the_files_read_last_when_clearing_is_not_enough():
    conv = opened("claude_code", 4_000)
    for number in range(8):
        lines = 90 if number == 6 else 20  # the longest is too long to stay
        step(conv, f"file{number} " + "width = 1\n" * lines, "Read", f'{{"file_path": "src/f{number}.py"}}')
    stop, window = until_cut(conv, 20)
    kept = [f"file{number}" for number in (2, 3, 4, 5, 7)]
    assert outline(window) == ["task", "digest", *kept, *results(stop - len(outline(window)) + 7, stop)]
    assert window.tokens < 0.6 * 4_000


def test_claude_code_spares_a_file_that_was_read_up_to_5_000_tokens():
    conv = opened("claude_code", 200_000)
    for name, tokens in (("shorter", 4_900), ("longer", 5_100)):
        step(conv, f"{name} " + told(0, tokens), "Read", f'{{"file_path": "src/{name}.py"}}')
    _, window = until_cut(conv, 5_000)
    assert outline(window)[:4] == ["task", "shorter", "masked", "masked"]


def test_manus_makes_results_compact_before_anything_is_folded():
    conv = opened("manus", 4_000)
    stop, window = until_cut(conv, 150)
    assert outline(window) == ["task", *["masked"] * (stop - 8), *results(stop - 8, stop)]
    assert not any(isinstance(entry.body, Fold) for entry in conv.log)
    assert window.tokens < 0.6 * 4_000
    while not any(isinstance(slot, FoldedSlot) for slot in conv.view.slots):
        stop, window = until_cut(conv, 150, start=stop)
    masked = next(entry.seq for entry in conv.log if isinstance(entry.body, Trim))
    assert masked < next(entry.seq for entry in conv.log if isinstance(entry.body, Fold))
    assert outline(window)[:2] == ["task", "digest"]


def test_opencode_prunes_only_when_enough_comes_free():
    conv = opened("opencode", 4_000)
    stop, window = until_cut(conv, 300)
    assert outline(window) == ["task", "r0", *["stored"] * 4, *results(5, stop)]
    assert 0.4 * 4_000 < (stop - 5) * 300 < 0.4 * 4_000 + 2 * 300, "beyond the newest results"
    assert window.tokens <= 0.61 * 4_000, "and as far as it takes"
    small = opened("opencode", 4_000)
    stop, window = until_cut(small, 130)
    assert outline(window)[:2] == ["task", "digest"], "pruning would not be enough"
    assert not any(isinstance(entry.body, Trim) for entry in small.log)


@pytest.mark.parametrize(("asked", "cut"), [(126_000, "stale"), (128_000, "digest")])
def test_opencode_prunes_if_20_000_tokens_are_beyond_the_newest_40_000(asked, cut):
    """What was asked leaves so little room that less would do; of 1,000 each, 22 results could be pruned, or 20."""
    conv = opened("opencode", 200_000)
    wish(conv, "now " * asked)
    until_cut(conv, 1_000)
    assert {entry.body.why for entry in conv.log if isinstance(entry.body, (Fold, Trim))} == {cut}


def test_opencode_does_not_count_on_what_it_protects():
    """The outputs of `skill` would do; without the newest of them, which stays, there is not enough."""
    cut = {}
    for tool in ("sh", "skill"):
        conv = opened("opencode", 4_000)
        step(conv, told(0, 1_500), tool)
        until_cut(conv, 150, start=1)
        cut[tool] = {entry.body.why for entry in conv.log if isinstance(entry.body, (Fold, Trim))}
    assert cut == {"sh": {"stale"}, "skill": {"digest"}}


def test_aider_summarises_what_is_done_and_keeps_the_turn_at_work_whole():
    conv = opened("aider", 4_000)
    for number in range(20):
        conv.observe({"role": "assistant", "content": f"done{number} " + "so " * 30})
        conv.user(f"wish{number} " + "now " * 30)
        conv.plan_request()
    work = [step(conv, told(number)) for number in range(12)]
    assert not any(window.breaks for window in work[1:]), "the turn at work is not touched"  # the first may fold others
    shown = outline(work[-1])
    at = shown.index("wish19")
    assert shown[:2] == ["task", "digest"]
    assert shown[at:] == ["wish19", *results(0, 12)]
    assert 0 < at - 2 <= 2 * 0.125 * 4_000 / 34, "and the newest of what was done, beside its summary"


def test_aider_keeps_at_most_4_096_tokens_of_summary_and_4_096_of_what_was_done_last():
    conv = opened("aider", 200_000)
    conv.plan_request()
    conv.observe({"role": "assistant", "content": " ".join(f"src/name_{number}.py and on" for number in range(2_000))})
    for number in range(60):
        wish(conv, f"wish{number} " + "now " * 66)
    window = conv.plan_request()
    _, summary, *done = [slot.size.tokens for slot in window.slots[:-1]]
    assert 0.9 * 4_096 < summary <= 1.1 * 4_096
    assert 4_096 - 80 < sum(done) <= 4_096


def test_swe_agent_masks_old_observations_and_keeps_the_first_and_the_last():
    conv = opened("swe_agent", 100_000)
    windows = [step(conv, told(number)) for number in range(25)]
    assert [number for number, window in enumerate(windows, start=1) if window.breaks] == [10, 20], "ten at a time"
    assert outline(windows[9]) == ["task", "r0", *["masked"] * 4, *results(5, 10)]
    assert outline(windows[19]) == ["task", "r0", *["masked"] * 14, *results(15, 20)]
    assert outline(windows[24]) == ["task", "r0", *["masked"] * 14, *results(15, 25)]


def test_letta_keeps_the_newest_70_percent():
    conv = opened("letta", 4_000)
    stop, window = until_cut(conv)
    assert outline(window)[:2] == ["task", "digest"]
    assert outline(window)[2:] == results(stop - len(outline(window)) + 2, stop)
    tail = window.tokens - WordCounter().count(render(window)["messages"][2]["content"])
    assert 0.65 * 4_000 < tail < 0.75 * 4_000
    assert window.tokens < 0.85 * 4_000
