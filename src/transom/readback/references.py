"""References: how a text names a part of a log: "entry 412", "entry 412 text 1", "entries 10-20"; or only "412".

Markers in a window use the same form, so whoever reads one can ask for its entries. A reference is parsed into two
numbers and the address of a part, and nothing else is done with its text: it may come from a model.
"""

from __future__ import annotations

import re

from msgspec import Struct

from transom.core.log import Log, no_entry
from transom.core.message import Address
from transom.errors import InvalidSetting, shorten

_MAX_CHARACTERS = 100
"""The longest text that is parsed as a reference."""

FORMS = '"entry 412", a part of it as "entry 412 text 0", or several as "entries 10-20"'

_FORM = re.compile(
    r"(?:(?:entry|entries) )?(?P<first>\d{1,15})"
    r"(?:(?: to entry | to | ?[-–] ?)(?P<last>\d{1,15}))?"
    r"(?: (?P<kind>text|args|image|file|reasoning|other)(?: (?P<at>\d{1,9})|\[(?P<index>\d{1,9})\]))?",
    re.ASCII | re.IGNORECASE,
)


class Reference(Struct, frozen=True):
    """The entries from `first` to `last`, both included. With a `part`, its kind and index, it names this part of one
    entry: then `first` and `last` are equal."""

    first: int
    last: int
    part: Address | None = None

    def __str__(self) -> str:
        if self.first != self.last:
            return f"entries {self.first}-{self.last}"
        return f"entry {self.first}" + (f" {self.part[0]} {self.part[1]}" if self.part is not None else "")

    def starting_at(self, entry: int) -> Reference:
        """Return the rest of a range: the same reference, but with `entry` as its first entry."""
        return Reference(entry, self.last, self.part)


def parse_reference(reference: str) -> Reference:
    """Parse a reference, in brackets or not, in capitals or not. The log is not looked at: see `resolve`.

    Its forms are "412", "entry 412", "entry 412 text 0" (or "text[0]") and "entries 10-20" (or "10 to 20"). The kinds
    of parts are text, args, image, file, reasoning and other. Raises InvalidSetting for any other text, for a range
    that ends before it begins or has a part, and for more than 100 characters.
    """
    text = " ".join(reference.split()) if len(reference) <= _MAX_CHARACTERS else ""
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1].strip()
    if match := _FORM.fullmatch(text):
        first, last = int(match["first"]), int(match["last"] or match["first"])
        part = (match["kind"].lower(), int(match["at"] or match["index"])) if match["kind"] else None
        if first == last or (first < last and part is None):
            return Reference(first, last, part)
    raise InvalidSetting(f"reference {shorten(reference, _MAX_CHARACTERS)!r}: must be {FORMS}")


def resolve(log: Log, reference: Reference | str) -> Reference:
    """Check a reference, or its text, against a log, and return it parsed.

    A range that ends after the log is cut to end with it. Raises InvalidSetting if the text is no reference, or if the
    log has no entry `first`. Whether the entry has the part is not checked.
    """
    parsed = parse_reference(reference) if isinstance(reference, str) else reference
    if not 0 <= parsed.first < len(log):
        raise InvalidSetting(no_entry(parsed.first, len(log)))
    return Reference(parsed.first, min(parsed.last, len(log) - 1), parsed.part)
