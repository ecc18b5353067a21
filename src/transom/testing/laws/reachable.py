"""Law 9: what a window does not show can be read back by the references that it does show."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from transom.core import message as m
from transom.core.log import Log
from transom.core.tokens import replace_surrogates
from transom.core.unit import FoldedSlot, units_in
from transom.core.view import View
from transom.errors import InvalidSetting
from transom.readback import Reference, parse_reference, read
from transom.testing.laws.shared import texts_in
from transom.wire.dialect import Dialect
from transom.wire.rendering import render


def check_reachable(view: View, dialect: str | Dialect = "openai") -> None:
    """Law 9: everything that a plan folded or trimmed can be read back by a reference in the window.

    Every reference in the text of a plan's fold, and in the note of a plan's trim, is parsed and read back, and the
    result is compared with the texts of the log. Not checked are edits without a `why`, which are the caller's own and
    may show any text, and what the provider has compacted.
    """
    shown = list(texts_in(render(view, dialect)))
    for slot in view.slots:
        if isinstance(slot, FoldedSlot) and slot.why and not slot.sealed:
            assert _is_shown(slot.text, shown), f"the text of fold {slot.seq} is not in the window"
            pinned = {unit.key for unit in slot.pinned_units}
            hidden = {seq for unit in units_in(slot) if unit.key not in pinned for seq in unit.seqs}
            named = resolved(view.log, slot.text)
            lost = {seq for seq in hidden - named if not named.issuperset(_repeats(view.log, seq) or {seq})}
            assert not lost, f"fold {slot.seq} names no entry for {sorted(lost)}"
    for unit in view.visible_units():
        for (seq, address), cut in unit.effective_trims().items():
            if cut.trim.why and address[0] != "reasoning":
                assert _is_shown(cut.trim.note, shown), f"the note of trim {cut.seq} is not in the window"
                assert seq in resolved(view.log, cut.trim.note), f"trim {cut.seq} does not name entry {seq}"


REFERENCE = re.compile(
    r"\bentr(?:y|ies) \d+(?:(?: to entry | to | ?[-–] ?)\d+)?(?: (?:text|args|image|file|reasoning|other) \d+)?",
    re.ASCII,
)
"""A reference to entries, as Transom writes it."""

_MARKER = re.compile(rf"(?:(?<!\\)\[|whole in )({REFERENCE.pattern})", re.ASCII)


def references_in(text: str) -> list[Reference]:
    """Every reference in a text, parsed as a model's read-back tool parses it. Raises AssertionError if that fails."""
    found: list[Reference] = []
    for match in REFERENCE.finditer(text):
        try:
            found.append(parse_reference(match.group()))
        except InvalidSetting as problem:
            raise AssertionError(f"{match.group()!r} is no reference: {problem}") from problem
    return found


def numbers_of(reference: Reference) -> range:
    """The seqs of the entries that a reference names."""
    return range(reference.first, reference.last + 1)


def resolved(log: Log, text: str) -> set[int]:
    """Return the seqs of the entries that a text refers to. Each of these entries is read back (`check_read_back`).

    The entry that a marker refers to ("[entry 3", "whole in entry 3") must be in the log. Other references, such as in
    a quote, are left out if the log has no such entry. Raises AssertionError if an entry is missing or cannot be read
    back whole.
    """
    for marker in _MARKER.finditer(text):  # a quoted text may name what it likes; it is escaped
        (reference,) = references_in(marker.group(1))
        assert reference.last < len(log), f"{reference} is not in a log of {len(log)} entries"
    found: set[int] = set()
    for reference in references_in(text):
        for seq in numbers_of(reference):
            if seq not in found and seq < len(log):
                check_read_back(log, seq)
                found.add(seq)
    return found


def check_read_back(log: Log, seq: int) -> None:
    """Law 9: reading an entry, page after page, gives all of its texts. (Of images and files only the kind is read.) An
    entry that is no fact, or has no text, is not checked. `seq`: of an entry of `log`. Raises AssertionError if a text
    is missing."""
    fact = log[seq].body
    if not isinstance(fact, m.Fact):
        return
    wanted = [text for part in m.parts_of(fact) for text in _texts_in(part)]
    wanted.append(m.own_text(fact))
    wanted = [replace_surrogates(text) for text in wanted if text]
    if not wanted:
        return
    pages: list[str] = []
    start, column = 1, 1
    while True:
        page = read(log, f"entry {seq}", start, column, include_hidden=True)
        pages += [extract.text + ("" if extract.truncated else "\n") for extract in page.extracts]
        if page.next is None:
            break
        start, column = page.next.line, page.next.column
    whole = "".join(pages)
    compact = whole.replace("\\", "")
    for text in wanted:  # of a part that Transom does not know, the JSON is read, in which some characters are escaped
        assert text in whole or json.dumps(text)[1:-1].replace("\\", "") in compact, (
            f"entry {seq} is read back without {text!r}"
        )


def _texts_in(part: m.Addressed) -> Iterable[str]:
    """The texts of a part that can be read back. An image or a file has none."""
    if isinstance(part, m.Media):
        return ()
    if isinstance(part, m.Call):
        return (part.args,)
    return (part.text,) if isinstance(part, (m.Text, m.Reasoning)) else m.strings_in(part.raw)


def _is_shown(text: str, shown: Iterable[str]) -> bool:
    """Whether the strings of a window contain the text of an edit. If the text is JSON, as a note in place of arguments
    is, they must contain each string in it."""
    parts = list(texts_in(text))[1:] or [text]
    return all(any(replace_surrogates(part).strip() in one for one in shown) for part in parts)


def _repeats(log: Log, seq: int) -> tuple[int, ...]:
    """If an entry is a note of ours, the seqs of the entries whose text it repeats: the text can be read there too.
    Empty for all others."""
    note = log[seq].body
    return note.refs if isinstance(note, (m.Note, m.Recalled)) else ()
