"""Which later edit of a file answers a failed one: one that replaces the same text, or writes the whole file."""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct

from transom.core.message import Call
from transom.strategies.digest.passages import REPLACED, arguments

_WHOLE_FILE = frozenset(("content", "contents", "file_text"))
"""Arguments that hold the text of a whole file."""

_SECTION = re.compile(
    r"^\*\*\* (Add|Update|Delete) File: (\S[^\n]{0,300})\n(.*?)(?=^\*\*\* \w+ (?:File|Patch)|\Z)",
    re.MULTILINE | re.DOTALL,
)
"""What a patch says of one file."""

SCANNED = 8_000
"""Characters of an edit that are compared."""

RARE = 12
"""Characters of a line that is unlikely to stand in two places of a file, at least."""


class ReplacedText(Struct, frozen=True, gc=False):
    """What an edit of a file puts another text in place of: the old text in one line, and its lines; or the `whole`
    file. `call`: the call itself, which says as much as these where an edit replaces nothing."""

    text: str
    lines: frozenset[str]
    whole: bool
    call: tuple[str, str]

    def answers(self, earlier: ReplacedText) -> bool:
        """Whether this edit did what the earlier one was to do: it replaced the same text or more, or most lines of
        it; it wrote the whole file; or it is the same call."""
        if self.whole or self.call == earlier.call:
            return True
        if not earlier.text:
            return False
        if earlier.text == self.text or (len(earlier.text) >= RARE and earlier.text in self.text):
            return True
        shared = earlier.lines & self.lines
        return 2 * len(shared) >= len(earlier.lines) and any(len(line) >= RARE for line in shared)


def replaced_text(call: Call, file: str) -> ReplacedText:
    """What a call replaces in a file."""
    values = list(arguments(call))
    own = (call.name, call.args)
    for text in (value for _, value in values if "*** " in value):
        for kind, path, body in _SECTION.findall(text):
            if path.strip() == file:
                old = (line[1:] for line in body.split("\n") if line[:1] in {"-", " "})
                return _replaced(old, kind == "Add", own)
    old = [line for key, value in values if key in REPLACED for line in value[:SCANNED].split("\n")]
    return _replaced(old, not old and any(key in _WHOLE_FILE for key, _ in values), own)


def _replaced(old: Iterable[str], whole: bool, call: tuple[str, str]) -> ReplacedText:
    lines = [words for line in old if (words := " ".join(line.split()))]
    return ReplacedText(" ".join(lines)[:SCANNED], frozenset(lines), whole, call)
