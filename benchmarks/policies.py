"""Every named policy over the recorded families, to docs/policies.md: what `transom compare` says of each.

    python benchmarks/policies.py FOLDER [--policies default,sliding] [--every 1] [--jobs N] [--out docs/policies.md]

FOLDER holds `conversations/claude_code.jsonl.gz` and the others.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial, reduce
from pathlib import Path

from msgspec import Struct

from labelled_questions import evidence_found, questions_in
from reading.readability import Readability, readability
from transom import render
from transom.cli.compare import Results, compare
from transom.conversation.conversation import Conversation
from transom.conversation.replay import replay
from transom.core.budget import Budget
from transom.core.message import Raw
from transom.errors import BudgetImpossible
from transom.evaluation.compare import tokens_of
from transom.evaluation.grounding import texts_of
from transom.importers import Recorded, read
from transom.importers.recorded import as_openai_chat
from transom.policies import POLICIES, policy_named
from transom.reports.policy_figures import BROKEN, COMPARE, COST, FOUND, REASONING, figures
from transom.stores import MemoryStore
from transom.tokenizer import o200k

ROOT = Path(__file__).parent.parent
CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")


class Family(Struct, frozen=True, kw_only=True):
    """Conversations of one kind, and the budget they are played in."""

    name: str
    what: str
    budget: int
    min_messages: int = 0
    max_messages: int | None = None
    min_tokens: int = 0


FAMILIES = (
    Family(name="claude_code", what="151–400 messages", budget=16_000, min_messages=151, max_messages=400),
    Family(name="claude_code2", what="151–400 messages", budget=16_000, min_messages=151, max_messages=400),
    Family(name="codex", what="100–400 messages", budget=16_000, min_messages=100, max_messages=400),
    Family(name="tau2", what="7,000 tokens or more", budget=4_000, min_tokens=7_000),
)
DIALOGUES = (
    Family(name="locomo", what="all, questions at the end", budget=8_000),
    Family(name="goodai_ltm", what="all, each question where it was asked", budget=16_000),
)
BANK = "memorybank"
SHARE = 0.4
"""The budget of a dialogue of memorybank, by the tokens of all of it."""

RARE = 3
"""A pair of characters is distinctive if no more messages of its dialogue hold it."""

READING: dict[str, tuple[str, Callable[[Readability], float | None]]] = {
    "in order": (".1%", lambda one: one.order),
    "turns with a line": (".1%", lambda one: one.line_share),
    "quote boundaries": (".0%", lambda one: one.boundaries),
    "ends inside a word": (",", lambda one: one.inside_words),
    "misquoted": (",", lambda one: one.misquoted),
    "unmarked stale quotes": (",", lambda one: one.unmarked_stale),
    "whole turns, at first": (".0%", lambda one: one.whole_after),
    "whole turns": (".0%", lambda one: one.whole),
}
"""How well windows read, right after each compaction: the heads of the columns, their formats and their figures."""

HEADER = """# The policies compared

Written by `make policies` (`benchmarks/policies.py`), from recorded conversations and without a model. The same for
your own conversations, but for *evidence found* and *distinctive pairs*:

```console
transom compare chats.jsonl --budget 16000 --policies all --all
```

## What is measured

Every conversation is replayed: before each message that the model really wrote, a window is built from everything
before it. The window is compared with what the message then used. No model is called.

- **calls**: model calls. **invalid**: windows that break a rule of the provider. **over budget**: windows with more
  tokens than the budget. **refused**: no window fits, so nothing is sent. Refused calls are in no other column but
  calls: a policy that refuses many is judged by its easy calls alone.
- **share sent**: tokens sent, as a share of sending the whole history at every call.
- **cost**: of all requests, relative to sending the whole history at every call, both with prompt caching; the cache
  never expires. *Anthropic*: the prefix shared with the request before is read at 0.1 of a fresh token's price, the
  rest is written at 1.25. *OpenAI*: 1 for a fresh token, 0.1 for a cached one; cached in steps of 128 tokens, from
  1,024 on. A prefix counts in whole slots.
- **cached share**: tokens of the prefix shared with the window before, as a share of the tokens sent.
- **append-only**: calls whose window begins with the whole window before. **breaks in a row**: calls whose window
  does not, directly after another such call.
- **all names found**: a name is a path, URL, id, number of 4 digits or more, dotted, snake_case or CamelCase name, or a
  quoted string. Of the names that the next message uses and that occurred before: the share that the window has with
  at least 40 characters of the original text on either side, or up to its edge. **old names**: those that were last
  mentioned further back than the budget, and not in the system prompt, which is in every window. **in context**: with
  at least 240 characters of the original text, or the whole text.
- **evidence found**: a labelled question is put at the end of the window, and the policy does not know it before. The
  share of the messages with its answer that is usable. A message is usable if every word of the answer that it has is
  in what the window has of it (its stretches of 40 characters or more). If it has no word of the answer: if the
  window has at least half of it. A refused question finds nothing.
- **distinctive pairs** (memorybank, Chinese): pairs of characters that at most 3 messages of the dialogue have. Of
  those in messages further back than the budget: the share that is in the window after the last message.
- **ms per call**: CPU milliseconds to build a window, everything included.

A measure of names rewards names. It does not see whether a summary can be understood. So the windows right after each
compaction are also judged as a reader would, by the window and the log alone:

- **in order**: of all pairs of visible things (messages, lines and quotes of a record), the share that is in the order
  in which they happened.
- **turns with a line**: of the folded turns, the share that has a line in a record or is counted in one. A marker which
  only says that turns are left out is no line.
- **quote boundaries**: of the beginnings and ends of quoted passages, the share at the beginning or end of a
  line or sentence of the original. **ends inside a word**: those that cut a word. **misquoted**: passages that are not,
  word for word, in the entry that they are attributed to.
- **unmarked stale quotes**: quotes of a tool's result whose file or record a later call changed, where the window
  neither says so nor has the later call whole.
- **whole turns**: turns that are in the window whole, as a share of the budget without the system prompt and the first
  message: **at first**, right after a compaction, and on average over all windows with a fold.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--policies", default=",".join(POLICIES))
    parser.add_argument("--every", type=int, default=1, help="only every Kth conversation")
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "policies.md")
    args = parser.parse_args()
    text = [HEADER]
    for part in parts(args.data / "conversations", args.policies.split(","), args.every, args.jobs):
        print(part, flush=True)
        text.append(part)
    args.out.write_text("\n".join(text), encoding="utf-8")


def parts(folder: Path, names: Sequence[str], every: int, jobs: int | None) -> Iterator[str]:
    """The sections behind the definitions, as they are done."""
    for family in (*FAMILIES, *DIALOGUES):
        path = folder / f"{family.name}.jsonl.gz"
        chosen = chosen_of(family, path)[::every]
        budget = Budget(context=family.budget)
        results = compare(chosen, names, budget, jobs=jobs)
        found = evidence(chosen, path, names, family.budget, jobs) if family in DIALOGUES else {}
        yield section(family, len(chosen), results, read_windows(chosen, names, budget, jobs), found)
    yield banked([*read(folder / f"{BANK}.jsonl.gz")][::every], names, jobs)


def chosen_of(family: Family, path: Path) -> list[Recorded]:
    """The conversations of a family that have its length."""
    return [
        record
        for record in map(as_openai_chat, read(path))
        if family.min_messages <= len(record.messages) <= (family.max_messages or len(record.messages))
        and (not family.min_tokens or sum(tokens_of(one, o200k()) for one in record.messages) >= family.min_tokens)
    ]


def evidence(
    chosen: Sequence[Recorded], path: Path, names: Sequence[str], budget: int, jobs: int | None
) -> dict[str, float]:
    """The usable share of the evidence of labelled questions, by policy."""
    asked = questions_in(path)
    found = dict[str, float]()
    with ProcessPoolExecutor(jobs) as pool:
        for name in names:
            run = partial(evidence_found, policy=policy_named(name), budget=budget)
            shares = [one for each in pool.map(run, chosen, [asked[one.id] for one in chosen]) for one in each]
            found[name] = sum(shares) / len(shares)
    return found


def read_windows(
    chosen: Sequence[Recorded], names: Sequence[str], budget: Budget, jobs: int | None
) -> dict[str, Readability]:
    """How well the windows read, by policy."""
    with ProcessPoolExecutor(jobs) as pool:
        return {
            name: sum_of(pool.map(partial(readability, budget=budget, policy=policy_named(name)), chosen))
            for name in names
        }


def sum_of(parts: Iterable[Readability]) -> Readability:
    return reduce(Readability.plus, parts, Readability())


def section(
    family: Family, many: int, results: Results, reading: Mapping[str, Readability], evidence: Mapping[str, float]
) -> str:
    """One family: a row for each policy."""
    title = f"{family.name} at {family.budget:,}: {family.what}, conversations: {many:,}"
    columns = [figure for figure in COMPARE if figure not in (FOUND, COST, BROKEN, REASONING)]
    heads = ["policy", *(figure.label for figure in columns), *(["evidence found"] if evidence else [])]
    values = {name: figures(one) for name, one in results.items()}
    shown = (
        [name, *(figure.text(row[figure.name]) for figure in columns), *([f"{evidence[name]:.0%}"] if evidence else [])]
        for name, row in values.items()
    )
    lines = [f"## {title}\n", *table(heads, shown), ""]
    if folding := {name: one for name, one in reading.items() if one.windows}:
        rows = (
            [name, *(number_text(figure(one), form) for form, figure in READING.values())]
            for name, one in folding.items()
        )
        lines += ["Right after each compaction:\n", *table(["policy", *READING], rows), ""]
    return "\n".join(lines)


def number_text(number: float | None, form: str) -> str:
    """A number; a dash for None, where there is nothing to measure."""
    return "–" if number is None else format(number, form)


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    for row in (heads, ["---", *["---:"] * (len(heads) - 1)], *rows):
        yield f"| {' | '.join(row)} |"


def banked(found: Sequence[Recorded], names: Sequence[str], jobs: int | None) -> str:
    """The dialogues in Chinese, at a budget by their own length."""
    chosen = [record for record in found if chinese(record.messages)]
    rows: list[list[str]] = []
    with ProcessPoolExecutor(jobs) as pool:
        for name in names:
            done = list(pool.map(partial(bank, name=name), chosen))
            present, needed = (sum(each) for each in zip(*done, strict=True))
            rows.append([name, number_text(present / needed if needed else None, ".0%")])
    title = f"## {BANK} in Chinese, at {SHARE:.0%} of its tokens, conversations: {len(chosen)}\n"
    return "\n".join([title, *table(["policy", "distinctive pairs"], rows), ""])


def chinese(messages: Sequence[Raw]) -> bool:
    """Whether three of ten characters are."""
    text = "".join(text for message in messages for text in texts_of(message))
    return len("".join(CJK.findall(text))) >= 0.3 * len(text)


def pairs(messages: Iterable[Raw]) -> set[str]:
    """The pairs of neighbouring characters in what messages say."""
    runs = [run for message in messages for text in texts_of(message) for run in CJK.findall(text)]
    return {run[at : at + 2] for run in runs for at in range(len(run) - 1)}


def bank(record: Recorded, name: str) -> tuple[int, int]:
    """Of the distinctive pairs of old messages: how many the last window holds, and how many there are."""
    sizes = [tokens_of(message, o200k()) for message in record.messages]
    budget = int(SHARE * sum(sizes))
    held = pairs(last_window(record, name, budget))
    common = Counter(pair for message in record.messages for pair in pairs([message]))
    old = [message for at, message in enumerate(record.messages) if sum(sizes[at:]) > budget]
    rare = {pair for pair in pairs(old) if common[pair] <= RARE}
    return len(rare & held), len(rare)


def last_window(record: Recorded, name: str, budget: int) -> list[Raw]:
    """The window after the last message; nothing, where none fits."""
    head, facts = record.facts()
    conversation = Conversation(
        MemoryStore().open("bank"),
        budget=Budget(context=budget),
        policy=policy_named(name),
        counter=o200k(),
        system=head,
    )
    for _ in replay(conversation, facts):
        pass
    try:
        return render(conversation.plan_request())["messages"]
    except BudgetImpossible:
        return []


if __name__ == "__main__":
    main()
