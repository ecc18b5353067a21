"""How the size of a record is found: what is quoted takes more or less than was estimated."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from transom.strategies.record import make_record as module

SIZE = 1_000


class Turns:
    """Turns of which a record has as many tokens as `tokens` says of the room for quotes."""

    def __init__(self, tokens):
        self.tokens, self.tries = tokens, 0
        self.messages = SimpleNamespace(chosen=lambda *_: ({}, 0))

    def endings(self, size):
        return []

    def tokens_of_lines(self):
        return 0

    def quotes(self, room, already, *, by_words):
        self.tries += 1
        return {(0, 0): [(0, max(0, int(self.tokens(room))))]}

    def record(self, quoted, endings, lines):
        return module.MadeRecord("", quoted[0, 0][0][1])

    def filled(self, quoted, endings, lines, made, size):
        return made


@pytest.mark.parametrize(
    "tokens",
    [
        lambda room: 400 if room < SIZE else 400 + 5 * (room - SIZE),  # long passages, where names left much room
        lambda room: 0.3 * room,
        lambda room: 1.7 * room,
        lambda room: 1.2 * room if room > 700 else 0.5 * room,
    ],
)
def test_a_record_has_its_size_however_wrong_the_estimate_is(monkeypatch, tokens):
    turns = Turns(tokens)
    monkeypatch.setattr(module, "_FoldedTurns", lambda *_: turns)
    target = SimpleNamespace(counter=SimpleNamespace(count=len))
    made = module.make_record(None, target, (), (), SIZE)
    assert 0.8 * SIZE <= made.tokens <= module.LARGER * SIZE, made.tokens
    assert turns.tries <= module.TRIES


@pytest.mark.parametrize(("step", "large"), [(1_300, 1_200), (1_000, 1_500)])
def test_no_room_is_tried_that_was_too_much(monkeypatch, step, large):
    """Between two rooms of which one is too little and one too much, nearly equal records are not tried on and on."""
    rooms = []

    def tokens(room):
        rooms.append(room)
        return large if room >= step else 500 + 0.05 * room

    turns = Turns(tokens)
    monkeypatch.setattr(module, "_FoldedTurns", lambda *_: turns)
    made = module.make_record(None, SimpleNamespace(counter=SimpleNamespace(count=len)), (), (), SIZE)
    assert made.tokens <= module.LARGER * SIZE
    assert turns.tries <= 6
    too_much = [at for at, room in enumerate(rooms) if room >= step]
    assert all(rooms[later] < rooms[at] for at in too_much for later in range(at + 1, len(rooms)))
