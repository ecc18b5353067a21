"""Every call of every conversation in every dialect: valid, in budget, holding what it must, a prefix or a break?

    python tests/campaigns/dialects.py DATA [--dialect D …] [--budget N …] [--policy P] [--family F …]
                                        [--every K] [--jobs J]

Prints a line per family, dialect and budget; exits 1 if anything is wrong, or if a whole family has less cached than is
promised (`cached.py`). Judged by the dialect's rules, by a count of its own, and for Anthropic by `turnsafe`.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Any

import turnsafe

from transom.conversation.appending.parse_messages import split_head
from transom.conversation.conversation import Conversation
from transom.conversation.render_window import render
from transom.conversation.replay import replay
from transom.core.budget import Budget
from transom.policies import policy_named
from transom.stores import MemoryStore
from transom.tokenizer import o200k
from transom.wire.dialects import dialect_named

sys.path.extend(
    [str(Path(__file__).parent.parent), str(Path(__file__).parent.parent / "wire"), str(Path(__file__).parent)]
)
import cached
import test_anthropic_counting
import test_gemini_counting
from campaign_options import campaign_parser, end, print_wrong, recorded_files, with_budgets
from responses_kit import tokens_of
from sweep import calls_in, conversations, smallest, words

import counting

DIALECTS = ("responses", "deepseek_responses", "anthropic", "gemini", "mistral")


class _Texts:
    """Counts a text once: the windows of a conversation say the same texts again and again."""

    count = staticmethod(lru_cache(1 << 16)(lambda text: o200k().count(text)))


TEXTS = _Texts()


def counted(dialect: str, request: dict[str, Any]) -> int | None:
    """Tokens by the counting formula, from nothing; None where there is no such count."""
    if dialect == "anthropic":
        return test_anthropic_counting.request_tokens(request, TEXTS)
    if dialect == "gemini":
        return test_gemini_counting.request_tokens(request, TEXTS)
    if dialect == "mistral":
        return counting.request_tokens(request["messages"], TEXTS)
    return tokens_of(request, TEXTS.count)


def pieces(request: dict[str, Any]) -> list[tuple[str, Any]]:
    """What a request says in order, cut as small as messages are joined: a role and a block."""
    out: list[tuple[str, Any]] = []
    for key in ("messages", "input", "contents"):
        for message in request.get(key, ()):
            inner = next((message[name] for name in ("content", "parts") if isinstance(message.get(name), list)), None)
            role = message.get("role") or message.get("type")
            out += [(role, message)] if inner is None else [(role, piece) for piece in inner]
    return out


def needed(messages: list[dict[str, Any]]) -> int:
    """The floor of a refusal: as in chat, and for each call of the newest turn a label and a wrapping of our own."""
    turn = next((message for message in reversed(messages) if message["role"] == "assistant"), {})
    return smallest(messages) + 20 * len(turn.get("tool_calls") or ()) + 40


def missing(messages: list[dict[str, Any]], text: str) -> str:
    """What must be in every window and is not: verbatim, or an excerpt that names its entry."""
    heads = 0
    while heads < len(messages) and messages[heads]["role"] in {"system", "developer"}:
        heads += 1
    wanted = [("the head", message, 60) for message in messages[:heads]]
    users = [message for message in messages[heads:] if message["role"] == "user" and message.get("content")]
    wanted += [("a user message", message, 6) for message in users[:1] + users[-1:]]
    for name, message, length in wanted:
        start = words(message).strip()[:length]
        if json.dumps(start, ensure_ascii=False)[1:-1] not in text:
            return f"{name}: {start!r}"
    return ""


def judge(
    path: str, dialect: str, budget: int, policy: str, every: int, most: int | None = None
) -> tuple[str, str, int, Counter[str], list[str]]:
    seen: Counter[str] = Counter()
    wrong: list[str] = []
    spoken = dialect_named(dialect)
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
            dialect=spoken,
            clock=lambda: 0.0,
        )
        before: list[tuple[str, Any]] = []
        called = []
        for step in replay(conversation, facts):
            seen["calls"] += 1
            called.append(step.at)
            where = f"{record['id']} at {step.at} {dialect} {budget}"
            past = record["messages"][: step.at]
            if step.window is None:
                seen["refused"] += 1
                if needed(past) <= budget:
                    wrong.append(f"{where}: refused, though {needed(past)} would do: {step.refused}")
                continue
            request = render(step.window, spoken)
            wrong += [f"{where}: {problem}" for problem in spoken.violations(request)[:1]]
            if dialect == "anthropic" and not turnsafe.validate(request["messages"], provider="anthropic").ok:
                wrong.append(
                    f"{where}: turnsafe {turnsafe.validate(request['messages'], provider='anthropic').errors[0]}"
                )
            tokens = counted(dialect, request)
            if (tokens or 0) > step.window.tokens or step.window.tokens > budget:
                wrong.append(f"{where}: counted {tokens}, said {step.window.tokens}")
            now = pieces(request)
            if not now:
                wrong.append(f"{where}: empty")
            if gone := missing(past, json.dumps(request, ensure_ascii=False)):
                wrong.append(f"{where}: without {gone}")
            if now[: len(before)] != before:
                seen["breaks"] += 1
                if step.window.breaks is None:
                    wrong.append(f"{where}: an unnamed break")
            before = now
            cached.add_window(seen, record["messages"], step.window.tokens, step.window.shared_tokens)
            seen["counted"] += tokens or step.window.tokens
        expected = calls_in(record["messages"])
        if called != expected[len(expected) - len(called) :]:  # a system prompt alone is no request everywhere
            wrong.append(f"{record['id']}: calls at {called[:9]}, expected {expected[:9]}")
    return Path(path).name, dialect, budget, seen, wrong


def main() -> int:
    parser = with_budgets(campaign_parser(__doc__))
    parser.add_argument("--dialect", action="append")
    options = parser.parse_args()
    files = recorded_files(parser, options)
    bad = 0
    with ProcessPoolExecutor(options.jobs) as pool:
        jobs = [
            pool.submit(judge, str(file), dialect, budget, options.policy, options.every)
            for file in files
            for dialect in options.dialect or DIALECTS
            for budget in options.budget or (4_000, 16_000, 64_000)
        ]
        for job in jobs:
            name, dialect, budget, seen, wrong = job.result()
            if options.every == 1:
                wrong[:0] = cached.broken(name.split(".")[0], budget, options.policy, seen)
            over = 100 * seen["tokens"] / max(1, seen["counted"]) - 100
            print(
                f"{name:24} {dialect:18} {budget:7,} calls {seen['calls']:6,} refused {seen['refused']:5,} "
                f"wrong {len(wrong):5,} breaks {seen['breaks']:5,} {cached.summary(seen)} counted above {over:4.1f}%",
                flush=True,
            )
            bad += print_wrong(wrong)
    return end(bad)


if __name__ == "__main__":
    sys.exit(main())
