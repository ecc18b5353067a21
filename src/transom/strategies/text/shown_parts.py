"""The parts of units that a trim can shorten, with their sizes as the window shows them now."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from transom import texts
from transom.core.message import Address, Addressed, Call, Fact, Media, Reasoning, Text, ToolResult, addressed_parts
from transom.core.unit import Unit
from transom.core.view import View

PartKind = Literal["results", "text", "arguments", "reasoning", "media"]
"""The kinds of parts: "results" are the texts of tool results, "text" all other texts, "arguments" those of calls,
"reasoning" the reasoning of the model, "media" images and files."""


class ShownPart(Struct, frozen=True):
    """One part of an entry in the window. `entry`: the seq. `part`: which part of it. `text`: the whole text or the
    whole arguments, untrimmed; empty for reasoning and media. `tokens`: of the whole part; `shown_tokens`: of what the
    window shows of it now. `marker`: what the form `marker` puts in its place; if empty, a marker with the
    reference."""

    entry: int
    """The seq of the entry."""
    part: Address
    """Which part of the entry it is."""
    text: str
    """The whole text or the whole arguments, untrimmed; empty for reasoning and media."""
    tokens: int
    """The tokens of the whole part."""
    shown_tokens: int
    """The tokens of what the window shows of the part now: others than `tokens` if it is trimmed."""
    marker: str = ""
    """What the form `marker` puts in the place of the part; if empty, a marker with the reference of the entry."""


def shown_parts(view: View, unit: Unit, kind: PartKind) -> Iterator[ShownPart]:
    """Yield the parts of one kind in a unit, in order, trimmed or not. Of reasoning and media, those that are trimmed
    are left out: nothing of them is left to shorten."""
    trims = unit.effective_trims() if unit.trims else {}
    for entry in view.entries_of(unit):
        fact = entry.body
        if not isinstance(fact, Fact):
            continue
        for position, (address, part) in enumerate(addressed_parts(fact), start=1):
            if _kind(fact, part) == kind:
                trim, tokens = trims.get((entry.seq, address)), entry.tokens[position]
                if trim is None or kind not in {"reasoning", "media"}:
                    text = part.text if isinstance(part, Text) else part.args if isinstance(part, Call) else ""
                    yield ShownPart(entry.seq, address, text, tokens, tokens if trim is None else trim.tokens)


def _kind(fact: Fact, part: Addressed) -> PartKind | None:
    if isinstance(part, Text):
        return "results" if isinstance(fact, ToolResult) else "text"
    if isinstance(part, Call):
        return "arguments"
    return "reasoning" if isinstance(part, Reasoning) else "media" if isinstance(part, Media) else None


def result_texts(view: View, unit: Unit) -> Iterator[list[ShownPart]]:
    """Yield a list for each tool result of a unit: the texts of the result, none if it has no text. Results that were
    read back from the log are left out (see `is_read_back`)."""
    parts: dict[int, list[ShownPart]] = {seq: [] for seq in unit.seqs[1:]}
    for part in shown_parts(view, unit, "results"):
        parts[part.entry].append(part)
    for seq, of_result in parts.items():
        if not is_read_back(view, unit, seq):
            yield of_result


def is_read_back(view: View, unit: Unit, seq: int) -> bool:
    """Whether a result comes from a tool that reads the log back. It must not be stubbed: the model would only ask for
    it again."""
    call = view.call_of(unit, seq)
    return call is not None and call.name in texts.READ_BACK
