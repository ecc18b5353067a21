"""Measures how many messages of the user a window still has, each at least by half."""

from __future__ import annotations

from collections.abc import Sequence

PIECE = 40
"""Characters of a piece of a message. A window has the piece if it has these characters in a row."""
MOST_PIECES = 40
"""The most pieces that are looked for, spread evenly over a long message."""


class UserRequests:
    """The messages of the user so far, cut into pieces of 40 characters, which are looked for in windows. Blanks and
    line ends count as one blank, since records join lines."""

    def __init__(self) -> None:
        self._pieces: list[tuple[str, ...]] = []

    def __len__(self) -> int:
        return len(self._pieces)

    def add(self, texts: Sequence[str]) -> None:
        """Add a message, by its texts. A message without a text is not counted."""
        text = " ".join(" ".join(texts).split())
        if text:
            starts = range(0, max(1, len(text) - PIECE + 1), PIECE)
            step = -(-len(starts) // MOST_PIECES)
            self._pieces.append(tuple(text[at : at + PIECE] for at in starts[::step]))

    def kept(self, window: Sequence[str]) -> int:
        """Count the messages of which the texts of a window have at least half of the pieces."""
        shown = " ".join(" ".join(window).split())
        return sum(2 * sum(piece in shown for piece in pieces) >= len(pieces) for pieces in self._pieces)
