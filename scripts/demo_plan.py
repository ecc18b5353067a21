"""The texts and calls of the demo's agent, in order. The results of its tools are real, and not written here."""

from __future__ import annotations

from typing import Any

from scripts.demo_programs import FIRST_STRATEGY, FIRST_TEST, LONG_RESULT, MEASURE, OPEN_CALL, REOPENED, SMALL

Call = tuple[str, dict[str, Any]]
Turn = tuple[str, str, tuple[Call, ...]]

SYSTEM = (
    "You are a careful engineer working in a checkout of Transom, a Python library that keeps every event of "
    "an agent's conversation in one log and builds for each model call the window the model should see. You "
    "can list, read and search files, run Python, run tests, and change files. Look before you claim, run "
    "before you believe, and say what you found with file and line."
)


def user(text: str) -> Turn:
    return "user", text, ()


def agent(text: str, *calls: Call) -> Turn:
    return "assistant", text, calls


def read(path: str, start: int = 1, end: int | None = None) -> Call:
    return "read_file", {"path": path, "start": start, **({} if end is None else {"end": end})}


def search(pattern: str, path: str = "src/transom") -> Call:
    return "search", {"pattern": pattern, "path": path}


def listing(path: str) -> Call:
    return "list_files", {"path": path}


def python(code: str) -> Call:
    return "run_python", {"code": code.strip("\n")}


def tests(path: str) -> Call:
    return "run_tests", {"path": path}


def write(path: str, text: str) -> Call:
    return "write_file", {"path": path, "text": text.lstrip("\n")}


def edit(path: str, old: str, new: str) -> Call:
    return "edit_file", {"path": path, "old": old, "new": new}


CORE, STRATEGIES = "src/transom/core", "src/transom/strategies"

PLAN: tuple[Turn, ...] = (
    user(
        "I am new to this code base. Before I change anything, explain how a window gets built: start where a"
        " caller asks for one and end where there are messages. File and line, please."
    ),
    agent(
        "I look at what there is first, then follow one call from the outside in.", listing("src/transom/conversation")
    ),
    agent(
        "A caller begins in `conversation/conversation.py`. I read how one is opened, then `request`.",
        read("src/transom/conversation/conversation.py", 1, 190),
        read("src/transom/conversation/conversation.py", 493, 550),
    ),
    agent("`request()` calls `plan` and renders its window. Next: the plan.", read(f"{CORE}/plan.py")),
    agent(
        "A plan works on a view, and applies each entry that it proposes. The view next, and the reducer.",
        read(f"{CORE}/view.py", 1, 240),
        search(r"def apply\b|_APPLY|def assemble"),
    ),
    agent("", read(f"{CORE}/reducer.py", 1, 140)),
    agent("Units and folds are the slots of a view.", read(f"{CORE}/unit.py", 1, 140)),
    agent(
        "Now the last step, from slots to messages.",
        read(f"{CORE}/window.py"),
        read("src/transom/wire/rendering.py"),
        read("src/transom/wire/openai/render.py", 1, 70),
    ),
    agent("I have the way on paper. I run it once before I explain it.", python(SMALL)),
    agent(
        "The way, from the caller to the messages:\n\n1. `Conversation.request` (conversation/conversation.py) "
        "frames the request (system prompt, tools, state) and makes a plan for the newest view.\n2. `plan` "
        "(core/plan.py) drafts entries: it closes open calls and renews the head; if the window is full, "
        "`BudgetEnforcer` (core/budget_enforcer.py) runs the strategies of the policy; then state is announced, and "
        "`Sent` comes last. Each drafted entry is applied to the view at once, so the plan sees its own effect.\n3. "
        "All drafted entries go into the log in one append, before the request leaves.\n4. `assemble` "
        "(core/window.py) takes the slots of the view as they are. A slot is a unit (a turn with its results) or a "
        "fold that replaces several.\n5. `render` (wire/rendering.py) turns each slot into messages of the dialect. "
        "The messages of a slot depend on that slot alone, which is why the prefix stays.\n\nThe run shows it: the "
        "same 82 messages fit whole into 100,000 tokens. At 2,000 one message quotes passages of the oldest turns."
    ),
    user(
        "Good. What happens to a tool call whose result never comes? I have had APIs refuse such a history. "
        "Run it, please."
    ),
    agent(
        "The plan closes calls. I look for the rule, and for what the model reads.",
        search("ABORTED|_close_calls|open_calls"),
        read("src/transom/texts.py", 1, 80),
    ),
    agent("", python(OPEN_CALL)),
    agent(
        "So the call is closed by a synthetic result. What does the view do when the real one arrives later?",
        read(f"{CORE}/reducer.py", 140, 262),
        read(f"{CORE}/pairing.py"),
    ),
    agent("", search("late_results", CORE)),
    agent(
        "And which tests cover open calls?",
        search("late|synthetic|open call", "tests"),
        read("tests/laws/test_law_04_replay.py"),
    ),
    agent("", tests("tests/laws/test_law_04_replay.py")),
    agent(
        "In order: a call without a result is closed by a fact, `[aborted: no result was received; the tool may have "
        "run]`, in the plan of the next request (`_close_calls` in core/plan.py). It claims nothing about what the "
        "tool did. If the real result comes after all, the first one stays, because its bytes may be in a cache. The "
        "real one is stored in the log and given once in a note, so the model learns what it was. Law 4 (replay) "
        "applies generated logs with such late and lost results again, and passes."
    ),
    user(
        "And a huge result, say a log file of four thousand lines? How much of it is sent, and can the model "
        "get the rest?"
    ),
    agent("", listing(STRATEGIES), read(f"{STRATEGIES}/arrival.py")),
    agent("It is clipped on arrival, before it is in any cache. How?", read(f"{STRATEGIES}/text/truncation.py")),
    agent("", python(LONG_RESULT)),
    agent(
        "A marker in the middle names the entry. What happens to results that are not huge, but old?",
        read(f"{STRATEGIES}/shorten/forms.py"),
        read(f"{STRATEGIES}/fold/omission.py"),
    ),
    agent("", read("src/transom/policies/default.py"), read(f"{STRATEGIES}/fold/last_resort.py")),
    agent("", read(f"{CORE}/policy.py", 1, 180), read(f"{CORE}/budget.py")),
    agent(
        "Where is the whole text stored? I check before I claim it.",
        read("src/transom/stores/blobs.py"),
        search("def fetch", "src/transom"),
    ),
    agent(
        "A huge result is clipped before it is ever sent, so no cached prefix breaks (`ClipNew`, in "
        "strategies/arrival.py). The whole text stays in the log; bodies over 64 KiB are stored apart, in "
        "the blob store; and the marker names the entry. The model gets the rest with the tools of `transom.readback`, "
        "you with `transom read`. When the window is full later, the policy folds old turns; `default` quotes passages "
        "of them (`Digest`, strategies/fold/layered_records.py)."
    ),
    user(
        "Then here is the change I want: reasoning is the first thing I would give up. `OldReasoning` goes by the "
        "newest user message. Add a strategy that goes by turns: under pressure it drops the reasoning of all but the "
        "newest two turns, before anything is folded. With tests. Do not touch the default policy."
    ),
    agent(
        "First the existing strategy, and what a trim may do to reasoning.",
        read(f"{STRATEGIES}/shorten/selectors.py", 81, 102),
        read(f"{STRATEGIES}/shorten/shorten.py"),
        read(f"{CORE}/message.py", 50, 130),
    ),
    agent(
        "A trim without spans and note drops a reasoning part. Reasoning that is signed for its prefix has a rule of "
        "its own; I read it before I build on it.",
        read(f"{CORE}/prefix_fingerprint.py"),
        read("tests/laws/test_law_13_bound.py"),
    ),
    agent("", search(r"user_restored", "src/transom"), read("src/transom/testing/builders.py")),
    agent(
        "That is enough to begin. The strategy, then its test.",
        write(f"{STRATEGIES}/thoughts.py", FIRST_STRATEGY),
        write("tests/strategies/test_thoughts.py", FIRST_TEST),
    ),
    agent("", tests("tests/strategies/test_thoughts.py")),
    agent(
        "Two things to look at. What are the slots that I call turns here?",
        python(
            "from transom.testing import Entries, WordCounter, says, talk\nfrom transom.core.reducer import "
            "build_view\nlog = talk('go', says('a', thought='x'), 'on', says('b', thought='y'), 'on')\nview = "
            "build_view(Entries(log), WordCounter())\nprint([(slot.key, type(slot.first_fact).__name__) for slot in "
            "view.slots])"
        ),
    ),
    agent(
        "User messages are units of their own, so `keep=2` kept one turn and one user message. I count turns "
        "of the model instead. And a trim that somebody undid: the strategy never asked.",
        edit(
            f"{STRATEGIES}/thoughts.py",
            "[slot for slot in view.slots if isinstance(slot, Unit)]",
            "[slot for slot in view.slots if isinstance(slot, Unit) and isinstance(slot.first_fact, Assistant)]",
        ),
        edit(
            f"{STRATEGIES}/thoughts.py",
            "from transom.core.message import Reasoning, addressed_parts",
            "from transom.core.message import Assistant, Reasoning, addressed_parts",
        ),
        edit(
            f"{STRATEGIES}/thoughts.py",
            "        for unit in turns[: -self.keep]:\n",
            "        for unit in turns[: -self.keep]:\n            if view.user_restored(unit) and not "
            "target.over_limit:\n                continue\n",
        ),
    ),
    agent("", tests("tests/strategies/test_thoughts.py")),
    agent(
        "Green. Are the tests able to fail? I break the strategy on purpose and look.",
        edit(f"{STRATEGIES}/thoughts.py", "turns[: -self.keep]", "turns"),
        tests("tests/strategies/test_thoughts.py"),
        edit(f"{STRATEGIES}/thoughts.py", "for unit in turns:", "for unit in turns[: -self.keep]:"),
    ),
    agent("It can. Whole again?", tests("tests/strategies/test_thoughts.py"), read(f"{STRATEGIES}/thoughts.py")),
    user(
        "What does it gain? Measure it against the default on something where reasoning is most of the text. "
        "And does it keep the laws?"
    ),
    agent("", python(MEASURE)),
    agent(
        "The laws are properties over generated logs. I run those that a new strategy could break.",
        tests("tests/laws/test_law_03_prefix.py"),
        tests("tests/laws/test_law_13_bound.py"),
    ),
    agent("", tests("tests/laws/test_laws_of_a_log.py")),
    agent(
        "Does a drop of old reasoning ever hide signed reasoning after it? The trim changes the prefix.",
        search("signature_stale|recheck_signatures", CORE),
        read(f"{CORE}/apply_edits.py"),
    ),
    agent("", read("src/transom/testing/random_logs.py", 1, 120), search("frozen=True, kw_only=True", STRATEGIES)),
    agent(
        "How does the planner decide when to compact? That decides whether this strategy should ask for more at once.",
        read(f"{CORE}/budget_enforcer.py", 1, 260),
    ),
    agent(
        "",
        python(MEASURE.replace("DropThoughts()", "DropThoughts(keep=8)")),
        python(MEASURE.replace("budget=8_000", "budget=32_000")),
    ),
    agent(
        "One more place could disagree with me: the store writes trims and reads them back.",
        read(f"{CORE}/codec.py"),
        read(f"{CORE}/edit.py"),
        read(f"{CORE}/entry.py"),
    ),
    agent("", read("src/transom/evaluation/explanations.py", 1, 120), read("src/transom/conversation/replay.py")),
    agent("Last, the same through a store on disk, closed and opened again.", python(REOPENED)),
    agent(
        "Done, and measured.\n\n`strategies/thoughts.py` drops the reasoning of all but the newest `keep` turns. It "
        "counts turns of the model (user messages are units of their own), leaves alone what somebody undid, and "
        "changes nothing while there is room. Three tests, one of which I broke on purpose to see it fail. Laws 3 "
        "and 13 and those of a log pass, and a conversation that is closed and opened again has the same window.\n\n"
        "Two things to know. The trims break the cached prefix at the oldest turn that they touch, like any "
        "compaction. In the measurement it sends exactly what the default sends, because `OldReasoning` selects the "
        "same there; it can only differ where many turns follow one user message. And signed reasoning is hidden "
        "by the core itself once something before it changes, so for such models the strategy gives up all of it at "
        "the first compaction. It is not in the default policy, as you asked."
    ),
    user("Thank you. Undo nothing, I will read the diff tomorrow. Which three files should I read first?"),
    agent(
        "`src/transom/strategies/thoughts.py` (what it does), `tests/strategies/test_thoughts.py` (what it "
        "promises), and `src/transom/core/policy.py` (what a strategy is given)."
    ),
)
