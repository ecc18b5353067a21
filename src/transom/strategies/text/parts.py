"""The texts of a view that an edit could shorten."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from transom import texts
from transom.core.message import Address, Fact, Text, ToolResult, addressed_parts
from transom.core.unit import Unit
from transom.core.view import View


class TextPart(Struct, frozen=True):
    """One text of an entry: its address, its `tokens` untrimmed, and its `shown_tokens` as the window has it now."""

    entry: int
    """The seq of the entry."""
    part: Address
    """The address of the part."""
    text: str
    """The whole text, untrimmed."""
    tokens: int
    shown_tokens: int


def text_parts(view: View, unit: Unit, *, of_results: bool) -> Iterator[TextPart]:
    """The texts of a unit's results, or those of its head."""
    trims = unit.effective_trims() if unit.trims else {}
    for entry in view.entries_of(unit):
        fact = entry.body
        if not isinstance(fact, Fact) or isinstance(fact, ToolResult) != of_results:
            continue
        for position, (address, part) in enumerate(addressed_parts(fact), start=1):
            if isinstance(part, Text):
                trim = trims.get((entry.seq, address))
                tokens = entry.tokens[position]
                yield TextPart(entry.seq, address, part.text, tokens, tokens if trim is None else trim.tokens)


def result_texts(view: View, unit: Unit) -> Iterator[list[TextPart]]:
    """The texts of each result of a unit, but for results that were read back from the log: see `is_read_back`."""
    parts: dict[int, list[TextPart]] = {seq: [] for seq in unit.seqs[1:]}
    for part in text_parts(view, unit, of_results=True):
        parts[part.entry].append(part)
    for seq, of_result in parts.items():
        if not is_read_back(view, unit, seq):
            yield of_result


def is_read_back(view: View, unit: Unit, seq: int) -> bool:
    """Whether a result comes from a tool that reads the log back. It must not be stubbed: the model would only ask for
    it again."""
    call = view.call_of(unit, seq)
    return call is not None and call.name in texts.READ_BACK
