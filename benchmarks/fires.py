"""How often each pattern and each row of the tables of a record fires over recorded conversations.

    python benchmarks/fires.py DATA [--n 4] [--below 1]

Every recorded call and result is parsed, and conversations of every family are replayed at small budgets, `--n` of each
(0: none). Printed are the rows of the table of tools, and
those of the table of programs and the patterns of `strategies` that matched fewer than `--below` times, with how often
they were tried. A pattern that is tried and never matches is to be deleted; a new one comes with its count. A pattern
that is never tried belongs to another policy than `default`. A program that no recording uses may still be common in
projects that were not recorded: Rust, Java, .NET.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import transom.strategies
from transom.conversation.conversation import Conversation
from transom.conversation.replay import replay
from transom.core.budget import Budget
from transom.core.message import Assistant, Text, ToolResult, User
from transom.errors import TransomError
from transom.importers import Recorded, read
from transom.importers.recorded import as_openai_chat
from transom.policies import policy_named
from transom.stores import MemoryStore
from transom.strategies.actions import action, commands
from transom.strategies.actions.commands import PROGRAMS
from transom.strategies.actions.outcome import outcome_of
from transom.strategies.record.own_words import report_span
from transom.strategies.record.passages import readable, unreadable
from transom.tokenizer import o200k

BESIDE_HEAD = 6_000
"""Tokens of the budget of a conversation, beside twice those of its head: few, so that most of its turns are folded."""

tried, matched = Counter[str](), Counter[str]()
rows, programs = Counter[str](), Counter[str]()


class Counted:
    """A pattern that counts how often it is tried and how often it matches."""

    def __init__(self, name: str, pattern: re.Pattern[str]) -> None:
        self._name, self._pattern = name, pattern
        self.pattern, self.flags = pattern.pattern, pattern.flags

    def search(self, *args: Any) -> re.Match[str] | None:
        return self._one(self._pattern.search(*args))

    def match(self, *args: Any) -> re.Match[str] | None:
        return self._one(self._pattern.match(*args))

    def fullmatch(self, *args: Any) -> re.Match[str] | None:
        return self._one(self._pattern.fullmatch(*args))

    def finditer(self, *args: Any) -> Iterator[re.Match[str]]:
        tried[self._name] += 1
        for found in self._pattern.finditer(*args):
            matched[self._name] += 1
            yield found

    def findall(self, *args: Any) -> list[Any]:
        tried[self._name] += 1
        found = self._pattern.findall(*args)
        matched[self._name] += len(found)
        return found

    def sub(self, *args: Any) -> str:
        tried[self._name] += 1
        text, count = self._pattern.subn(*args)
        matched[self._name] += count
        return text

    def split(self, *args: Any) -> list[Any]:
        tried[self._name] += 1
        found = self._pattern.split(*args)
        matched[self._name] += len(found) - 1
        return found

    def _one(self, found: re.Match[str] | None) -> re.Match[str] | None:
        tried[self._name] += 1
        matched[self._name] += found is not None
        return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--n", type=int, default=4)
    parser.add_argument("--below", type=int, default=1)
    args = parser.parse_args()
    count_patterns()
    count_rows()
    for file in sorted((args.data / "conversations").glob("*.jsonl.gz")):
        found = [as_openai_chat(record) for record in read(file)]
        for record in found:
            parse(record)
        if not args.n:
            continue
        for record in islice(found[:: max(1, len(found) // args.n)], args.n):
            head, facts = record.facts()
            size = sum(o200k().count(part.text) for one in head for part in one.parts if isinstance(part, Text))
            conversation = Conversation(
                MemoryStore().open("fires"),
                budget=Budget(context=BESIDE_HEAD + 2 * size),
                policy=policy_named("default"),
                counter=o200k(),
                system=head,
            )
            try:
                for _ in replay(conversation, facts, injected=record.injected_in(facts)):
                    pass
            except TransomError as problem:
                print(f"{record.id}: {problem}")
    print("rows of the table of tools:")
    for row, times in rows.most_common():
        print(f"{times:8,} {row}")
    print(f"rows of the table of programs: {len(programs):,}; used fewer than {args.below:,} times:")
    for row, times in programs.most_common():
        if times < args.below:
            print(f"{times:8,} {row}")
    print(f"patterns: {len(tried):,} tried; matched fewer than {args.below:,} times:")
    for name in sorted(tried):
        if matched[name] < args.below:
            print(f"{matched[name]:8,} of {tried[name]:8,} {name}")


def parse(record: Recorded) -> None:
    """Parse every call and result of a conversation, and look for noise in every result."""
    _, facts = record.facts()
    actions: dict[str, action.Action] = {}
    for _, fact in facts:
        for call in fact.calls if isinstance(fact, Assistant) else ():
            actions[call.id] = action.action_of(call)
        if isinstance(fact, ToolResult):
            outcome_of(fact, actions.get(fact.call, action.UNKNOWN))
            for text, _ in readable(fact):
                unreadable(text)
        elif isinstance(fact, User):
            for text, _ in readable(fact):
                report_span(text)


def count_patterns() -> None:
    """Put a counting pattern in the place of each pattern of the modules of strategies, wherever it is imported."""
    modules = [
        importlib.import_module(found.name)
        for found in pkgutil.walk_packages(transom.strategies.__path__, "transom.strategies.")
    ]
    counting: dict[int, Counted] = {}
    for module in modules:
        for name, value in list(vars(module).items()):
            if isinstance(value, re.Pattern):
                one = counting.setdefault(id(value), Counted(f"{module.__name__.rpartition('.')[2]}.{name}", value))
                tried[one._name] += 0
                setattr(module, name, one)


def count_rows() -> None:
    """Count each row of the two tables that is used: of the tools, with the kind of the call, and of the programs."""
    row_of, program_of = action.row_of, commands.program_of

    def of_tool(words: set[str], values: Any, tools: Any) -> Any:
        kind, found = row_of(words, values, tools)
        row = next((sorted(row.words)[:3] for row in tools if words & row.words and row.kind == kind), "no row")
        rows[f"{kind}: {row}"] += 1
        return kind, found

    def of_program(words: Any) -> Any:
        program, role = program_of(words)
        if program in PROGRAMS:
            programs[f"{role}: {program}"] += 1
        return program, role

    action.row_of, commands.program_of = of_tool, of_program
    programs.update({f"{role}: {program}": 0 for program, role in PROGRAMS.items()})


if __name__ == "__main__":
    main()
