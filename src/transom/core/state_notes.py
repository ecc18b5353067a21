"""Announces state in notes when it changes: which notes are due before the next request."""

from __future__ import annotations

from collections.abc import Mapping

from transom import texts
from transom.core.message import Note
from transom.core.tokens import ZERO, Size, fact_size
from transom.core.view import View


def due_notes(view: View, state: Mapping[str, str]) -> list[Note]:
    """The notes that must be added so that the window shows this state.

    One for each key whose newest note is not visible or says something else, and a closing one for each visible key
    that is not in `state` any more.
    """
    if not state and not view.notes:
        return []
    notes: list[Note] = []
    for key, value in state.items():
        text = texts.state_note(key, value)
        newest = view.notes.get(key)
        if newest is None or newest[1] != text or not _is_visible(view, newest[0]):
            notes.append(Note(key=key, text=text))
    for key, (seq, text) in view.notes.items():
        closing = texts.state_removed(key)
        if key not in state and text != closing and _is_visible(view, seq):
            notes.append(Note(key=key, text=closing))
    return notes


def due_size(view: View, state: Mapping[str, str]) -> Size:
    """The size of the due notes."""
    size = ZERO
    for note in due_notes(view, state):
        size = size.plus(fact_size(note, view.counter.count_body(note)))
    return size


def visible_note(view: View, key: str) -> str | None:
    """The text of the newest note of a key; None if there is none or the window does not show it."""
    newest = view.notes.get(key)
    return newest[1] if newest is not None and _is_visible(view, newest[0]) else None


def _is_visible(view: View, seq: int) -> bool:
    """Whether the window shows the entry with this seq."""
    return view.slot_of(seq) is not None and view.is_visible(view.unit_of[seq])
