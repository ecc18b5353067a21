"""The compaction-conformance-kit as judge of the key messages: what of a long session survives five compactions.

    python benchmarks/compaction.py [--budgets 10%,20%,30%] [--whole 0] [--seeds 1,2,3,4] [--json]

The kit plants rules, facts and wishes among small talk, replaces some of them later in other words, and looks for them
in the compacted text. Budgets are characters, so characters are counted here. The kit asks for `/compact`: everything
it gives has happened, and the user's next message is still to come, so that one stands behind it (and is no part of
what is handed back). The text is the window as the kit writes sessions, the system prompt as it is. What was compacted
and fits is not compacted again: the kit's later rounds give back what the first one made.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

from compaction_kit.benchmark import budget_benchmark_to_markdown, run_budget_benchmark
from compaction_kit.compacted import CompactedContext

from transom import Budget, Policy, Settings
from transom.conversation.conversation import Conversation
from transom.conversation.request import render
from transom.core.tokens import MESSAGE_TOKENS, REQUEST_TOKENS
from transom.policies.plain import LAST_RESORT
from transom.stores import open_store
from transom.strategies.fold.key_messages import KEY_STEPS, KeepKey, KeyMessages

WITH_KEY_MESSAGES = (KeyMessages(), *LAST_RESORT)
NEXT = "Go on."
AROUND = len(NEXT) + REQUEST_TOKENS + 2 * MESSAGE_TOKENS
"""What is counted and not handed back: the next message, and the envelopes of the request, the system prompt and it."""


class Characters:
    """Counts each character as a token."""

    name = "characters"

    def count(self, text: str) -> int:
        return len(text)


class KeyMessageCompactor:
    """The kit's protocol over one window of Transom. `whole`: the share of the room for whole messages."""

    name = "transom-key-messages"

    def __init__(self, whole: float = 0.0) -> None:
        keep = (KeepKey(share=whole),) if whole else ()
        self._policy = Policy(
            name="key", keep=keep, pressure=KEY_STEPS, last_resort=WITH_KEY_MESSAGES, trigger=1.0, target=1.0
        )

    def compact(self, turns: list[Any], round_num: int = 1, budget_chars: int | None = None) -> CompactedContext:
        room = allowed = budget_chars or sum(len(turn.text) + 20 for turn in turns)
        text = written(self._window(turns, room))
        while len(text) > allowed:  # role names and line ends are not the counter's: give them room
            room -= len(text) - allowed
            text = written(self._window(turns, room))
        return CompactedContext(text=text, compactor_name=self.name, round_num=round_num)

    def _window(self, turns: list[Any], room: int) -> list[dict[str, Any]]:
        settings = Settings.of(
            Settings(ref=lambda seq: f"message {seq}"),
            budget=Budget(context=room + AROUND),
            policy=self._policy,
            counter=Characters(),
            system="\n".join(turn.text for turn in turns if turn.role == "system"),
        )
        conversation = Conversation(open_store("memory:").open("kit"), settings)
        for turn in turns:
            if turn.role == "user":
                conversation.user(turn.text)
            elif turn.role != "system":
                conversation.observe({"role": "assistant", "content": turn.text})
        conversation.user(NEXT)
        return render(conversation.plan_request())["messages"][:-1]


def written(messages: list[dict[str, Any]]) -> str:
    """Messages as the kit writes a session; the system prompt, or what an earlier round made of it all, as it is."""
    heads = {"system": ""}
    return "\n".join(f"{heads.get(m['role'], '[' + m['role'] + '] ')}{m['content']}" for m in messages)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budgets", default="10%,20%,30%")
    parser.add_argument("--seeds", default="1,2,3,4")
    parser.add_argument("--whole", type=float, default=0.0)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    payload = run_budget_benchmark(
        {KeyMessageCompactor.name: lambda: KeyMessageCompactor(args.whole)},
        budgets=[float(part.strip("%")) / 100 for part in args.budgets.split(",")],
        seeds=[int(seed) for seed in args.seeds.split(",")],
    )
    print(json.dumps(payload, indent=2) if args.json else budget_benchmark_to_markdown(payload))


if __name__ == "__main__":
    main()
