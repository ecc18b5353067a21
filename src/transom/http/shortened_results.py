"""Shows the results of a log as short as the client has them in its list: agents shorten old results there."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from transom.conversation.conversation import Conversation
from transom.core.edit import Trim
from transom.core.message import Fact, Text, ToolResult, addressed_parts
from transom.core.trims import trims_of_entry
from transom.errors import InvalidEdit
from transom.http import prefix_hashes
from transom.stores import StoredLog


def shortened_results(log: StoredLog, length: int, facts: Sequence[Fact]) -> list[Trim] | None:
    """The trims with which the first `length` entries of a log show results as a client's list, `facts`, has them.

    Empty if the client has changed no result. None if it has changed one in another way than to a shorter text: no trim
    can show that. Results whose calls have no ids are not compared.
    """
    given: dict[str, list[ToolResult]] = {}
    for fact in facts:
        if isinstance(fact, ToolResult):
            given.setdefault(fact.call, []).append(fact)
    trims: list[Trim] = []
    for entry in log.read(0, length):
        if not isinstance(entry.body, ToolResult) or not entry.body.call or entry.body.call not in given:
            continue
        (result, *others) = given[entry.body.call]
        if prefix_hashes.after(b"", result) == prefix_hashes.after(b"", entry.body):
            continue
        if others or len(result.parts) != len(entry.body.parts):
            return None
        for (address, part), shown in zip(addressed_parts(entry.body), result.parts, strict=True):
            if part == shown:
                continue
            if not (isinstance(part, Text) and isinstance(shown, Text) and len(shown.text) < len(part.text)):
                return None
            trims.append(Trim(entry=entry.seq, part=address, note=shown.text, why="the client has shortened it"))
    return trims


def show_shortened(conv: Conversation, trims: Sequence[Trim]) -> None:
    """Append those of these trims that the log does not have yet, and that make its window shorter."""
    for trim in trims:
        unit = conv.view.unit(conv.view.unit_of[trim.entry])
        if all(known.trim.note != trim.note for known in trims_of_entry(unit.trims, trim.entry)):
            with suppress(InvalidEdit):  # the window shows less of it already
                conv.edit(trim)
