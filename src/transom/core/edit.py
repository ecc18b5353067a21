"""What we decided to show: the edits `Fold`, `Trim`, `Pin` and `Undo`, each one entry in the log. An `Undo` takes back
one of the other three, or a summary."""

from __future__ import annotations

from msgspec import Struct

from transom.core.message import Address

Span = tuple[int, int]
"""Start and end of a piece of text, in characters; the end is not in it."""


class Fold(Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag_field="kind", tag="fold"):
    """Show one text in the place of a range of units. (The slot that it makes in a view is a `FoldedSlot`.)

    - `first`, `last`: the keys of the first and the last unit of the range. It must be whole slots of the window,
      without an open call, and larger than what the fold shows; otherwise the fold is refused (`edit_refusal`).
    - `text`: what is shown, for example a record, a summary or a marker.
    - `excerpted`: keys of folded units that count as present, because the text has a marked excerpt of them. (A fold of
      the very last resort has only their reference.)
    - `quotes`: the seqs of the entries that the text quotes.
    - `summary`: the seq of the summary with which the text begins; None if it begins with none. `summary_end`: the
      number of characters at the beginning of `text` that are the summary's. 0 with a `summary` that is the provider's
      own compaction: that is shown in place of the text.
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
    """Show less of one part of an entry. If several trims of one part apply, the one that leaves the fewest bytes is in
    effect. A trim that makes the part no smaller is refused.

    - `entry`: its seq. `part`: the address of the part in it.
    - `keep`: of a text, the pieces that stay, as (start, end) in characters of the original text; they rise and do not
      touch. If it is empty, the note alone stands for the text.
    - `note`: of a text, what stands in the first gap; each later gap gets a short mark. Of a call, its new arguments,
      which must be JSON. Of an image, a file or a part of an unknown kind, the text that stands in its place. Reasoning
      is dropped, and needs no note.
    - `refused`: true if a provider has refused the part. Then the trim may make the part larger: otherwise a short text
      that a filter refuses would stay, and be refused with every later request.
    """

    entry: int
    part: Address
    keep: tuple[Span, ...] = ()
    note: str = ""
    why: str = ""
    """The reason, as `explain` shows it."""
    refused: bool = False


class Pin(Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag_field="kind", tag="pin"):
    """Keep the unit of an entry visible: a fold over the unit shows the unit itself, with its trims, behind the text of
    the fold. The exception is a unit of which that text has an excerpt (`Fold.excerpted`).

    `entry`: the seq of any entry of the unit. `implied`: true if a plan has set the pin; then plans may take it back.
    """

    entry: int
    why: str = ""
    """The reason, as `explain` shows it."""
    implied: bool = False


class Undo(Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag_field="kind", tag="undo"):
    """Take back the fold, trim, pin or summary whose seq is `edit`. Plans then leave the turns of a fold or trim alone
    while the window fits. An undo cannot be undone: to redo, append a new edit."""

    edit: int
    why: str = ""
    """The reason, as `explain` shows it."""


Edit = Fold | Trim | Pin | Undo
"""What a strategy proposes, and `Conversation.edit` takes."""
