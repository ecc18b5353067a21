"""Every call of every conversation: is the window valid, within the budget, not empty, and does it hold what it must?

    python tests/campaigns/sweep.py DATA [--budget N …] [--policy P] [--family F …] [--every K] [--jobs J]

Prints a line per family and budget; exits 1 if anything is wrong, or if a whole family has less cached than is promised
(`cached.py`). Judged by our own rules and by `turnsafe`.
"""

from __future__ import annotations

import gzip
import json
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from itertools import takewhile
from pathlib import Path
from typing import Any

import turnsafe

from transom.conversation.appending.parse_messages import split_head
from transom.conversation.conversation import Conversation
from transom.conversation.replay import replay
from transom.core.budget import Budget
from transom.policies import policy_named
from transom.stores import MemoryStore
from transom.tokenizer import o200k
from transom.wire.openai import OPENAI_CHAT, violations
from transom.wire.rendering import render_messages

sys.path.extend([str(Path(__file__).parent.parent), str(Path(__file__).parent)])
import cached
from campaign_options import campaign_parser, end, print_wrong, recorded_files, with_budgets

from counting import request_tokens


def conversations(path: Path, most: int | None = None) -> list[dict[str, Any]]:
    """The recorded conversations of a family, each with at most its first `most` messages."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    return [{**record, "messages": record["messages"][:most]} for record in records]


def smallest(messages: list[dict[str, Any]]) -> int:
    """The least a window may need, by the definition of a refusal, counted from the messages alone."""
    count = o200k().count
    heads = len(list(takewhile(lambda message: message["role"] in {"system", "developer"}, messages)))
    need = request_tokens(messages[:heads], o200k())
    rest = messages[heads:]
    users = [message for message in rest if message["role"] == "user" and message.get("content")]
    for message in users[:1] + users[1:][-1:]:
        need += min(204, request_tokens([message], o200k()) - 3)
    turn = len(rest) - 1
    while turn > 0 and rest[turn]["role"] in {"tool", "function"}:
        turn -= 1
    if rest and rest[turn]["role"] == "assistant":
        for call in rest[turn].get("tool_calls") or ():
            need += 2 * count(call["id"]) + count(call["function"]["name"]) + 4
        need += 4
    return need


def words(message: dict[str, Any]) -> str:
    """All text of a message."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content or ())


def missing(messages: list[dict[str, Any]], sent: list[dict[str, Any]]) -> str:
    """What must be in every window and is not: verbatim, or an excerpt that names its entry."""
    heads = list(takewhile(lambda message: message["role"] in {"system", "developer"}, messages))
    if sent[: len(heads)] != heads:
        return "the head"
    users = [message for message in messages[len(heads) :] if message["role"] == "user" and message.get("content")]
    for name, message in zip(("first task", "newest user message"), users[:1] + users[-1:], strict=False):
        start = words(message).strip()[:6]
        texts = [words(shown) for shown in sent if shown["role"] == "user"]
        excerpts = [text for text in texts if "whole in entry " in text or "[entry " in text]
        if message not in sent and not any(start in text for text in excerpts):
            return name
    return ""


def shows(message: dict[str, Any]) -> bool:
    """Whether there is anything in a message to show. A result shows only behind its call, which then shows itself."""
    content = message.get("content")
    if isinstance(content, list):
        content = any(part.get("text") or part.get("type") != "text" for part in content)
    if message["role"] == "assistant":
        content = content or message.get("tool_calls") or message.get("function_call")
    return bool(content) and message["role"] not in {"tool", "function"}


def calls_in(messages: list[dict[str, Any]]) -> list[int]:
    """Where the calls are, from the messages alone: each assistant message with something to show before it."""
    heads = len(list(takewhile(lambda message: message["role"] in {"system", "developer"}, messages)))
    first = 0 if heads else next((at for at, message in enumerate(messages) if shows(message)), len(messages))
    return [at for at, message in enumerate(messages) if message["role"] == "assistant" and at > first]


def judge(
    path: str, budget: int, policy: str, every: int, most: int | None = None
) -> tuple[str, int, Counter[str], list[str], float]:
    seen: Counter[str] = Counter()
    wrong: list[str] = []
    spent = 0.0
    for number, record in enumerate(conversations(Path(path), most)):
        if number % every:
            continue
        head, facts = split_head(record["messages"], record["id"])
        conversation = Conversation(
            MemoryStore().open("x"),
            budget=Budget(context=budget),
            policy=policy_named(policy),
            counter=o200k(),
            system=head,
            clock=lambda: 0.0,
        )
        previous: list[dict[str, Any]] = []
        called: list[int] = []
        started = time.process_time()
        for step in replay(conversation, facts):
            spent += time.process_time() - started
            seen["calls"] += 1
            called.append(step.at)
            where = f"{record['id']} at {step.at} budget {budget}"
            if step.window is None:
                seen["refused"] += 1
                floor = smallest(record["messages"][: step.at])
                if floor <= budget or step.refused.bill["need"] <= budget:
                    wrong.append(f"{where}: refused, though {floor} would do: {step.refused}")
                started = time.process_time()
                continue
            sent = render_messages(step.window.view, OPENAI_CHAT)
            for problem in violations(sent)[:1]:
                wrong.append(f"{where}: {problem}")
            report = turnsafe.validate(sent, provider="openai")
            if not report.ok:
                wrong.append(f"{where}: turnsafe {report.violations[0]}")
            tokens = request_tokens(sent, o200k())
            if tokens != step.window.tokens:
                wrong.append(f"{where}: counted {tokens}, said {step.window.tokens}")
            if tokens > budget:
                wrong.append(f"{where}: over budget, {tokens}")
            if not sent:
                wrong.append(f"{where}: empty")
            if gone := missing(record["messages"][: step.at], sent):
                wrong.append(f"{where}: without {gone}")
            if sent[: len(previous)] != previous:
                seen["breaks"] += 1
                if step.window.breaks is None:
                    wrong.append(f"{where}: an unnamed break")
            elif step.window.breaks is not None:
                wrong.append(f"{where}: a break that is none: {step.window.breaks}")
            previous = sent
            cached.add_window(seen, record["messages"], tokens, step.window.shared_tokens)
            started = time.process_time()
        if called != calls_in(record["messages"]):
            wrong.append(f"{record['id']}: calls at {called}, expected {calls_in(record['messages'])}")
        turns = sum(message["role"] == "assistant" for message in record["messages"])
        seen["skipped"] += turns - len(called)
        seen["conversations"] += 1
    return Path(path).name, budget, seen, wrong, spent


def main() -> int:
    parser = with_budgets(campaign_parser(__doc__))
    options = parser.parse_args()
    files = recorded_files(parser, options)
    bad = 0
    with ProcessPoolExecutor(options.jobs) as pool:
        jobs = [
            pool.submit(judge, str(file), budget, options.policy, options.every)
            for file in files
            for budget in options.budget or (4_000, 16_000, 64_000)
        ]
        for job in jobs:
            name, budget, seen, wrong, spent = job.result()
            if options.every == 1:
                wrong += cached.broken(name.split(".")[0], budget, options.policy, seen)
            print(
                f"{name:24} {budget:7,} calls {seen['calls']:6,} skipped {seen['skipped']:4,} "
                f"refused {seen['refused']:5,} wrong {len(wrong):5,} "
                f"breaks {seen['breaks']:5,} {cached.summary(seen)} "
                f"{1e3 * spent / max(1, seen['calls']):6.2f} ms/call",
                flush=True,
            )
            bad += print_wrong(wrong)
    return end(bad)


if __name__ == "__main__":
    sys.exit(main())
