"""Every recorded conversation: imported, exported with the same messages, and replayed from the export under the laws.

    python tests/campaigns/exchange.py DATA [--budget 16000] [--every K]

A line for each family; exits 1 if other messages come out, or if a window is invalid or over the budget.
"""

from __future__ import annotations

import io
import sys
from collections import Counter
from pathlib import Path

from transom.conversation.conversation import Conversation
from transom.conversation.render_window import render
from transom.conversation.replay import replay
from transom.core.message import Fact, Head
from transom.exporters import export
from transom.importers import Recorded, import_file, read
from transom.policies import policy_named
from transom.stores import MemoryStore
from transom.tokenizer import o200k
from transom.wire.dialects import dialect_named

sys.path.append(str(Path(__file__).parent))
from campaign_options import campaign_parser, recorded_files


def exchanged(path: Path, budget: int, every: int) -> Counter[str]:
    """What became of a family."""
    seen = Counter[str]()
    store = MemoryStore()
    names = [done.conversation for done in import_file(path, store)]
    seen["conversations"] = len(names)
    for number, name in enumerate(names):
        log = store.open(name)
        found = export(log)
        data = b"".join(found)
        seen["bytes"] += len(data)
        [recorded] = read(io.BytesIO(data), found.report.format)
        head, placed = recorded.facts()
        stored = [entry.body for entry in log.read() if isinstance(entry.body, Fact)]
        stored_head = [entry.body for entry in log.read() if isinstance(entry.body, Head)][-1:]
        same = stored == [fact for _, fact in placed] and stored_head == [
            Head(messages=tuple(head), tools=recorded.tools)
        ] * len(stored_head)
        seen["other messages"] += not same
        if number % every == 0:
            seen.update(replayed(recorded, budget))
    return seen


def replayed(recorded: Recorded, budget: int) -> Counter[str]:
    """The windows of every call."""
    seen = Counter[str]()
    dialect = dialect_named(recorded.dialect)
    head, facts = recorded.facts()
    conversation = Conversation(
        MemoryStore().open("x"),
        budget=budget,
        policy=policy_named("default"),
        counter=o200k(),
        system=head,
        dialect=dialect,
    )
    for step in replay(conversation, facts):
        seen["calls"] += 1
        if step.window is None:
            seen["refused"] += 1
            continue
        seen["invalid"] += bool(dialect.violations(render(step.window, dialect)))
        seen["over"] += step.window.tokens > budget
    return seen


def main() -> int:
    parser = campaign_parser(__doc__)
    parser.add_argument("--budget", type=int, default=16_000)
    options = parser.parse_args()
    wrong = 0
    for path in recorded_files(parser, options):
        seen = exchanged(path, options.budget, options.every)
        print(
            f"{path.name:24} {seen['conversations']:4} conversations {seen['bytes'] / 1e6:6.2f} MB "
            f"other messages {seen['other messages']} "
            f"calls {seen['calls']:6,} refused {seen['refused']:4} invalid {seen['invalid']} over {seen['over']}",
            flush=True,
        )
        wrong += seen["other messages"] + seen["invalid"] + seen["over"]
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
