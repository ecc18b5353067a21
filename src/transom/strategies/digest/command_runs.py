"""Which runs of commands are about the same: whether a later success answers an earlier failure.

`pytest tests/a.py` that failed is answered by `uv run pytest tests/a.py -q` and by `pytest`, not by `pytest tests/b.py`
or by `pytest -k one_test`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from msgspec import Struct

from transom.strategies.digest.shell_words import SimpleCommand

_BESIDE = re.compile(
    r"(?:cd|echo|printf|tail|head|grep|egrep|rg|sed|awk|cat|ls|less|wc|sort|uniq|cut|tr|tee|column|jq|xargs|export|source"
    r"|sleep|set|pwd|true|kill|pkill|mkdir|touch|fi|done|esac|return|exit|test|\[\[?|\.|:)\Z"
)
"""Programs that stand beside the one that a command is about."""

_RUNNERS = (("uv", "run"), ("poetry", "run"), ("pdm", "run"), ("npx",), ("bunx",), ("python", "-m"), ("python3", "-m"))
_WITH_VERB = re.compile(r"(?:go|npm|pnpm|yarn|bun|cargo|git|make|mise|just|gh|docker|uv|pip|gradle|mvn|dotnet|swift)\Z")
_FILTERS = frozenset(("-run", "-k", "-t", "-m", "-g", "--grep", "--filter", "--testNamePattern", "--only", "-skip"))
_EVERYTHING = frozenset((".", "./", "./...", "...", "all"))
_MOST_WORDS = 40


class CommandRun(Struct, frozen=True, gc=False):
    """What a command ran: a `program` with its verb, on some `targets` (none: on all), and only what `filters` say."""

    program: tuple[str, ...]
    targets: frozenset[str]
    filters: frozenset[str]

    def answers(self, earlier: CommandRun) -> bool:
        """Whether this run covered what the earlier one did."""
        is_broad = not self.targets or self.targets >= earlier.targets
        return self.program == earlier.program and is_broad and self.filters <= earlier.filters


def command_runs(commands: Iterable[SimpleCommand]) -> Iterator[CommandRun]:
    """The runs of programs in a command, without those that only stand beside them."""
    for command in commands:
        words = command.words[:_MOST_WORDS]
        for runner in _RUNNERS:
            if tuple(words[: len(runner)]) == runner:
                words = words[len(runner) :]
        if not words or _BESIDE.match(words[0]):
            continue
        has_verb = len(words) > 1 and _WITH_VERB.match(words[0])
        program = (words[0].rpartition("/")[2], *(words[1:2] if has_verb else ()))
        targets: set[str] = set()
        filters: set[str] = set()
        before = ""
        for word in words[len(program) :]:
            if before in _FILTERS or word.startswith(("-run=", "--grep=", "--filter=")):
                filters.add(word)
            elif not word.startswith("-") and not before.startswith("--") and "=" not in word:
                targets.add(word)
            before = word
        yield CommandRun(program, frozenset(targets - _EVERYTHING), frozenset(filters))
