"""Generated histories through `fit`: is every window valid, within every limit, not empty; is every refusal true?

    python tests/campaigns/histories.py [--count 2000] [--first 0]

Judged by the dialect's own rules, by `turnsafe`, and by a count of its own. Half of the histories are damaged.
"""

from __future__ import annotations

import argparse
import random
import sys
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import turnsafe

import transom
from transom.core.budget import Budget
from transom.core.message import Head
from transom.tokenizer import o200k
from transom.wire.dialects import dialect_named

sys.path.extend([str(Path(__file__).parent.parent), str(Path(__file__).parent.parent / "wire")])
from random_histories import HISTORIES
from test_anthropic_counting import request_tokens

import counting

BUDGETS = (300, 400, 600, 1_000, 2_000, 4_000, 16_000)


def judge(dialect: str, seed: int) -> tuple[str, list[str]]:
    """What became of one history, and all that is wrong with it."""
    draw = random.Random(seed)
    damaged = bool(seed % 2)
    system, messages = HISTORIES[dialect](seed, damaged)
    budget, most = draw.choice(BUDGETS), draw.randrange(6, 41)
    where = f"{dialect} {seed}, {budget} tokens, {most} messages"
    if not messages:
        return "nothing", []
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="fit: .* left out")  # results without a call are in these lists
            sent = transom.fit(
                messages, budget=Budget(context=budget, max_messages=most), dialect=dialect, system=system
            )
    except transom.BudgetImpossible as refused:
        floor = smallest(dialect, system, messages)
        true = refused.unit == "tokens" and floor > budget
        return "refused", [] if true else [f"{where}: refused, though {floor} would do: {refused}"]
    return "fitted", [f"{where}: {why}" for why in wrong(dialect, system, messages, sent, budget, most)]


def wrong(dialect: str, system: object, messages: list, sent: list, budget: int, most: int) -> list[str]:
    """Everything that is wrong with a window."""
    spoken = dialect_named(dialect)
    out = [str(violation) for violation in spoken.violations(spoken.body(head_of(spoken, system), sent))]
    report = turnsafe.validate(sent, provider=dialect)
    out += [f"turnsafe: {violation}" for violation in report.errors]
    if (tokens := dialect_tokens(dialect, system, sent, o200k())) > budget:
        out.append(f"{tokens} tokens")
    if len(sent) > most:
        out.append(f"{len(sent)} messages")
    if not any(message["role"] not in {"system", "developer"} for message in sent) and len(messages) > 2:
        out.append("empty")
    if sent == messages and not turnsafe.validate(messages, provider=dialect).ok:
        out.append("left as it was, though it is damaged")
    return out


def dialect_tokens(dialect: str, system: object, messages: list[dict[str, Any]], counter: Any) -> int:
    """Tokens of a request by the counting formula, from nothing."""
    if dialect == "openai":
        return counting.request_tokens(messages, counter)
    return request_tokens({"messages": messages, **({} if system is None else {"system": system})}, counter)


def head_of(spoken: Any, system: object) -> Any:
    return Head(messages=tuple(spoken.parse_system(system)) if system is not None else ())


def smallest(dialect: str, system: object, messages: list[dict[str, Any]]) -> int:
    """The least a window may need by the definition of a refusal: the head, excerpts of at most 200 tokens of the first
    and the newest user message, and the newest turn with nothing but its calls' names and labels."""
    count = o200k()
    heads = 0
    while heads < len(messages) and messages[heads]["role"] in {"system", "developer"}:
        heads += 1
    need = dialect_tokens(dialect, system, messages[:heads], count)
    rest = messages[heads:]
    users = [message for message in rest if message["role"] == "user" and speaks(message)]
    for message in users[:1] + users[1:][-1:]:
        need += min(204, dialect_tokens(dialect, None, [message], count) - 3)
    return need + newest(rest, count)


def speaks(message: dict[str, Any]) -> bool:
    content = message["content"]
    if isinstance(content, str):
        return bool(content)
    return any(block["type"] in {"text", "image", "image_url"} for block in content)


def newest(rest: list[dict[str, Any]], count: Any) -> int:
    """The newest turn and its answers: labels, names, and 4 a message."""
    turn = len(rest) - 1
    while turn > 0 and rest[turn]["role"] != "assistant":
        turn -= 1
    if not rest or rest[turn]["role"] != "assistant":
        return 4
    message, need = rest[turn], 4
    blocks = message.get("content") if isinstance(message.get("content"), list) else ()
    labels = [call["id"] for call in message.get("tool_calls") or ()]
    labels += [block["id"] for block in blocks or () if block["type"] == "tool_use"]
    return need + sum(2 * count.count(label) + 1 + 4 for label in labels)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=2_000)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    bad = 0
    with ProcessPoolExecutor(2) as pool:
        for dialect in HISTORIES:
            seen: Counter[str] = Counter()
            seeds = range(options.first, options.first + options.count)
            for came, problems in pool.map(judge, [dialect] * len(seeds), seeds, chunksize=25):
                seen[came] += 1
                bad += len(problems)
                for line in problems[:1]:
                    print("   ", line[:300])
            print(f"{dialect:10} {dict(seen)} wrong {bad}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
