"""Does `fit` with the policy `default` leave every recorded conversation that fits as it is, to the last byte?

    python tests/campaigns/unchanged.py DATA [--family F …] [--every K] [--budget N]

Prints a line per family; exits 1 if one is changed. Each is compared at the budget and at the smallest one that all
its calls fit, with what `passthrough` gives: that repairs what no API takes (`repaired`), and cuts nothing. A call in
the middle may have more than the last one: the note in the place of a late result is longer than a short result.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

import transom
from transom.conversation.appending.parse_messages import split_head
from transom.conversation.conversation import Conversation
from transom.conversation.replay import replay
from transom.conversation.settings import Settings
from transom.importers import Recorded, read
from transom.stores import MemoryStore

sys.path.append(str(Path(__file__).parent))
from campaign_options import campaign_parser, end, print_wrong, recorded_files


def judge(record: Recorded, budget: int) -> tuple[Counter[str], list[str]]:
    """How many lists were compared, and what is wrong."""
    messages = list(record.messages)
    try:
        whole = transom.fit(messages, budget=budget, policy="passthrough")
    except transom.BudgetImpossible:
        return Counter(too_long=1), []
    smallest = largest_window(record, budget)
    wrong = [
        f"{record.id}: changed at {limit:,}, although no call has more than {smallest:,} tokens"
        for limit in {budget, smallest}
        if json.dumps(transom.fit(messages, budget=limit)) != json.dumps(whole)
    ]
    return Counter(compared=1, repaired=int(whole != messages)), wrong


def largest_window(record: Recorded, budget: int) -> int:
    """The tokens of the largest window of any call, if nothing is cut."""
    head, facts = split_head(record.messages)
    conversation = Conversation(
        MemoryStore().open("unchanged"), Settings.of(budget=budget, policy="passthrough", system=tuple(head))
    )
    windows = [step.window for step in replay(conversation, facts) if step.window is not None]
    return max(window.tokens for window in [*windows, conversation.window()])


def main() -> int:
    made = campaign_parser(__doc__)
    made.add_argument("--budget", type=int, default=200_000)
    options = made.parse_args()
    bad = 0
    for path in recorded_files(made, options):
        seen, wrong = Counter[str](), list[str]()
        for record in [*read(path)][:: options.every]:
            counts, found = judge(record, options.budget)
            seen += counts
            wrong += found
        print(f"{path.name.split('.')[0]:14}", *(f"{count} {what}" for what, count in sorted(seen.items())), flush=True)
        bad += print_wrong(wrong)
    return end(bad)


if __name__ == "__main__":
    sys.exit(main())
