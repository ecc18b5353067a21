"""What the agent of the demo says and calls, in order. What its tools answer is not written here: it is what "
"happens."""

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
        "I will look at what there is first, then follow one call from the front door inwards.", listing("src/transom")
    ),
    agent(
        "The front door is `drive/conversation.py`. I will read it whole.", read("src/transom/drive/conversation.py")
    ),
    agent("`window()` calls `plan` and wraps its result. On to the plan.", read(f"{CORE}/plan.py")),
    agent(
        "A plan works on a view and folds each entry it proposes into it. The view next, and who folds.",
        read(f"{CORE}/view.py"),
        search(r"def fold\b|_APPLY|def assemble"),
    ),
    agent("", read(f"{CORE}/folding.py", 1, 140)),
    agent("Units and folds are the slots a view shows.", read(f"{CORE}/unit.py", 1, 140)),
    agent(
        "Now the last step, from slots to messages.",
        read(f"{CORE}/window.py"),
        read("src/transom/wire/openai_chat/render.py", 30, 100),
    ),
    agent("I have the road on paper. I will run it once before I explain it.", python(SMALL)),
    agent(
        "The road, from the caller to the messages:\n\n1. `Conversation.window` (drive/conversation.py) "
        "frames the request (head, tools, words to say) and proposes a plan for the newest view.\n2. `plan` "
        "(core/plan.py) drafts entries: open calls are closed, the head is renewed, fresh results are "
        "clipped; if the fullest room has passed the trigger, one deep cut is made; then the words that are "
        "due, and `Sent` last. Each drafted entry is folded into the view at once, so the plan sees its own "
        "effect.\n3. All drafted entries go into the log in one append, before the request leaves.\n4. "
        "`assemble` (core/window.py) takes the view's slots as they are; a slot is a unit (a turn with its "
        "answers) or a fold that stands for several.\n5. `OPENAI_CHAT.slot` (wire/openai_chat/render.py) "
        "turns each slot into messages. A slot's messages depend on that slot alone, which is why the prefix "
        "stays.\n\nThe run shows it: the same 82 messages fit whole into 100,000 tokens, and at 2,000 the "
        "oldest turns are one marker."
    ),
    user(
        "Good. What happens to a tool call whose result never comes? I have had APIs refuse such a history. "
        "Show me, do not tell me."
    ),
    agent(
        "The plan closes calls; I will see by which rule, and what the model reads.",
        search("ABORTED|_close_calls|missing"),
        read(f"{CORE}/texts.py"),
    ),
    agent("", python(OPEN_CALL)),
    agent(
        "So the call is answered by a made result. What does the view do when the real one arrives later?",
        read(f"{CORE}/folding.py", 180, 300),
    ),
    agent("", search("late", f"{CORE}")),
    agent(
        "And what guards it: which tests speak about open calls?",
        search("abort|late|open call", "tests"),
        read("tests/laws/test_law_04_replay.py"),
    ),
    agent("", tests("tests/laws/test_law_04_replay.py")),
    agent(
        "Shown, in order: a call without a result is closed by a fact, `[aborted: no result was received; the"
        " tool may have run]`, in the plan of the next request (`_close_calls` in core/plan.py). It claims "
        "nothing about what the tool did. When the real result comes after all, the first answer wins, "
        "because its bytes may be in a cache; the real one is kept in the log and said once in a note, so the"
        " model learns what it was. Law 4 (replay) folds generated logs with such late and lost answers "
        "again, and passes."
    ),
    user(
        "And a huge result, say a log file of four thousand lines? How much of it is sent, and can the model "
        "get the rest?"
    ),
    agent("", listing(STRATEGIES), read(f"{STRATEGIES}/arrival.py")),
    agent("Clipped on arrival, while it is free. How is it cut?", read(f"{STRATEGIES}/cutting.py")),
    agent("", python(LONG_RESULT)),
    agent(
        "The middle is gone behind a marker that names the entry. What happens to results that are not huge, but old?",
        read(f"{STRATEGIES}/stale.py"),
        read(f"{STRATEGIES}/omission.py"),
    ),
    agent("", read("src/transom/policies/plain.py"), read(f"{STRATEGIES}/elide.py")),
    agent("", read(f"{CORE}/policy.py"), read(f"{CORE}/budget.py")),
    agent(
        "Where is the whole kept? I want to be sure before I say so.",
        read("src/transom/stores/blobs.py"),
        search("fetch", "src/transom/core"),
    ),
    agent(
        "A result is shown up to a quarter of the window, at most 5,000 tokens, half from its start and half "
        "from its end, cut at line ends (`Clip`, strategies/arrival.py). It is cut before it is ever sent, so"
        " no cache breaks. The whole stays in the log, bodies over 64 KiB apart in the blob store, and the "
        "marker names the entry. Later, under pressure, old results become stubs if that alone is enough "
        "(`StubStale`), else the oldest turns are left out in one deep cut (`Omit`)."
    ),
    user(
        "Then here is the change I want: reasoning is the first thing I would give up. Add a strategy that "
        "drops the reasoning of old turns under pressure, before stubs and folds, and leaves the newest two "
        "turns alone. With tests. Do not touch the default policy."
    ),
    agent(
        "First what reasoning is here, and what a trim may do to it.",
        search("Reasoning|reasoning", "src/transom/core"),
        read(f"{CORE}/message.py", 60, 130),
    ),
    agent(
        "A trim without spans and note drops a reasoning part. Bound reasoning has its own rule; I will read "
        "it before I build on it.",
        read(f"{CORE}/digest.py"),
        read("tests/laws/test_law_13_bound.py"),
    ),
    agent("", search("def held|held\\(", "src/transom"), read("src/transom/testing/builders.py")),
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
            "view_of\nlog = talk('go', says('a', thought='x'), 'on', says('b', thought='y'), 'on')\nview = "
            "view_of(Entries(log), WordCounter())\nprint([(slot.key, type(slot.head).__name__) for slot in "
            "view.slots])"
        ),
    ),
    agent(
        "User messages are units of their own, so `keep=2` kept one turn and one user message. I count turns "
        "of the model instead. And the place that was taken back: the strategy never asked.",
        edit(
            f"{STRATEGIES}/thoughts.py",
            "[slot for slot in view.slots if isinstance(slot, Unit)]",
            "[slot for slot in view.slots if isinstance(slot, Unit) and isinstance(slot.head, Assistant)]",
        ),
        edit(
            f"{STRATEGIES}/thoughts.py",
            "from transom.core.message import Reasoning, addressed",
            "from transom.core.message import Assistant, Reasoning, addressed",
        ),
        edit(
            f"{STRATEGIES}/thoughts.py",
            "        for unit in turns[: -self.keep]:\n",
            "        for unit in turns[: -self.keep]:\n            if view.held(unit) and not aim.hard:\n"
            "                continue\n",
        ),
    ),
    agent("", tests("tests/strategies/test_thoughts.py")),
    agent(
        "Green. Is the first test able to fail? I break the strategy on purpose and look.",
        edit(f"{STRATEGIES}/thoughts.py", "turns[: -self.keep]", "turns"),
        tests("tests/strategies/test_thoughts.py"),
        edit(f"{STRATEGIES}/thoughts.py", "for unit in turns:", "for unit in turns[: -self.keep]:"),
    ),
    agent("It can. Whole again?", tests("tests/strategies/test_thoughts.py"), read(f"{STRATEGIES}/thoughts.py")),
    user(
        "What does it buy? Measure it against the default on something where reasoning is most of the text. "
        "And does it keep the laws?"
    ),
    agent("", python(MEASURE)),
    agent(
        "The laws are properties over generated logs; I run those that a new strategy could break.",
        tests("tests/laws/test_law_03_prefix.py"),
        tests("tests/laws/test_law_05_undo.py"),
        tests("tests/laws/test_law_07_thrift.py"),
    ),
    agent("", tests("tests/laws/test_law_13_bound.py"), tests("tests/laws/test_law_06_order.py")),
    agent(
        "Does a drop of old reasoning ever void bound reasoning after it? The trim changes the prefix.",
        search("voided|_revoid|bind\\(", "src/transom/core"),
        read(f"{CORE}/folding.py", 300, 424),
    ),
    agent("", read("tests/laws/logs.py", 1, 120), search("frozen=True, kw_only=True", STRATEGIES)),
    agent(
        "How does the planner price a break? That decides whether this strategy should ask for more at once.",
        read(f"{CORE}/plan.py", 170, 300),
    ),
    agent(
        "",
        python(MEASURE.replace("DropThoughts()", "DropThoughts(keep=8)")),
        python(MEASURE.replace("budget=8_000", "budget=32_000")),
    ),
    agent(
        "One more place could disagree with me: the store writes trims and reads them back.",
        read("src/transom/core/codec.py"),
        read("src/transom/core/edit.py"),
        read("src/transom/core/entry.py"),
    ),
    agent("", read("src/transom/measure/explain.py"), read("src/transom/drive/replay.py")),
    agent("Last, the same through a store on disk, closed and opened again.", python(REOPENED)),
    agent(
        "Done, and measured.\n\n`strategies/thoughts.py` drops reasoning outside the newest `keep` turns; it "
        "counts turns of the model (user messages are units of their own), spares places somebody took back, "
        "and changes nothing while there is room. Three tests, one of which I broke on purpose to see it "
        "fail. Laws 3, 5, 6, 7 and 13 pass, and a conversation closed and opened again shows the same "
        "window.\n\nTwo things to know. The trims break the cached prefix at the oldest turn they touch, like"
        " any cut; measured against the default it breaks as often and sends about as many tokens, and what "
        "it buys is that the answers stay in the window when the reasoning goes. At 32,000 tokens nothing has"
        " to go. And reasoning that is bound to its exact prefix is hidden by the core itself once something "
        "before it changes, so for such models the strategy gives up all of it at the first cut. It is not in"
        " the default policy, as you asked."
    ),
    user("Thank you. Undo nothing, I will read the diff tomorrow. Which three files should I read first?"),
    agent(
        "`src/transom/strategies/thoughts.py` (what it does), `tests/strategies/test_thoughts.py` (what it "
        "promises), and `src/transom/core/policy.py` (what a strategy is asked for)."
    ),
)
