"""What we decided to show: four edits, each one entry in the log. An `Undo` takes back one of the other three,
or a summary."""

from __future__ import annotations

from msgspec import Struct

from transom.core.message import Address

Span = tuple[int, int]


class Fold(Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag_field="kind", tag="fold"):
    """The units from key `first` to key `last` become one slot that shows `text` (a summary, an omission, …).

    `carries`: keys of units that count as present although folded, because the text has a marked excerpt of them; at
    the very last step of the last resort, of some only the reference. `quotes`: the entries that the text quotes.
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
    """The unit of `entry` surfaces out of any fold that does not carry it.

    `implied`: placed by a plan, taken back by a plan.
    """

    entry: int
    why: str = ""
    implied: bool = False


class Undo(Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag_field="kind", tag="undo"):
    """Takes back the fold, trim, pin or summary with that seq. An undo cannot be undone: redo is a new edit."""

    edit: int
    why: str = ""


Edit = Fold | Trim | Pin | Undo
