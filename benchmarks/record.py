"""What a model finds in its windows: one table for the records of one or two versions of the code.

    python benchmarks/record.py DATA [--beside SRC] [--policies default,recall] [--n 4] [--only facts,names]

DATA holds `conversations/claude_code.jsonl.gz` and the others. SRC is the `src` folder of another version, measured in
a process of its own. `--n`: conversations of each family.

The rows:

- facts: of those that a reader of the window must find (`facts.toml`), by question; and calls where nine tenths stand.
- whole, remarks: messages of the user of up to 100 tokens that stand whole (coding, service desks), and what the
  agent said beside its calls, if its first dozen words do.
- worth nothing: pieces of records that hold no fact, no name, and no four words of the user or of the agent. only read:
  also those whose names neither of them ever wrote, in words or in the arguments of a call.
- anywhere, near: of the names that the next message uses and that were last seen beyond the budget, those that are in
  the window, and those with 40 characters of their own surroundings. near, all: the same, of every name.
- cost: relative to sending everything, by Anthropic's prices. append-only: calls that continue the last window.
- full: how full a window is right after a compaction, and ms: CPU milliseconds of such a call.
- evidence: labelled messages that a question needs; of Chinese dialogues, distinctive pairs of characters.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from labelled_questions import evidence_found, questions_in
from policies import BANK, DIALOGUES, FAMILIES, SHARE, bank, chinese, chosen_of
from transom.core.budget import Budget
from transom.core.message import Raw
from transom.core.unit import FoldedSlot
from transom.evaluation.compare import Judge, RecordedCall, tokens_of
from transom.evaluation.grounding import History, grounding, identifiers, occurrences, texts_of
from transom.importers import Recorded, read
from transom.importers.recorded import as_openai_chat
from transom.policies import policy_named
from transom.reports.recorded_calls import recorded_calls
from transom.tokenizer import o200k

QUESTIONS = ("asked", "history", "state", "values", "next")
BUDGETS = {**{family.name: family.budget for family in (*FAMILIES, *DIALOGUES)}, "deerflow": 8_000, "who_when": 8_000}
WITH_TOOLS = frozenset(family.name for family in FAMILIES)
"""The families in which what the user says are requests; the others are talk."""

PARTS = ("facts", "names", "evidence")

MANY_SHORT = 6
"""How many times as many conversations of a family whose conversations are short."""

SHORT = 100
"""Tokens of a message of the user that is to stand whole."""

BEGINNING = 12
"""Words by which a remark is recognised."""

TELLING = 4
"""Words in a row that a piece of a record shares with what was said."""

INJECTED = re.compile(r"\s*(?:<[a-z-]+>|Caveat: The messages|\[Request interrupted|Base directory for this skill)")
"""The beginning of a message in the user's place that a program wrote."""

PIECES = re.compile(r"\n| · |; ")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--beside", type=Path)
    parser.add_argument("--policies", default="default")
    parser.add_argument("--n", type=int, default=4)
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--numbers", action="store_true", help="print JSON, for the table of two versions")
    args = parser.parse_args()
    policies, parts = args.policies.split(","), args.only.split(",")
    if args.numbers:
        print(json.dumps({name: numbers(args.data / "conversations", name, args.n, parts) for name in policies}))
        return
    sources = [source for source in (args.beside, Path(__file__).parent.parent / "src") if source]
    command = [sys.executable, *sys.argv, "--numbers"]
    running = [
        subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(source)}, stdout=subprocess.PIPE)
        for source in sources
    ]
    columns: dict[str, dict[str, str]] = {}
    for source, process in zip(sources, running, strict=True):
        output, _ = process.communicate()
        if process.returncode:
            sys.exit(process.returncode)
        title = "beside" if source is args.beside else "here"
        columns |= {f"{title}, {name}": found for name, found in json.loads(output).items()}
    print("\n".join(table(columns)))


def table(columns: dict[str, dict[str, str]]) -> Iterator[str]:
    """A line for each figure, with a column for each version and policy."""
    rows = list(next(iter(columns.values())))
    for cells in (["", *columns], ["---", *["---:" for _ in columns]]):
        yield f"| {' | '.join(cells)} |"
    for row in rows:
        yield f"| {row} | {' | '.join(found[row] for found in columns.values())} |"


def numbers(folder: Path, name: str, n: int, parts: Sequence[str]) -> dict[str, str]:
    """Every figure of one policy of this version."""
    found: dict[str, str] = {}
    if "facts" in parts:
        found |= facts(folder, name, n)
    if "names" in parts:
        for family in FAMILIES:
            some = n * MANY_SHORT if family.min_tokens else n
            found |= names(family.name, chosen(folder, family, some), name)
    if "evidence" in parts:
        for family in DIALOGUES:
            found |= evidence(folder, family, max(1, n // 2), name)
        banked = [one for one in read(folder / f"{BANK}.jsonl.gz") if chinese(one.messages)][: 2 * n]
        done = [bank(one, name) for one in banked] if name in {"default", "recall", "summary"} else []
        found["Chinese pairs"] = percent(sum(one for one, _ in done), sum(all_ for _, all_ in done))
    return found


def percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.0f}" if whole else "–"


# ---- facts


def facts(folder: Path, name: str, n: int) -> dict[str, str]:
    """Grade the window of each call of the list. A small `n` takes fewer calls of each family."""
    calls = tomllib.loads((Path(__file__).parent / "facts.toml").read_text(encoding="utf-8"))["call"]
    by_family: dict[str, list[dict[str, Any]]] = {}
    for call in calls:
        by_family.setdefault(call["family"], []).append(call)
    counts, right = {question: [0, 0] for question in QUESTIONS}, [0, 0]
    whole, remarks, worthless, only_read = [0, 0], [0, 0], [0, 0], [0, 0]
    for family, some in by_family.items():
        records = list(read(folder / f"{family}.jsonl.gz"))
        for call in some[: 2 * n]:
            record = next(one for one in records if one.id.startswith(call["conversation"]))
            window, at = last_window(as_openai_chat(record), family, name)
            shown = joined(text for message in window["messages"] for text in texts_of(message))
            for question in QUESTIONS:
                held = sum(bool(re.search(fact, shown, re.IGNORECASE)) for fact in call[question])
                add(counts[question], held, len(call[question]))
                add(right, int(held >= 0.9 * len(call[question])), 1)
            said = record.messages[:at]
            if family in WITH_TOOLS:
                add(whole, *kept_whole(said, shown))
            add(remarks, *kept_remarks(said, shown))
            patterns = [fact for question in QUESTIONS for fact in call[question]]
            nothing, unused, total = without_worth(window["records"], said, patterns)
            add(worthless, nothing, total)
            add(only_read, unused, total)
    rows = {f"facts, {question} (of {total})": f"{held}" for question, (held, total) in counts.items()}
    rows[f"facts (of {sum(total for _, total in counts.values())})"] = f"{sum(held for held, _ in counts.values())}"
    rows[f"answers, nine tenths there (of {right[1]})"] = f"{right[0]}"
    rows["user's messages whole"] = percent(*whole)
    rows["remarks kept"] = percent(*remarks)
    rows["worth nothing"] = percent(*worthless)
    rows["worth nothing, or only read"] = percent(*only_read)
    return rows


def add(counts: list[int], part: int, whole: int) -> None:
    counts[0] += part
    counts[1] += whole


def joined(texts: Iterable[str]) -> str:
    """Texts in one line: a pattern need not know where lines end, nor the marks of quotes."""
    return " ".join("\n".join(texts).split())


def last_window(record: Recorded, family: str, name: str) -> tuple[Raw, int]:
    """The request for the last reply of a conversation, with the texts of its records; and the place of the reply."""
    at = max(at for at, message in enumerate(record.messages) if message["role"] == "assistant")
    budget = BUDGETS.get(family) or int(SHARE * sum(tokens_of(message, o200k()) for message in record.messages))
    for call in calls_of(record, name, budget):
        if call.at == at and call.window is not None:
            records = [slot.text for slot in call.window.slots if isinstance(slot, FoldedSlot)]
            return {"messages": call.request["messages"], "records": records}, at
    raise SystemExit(f"no window for the last reply of {record.id}")


def calls_of(record: Recorded, name: str, budget: int) -> Iterator[RecordedCall]:
    without_tools = replace(record, tools=())
    return recorded_calls(without_tools, budget=Budget(context=budget), policy=policy_named(name))


def kept_whole(said: Sequence[Raw], shown: str) -> tuple[int, int]:
    """How many of the user's short messages stand whole, and how many there are."""
    texts = ["\n".join(texts_of(message)) for message in said if message["role"] == "user"]
    own = [text for text in texts if text.strip() and not INJECTED.match(text) and o200k().count(text) <= SHORT]
    plain = without_marks(shown)
    return sum(without_marks(joined([text])) in plain for text in own), len(own)


def kept_remarks(said: Sequence[Raw], shown: str) -> tuple[int, int]:
    """How many of the agent's remarks beside calls have their beginning in the window, and how many there are."""
    remarks = [joined([content_of(message)]) for message in said if message.get("tool_calls")]
    beginnings = [" ".join(remark.split()[:BEGINNING]) for remark in remarks if remark]
    plain = without_marks(shown)
    return sum(without_marks(beginning) in plain for beginning in beginnings), len(beginnings)


def content_of(message: Raw) -> str:
    content = message.get("content")
    return "\n".join(texts_of({"role": message["role"], "content": content}))


def without_marks(text: str) -> str:
    """A text without quotation marks, which a record writes in its own way."""
    return re.sub(r"[«»‹›\"'“”]", "", text)


def without_worth(records: Sequence[str], said: Sequence[Raw], patterns: Sequence[str]) -> tuple[int, int, int]:
    """Tokens of the pieces of these records that say nothing, of those that say nothing which the user or the agent
    wrote, and of all."""
    others = (message for message in said if message["role"] != "tool")
    written = set(identifiers([text for message in others for text in texts_of(message)]))
    spoken = joined(content_of(message) for message in said if message["role"] in {"user", "assistant"}).lower().split()
    runs = {tuple(spoken[at : at + TELLING]) for at in range(len(spoken) - TELLING + 1)}
    nothing = unused = total = 0
    for piece in (piece for text in records for piece in PIECES.split(text) if piece.strip()):
        tokens = o200k().count(piece)
        total += tokens
        words = re.sub(r"[«»]", " ", piece).lower().split()
        told = any(tuple(words[at : at + TELLING]) in runs for at in range(len(words) - TELLING + 1))
        if not told and not any(re.search(one, piece, re.IGNORECASE) for one in patterns):
            names = identifiers([piece])
            nothing += 0 if names else tokens
            unused += tokens if written.isdisjoint(names) else 0
    return nothing, unused, total


# ---- names and cost


def chosen(folder: Path, family: Any, n: int) -> list[Recorded]:
    """`n` conversations of a family, from all over its file."""
    fitting = chosen_of(family, folder / f"{family.name}.jsonl.gz")
    step = max(1, len(fitting) // n)
    return list(islice(fitting[::step], n))


def names(family: str, records: Sequence[Recorded], name: str) -> dict[str, str]:
    """Names, cost and the size of windows over the conversations of a family."""
    budget, total = BUDGETS[family], None
    anywhere = Counter[bool]()
    full: list[float] = []
    seconds: list[float] = []
    for record in records:
        calls = list(calls_of(record, name, budget))
        judge = Judge(record.messages, budget=budget, counter=o200k())
        for call in calls:
            judge.add(call)
        one = judge.result()
        total = one if total is None else total.plus(one)
        anywhere += far_names(record.messages, calls, budget)
        folds = frozenset[int]()
        for call in calls:
            now = (
                frozenset(slot.seq for slot in call.window.slots if isinstance(slot, FoldedSlot))
                if call.window
                else folds
            )
            if now - folds and call.window is not None:
                full.append(call.window.tokens / budget)
                seconds.append(call.seconds)
            folds = now
    assert total is not None
    shares = total.grounding.shares
    return {
        f"{family}: names anywhere": percent(anywhere[True], anywhere.total()),
        f"{family}: names near": f"{100 * (shares[1] or 0):.0f}",
        f"{family}: names near, all": f"{100 * (shares[0] or 0):.0f}",
        f"{family}: cost": f"{total.anthropic.share or 0:.3f}",
        f"{family}: append-only": f"{100 * (total.append_only or 0):.0f}",
        f"{family}: full after": percent(sum(full), len(full)),
        f"{family}: ms a compaction": f"{1000 * sum(seconds) / max(1, len(seconds)):.0f}",
    }


def far_names(messages: Sequence[Raw], seen: Sequence[RecordedCall], budget: int) -> Counter[bool]:
    """How many of the names that are beyond the budget stand in the windows, wherever, and how many do not."""
    history, done, tokens = History(), 0, 0
    found = Counter[bool]()
    for one in seen:
        for message in messages[done : one.at]:
            tokens += tokens_of(message, o200k())
            history.add(message, tokens)
        done = one.at
        if one.window is None or not grounding(history, [], messages[one.at], tokens, budget).far_needed:
            continue
        texts = "\0".join(text for message in one.request["messages"] for text in texts_of(message))
        for used in identifiers(list(texts_of(messages[one.at]))):
            places = history.places(used)
            if places and tokens - history.nearest(text for text, _ in places) > budget:
                found[bool(occurrences(used, texts))] += 1
    return found


# ---- evidence


def evidence(folder: Path, family: Any, n: int, name: str) -> dict[str, str]:
    """The usable share of the evidence of labelled questions; at most 60 of each conversation, from all over it."""
    asked, found = questions_in(folder / f"{family.name}.jsonl.gz"), list[float]()
    for record in chosen(folder, family, n):
        questions = asked[record.id]
        questions = questions[:: max(1, len(questions) // 60)]
        found += evidence_found(record, questions, policy_named(name), family.budget)
    return {f"{family.name}: evidence": percent(sum(found), len(found))}


if __name__ == "__main__":
    main()
