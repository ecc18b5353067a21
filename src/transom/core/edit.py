"""What we decided to show: four edits, each one entry in the log, each taken back by an `Undo`."""

from __future__ import annotations

from msgspec import Struct

from transom.core.message import Address

Span = tuple[int, int]


class Fold(Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag_field="kind", tag="fold"):
    """The units from key `first` to key `last` become one slot that shows `text` (a summary, an omission, …).

    `carries`: keys of units with a marked excerpt in the text; they count as present although folded. `quotes`: the
    entries whose own words are in the text.
    """

    first: int
    last: int
    text: str
    carries: tuple[int, ...] = ()
    quotes: tuple[int, ...] = ()
    why: str = ""


class Trim(Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag_field="kind", tag="trim"):
    """One part of `entry` shows the spans `keep` (of characters, rising, apart), and `note` in place of the rest."""

    entry: int
    part: Address
    keep: tuple[Span, ...] = ()
    note: str = ""
    why: str = ""


class Pin(Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag_field="kind", tag="pin"):
    """The unit of `entry` surfaces out of any fold. `implied`: placed by a plan, taken back by a plan."""

    entry: int
    why: str = ""
    implied: bool = False


class Undo(Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag_field="kind", tag="undo"):
    """Takes back the fold, trim or pin with that seq. An undo cannot be undone: redo is a new edit."""

    edit: int
    why: str = ""


Edit = Fold | Trim | Pin | Undo
