"""How a part of a log is named, everywhere: "entry 412", "entry 412 text 1", "entries 10-20"; or only "412".

These are the words that markers use, so that whoever reads a marker can ask for what it stands for. A reference is two
numbers and an address; it never becomes a path, a query or code.
"""

from __future__ import annotations

import re

from msgspec import Struct

from transom.core.log import Log
from transom.core.message import Address
from transom.errors import InvalidSetting

_LONGEST = 100
"""Characters of the longest text that is looked at as a reference."""

FORMS = '"entry 412", a part of it as "entry 412 text 0", or several as "entries 10-20"'

_FORM = re.compile(
    r"(?:(?:entry|entries) )?(?P<first>\d{1,15})"
    r"(?:(?: to entry | to | ?[-–] ?)(?P<last>\d{1,15}))?"
    r"(?: (?P<kind>text|args|image|file|reasoning|other)(?: (?P<at>\d{1,9})|\[(?P<index>\d{1,9})\]))?",
    re.ASCII | re.IGNORECASE,
)


class Reference(Struct, frozen=True):
    """The entries from `first` to `last`, both included; or one part of one entry."""

    first: int
    last: int
    part: Address | None = None

    def __str__(self) -> str:
        if self.first != self.last:
            return f"entries {self.first}-{self.last}"
        return f"entry {self.first}" + (f" {self.part[0]} {self.part[1]}" if self.part is not None else "")

    def onwards(self, entry: int) -> Reference:
        """The same, from this entry of the range on."""
        return Reference(entry, self.last, self.part)


def parse(reference: str) -> Reference:
    """The reference that a text is, in brackets or not. Raises InvalidSetting for what is none.

    Whether the log has such an entry is not known here.
    """
    words = " ".join(reference.split()) if len(reference) <= _LONGEST else ""
    if words.startswith("[") and words.endswith("]"):
        words = words[1:-1].strip()
    if found := _FORM.fullmatch(words):
        first, last = int(found["first"]), int(found["last"] or found["first"])
        part = (found["kind"].lower(), int(found["at"] or found["index"])) if found["kind"] else None
        if first == last or (first < last and part is None):
            return Reference(first, last, part)
    shown = reference if len(reference) <= _LONGEST else reference[: _LONGEST - 1] + "…"
    raise InvalidSetting(f"reference {shown!r}: must be {FORMS}")


def within(log: Log, reference: Reference | str) -> Reference:
    """The reference, read if it is a text, if the log reaches so far; a range that ends behind the log ends with it.

    Raises InvalidSetting.
    """
    wanted = parse(reference) if isinstance(reference, str) else reference
    if not 0 <= wanted.first < len(log):
        there = f"its entries are 0 to {len(log) - 1}" if len(log) else "it is empty"
        raise InvalidSetting(f"there is no entry {wanted.first} in this log: {there}")
    return Reference(wanted.first, min(wanted.last, len(log) - 1), wanted.part)
