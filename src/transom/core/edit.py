"""What we decided to show: four edits, each one entry in the log. An `Undo` takes back one of the other three, or a
summary."""

from __future__ import annotations

from msgspec import Struct

from transom.core.message import Address

Span = tuple[int, int]
"""Start and end of a piece of text, in characters; the end is not in it."""


class Fold(Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag_field="kind", tag="fold"):
    """Show one text in the place of a range of units. (The slot that it makes in a view is a `FoldedSlot`.)

    - `first`, `last`: the keys of the first and the last unit of the range.
    - `text`: what is shown, for example a record, a summary or a marker.
    - `excerpted`: keys of folded units that count as present, because the text has a marked excerpt of them; at the
      last step of the last resort only their reference.
    - `quotes`: the seqs of the entries that the text quotes.
    - `summary`: the seq of the summary with which the text begins; None if it begins with none. `summary_end`: how many
      characters of the text are its own. The text has them, as every entry has the text that it shows.
    """

    first: int
    last: int
    text: str
    excerpted: tuple[int, ...] = ()
    quotes: tuple[int, ...] = ()
    summary: int | None = None
    summary_end: int = 0
    why: str = ""
    """The reason, as `explain` shows it."""


class Trim(Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag_field="kind", tag="trim"):
    """Show less of one part of an entry.

    - `entry`: its seq. `part`: the address of the part in it.
    - `keep`: of a text, the pieces that stay; they rise and do not touch. None: the note alone stands for the text.
    - `note`: stands in the first gap of a text, in place of an image or file, or as the new arguments of a call (so it
      must be JSON). Reasoning is dropped without a note.
    """

    entry: int
    part: Address
    keep: tuple[Span, ...] = ()
    note: str = ""
    why: str = ""
    """The reason, as `explain` shows it."""


class Pin(Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag_field="kind", tag="pin"):
    """Keep the unit of an entry visible: a fold over it shows it behind the fold's text, if that has no excerpt of it.

    `entry`: the seq of any entry of the unit. `implied`: a plan has placed the pin, and plans may take it back.
    """

    entry: int
    why: str = ""
    """The reason, as `explain` shows it."""
    implied: bool = False


class Undo(Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag_field="kind", tag="undo"):
    """Take back the fold, trim, pin or summary whose seq is `edit`. An undo cannot be undone: to redo, append a new
    edit."""

    edit: int
    why: str = ""
    """The reason, as `explain` shows it."""


Edit = Fold | Trim | Pin | Undo
"""What a strategy proposes, and `Conversation.edit` takes."""
